#include "tests/jit/graph_reference.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace frazil::jit {
namespace {

using I = __int128;

uint64_t Mask(DType t) {
  return IsBool(t) ? 1 : BitsOf(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitsOf(t)) - 1;
}

I ToInt(DType t, uint64_t bits) {
  if (!IsSigned(t)) return I(bits & Mask(t));
  const int unused = 64 - BitsOf(t);
  return I(int64_t(bits << unused) >> unused);
}
uint64_t FromInt(DType t, I x) { return IsBool(t) ? x != 0 : uint64_t(x) & Mask(t); }

I FloorDivInt(I a, I b) {
  if (b == 0) return 0;
  const I q = a / b;
  return a % b != 0 && ((a % b < 0) != (b < 0)) ? q - 1 : q;
}
I FloorModInt(I a, I b) { return b == 0 ? 0 : a - FloorDivInt(a, b) * b; }

I PowInt(DType t, I a, I b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
  uint64_t result = 1, square = uint64_t(a);
  for (I e = b; e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return ToInt(t, result & Mask(t));
}

I IntOp(OpId op, DType t, I a, I b) {
  const int bits = BitsOf(t);
  switch (op) {
    case OpId::k_negative:
      return -a;
    case OpId::k_abs:
      return a < 0 ? -a : a;
    case OpId::k_sign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case OpId::k_bitwise_invert:
      return IsBool(t) ? !a : ~a;
    case OpId::k_copy:
      return a;
    case OpId::k_add:
      return a + b;
    case OpId::k_subtract:
      return a - b;
    case OpId::k_multiply:
      return I(uint64_t(a) * uint64_t(b));
    case OpId::k_floor_divide:
      return FloorDivInt(a, b);
    case OpId::k_remainder:
      return FloorModInt(a, b);
    case OpId::k_pow:
      return PowInt(t, a, b);
    case OpId::k_maximum:
      return a > b ? a : b;
    case OpId::k_minimum:
      return a < b ? a : b;
    case OpId::k_bitwise_and:
      return a & b;
    case OpId::k_bitwise_or:
      return a | b;
    case OpId::k_bitwise_xor:
      return a ^ b;
    case OpId::k_bitwise_left_shift:
      return b < 0 || b >= bits ? 0 : I(uint64_t(a) << int(b));
    case OpId::k_bitwise_right_shift:
      return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> int(b);
    default:
      FZ_CHECK(!"no integer meaning");
  }
  return 0;
}

// NumPy's divmod.
template <typename F>
F FloorModFloat(F a, F b) {
  F m = std::fmod(a, b);
  if (b == 0) return m;
  if (m != 0) return (b < 0) != (m < 0) ? m + b : m;
  return std::copysign(F(0), b);
}
template <typename F>
F FloorDivFloat(F a, F b) {
  if (b == 0 || std::isinf(a) || std::isinf(b)) return a / b;
  F m = std::fmod(a, b), div = (a - m) / b;
  if (m != 0 && ((b < 0) != (m < 0))) div -= F(1);
  if (div == 0) return std::copysign(F(0), a / b);
  F floored = std::floor(div);
  return div - floored > F(0.5) ? floored + F(1) : floored;
}
template <typename F>
F Extreme(F a, F b, bool max) {
  if (a != a || b != b) return std::numeric_limits<F>::quiet_NaN();
  if (a == b) return std::signbit(a) == max ? b : a;
  return (a > b) == max ? a : b;
}

template <typename F>
F FloatOp(OpId op, F a, F b) {
  switch (op) {
    case OpId::k_negative:
      return -a;
    case OpId::k_abs:
      return std::fabs(a);
    case OpId::k_sign:
      return a > 0 ? F(1) : a < 0 ? F(-1) : a == 0 ? F(0) : a;
    case OpId::k_sqrt:
      return std::sqrt(a);
    case OpId::k_floor:
      return std::floor(a);
    case OpId::k_ceil:
      return std::ceil(a);
    case OpId::k_trunc:
      return std::trunc(a);
    case OpId::k_round:
      return std::nearbyint(a);
    case OpId::k_copy:
      return a;
    case OpId::k_add:
      return a + b;
    case OpId::k_subtract:
      return a - b;
    case OpId::k_multiply:
      return a * b;
    case OpId::k_divide:
      return a / b;
    case OpId::k_floor_divide:
      return FloorDivFloat(a, b);
    case OpId::k_remainder:
      return FloorModFloat(a, b);
    case OpId::k_maximum:
      return Extreme(a, b, true);
    case OpId::k_minimum:
      return Extreme(a, b, false);
    default:
      FZ_CHECK(!"no float meaning");
  }
  return a;
}

template <typename T>
bool Compare(OpId op, T a, T b) {
  switch (op) {
    case OpId::k_equal:
      return a == b;
    case OpId::k_not_equal:
      return a != b;
    case OpId::k_less:
      return a < b;
    case OpId::k_less_equal:
      return a <= b;
    case OpId::k_greater:
      return a > b;
    case OpId::k_greater_equal:
      return a >= b;
    default:
      FZ_CHECK(!"no comparison");
  }
  return false;
}

uint64_t Scalar(OpId op, DType in, DType out, uint64_t a, uint64_t b, uint64_t c, DType type_b) {
  if (op == OpId::k_where) return a ? b : c;
  const double x = IsFloat(in) ? ToDouble(in, a) : 0;
  switch (op) {
    case OpId::k_isnan:
      return std::isnan(x);
    case OpId::k_isinf:
      return std::isinf(x);
    case OpId::k_isfinite:
      return std::isfinite(x);
    case OpId::k_signbit:
      return IsFloat(in) ? std::signbit(x) : ToInt(in, a) < 0;
    case OpId::k_astype:
      if (in == out) return a;
      if (IsBool(out)) return IsFloat(in) ? x != 0 || std::isnan(x) : ToInt(in, a) != 0;
      if (IsFloat(in)) return FromDouble(out, x);
      if (!IsFloat(out)) return FromInt(out, ToInt(in, a));
      if (out == DType::kF32) return std::bit_cast<uint32_t>(float(ToInt(in, a)));
      return FromDouble(out, double(ToInt(in, a)));
    default:
      break;
  }
  const bool compares = IsBool(out) && Info(op).result == ResultType::kBool;
  if (!IsFloat(in)) {
    if (compares) return Compare(op, ToInt(in, a), ToInt(in, b));
    return FromInt(out, IntOp(op, in, ToInt(in, a), ToInt(in, b)));
  }
  const double y = IsFloat(type_b) ? ToDouble(type_b, b) : 0;
  if (compares) return Compare(op, x, y);
  if (in == DType::kF64) return FromDouble(out, FloatOp<double>(op, x, y));
  return FromDouble(out, double(FloatOp<float>(op, float(x), float(y))));
}

// --- reductions ---

// The sum rule of core/SEMANTICS.md for sum and prod.
template <typename F>
F Laned(const std::vector<F>& x, int lanes, bool product) {
  if (x.empty()) return product ? F(1) : F(0);
  std::vector<F> level = x;
  do {
    std::vector<F> next;
    for (size_t chunk = 0; chunk < level.size(); chunk += 4096) {
      std::vector<F> lane(lanes, product ? F(1) : F(-0.0));
      for (size_t j = chunk; j < std::min(level.size(), chunk + 4096); ++j) {
        F& l = lane[(j - chunk) % lanes];
        l = product ? l * level[j] : l + level[j];
      }
      for (int half = lanes / 2; half >= 1; half /= 2) {
        for (int i = 0; i < half; ++i)
          lane[i] = product ? lane[i] * lane[i + half] : lane[i] + lane[i + half];
      }
      next.push_back(lane[0]);
    }
    level = next;
  } while (level.size() > 1);
  return level[0];
}

uint64_t ReduceFloat(OpId op, DType t, const std::vector<uint64_t>& x, int lanes) {
  if (op == OpId::k_sum || op == OpId::k_prod) {
    const bool product = op == OpId::k_prod;
    if (t == DType::kF64) {
      std::vector<double> v;
      for (uint64_t bits : x) v.push_back(ToDouble(t, bits));
      return FromDouble(t, Laned(v, lanes, product));
    }
    std::vector<float> v;
    for (uint64_t bits : x) v.push_back(float(ToDouble(t, bits)));
    return FromDouble(t, double(Laned(v, lanes, product)));
  }
  const bool max = op == OpId::k_max || op == OpId::k_argmax;
  size_t at = 0;
  double best = ToDouble(t, x[0]);
  for (size_t i = 1; i < x.size(); ++i) {
    const double v = ToDouble(t, x[i]);
    if (!std::isnan(best) && (std::isnan(v) || (max ? v > best : v < best))) at = i, best = v;
  }
  if (Info(op).result == ResultType::kI64) return at;
  for (uint64_t bits : x) best = Extreme(best, ToDouble(t, bits), max);  // signed zeros
  return FromDouble(t, best);
}

uint64_t ReduceInt(OpId op, DType t, const std::vector<uint64_t>& x) {
  const bool max = op == OpId::k_max || op == OpId::k_argmax;
  uint64_t sum = 0, product = 1;
  bool any = false, all = true;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const I v = ToInt(t, x[i]), best = ToInt(t, x[at]);
    sum += uint64_t(v);
    product *= uint64_t(v);
    any |= v != 0;
    all &= v != 0;
    if (max ? v > best : v < best) at = i;
  }
  switch (op) {
    case OpId::k_sum:
      return sum & Mask(t);
    case OpId::k_prod:
      return product & Mask(t);
    case OpId::k_any:
      return any;
    case OpId::k_all:
      return all;
    case OpId::k_argmax:
    case OpId::k_argmin:
      return at;
    default:
      return x[at];
  }
}

int64_t Size(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}
std::vector<int64_t> Unravel(int64_t i, const std::vector<int64_t>& dims) {
  std::vector<int64_t> at(dims.size());
  for (size_t a = dims.size(); a-- > 0;) {
    at[a] = i % dims[a];
    i /= dims[a];
  }
  return at;
}
// Row-major number of the element at `at`, right-aligned, axes of extent 1 broadcast.
int64_t Ravel(const std::vector<int64_t>& at, const std::vector<int64_t>& dims) {
  int64_t i = 0;
  for (size_t a = 0; a < dims.size(); ++a)
    i = i * dims[a] + (dims[a] == 1 ? 0 : at[a + at.size() - dims.size()]);
  return i;
}

Elements Reduce(OpId op, const Elements& x, const Attrs& attrs, DType out,
                const std::vector<int64_t>& dims) {
  Elements y{out, dims, std::vector<uint64_t>(Size(dims))};
  std::vector<std::vector<uint64_t>> groups(y.bits.size());
  for (size_t i = 0; i < x.bits.size(); ++i) {
    const auto at = Unravel(int64_t(i), x.dims);
    std::vector<int64_t> kept;
    for (size_t a = 0; a < at.size(); ++a) {
      if (!(attrs[0] >> a & 1))
        kept.push_back(at[a]);
      else if (attrs[1])
        kept.push_back(0);
    }
    groups[Ravel(kept, dims)].push_back(x.bits[i]);
  }
  const int rank = int(x.dims.size());
  const int lanes = rank > 0 && (attrs[0] >> (rank - 1) & 1) ? 64 : 8;
  for (size_t i = 0; i < groups.size(); ++i) {
    y.bits[i] = IsFloat(x.dtype) ? ReduceFloat(op, x.dtype, groups[i], lanes)
                                 : ReduceInt(op, x.dtype, groups[i]);
  }
  return y;
}

// --- movement: the source element of every result element ---

void Philox(uint64_t key, uint64_t counter, uint32_t out[4]) {
  uint32_t k[2] = {uint32_t(key), uint32_t(key >> 32)};
  uint32_t x[4] = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x[0], p1 = uint64_t{0xCD9E8D57} * x[2];
    const uint32_t y[4] = {uint32_t(p1 >> 32) ^ x[1] ^ k[0], uint32_t(p1),
                           uint32_t(p0 >> 32) ^ x[3] ^ k[1], uint32_t(p0)};
    for (int i = 0; i < 4; ++i) x[i] = y[i];
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  for (int i = 0; i < 4; ++i) out[i] = x[i];
}

uint64_t Moved(OpId op, const Attrs& attrs, const std::vector<const Elements*>& in,
               std::vector<int64_t> at) {
  const Elements& x = *in[0];
  switch (op) {
    case OpId::k_permute_dims: {
      std::vector<int64_t> from(at.size());
      for (size_t a = 0; a < at.size(); ++a) from[attrs[a]] = at[a];
      return x.bits[Ravel(from, x.dims)];
    }
    case OpId::k_broadcast_to:
      return x.bits[Ravel(at, x.dims)];
    case OpId::k_slice:
      for (size_t a = 0; a < at.size(); ++a) at[a] = attrs[3 * a] + attrs[3 * a + 1] * at[a];
      return x.bits[Ravel(at, x.dims)];
    case OpId::k_concat: {
      size_t k = 0;
      for (; at[attrs[0]] >= in[k]->dims[attrs[0]]; ++k) at[attrs[0]] -= in[k]->dims[attrs[0]];
      return in[k]->bits[Ravel(at, in[k]->dims)];
    }
    case OpId::k_pad:
      for (size_t a = 0; a < at.size(); ++a) {
        at[a] -= attrs[2 * a];
        if (at[a] < 0 || at[a] >= x.dims[a]) return in[1]->bits[0];
      }
      return x.bits[Ravel(at, x.dims)];
    case OpId::k_take: {
      const Elements& index = *in[1];
      const size_t axis = size_t(attrs[0]), n = index.dims.size();
      const std::vector<int64_t> place(at.begin() + axis, at.begin() + axis + n);
      std::vector<int64_t> from(at.begin(), at.begin() + axis);
      from.push_back(int64_t(ToInt(index.dtype, index.bits[Ravel(place, index.dims)])));
      from.insert(from.end(), at.begin() + axis + n, at.end());
      return x.bits[Ravel(from, x.dims)];
    }
    default:
      FZ_CHECK(!"no movement");
  }
  return 0;
}

Elements Evaluate(const Node& n, const std::vector<const Elements*>& in) {
  Elements y{n.dtype, {n.layout->extents, n.layout->extents + n.layout->rank}, {}};
  const OpInfo& info = Info(n.op);
  if (info.klass == OpClass::kReduce) return Reduce(n.op, *in[0], n.attrs, n.dtype, y.dims);
  for (int64_t i = 0; i < n.layout->size; ++i) {
    const auto at = Unravel(i, y.dims);
    if (info.klass == OpClass::kElementwise || info.klass == OpClass::kCast) {
      uint64_t v[3] = {0, 0, 0};
      for (size_t k = 0; k < in.size(); ++k) v[k] = in[k]->bits[Ravel(at, in[k]->dims)];
      y.bits.push_back(Scalar(n.op, in[0]->dtype, n.dtype, v[0], v[1], v[2],
                              in.size() > 1 ? in[1]->dtype : n.dtype));
    } else if (n.op == OpId::k_reshape) {
      y.bits.push_back(in[0]->bits[i]);
    } else if (n.op == OpId::k_iota) {
      y.bits.push_back(IsFloat(n.dtype) ? FromDouble(n.dtype, double(i)) : FromInt(n.dtype, i));
    } else if (n.op == OpId::k_random_bits) {
      uint32_t words[4];
      Philox(in[0]->bits[0], in[0]->bits[1] + uint64_t(i / 4), words);
      y.bits.push_back(words[i % 4]);
    } else {
      y.bits.push_back(Moved(n.op, n.attrs, in, at));
    }
  }
  return y;
}

}  // namespace

