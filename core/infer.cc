#include "core/infer.h"

#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "core/backend.h"
#include "core/check.h"
#include "core/collective.h"
#include "core/elements.h"
#include "core/matrix_parts.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil {
namespace {

using Operands = absl::Span<const Operand>;

// LAPACK counts in 32 bits: the elements of a matrix, too.
constexpr int64_t kMostOfLapack = std::numeric_limits<int32_t>::max();

std::string Describe(const Operand& o) {
  return absl::StrCat(std::string(ShortName(o.dtype)), ToString(o.layout->dims()));
}

std::string DescribeAll(Operands inputs) {
  std::string s;
  for (size_t i = 0; i < inputs.size(); ++i)
    absl::StrAppend(&s, i ? ", " : "", Describe(inputs[i]));
  return s;
}

// "[op]" with the table's name.
std::string Tag(const OpInfo& info) { return absl::StrCat("[", std::string(info.name), "]"); }

std::string_view TypeSetName(TypeSet set) {
  switch (set) {
    case TypeSet::kAny:
    case TypeSet::kBoolOrNumber:
      return "any dtype";
    case TypeSet::kNumber:
      return "a numeric dtype";
    case TypeSet::kFloat:
      return "a floating-point dtype";
    case TypeSet::kInt:
      return "an integer dtype";
    case TypeSet::kBits:
      return "bool or an integer dtype";
    case TypeSet::kBool:
      return "bool";
    case TypeSet::kComplex:
      return "a complex dtype";
  }
  return "";
}

Device DeviceOf(Operands inputs) {
  for (const Operand& o : inputs) {
    if (!IsNumber(o)) return o.device;
  }
  return Device();
}

Status CheckTypes(const OpInfo& info, Operands inputs) {
  const std::string op = Tag(info);
  if (info.arity >= 0 && inputs.size() != static_cast<size_t>(info.arity)) {
    return TypeError(op, " takes ", info.arity, " arrays, got ", inputs.size(), ".");
  }
  // Selectors, indices and states have their own rule; all others share one dtype.
  const bool selects = info.traits & traits::kSelects;
  const size_t first = selects ? 1 : 0;
  const size_t last = info.klass == OpClass::kTake ? 1 : inputs.size();
  for (size_t i = first; i < last; ++i) {
    if ((info.klass == OpClass::kPut || info.klass == OpClass::kSparse) && i == 1) continue;
    if (!Accepts(info.types, inputs[i].dtype)) {
      return TypeError(op, " needs ", std::string(TypeSetName(info.types)), ", got ",
                       Describe(inputs[i]), ".");
    }
    if (IsComplex(inputs[i].dtype) && !TakesComplex(info)) {
      return TypeError(op, " is not defined for complex numbers: ", Describe(inputs[i]), ".");
    }
    if (inputs[i].dtype != inputs[first].dtype) {
      return TypeError(op, " operands differ in dtype: ", Describe(inputs[first]), " and ",
                       Describe(inputs[i]), ".");
    }
  }
  if ((info.klass == OpClass::kComplex || info.klass == OpClass::kFourier) &&
      IsHalf(inputs[0].dtype)) {
    return TypeError(op, " parts must be float32 or float64, got ", Describe(inputs[0]), ".");
  }
  if (selects && inputs[0].dtype != DType::kBool) {
    return TypeError(op, " condition must be bool, got ", Describe(inputs[0]), ".");
  }
  const Device device = DeviceOf(inputs);
  for (const Operand& o : inputs) {
    if (!(o.device == device) && !IsNumber(o)) {
      return ValueError(op, " operands are on different devices: ", Name(inputs[0].device), " and ",
                        Name(o.device == inputs[0].device ? device : o.device),
                        "; move one with x.to_device(...).");
    }
  }
  return absl::OkStatus();
}

StatusOr<const Layout*> InferElementwise(const OpInfo& info, Operands inputs) {
  const Layout* shape = inputs[0].layout->shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    FZ_ASSIGN_OR_RETURN(shape, BroadcastShapes(info.name, shape, inputs[i].layout));
  }
  return shape;
}

