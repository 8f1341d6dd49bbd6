#include "tests/jit/graph_gen.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "core/check.h"
#include "core/str.h"
#include "jit/eager/eager.h"
#include "jit/run/plan.h"

namespace frazil::jit {
namespace {

constexpr double kSpecial[] = {0.0,   -0.0,     1.0,       -1.0, 0.5,   -2.5,
                               1e-42, INFINITY, -INFINITY, NAN,  127.0, -128.0};

template <typename T>
void PutElement(Rng& rng, char* at) {
  const bool special = Below(rng, 4) == 0;
  const double x = special ? kSpecial[Below(rng, std::size(kSpecial))]
                           : (double(rng() >> 11) / double(1ull << 53) - 0.5) * 8;
  T value;
  if constexpr (std::is_same_v<T, bool>) {
    value = rng() & 1;
  } else if constexpr (std::is_same_v<T, Half>) {
    value = ToHalf(x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    value = ToBFloat16(x);
  } else if constexpr (std::is_integral_v<T>) {
    value = special ? static_cast<T>(rng()) : static_cast<T>(Below(rng, 9) - 4);
  } else {
    value = static_cast<T>(x);
  }
  std::memcpy(at, &value, sizeof(T));
}

void PutRandom(Rng& rng, DType dtype, char* at) {
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return PutElement<T>(rng, at);
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      break;
  }
}

// First and last element, relative to the first.
std::pair<int64_t, int64_t> Span(const Layout* layout) {
  int64_t low = 0, high = 0;
  for (int i = 0; i < layout->rank; ++i) {
    const int64_t reach = (layout->extents[i] - 1) * layout->strides_[i];
    (reach < 0 ? low : high) += reach;
  }
  return layout->size == 0 ? std::pair<int64_t, int64_t>{0, -1} : std::pair{low, high};
}

bool IsNan(DType dtype, const char* at) {
  switch (dtype) {
    case DType::kF16: {
      Half h;
      std::memcpy(&h, at, 2);
      return std::isnan(ToFloat(h));
    }
    case DType::kBF16: {
      BFloat16 b;
      std::memcpy(&b, at, 2);
      return std::isnan(ToFloat(b));
    }
    case DType::kF32: {
      float f;
      std::memcpy(&f, at, 4);
      return std::isnan(f);
    }
    case DType::kF64: {
      double d;
      std::memcpy(&d, at, 8);
      return std::isnan(d);
    }
    default:
      return false;
  }
}

// Grows a graph by ops whose operands are chosen among what is there.
class Grower {
 public:
  Grower(Rng& rng, bool large) : rng_(rng), large_(large) {}

  Graph Run(int ops) {
    const int64_t extents[] = {1, 2, 3, 5, 8, 17};
    n_ = extents[Below(rng_, 6)];
    m_ = extents[Below(rng_, 6)];
    if (large_) (Below(rng_, 2) ? n_ : m_) = 4000 + Below(rng_, 9000);
    AddInputs();
    for (int made = 0, tries = 0; made < ops && tries < 40 * ops; ++tries) made += AddOne();
    const int outputs = 1 + static_cast<int>(Below(rng_, 4));
    graph_.outputs.push_back(static_cast<int32_t>(graph_.nodes.size()) - 1);
    for (int i = 1; i < outputs; ++i) graph_.outputs.push_back(Any());
    return std::move(graph_);
  }

 private:
  int32_t Any() { return static_cast<int32_t>(Below(rng_, graph_.nodes.size())); }
  const Node& At(int32_t id) const { return graph_.nodes[id]; }

  void AddInputs() {
    const DType dtypes[] = {DType::kF32, DType::kF32,  DType::kF32,  DType::kI32, DType::kF64,
                            DType::kF16, DType::kBF16, DType::kBool, DType::kI8,  DType::kU32};
    const int count = 2 + static_cast<int>(Below(rng_, 4));
    for (int i = 0; i < count; ++i) {
      const DType dtype = dtypes[Below(rng_, std::size(dtypes))];
      const Layout* layouts[] = {
          Dense({n_, m_}), Dense({n_, m_}),    Intern({n_, m_}, {1, n_}),    Dense({m_}),
          Dense({n_, 1}),  Dense({2, n_, m_}), Intern({n_, m_}, {2 * m_, 2})};
      const bool scalar = Below(rng_, 6) == 0;
      graph_.AddInput(dtype, Device(),
                      scalar ? Scalar0d() : layouts[Below(rng_, std::size(layouts))], scalar);
    }
  }

  bool Try(OpId op, absl::Span<const int32_t> operands, AttrSpan attrs) {
    const auto inferred = InferNode(graph_, op, operands, attrs);
    if (!inferred.ok() || inferred->layout->size > (large_ ? 300000 : 4000)) return false;
    return graph_.AddOp(op, operands, attrs).ok();
  }