double ToDouble(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kF16:
      return ToFloat(Half{uint16_t(bits)});
    case DType::kBF16:
      return ToFloat(BFloat16{uint16_t(bits)});
    case DType::kF32:
      return std::bit_cast<float>(uint32_t(bits));
    case DType::kF64:
      return std::bit_cast<double>(bits);
    default:
      return double(ToInt(dtype, bits));
  }
}

uint64_t FromDouble(DType dtype, double x) {
  switch (dtype) {
    case DType::kBool:
      return x != 0;
    case DType::kF16:
      return ToHalf(x).bits;
    case DType::kBF16:
      return ToBFloat16(x).bits;
    case DType::kF32:
      return std::bit_cast<uint32_t>(float(x));
    case DType::kF64:
      return std::bit_cast<uint64_t>(x);
    default:
      break;
  }
  if (std::isnan(x)) return 0;
  const double top = std::ldexp(1.0, BitsOf(dtype) - (IsSigned(dtype) ? 1 : 0));
  if (x >= top) return Mask(dtype) >> (IsSigned(dtype) ? 1 : 0);
  if (x <= (IsSigned(dtype) ? -top : 0.0)) return IsSigned(dtype) ? (Mask(dtype) >> 1) + 1 : 0;
  return FromInt(dtype, I(x));
}

bool IsInexact(OpId op) { return Info(op).klass == OpClass::kElementwise && Info(op).ulp > 0; }

std::vector<Elements> Reference(const Graph& graph, const std::vector<Elements>& inputs) {
  std::vector<Elements> values = inputs;
  for (size_t id = inputs.size(); id < graph.nodes.size(); ++id) {
    std::vector<const Elements*> in;
    for (int32_t x : graph.nodes[id].operands) in.push_back(&values[x]);
    values.push_back(Evaluate(graph.nodes[id], in));
  }
  std::vector<Elements> outputs;
  for (int32_t id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

}  // namespace frazil::jit