StatusOr<const Layout*> InferReduce(const OpInfo& info, const Layout* in, AttrSpan attrs) {
  const uint64_t mask = attrs[0];
  std::array<int64_t, kMaxRank> dims{};
  size_t rank = 0;
  bool empty = false;
  for (int i = 0; i < in->rank; ++i) {
    const bool reduced = mask >> i & 1;
    empty |= reduced && in->extents[i] == 0;
    if (!reduced) {
      dims[rank++] = in->extents[i];
    } else if (attrs[1]) {
      dims[rank++] = 1;
    }
  }
  if (empty && !(info.traits & traits::kOfNone)) {
    return ValueError(Tag(info), " an empty axis has no ", std::string(info.name), ": shape ",
                      ToString(in->dims()), ".");
  }
  return Dense({dims.data(), rank});
}

StatusOr<Inferred> InferView(OpId op, const OpInfo& info, const Operand& x, AttrSpan attrs) {
  const std::string tag = Tag(info);
  const Layout* in = x.layout;
  Inferred out{x.dtype, x.device, nullptr, true, 0};
  switch (op) {
    case OpId::k_reshape: {
      FZ_RETURN_IF_ERROR(CheckDims(info.name, attrs, SizeOf(x.dtype)));
      const Layout* dense = Dense(attrs);
      if (dense->size != in->size) {
        return ValueError(tag, " cannot reshape ", Describe(x), " (", in->size, " elements) to ",
                          ToString(attrs), " (", dense->size, " elements).");
      }
      out.layout = ReshapeView(in, attrs);
      if (!out.layout) {
        out.layout = dense;
        out.view = false;
      }
      return out;
    }
    case OpId::k_permute_dims: {
      std::array<int64_t, kMaxRank> dims{}, strides{};
      uint64_t seen = 0;
      bool good = static_cast<int>(attrs.size()) == in->rank;
      for (size_t i = 0; good && i < attrs.size(); ++i) {
        good = attrs[i] >= 0 && attrs[i] < in->rank && !(seen >> attrs[i] & 1);
        if (!good) break;
        seen |= uint64_t{1} << attrs[i];
        dims[i] = in->extents[attrs[i]];
        strides[i] = in->strides_[attrs[i]];
      }
      if (!good)
        return ValueError(tag, " axes ", ToString(attrs), " are no permutation of the axes of ",
                          Describe(x), ".");
      out.layout = Intern({dims.data(), attrs.size()}, {strides.data(), attrs.size()});
      return out;
    }
    case OpId::k_broadcast_to: {
      FZ_RETURN_IF_ERROR(CheckDims(info.name, attrs, SizeOf(x.dtype)));
      bool good = static_cast<int>(attrs.size()) >= in->rank;
      const int shift = static_cast<int>(attrs.size()) - in->rank;
      for (int i = 0; good && i < in->rank; ++i)
        good = in->extents[i] == 1 || in->extents[i] == attrs[i + shift];
      if (!good)
        return ValueError(tag, " cannot broadcast ", Describe(x), " to shape ", ToString(attrs),
                          ".");
      out.layout = BroadcastLayout(in, Dense(attrs));
      return out;
    }
    case OpId::k_slice: {
      FZ_CHECK(static_cast<int>(attrs.size()) == 3 * in->rank);
      std::array<int64_t, kMaxRank> dims{}, strides{};
      for (int i = 0; i < in->rank; ++i) {
        const int64_t start = attrs[3 * i], step = attrs[3 * i + 1], n = attrs[3 * i + 2];
        const bool good =
            n == 0 || (n > 0 && step != 0 && start >= 0 && start < in->extents[i] &&
                       start + (n - 1) * step >= 0 && start + (n - 1) * step < in->extents[i]);
        if (!good) {
          return IndexError(tag, " start ", start, ", step ", step, ", size ", n, " leave axis ", i,
                            " of ", Describe(x), ".");
        }
        dims[i] = n;
        strides[i] = in->strides_[i] * step;
        if (n > 0) out.offset += start * in->strides_[i];
      }
      out.layout = Intern({dims.data(), static_cast<size_t>(in->rank)},
                          {strides.data(), static_cast<size_t>(in->rank)});
      if (out.layout->size == 0) out.offset = 0;
      return out;
    }
    case OpId::k_real:
    case OpId::k_imag: {
      std::array<int64_t, kMaxRank> strides{};
      for (int i = 0; i < in->rank; ++i) strides[i] = 2 * in->strides_[i];
      out.layout = Intern(in->dims(), {strides.data(), static_cast<size_t>(in->rank)});
      out.dtype = PartOf(x.dtype);
      out.offset = op == OpId::k_imag && in->size > 0;
      return out;
    }
    default:
      break;
  }
  return NotImplementedError(tag, " is no view.");
}