  bool AddOne() {
    const OpId op = static_cast<OpId>(Below(rng_, kNumOps));
    const int32_t x = Any(), y = Any(), z = Any();
    const int rank = At(x).layout->rank;
    switch (Info(op).klass) {
      case OpClass::kElementwise: {
        // A NaN that arithmetic made has either sign.
        if (op == OpId::k_signbit && IsFloat(At(x).dtype)) return false;
        const int32_t operands[] = {x, y, z};
        return Try(op, absl::MakeConstSpan(operands, Info(op).arity), {});
      }
      case OpClass::kCast:
        return Try(op, {x}, {Below(rng_, kNumRealDTypes)});
      case OpClass::kReduce:
        if (Info(op).result == ResultType::kI64)
          return rank > 0 && Try(op, {x}, {int64_t{1} << Below(rng_, rank), Below(rng_, 2)});
        return Try(op, {x}, {Below(rng_, int64_t{1} << rank), Below(rng_, 2)});
      case OpClass::kView:
        return AddView(op, x);
      case OpClass::kConcat:
        return rank > 0 && Try(op, {x, y, x}, {Below(rng_, rank)});
      case OpClass::kPad: {
        Attrs widths;
        for (int i = 0; i < 2 * rank; ++i) widths.push_back(Below(rng_, 3));
        return At(y).layout->rank == 0 && Try(op, {x, y}, widths);
      }
      case OpClass::kMatmul:
        return Try(op, {x, y}, {});
      case OpClass::kIota:
        return Below(rng_, 4) == 0 && Try(op, {}, {int64_t(DType::kI64), m_});
      default:
        return false;  // operands of their own kind: tested apart
    }
  }

  bool AddView(OpId op, int32_t x) {
    const Layout* layout = At(x).layout;
    Attrs attrs;
    switch (op) {
      case OpId::k_permute_dims:
        for (int i = 0; i < layout->rank; ++i) attrs.push_back(i);
        std::shuffle(attrs.begin(), attrs.end(), rng_);
        break;
      case OpId::k_reshape:
        if (Below(rng_, 2))
          attrs.push_back(layout->size);
        else
          for (int i = layout->rank; i-- > 0;) attrs.push_back(layout->extents[i]);
        break;
      case OpId::k_broadcast_to:
        if (Below(rng_, 2)) attrs.push_back(2);
        for (int i = 0; i < layout->rank; ++i)
          attrs.push_back(layout->extents[i] == 1 ? 3 : layout->extents[i]);
        break;
      default:
        for (int i = 0; i < layout->rank; ++i) {
          const int64_t n = layout->extents[i];
          const int64_t start = n ? Below(rng_, n) : 0, step = Below(rng_, 2) ? 1 : -1;
          const int64_t most = n == 0 ? 0 : step > 0 ? n - start : start + 1;
          const bool whole = Below(rng_, 2);
          attrs.push_back(whole ? 0 : start);
          attrs.push_back(whole ? 1 : step);
          attrs.push_back(whole ? n : most);
        }
    }
    return Try(op, {x}, attrs);
  }