StatusOr<const Layout*> InferConcat(const OpInfo& info, Operands inputs, AttrSpan attrs) {
  const std::string tag = Tag(info);
  if (inputs.empty()) return ValueError(tag, " needs at least one array, got 0.");
  const Layout* first = inputs[0].layout;
  const int64_t axis = attrs[0];
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < first->rank; ++i) dims[i] = first->extents[i];
  dims[axis] = 0;
  for (const Operand& o : inputs) {
    bool good = o.layout->rank == first->rank;
    for (int i = 0; good && i < first->rank; ++i)
      good = i == axis || o.layout->extents[i] == dims[i];
    if (!good)
      return ValueError(tag, " shapes differ off axis ", axis, ": ", DescribeAll(inputs), ".");
    dims[axis] += o.layout->extents[axis];
  }
  return Dense({dims.data(), static_cast<size_t>(first->rank)});
}

StatusOr<const Layout*> InferPad(const OpInfo& info, const Operand& x, AttrSpan attrs) {
  FZ_CHECK(static_cast<int>(attrs.size()) == 2 * x.layout->rank);
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < x.layout->rank; ++i) {
    if (attrs[2 * i] < 0 || attrs[2 * i + 1] < 0) {
      return ValueError(Tag(info), " widths must not be negative: ", ToString(attrs), " for ",
                        Describe(x), ".");
    }
    if (__builtin_add_overflow(x.layout->extents[i], attrs[2 * i], &dims[i]) ||
        __builtin_add_overflow(dims[i], attrs[2 * i + 1], &dims[i])) {
      return MemoryError(Tag(info), " widths overflow: ", ToString(attrs), " for ", Describe(x),
                         ".");
    }
  }
  return Dense({dims.data(), static_cast<size_t>(x.layout->rank)});
}

// x.dims with `axes` axes from `axis` on replaced by the dims of indices.
std::pair<std::array<int64_t, kMaxRank * 2>, size_t> TakeDims(const Layout* x,
                                                              const Layout* indices, int64_t axis,
                                                              int64_t axes) {
  std::array<int64_t, kMaxRank * 2> dims{};
  size_t n = 0;
  for (int64_t i = 0; i < axis; ++i) dims[n++] = x->extents[i];
  for (int i = 0; i < indices->rank; ++i) dims[n++] = indices->extents[i];
  for (int64_t i = axis + axes; i < x->rank; ++i) dims[n++] = x->extents[i];
  return {dims, n};
}

StatusOr<const Layout*> InferTake(const OpInfo& info, Operands in, AttrSpan attrs) {
  const std::string tag = Tag(info);
  const Operand &x = in[0], &indices = in[1];
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) {
    return TypeError(tag, " indices must be int32 or int64, got ", Describe(indices), ".");
  }
  const bool put = info.klass == OpClass::kPut;
  const auto [dims, n] = TakeDims(x.layout, indices.layout, attrs[0], put ? attrs[2] : 1);
  FZ_RETURN_IF_ERROR(CheckDims(info.name, {dims.data(), n}, SizeOf(x.dtype)));
  const Layout* taken = Dense({dims.data(), n});
  if (!put) return taken;
  if (in[2].layout->shape != taken) {
    return ValueError(tag, " updates must have shape ", ToString(taken->dims()), ", got ",
                      Describe(in[2]), ".");
  }
  return x.layout->shape;
}

StatusOr<const Layout*> InferMatmul(const OpInfo& info, const Operand& a, const Operand& b) {
  const std::string tag = Tag(info);
  const Layout *la = a.layout, *lb = b.layout;
  if (la->rank < 2 || la->rank != lb->rank) {
    return ValueError(tag, " needs equal ranks of at least 2: a is ", Describe(a), ", b is ",
                      Describe(b), ".");
  }
  const int r = la->rank;
  if (la->extents[r - 1] != lb->extents[r - 2]) {
    return ValueError(tag, " inner dimensions differ: a is ", Describe(a), ", b is ", Describe(b),
                      " (", la->extents[r - 1], " vs ", lb->extents[r - 2], ").");
  }
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < r - 2; ++i) {
    const int64_t da = la->extents[i], db = lb->extents[i];
    if (da != db && da != 1 && db != 1) {
      return ValueError(tag, " batch axes do not broadcast: a is ", Describe(a), ", b is ",
                        Describe(b), " (", da, " vs ", db, ").");
    }
    dims[i] = da == 1 ? db : da;
  }
  dims[r - 2] = la->extents[r - 2];
  dims[r - 1] = lb->extents[r - 1];
  return Dense({dims.data(), static_cast<size_t>(r)});
}

// Floats of 32 or 64 bits, whose axes before the last `inner` are those of the first.
Status CheckAttention(const OpInfo& info, Operands in, std::initializer_list<int> inner) {
  const std::string tag = Tag(info);
  if (IsHalf(in[0].dtype))
    return TypeError(tag, " computes in float32 or float64, got ", Describe(in[0]), ".");
  const int batch_axes = in[0].layout->rank - *inner.begin();
  size_t i = 0;
  for (const int n : inner) {
    const Layout* layout = in[i++].layout;
    bool good = batch_axes >= 0 && layout->rank == batch_axes + n;
    for (int axis = 0; good && axis < batch_axes; ++axis)
      good = layout->extents[axis] == in[0].layout->extents[axis];
    if (!good) return ValueError(tag, " batch axes differ: ", DescribeAll(in), ".");
  }
  return absl::OkStatus();
}

StatusOr<const Layout*> Flat(const OpInfo& info, std::initializer_list<Dims> parts, DType dtype) {
  int64_t n = 0;
  for (const Dims dims : parts) {
    FZ_RETURN_IF_ERROR(CheckDims(info.name, dims, SizeOf(dtype)));
    int64_t size = 1;
    for (const int64_t extent : dims) size *= extent;
    n += size;  // each below 2^60
  }
  return Dense({&n, 1});
}

StatusOr<const Layout*> InferAttention(const OpInfo& info, Operands in) {
  const bool gradient = info.klass == OpClass::kAttentionGrad;
  FZ_RETURN_IF_ERROR(gradient ? CheckAttention(info, in, {2, 2, 2, 2, 1, 1})
                              : CheckAttention(info, in, {2, 2, 2}));
  const Dims q = in[0].layout->dims(), k = in[1].layout->dims(), v = in[2].layout->dims();
  const size_t r = q.size();
  bool good = q[r - 1] == k[r - 1] && k[r - 2] == v[r - 2];
  if (gradient) {
    const Dims g = in[3].layout->dims();
    good = good && g[r - 2] == q[r - 2] && g[r - 1] == v[r - 1];
    for (int i = 4; i < 6; ++i) good = good && in[i].layout->dims()[r - 2] == q[r - 2];
  }
  if (!good) return ValueError(Tag(info), " shapes do not match: ", DescribeAll(in), ".");
  if (gradient) return Flat(info, {q, k, v}, in[0].dtype);
  absl::InlinedVector<int64_t, 8> results(q.begin(), q.end());
  results[r - 1] = v[r - 1];
  return Flat(info, {results, q.first(r - 1)}, in[0].dtype);
}