  Rng& rng_;
  const bool large_;
  Graph graph_;
  int64_t n_ = 1, m_ = 1;
};

}  // namespace

ValueRef RandomValue(Rng& rng, DType dtype, const Layout* layout) {
  const auto [low, high] = Span(layout);
  const int64_t size = SizeOf(dtype);
  auto storage = Allocate((high - low + 1) * size);
  FZ_CHECK(storage.ok());
  for (int64_t i = 0; i <= high - low; ++i) PutRandom(rng, dtype, (*storage)->data + i * size);
  char* data = (*storage)->data - low * size;
  return Value::Make(dtype, Device(), layout, *std::move(storage), data);
}

ValueRef RandomScalar(Rng& rng, DType dtype) {
  uint64_t bits = 0;
  PutRandom(rng, dtype, reinterpret_cast<char*>(&bits));
  return Value::Immediate(dtype, bits);
}

std::vector<ValueRef> RandomInputs(Rng& rng, const Graph& graph) {
  std::vector<ValueRef> values;
  for (int i = 0; i < graph.num_inputs; ++i) {
    const Node& node = graph.nodes[i];
    values.push_back(node.immediate ? RandomScalar(rng, node.dtype)
                                    : RandomValue(rng, node.dtype, node.layout));
    if (node.zero) values.back() = Value::Immediate(node.dtype, 0);
  }
  return values;
}

Graph RandomGraph(Rng& rng, int ops, bool large) { return Grower(rng, large).Run(ops); }

namespace {

Status RunNode(const Graph& graph, size_t id, std::vector<ValueRef>* values) {
  const Node& node = graph.nodes[id];
  std::vector<Value*> operands;
  for (const int32_t operand : node.operands) operands.push_back((*values)[operand].get());
  FZ_ASSIGN_OR_RETURN((*values)[id], RunOp(node.op, operands, node.attrs));
  return absl::OkStatus();
}

// A window of `like`'s shape, `at` elements behind the first of `value`.
StatusOr<ValueRef> WindowOf(Value* value, const Node& like, int64_t at) {
  return jit::MakeView(*value, like.dtype, like.layout, at * SizeOf(like.dtype));
}

// The nodes [begin, end) are a loop and its results.
Status RunLoop(const Graph& graph, size_t begin, size_t end, std::vector<ValueRef>* values) {
  const Node& node = graph.nodes[begin];
  const Loop& loop = *node.loop;
  using Kind = Loop::Source::Kind;
  std::vector<ValueRef> before;
  std::map<size_t, std::vector<ValueRef>> every;
  for (int64_t t = 0; t < loop.times; ++t) {
    std::vector<ValueRef> inputs;
    for (size_t i = 0; i < loop.sources.size(); ++i) {
      const Loop::Source& s = loop.sources[i];
      const int64_t at = s.operand + (s.kind == Kind::kEach ? t : 0);
      ValueRef value = (*values)[node.operands[at]];
      if (s.kind == Kind::kSlide) {
        FZ_ASSIGN_OR_RETURN(value, WindowOf(value.get(), loop.body.nodes[i], s.start + t * s.step));
      }
      inputs.push_back(s.kind == Kind::kState && t > 0 ? before[s.next] : std::move(value));
    }
    FZ_ASSIGN_OR_RETURN(before, RunOpByOp(loop.body, inputs));
    for (size_t id = begin + 1; id < end; ++id) {
      const Node& result = graph.nodes[id];
      if (result.role == Role::kEnd) (*values)[id] = before[result.attrs[0]];
      if (result.role == Role::kEvery) every[id].push_back(before[result.attrs[0]]);
    }
    if (loop.condition >= 0 &&
        !*reinterpret_cast<const bool*>(before[size_t(loop.condition)]->data))
      break;
  }
  for (const auto& [id, parts] : every) {
    std::vector<ValueRef> rows;
    std::vector<Value*> operands;
    for (const ValueRef& part : parts) {
      Value* x = part.get();
      Attrs dims = {1};
      for (const int64_t extent : part->layout->shape->dims()) dims.push_back(extent);
      FZ_ASSIGN_OR_RETURN(rows.emplace_back(), RunOp(OpId::k_reshape, {&x, 1}, dims));
      operands.push_back(rows.back().get());
    }
    FZ_ASSIGN_OR_RETURN((*values)[id], RunOp(OpId::k_concat, operands, {0}));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<ValueRef>> RunOpByOp(const Graph& graph, absl::Span<const ValueRef> inputs) {
  std::vector<ValueRef> values(inputs.begin(), inputs.end());
  values.resize(graph.nodes.size());
  for (size_t id = inputs.size(); id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].loop) {
      const auto end = static_cast<size_t>(EndOfLoop(graph, static_cast<int32_t>(id)));
      FZ_RETURN_IF_ERROR(RunLoop(graph, id, end, &values));
      id = end - 1;
    } else {
      FZ_RETURN_IF_ERROR(RunNode(graph, id, &values));
    }
  }
  std::vector<ValueRef> outputs;
  for (const int32_t id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

std::string Differences(const Value& a, const Value& b) {
  if (a.dtype != b.dtype || a.layout->shape != b.layout->shape)
    return StrCat(Describe(a), " against ", Describe(b));
  const int size = SizeOf(a.dtype);
  std::array<int64_t, kMaxRank> at{};
  int64_t bad = 0;
  std::string first;
  for (int64_t n = 0; n < a.size(); ++n) {
    int64_t ea = 0, eb = 0;
    for (int i = 0; i < a.layout->rank; ++i) {
      ea += at[i] * a.layout->strides_[i];
      eb += at[i] * b.layout->strides_[i];
    }
    const char *pa = a.data + ea * size, *pb = b.data + eb * size;
    if (std::memcmp(pa, pb, size) != 0 && !(IsNan(a.dtype, pa) && IsNan(b.dtype, pb))) {
      uint64_t wa = 0, wb = 0;
      std::memcpy(&wa, pa, size);
      std::memcpy(&wb, pb, size);
      if (bad++ == 0)
        first = StrCat(Describe(a), " element ", n, ": bits ", absl::Hex(wa), " against ",
                       absl::Hex(wb));
    }
    for (int i = a.layout->rank - 1; i >= 0 && ++at[i] == a.layout->extents[i]; --i) at[i] = 0;
  }
  return bad ? StrCat(first, " (", bad, " of ", a.size(), " differ)") : "";
}

std::vector<Value*> Pointers(absl::Span<const ValueRef> values) {
  std::vector<Value*> pointers;
  for (const ValueRef& v : values) pointers.push_back(v.get());
  return pointers;
}

}  // namespace frazil::jit