// Operands of linear algebra: matrices whose axes before the last two are equal; flat factors have
// one axis behind these.
StatusOr<const Layout*> InferLapack(OpId op, const OpInfo& info, Operands in, AttrSpan attrs) {
  FZ_CHECK(attrs.size() == 1);
  const Layout* a = in[0].layout;
  if (!IsInexact(in[0].dtype) || IsHalf(in[0].dtype)) {
    return TypeError(Tag(info), " computes in float32, float64, complex64 or complex128, got ",
                     Describe(in[0]), ".");
  }
  if (a->rank < 2)
    return LinAlgError(Tag(info), " needs at least two axes, got ", Describe(in[0]), ".");
  const int64_t m = a->dim(-2), n = a->dim(-1);
  if (std::max<int64_t>(m, 1) > kMostOfLapack / std::max<int64_t>(n, 1))
    return ValueError(Tag(info), " takes matrices of up to ", kMostOfLapack, " elements, got ",
                      Describe(in[0]), ".");
  const bool any_shape =
      op == OpId::k_qr_factors || op == OpId::k_svd_factors || op == OpId::k_pseudo_inverse;
  if (!any_shape && m != n)
    return LinAlgError(Tag(info), " needs square matrices, got ", Describe(in[0]), ".");
  const auto batch = a->dims().first(static_cast<size_t>(a->rank - 2));
  absl::InlinedVector<int64_t, 8> dims(batch.begin(), batch.end());
  const auto fits = [&](const Layout* other, size_t axes) {
    return other->dims().size() == batch.size() + axes &&
           other->dims().first(batch.size()) == batch;
  };
  const int64_t factors = MatrixParts::Of(OpId::k_lu_factor, n, n, 0).size;
  const Layout* last = in.back().layout;
  bool good = true;
  if (op == OpId::k_lu_solve || op == OpId::k_triangular_solve) {
    good = fits(last, 2) && last->dim(-2) == n;
    if (op == OpId::k_lu_solve)
      good = good && fits(in[1].layout, 1) && in[1].layout->dim(-1) == factors;
    dims.insert(dims.end(), last->dims().end() - 2, last->dims().end());
  } else if (op == OpId::k_pseudo_inverse) {
    good = fits(last, 0);
  }
  if (!good) return ValueError(Tag(info), " shapes do not match: ", DescribeAll(in), ".");
  const MatrixParts parts = MatrixParts::Of(op, m, n, attrs[0]);
  if (parts.count > 0) dims.push_back(parts.size);
  return Dense(dims);
}

// How many windows fit along an axis; an error where the sizes make no sense.
StatusOr<int64_t> Windows(const OpInfo& info, Operands in, AttrSpan attrs, int axis,
                          int64_t kernel) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const int64_t extent = in[0].layout->extents[1 + axis];
  const int64_t stride = attrs[kConvStride + axis], dilation = attrs[kConvDilation + axis];
  const int64_t low = attrs[kConvPadding + 2 * axis], high = attrs[kConvPadding + 2 * axis + 1];
  for (int64_t v : {stride, dilation, low, high, kernel, extent}) {
    if (v > kMost || v < -kMost)
      return ValueError(Tag(info), " sizes are too large: ", DescribeAll(in), ".");
  }
  if (stride < 1 || dilation < 1) {
    return ValueError(Tag(info), " stride and dilation must be at least 1, got ", stride, " and ",
                      dilation, ".");
  }
  double span = double(dilation) * double(kernel - 1) + 1;
  if (kernel < 1 || span > double(extent + low + high)) {
    return ValueError(Tag(info), " the kernel, ", kernel, " with dilation ", dilation,
                      ", does not fit ", extent, " elements with ", low, " and ", high,
                      " of padding: ", DescribeAll(in), ".");
  }
  return (extent + low + high - int64_t(span)) / stride + 1;
}

StatusOr<const Layout*> InferConv(const OpInfo& info, Operands in, AttrSpan attrs) {
  const bool weights = info.klass == OpClass::kConvWeights;
  FZ_CHECK(attrs.size() == size_t(kConvAttrs + (weights ? 2 : 0)));
  const Layout *x = in[0].layout, *other = in[1].layout;
  if (x->rank != 4 || other->rank != 4)
    return ValueError(Tag(info), " needs four axes, got ", DescribeAll(in), ".");
  const auto kernel = [&](int axis) {
    return weights ? attrs[kConvAttrs + axis] : other->extents[axis];
  };
  FZ_ASSIGN_OR_RETURN(const int64_t h, Windows(info, in, attrs, 0, kernel(0)));
  FZ_ASSIGN_OR_RETURN(const int64_t w, Windows(info, in, attrs, 1, kernel(1)));
  const int64_t batch = x->extents[0], channels = x->extents[3], outputs = other->extents[3];
  if (!weights) {
    if (other->extents[2] != channels) {
      return ValueError(Tag(info), " channels differ: ", DescribeAll(in), " (", channels, " vs ",
                        other->extents[2], ").");
    }
    return Dense({batch, h, w, outputs});
  }
  if (other->extents[0] != batch || other->extents[1] != h || other->extents[2] != w) {
    return ValueError(Tag(info), " outputs must be ", ToString({batch, h, w}), ": ",
                      DescribeAll(in), ".");
  }
  return Dense({kernel(0), kernel(1), channels, outputs});
}

StatusOr<const Layout*> InferFourier(OpId op, const OpInfo& info, const Operand& x,
                                     AttrSpan attrs) {
  absl::InlinedVector<int64_t, 8> dims(x.layout->dims().begin(), x.layout->dims().end());
  const int64_t extent = attrs[kFourierExtent];
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!(attrs[kFourierAxes] >> i & 1)) continue;
    const int64_t half = op == OpId::k_fft_c2r ? extent / 2 + 1 : dims[i] / 2 + 1;
    if (dims[i] < 1 || (op == OpId::k_fft_r2c && extent != half && extent != dims[i]) ||
        (op == OpId::k_fft_c2r && (extent < 1 || half != dims[i]))) {
      return ValueError(Tag(info), " no transform of ", dims[i], " points has ", extent, ": ",
                        Describe(x), ".");
    }
    if (op != OpId::k_fft_c2c) dims[i] = extent;
  }
  return Dense(dims);
}

// How many values a structure places; -1 if it is none of such a matrix.
int64_t Entries(const Layout* structure, AttrSpan attrs) {
  if (structure->rank != 1) return -1;
  if (attrs[kSparsePairs]) return structure->size % 2 == 0 ? structure->size / 2 : -1;
  return std::max<int64_t>(-1, structure->size - 1 - attrs[kSparseRows]);
}

StatusOr<const Layout*> InferSparse(OpId op, const OpInfo& info, Operands in, AttrSpan attrs) {
  FZ_CHECK(attrs.size() == kSparseAttrs);
  const int64_t shape[] = {attrs[kSparseRows], attrs[kSparseColumns]};
  if (IsBool(in[0].dtype)) return TypeError(Tag(info), " takes numbers, got bool.");
  if (in[1].dtype != DType::kI32 && in[1].dtype != DType::kI64) {
    return TypeError(Tag(info), " places must be int32 or int64, got ", Describe(in[1]), ".");
  }
  const Layout *a = in[0].layout, *b = in[2].layout;
  const int64_t entries = Entries(in[1].layout, attrs);
  const bool sample = op == OpId::k_sparse_sample, transposed = attrs[kSparseTransposed];
  const bool good = shape[0] >= 0 && shape[1] >= 0 && entries >= 0 && b->rank == 2 &&
                    b->extents[0] == shape[transposed ? 0 : 1] &&
                    (sample ? a->rank == 2 && a->extents[0] == shape[0] && a->dim(1) == b->dim(1)
                            : a->rank == 1 && a->size == entries);
  if (!good) {
    return ValueError(Tag(info), " a sparse matrix of shape ", ToString(shape), " does not fit ",
                      DescribeAll(in), ".");
  }
  if (sample) return Dense({&entries, 1});
  return Dense({shape[transposed ? 1 : 0], b->extents[1]});
}

StatusOr<const Layout*> InferCollective(const OpInfo& info, const Operand& x, AttrSpan attrs) {
  const Collective kind = KindOfCollective(attrs);
  if (kind == Collective::kSend || kind == Collective::kBarrier) return Dense({0});
  if (!ByRows(kind)) return x.layout->shape;
  const int64_t ranks = attrs[kCollectiveRanks];
  if (x.layout->rank == 0)
    return ValueError(Tag(info), " needs an axis 0 of which ranks have parts, got ", Describe(x),
                      ".");
  absl::InlinedVector<int64_t, 8> dims(x.layout->dims().begin(), x.layout->dims().end());
  if (kind != Collective::kAllGather && dims[0] % ranks != 0)
    return ValueError(Tag(info), " axis 0 must be a multiple of ", ranks, " ranks, got ",
                      Describe(x), ".");
  if (kind == Collective::kAllGather) dims[0] *= ranks;
  if (kind == Collective::kReduceScatter) dims[0] /= ranks;
  return Dense(dims);
}

StatusOr<const Layout*> InferShape(OpId op, const OpInfo& info, Operands in, AttrSpan attrs) {
  switch (info.klass) {
    case OpClass::kElementwise:
    case OpClass::kComplex:
      return InferElementwise(info, in);
    case OpClass::kCast:
    case OpClass::kTransfer:
      return in[0].layout->shape;
    case OpClass::kReduce:
      return InferReduce(info, in[0].layout, attrs);
    case OpClass::kConcat:
      return InferConcat(info, in, attrs);
    case OpClass::kPad:
      return InferPad(info, in[0], attrs);
    case OpClass::kTake:
    case OpClass::kPut:
      return InferTake(info, in, attrs);
    case OpClass::kPositions: {
      const int64_t dims[] = {in[0].layout->rank, attrs[0]};
      return Dense(attrs[1] ? Dims(dims) : Dims(dims).subspan(1));
    }
    case OpClass::kSort:
    case OpClass::kScan:
      return in[0].layout->shape;
    case OpClass::kFourier:
      return InferFourier(op, info, in[0], attrs);
    case OpClass::kSparse:
      return InferSparse(op, info, in, attrs);
    case OpClass::kMatmul:
      return InferMatmul(info, in[0], in[1]);
    case OpClass::kAttention:
    case OpClass::kAttentionGrad:
      return InferAttention(info, in);
    case OpClass::kConv:
    case OpClass::kConvWeights:
      return InferConv(info, in, attrs);
    case OpClass::kLapack:
      return InferLapack(op, info, in, attrs);
    case OpClass::kCollective:
      return InferCollective(info, in[0], attrs);
    case OpClass::kCollectiveWait:
      return in[0].layout->shape;
    case OpClass::kIota:
      return Dense({&attrs[1], 1});
    case OpClass::kRandomBits:
      if (in[0].dtype != DType::kU64 || in[0].layout->size != 2) {
        return TypeError(Tag(info), " state must be u64[2], got ", Describe(in[0]), ".");
      }
      FZ_RETURN_IF_ERROR(CheckDims(info.name, attrs, 4));
      return Dense(attrs);
    case OpClass::kView:
      break;
  }
  return NotImplementedError(Tag(info), " has no inference.");
}

DType ResultDType(const OpInfo& info, Operands in, AttrSpan attrs) {
  switch (info.result) {
    case ResultType::kSame:
      return in[info.traits & traits::kSelects ? 1 : 0].dtype;
    case ResultType::kBool:
      return DType::kBool;
    case ResultType::kI64:
      return DType::kI64;
    case ResultType::kU32:
      return DType::kU32;
    case ResultType::kAttr:
      return static_cast<DType>(attrs[0]);
    case ResultType::kPart:
      return PartOf(in[0].dtype);
    case ResultType::kComplex:
      return ComplexFor(in[0].dtype);
  }
  return DType::kF32;
}

}  // namespace

bool IsNumber(const Operand& o) {
  if (!(o.device == Device())) return false;
  if (o.layout->size == 0) return true;
  for (int i = 0; i < o.layout->rank; ++i) {
    if (o.layout->strides_[i] != 0) return false;
  }
  return true;
}

StatusOr<Inferred> Infer(OpId op, Operands inputs, AttrSpan attrs) {
  const OpInfo& info = Info(op);
  if (info.klass == OpClass::kCollective) inputs = inputs.first(1);  // others say when it runs
  FZ_RETURN_IF_ERROR(CheckTypes(info, inputs));
  if (info.klass == OpClass::kView) return InferView(op, info, inputs[0], attrs);
  Inferred out;
  FZ_ASSIGN_OR_RETURN(out.layout, InferShape(op, info, inputs, attrs));
  out.dtype = ResultDType(info, inputs, attrs);
  out.device = DeviceOf(inputs);
  if (info.klass == OpClass::kTransfer) out.device.word = static_cast<uint8_t>(attrs[0]);
  FZ_RETURN_IF_ERROR(CheckDims(info.name, out.layout->dims(), SizeOf(out.dtype)));
  return out;
}

StatusOr<Inferred> Infer(const OpCall& call) {
  absl::InlinedVector<Operand, 4> operands;
  for (const Tensor* t : call.inputs) operands.push_back({t->dtype(), t->device(), t->layout()});
  return Infer(call.op, operands, call.attrs);
}

namespace {

// Whether all of `n` integers, `step` apart, lie in [low, high), and whether one is negative. The
// sign of (i - low) | (high - 1 - i), which may wrap, is set where i is outside.
struct Signs {
  uint64_t outside = 0, negative = 0;  // their uppermost bits
};
template <typename T>
Signs SignsOf(const T* data, int64_t n, int64_t step, IndexRange range) {
  const uint64_t low = static_cast<uint64_t>(range.low),
                 last = static_cast<uint64_t>(range.high) - 1;
  Signs signs;
  for (int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<uint64_t>(static_cast<int64_t>(data[i * step]));
    signs.outside |= (index - low) | (last - index);
    signs.negative |= index;
  }
  return signs;
}

template <typename T>
Signs SignsOf(const Value& v, IndexRange range) {
  const Layout& layout = *v.layout;
  const T* data = reinterpret_cast<const T*>(v.data);
  if (layout.dense) {
    std::atomic<uint64_t> outside{0}, negative{0};
    ParallelFor(layout.size, tuned::kSignsGrain, [&](int64_t begin, int64_t end) {
      const Signs part = SignsOf(data + begin, end - begin, 1, range);
      outside.fetch_or(part.outside, std::memory_order_relaxed);
      negative.fetch_or(part.negative, std::memory_order_relaxed);
    });
    return {outside.load(), negative.load()};
  }
  if (layout.rank == 1) return SignsOf(data, layout.size, layout.strides_[0], range);
  Signs signs;
  ForEachIndex(layout, [&](int64_t, int64_t element) {
    const Signs one = SignsOf(data + element, 1, 1, range);
    signs.outside |= one.outside;
    signs.negative |= one.negative;
    return true;
  });
  return signs;
}

int64_t IndexAt(const Value& v, const char* p) {
  if (SizeOf(v.dtype) == 8) {
    int64_t index;
    std::memcpy(&index, p, 8);
    return index;
  }
  int32_t index;
  std::memcpy(&index, p, 4);
  return index;
}

}  // namespace

ValueRef Behind(ValueRef value) {
  while (Pending* pending = value->pending.load(std::memory_order_acquire)) {
    ValueRef behind = pending->Behind(value.get());
    if (!behind) break;
    value = std::move(behind);
  }
  return value;
}

StatusOr<bool> CheckIndexRange(std::string_view op, const Tensor& indices, IndexRange range,
                               absl::FunctionRef<std::string()> of) {
  ValueRef ready = Behind(indices.value_ref());  // the cell's content may change meanwhile
  ReadObserver* observer = State().observer;
  if (ValueRef seen = observer ? observer->Peek(*ready) : ValueRef()) {
    ready = std::move(seen);
  } else {
    FZ_RETURN_IF_ERROR(Read(*ready, Reading::kInside));
  }
  FZ_ASSIGN_OR_RETURN(const ValueRef value, OnHost(*ready));
  const Signs signs = SizeOf(indices.dtype()) == 8 ? SignsOf<int64_t>(*value, range)
                                                   : SignsOf<int32_t>(*value, range);
  if (!(signs.outside >> 63)) {
    if (observer) observer->OnIndexCheck(op, *ready, range, of());
    return (signs.negative >> 63) != 0;
  }
  if (observer) observer->OnIndexError();
  int64_t bad = 0;  // the first in row-major order
  ForEachElement(*value, [&](int64_t, const char* p) {
    bad = IndexAt(*value, p);
    return bad >= range.low && bad < range.high;
  });
  return IndexError("[", std::string(op), "] index ", bad, " is out of range for ", range.high, " ",
                    of(), ".");
}

Status CheckData(const OpCall& call) {
  const OpInfo& info = Info(call.op);
  if (info.klass != OpClass::kTake && info.klass != OpClass::kPut) return absl::OkStatus();
  FZ_RETURN_IF_ERROR(Infer(call).status());  // a wrong shape is reported before a wrong index
  const Tensor& x = *call.inputs[0];
  int64_t extent = 1;
  const int64_t axis = call.attrs[0], axes = info.klass == OpClass::kPut ? call.attrs[2] : 1;
  for (int64_t a = axis; a < axis + axes; ++a) extent *= x.layout()->extents[a];
  return CheckIndexRange(info.name, *call.inputs[1], {0, extent},
                         [&] { return ElementsAlong(x, axis); })
      .status();
}

std::string ElementsAlong(const Tensor& x, int64_t axis) {
  return absl::StrCat("elements along axis ", axis, " of ", Describe(x));
}

}  // namespace frazil
