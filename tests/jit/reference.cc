#include "tests/jit/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

namespace frazil::jit {
namespace {

using kir::Inst;
using kir::Op;
using kir::ReduceKind;
using Int = __int128;
using Real = long double;  // 64 mantissa bits: holds every value of every type
static_assert(std::numeric_limits<Real>::digits == 64);

// The value of a 16-bit float pattern, from its fields.
Real SmallValue(int mantissa_bits, uint64_t bits) {
  const int exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = int(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = int(bits) & ((1 << mantissa_bits) - 1);
  const Real sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? Real(NAN) : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(Real(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(Real(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
}

// The nearest 16-bit float, found by searching all of them.
uint64_t NearestSmall(int mantissa_bits, Real x) {
  const uint64_t infinity = ((1u << (15 - mantissa_bits)) - 1) << mantissa_bits;
  const uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return infinity | 1;
  const Real magnitude = std::fabs(x);
  uint64_t low = 0, high = infinity;  // low <= magnitude < high
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (SmallValue(mantissa_bits, middle) <= magnitude ? low : high) = middle;
  }
  // Infinity stands where the next number would be.
  const Real below = SmallValue(mantissa_bits, low);
  const Real above = high == infinity ? 2 * below - SmallValue(mantissa_bits, low - 1)
                                      : SmallValue(mantissa_bits, high);
  const Real middle = (below + above) / 2;
  const bool up = magnitude > middle || (magnitude == middle && (low & 1));
  return sign | (up ? high : low);
}

Real RealOf(DType t, uint64_t bits) {
  switch (t) {
    case DType::kF16:
      return SmallValue(10, bits);
    case DType::kBF16:
      return SmallValue(7, bits);
    case DType::kF32:
      return std::bit_cast<float>(uint32_t(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}
uint64_t BitsOfReal(DType t, Real x) {
  switch (t) {
    case DType::kF16:
      return NearestSmall(10, x);
    case DType::kBF16:
      return NearestSmall(7, x);
    case DType::kF32:
      return std::bit_cast<uint32_t>(float(x));
    default:
      return std::bit_cast<uint64_t>(double(x));
  }
}

Int Modulus(DType t) { return Int(1) << BitsOf(t); }
Int Lowest(DType t) { return IsSigned(t) ? -(Modulus(t) / 2) : Int(0); }
Int Highest(DType t) { return IsBool(t) ? Int(1) : Lowest(t) + Modulus(t) - 1; }

Int IntOf(DType t, uint64_t bits) {
  Int value = bits;
  if (BitsOf(t) < 64) value %= Modulus(t);
  return value > Highest(t) ? value - Modulus(t) : value;
}
uint64_t Wrap(DType t, Int value) {
  if (IsBool(t)) return value != 0;
  return uint64_t(((value % Modulus(t)) + Modulus(t)) % Modulus(t));
}

uint64_t CastOf(DType to, DType from, uint64_t bits) {
  if (!IsFloat(from)) {
    const Int value = IntOf(from, bits);
    if (!IsFloat(to)) return Wrap(to, value);
    return BitsOfReal(to, IsHalf(to) ? Real(double(value)) : Real(value));
  }
  const Real value = RealOf(from, bits);
  if (IsFloat(to)) return BitsOfReal(to, value);
  if (IsBool(to)) return !(value == 0);
  if (std::isnan(value)) return 0;
  const Real whole = std::trunc(value);
  if (whole <= Real(Lowest(to))) return Wrap(to, Lowest(to));
  if (whole >= Real(Highest(to))) return Wrap(to, Highest(to));
  return Wrap(to, Int(whole));
}

Int IntegerOp(Op op, DType t, Int a, Int b) {
  const int bits = BitsOf(t);
  switch (op) {
    case Op::kNeg:
      return -a;
    case Op::kAbs:
      return a < 0 ? -a : a;
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return Int(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Op::kMulhi: {
      // Halves, so that unsigned 64-bit products fit: a * b = (a1 2^32 + a0) * b.
      const Int a1 = a >> 32, a0 = a - (a1 << 32);
      const Int low = a0 * b, high = a1 * b + (low >> 32);
      return bits == 64 ? high >> 32 : a * b >> 32;
    }
    case Op::kDiv:
      return b == 0 ? 0 : a / b;
    case Op::kRem:
      return b == 0 ? 0 : a % b;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kNot:
      return IsBool(t) ? Int(a == 0) : -a - 1;
    case Op::kShl:
      return b < 0 || b >= bits ? 0 : a * (Int(1) << b);
    case Op::kShr:
      return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b;
    default:
      std::abort();
  }
}

// Ordered so that -0 < +0.
bool Below(Real a, Real b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

// f32 through long double rounds as if once; f64 must be computed in f64.
template <typename F>
Real Rounded(DType t, Real a, Real b, F f) {
  if (t == DType::kF32) return float(f(a, b));
  volatile double x = double(a), y = double(b);
  volatile double result = f(double(x), double(y));
  return result;
}

Real FloatOp(Op op, DType t, Real a, Real b, Real c) {
  switch (op) {
    case Op::kNeg:
      return -a;
    case Op::kAbs:
      return std::signbit(a) ? -a : a;
    case Op::kAdd:
      return Rounded(t, a, b, [](auto x, auto y) { return x + y; });
    case Op::kSub:
      return Rounded(t, a, b, [](auto x, auto y) { return x - y; });
    case Op::kMul:
      return Rounded(t, a, b, [](auto x, auto y) { return x * y; });
    case Op::kDiv:
      return Rounded(t, a, b, [](auto x, auto y) { return x / y; });
    case Op::kSqrt:
      return Rounded(t, a, b, [](auto x, auto) { return std::sqrt(x); });
    case Op::kMin:
      return std::isnan(a) || std::isnan(b) ? Real(NAN) : Below(b, a) ? b : a;
    case Op::kMax:
      return std::isnan(a) || std::isnan(b) ? Real(NAN) : Below(a, b) ? b : a;
    case Op::kFma:
      return t == DType::kF32 ? Real(std::fma(float(a), float(b), float(c)))
                              : Real(std::fma(double(a), double(b), double(c)));
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kTrunc:
      return std::trunc(a);
    case Op::kRint: {
      const Real down = std::floor(a), rest = a - down;
      if (!(rest > 0)) return a;
      const bool odd = std::fmod(down, Real(2)) != 0;
      return std::copysign(rest > 0.5L || (rest == 0.5L && odd) ? down + 1 : down, a);
    }
    default:
      std::abort();
  }
}

bool CompareOp(Op op, DType t, uint64_t a, uint64_t b) {
  const auto compare = [op](auto x, auto y) {
    switch (op) {
      case Op::kLt:
        return x < y;
      case Op::kLe:
        return x <= y;
      case Op::kEq:
        return x == y;
      default:
        return !(x == y);
    }
  };
  return IsFloat(t) ? compare(RealOf(t, a), RealOf(t, b)) : compare(IntOf(t, a), IntOf(t, b));
}

// One point after another, one element after another.
class Walker : public Compiled {
 public:
  explicit Walker(kir::Kernel kernel) : k_(std::move(kernel)) {}
  size_t code_bytes() const override { return 0; }

  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    size_t phase = 0;
    for (size_t end = 0; end <= k_.body.size(); ++end) {
      if (end < k_.body.size() && k_.body[end].op != Op::kBarrier) continue;
      for (int64_t row = row_begin; row < row_end; ++row) {
        for (int64_t col = col_begin; col < col_end; ++col) Point(args, phase, end, row, col);
      }
      phase = end + 1;
    }
  }

 private:
  struct State {
    const kir::KernelArgs& args;
    std::vector<int64_t> index;
    std::map<kir::Id, uint64_t> value;
    std::map<kir::Id, std::vector<uint64_t>> reduced;  // the elements of a reduce, in order
    int64_t iteration = 0;                             // of a repeat
  };

  void Point(const kir::KernelArgs& args, size_t begin, size_t end, int64_t row,
             int64_t col) const {
    State s{args, std::vector<int64_t>(k_.axes(), 0), {}, {}};
    s.index[k_.rank - 1] = col;
    for (int axis = k_.rank - 2; axis >= 0; row /= args.extents[axis--])
      s.index[axis] = row % args.extents[axis];
    for (size_t i = begin; i < end; ++i) {
      if (k_.body[i].op == Op::kRepeat) {
        i = Repeat(s, i);
        continue;
      }
      if (k_.body[i].op != Op::kLoop) {
        Step(s, i);
        continue;
      }
      size_t last = i;
      while (k_.body[last].op != Op::kEnd) ++last;
      const int64_t extent = args.extents[k_.rank];
      for (int64_t j = 0; j < extent; ++j) {
        if (k_.chunked && j / kir::kChunk != s.index[0]) continue;
        s.index[k_.rank] = j;
        for (size_t inner = i + 1; inner < last; ++inner) Step(s, inner);
      }
      s.index[k_.rank] = 0;
      for (size_t inner = i + 1; inner < last; ++inner) {
        if (k_.body[inner].op == Op::kReduce)
          s.value[inner] = Reduce(k_.body[inner], s.reduced[inner]);
      }
      i = last;
    }
  }

  size_t Repeat(State& s, size_t repeat) const {
    const int64_t count = int64_t(s.value[k_.body[repeat].a]);
    size_t done = repeat;
    for (s.iteration = 0; s.iteration < count; ++s.iteration) {
      std::map<kir::Id, uint64_t> next;
      for (done = repeat + 1; k_.body[done].op != Op::kDone; ++done) {
        const Inst& inst = k_.body[done];
        if (inst.op == Op::kNext)
          next[inst.a] = s.value[inst.b];
        else if (inst.op != Op::kCarry)
          Step(s, done);
        else if (s.iteration == 0)
          s.value[done] = s.value[inst.a];
      }
      for (const auto& [carry, value] : next) s.value[carry] = value;
    }
    return done;
  }

  void Step(State& s, size_t i) const {
    const Inst& inst = k_.body[i];
    const auto value = [&](kir::Id id) { return id == kir::kNone ? 0 : s.value[id]; };
    switch (inst.op) {
      case Op::kParam:
        s.value[i] = s.args.scalars[ScalarAt(inst.imm, s.iteration)];
        return;
      case Op::kConst:
        s.value[i] = inst.imm;
        return;
      case Op::kIndex:
        s.value[i] = uint64_t(s.index[inst.imm]);
        return;
      case Op::kLoad: {
        uint64_t bits = 0;
        if (inst.b == kir::kNone || value(inst.b)) {
          std::memcpy(&bits, Address(s, inst.imm, int64_t(value(inst.a))), SizeOf(inst.type));
        }
        s.value[i] = bits;
        return;
      }
      case Op::kStore: {
        const uint64_t bits = value(inst.a);
        if (inst.c != kir::kNone && !value(inst.c)) return;
        std::memcpy(Address(s, inst.imm, int64_t(value(inst.b))), &bits, SizeOf(inst.type));
        return;
      }
      case Op::kReduce:
        s.reduced[i].push_back(value(inst.a));
        return;
      default:
        s.value[i] =
            ReferenceOp(inst, k_.body[inst.a].type, value(inst.a), value(inst.b), value(inst.c));
    }
  }

  size_t ScalarAt(size_t scalar, int64_t iteration) const {
    size_t each = 0;
    for (const kir::Scalar& one : k_.scalars) each += one.each;
    return k_.scalars[scalar].each ? scalar + size_t(iteration) * each : scalar;
  }

  char* Address(const State& s, uint64_t buffer, int64_t offset) const {
    char* at =
        static_cast<char*>(s.args.buffers[buffer]) + offset * SizeOf(k_.buffers[buffer].dtype);
    for (int axis = 0; axis < k_.axes(); ++axis)
      at += s.index[axis] * s.args.strides[buffer * k_.axes() + axis];
    return at;
  }

  static uint64_t Empty(const Inst& inst) {
    const DType t = inst.type;
    switch (ReduceKind(inst.imm)) {
      case ReduceKind::kSum:
        return 0;
      case ReduceKind::kProd:
        return IsFloat(t) ? BitsOfReal(t, 1) : 1;
      case ReduceKind::kMax:
        return IsFloat(t) ? BitsOfReal(t, -INFINITY) : Wrap(t, Lowest(t));
      case ReduceKind::kMin:
        return IsFloat(t) ? BitsOfReal(t, INFINITY) : Wrap(t, Highest(t));
      case ReduceKind::kAnd:
        return 1;
      case ReduceKind::kOr:
        return 0;
    }
    std::abort();
  }

  static uint64_t Reduce(const Inst& inst, const std::vector<uint64_t>& elements) {
    if (elements.empty()) return Empty(inst);
    constexpr Op kOps[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kMin, Op::kAnd, Op::kOr};
    const Inst step{.op = kOps[inst.imm], .type = inst.type};
    if (inst.lanes == 0) {
      uint64_t result = elements[0];
      for (size_t j = 1; j < elements.size(); ++j)
        result = ReferenceOp(step, inst.type, result, elements[j], 0);
      return result;
    }
    const bool sum = ReduceKind(inst.imm) == ReduceKind::kSum;
    std::vector<uint64_t> lane(inst.lanes, BitsOfReal(inst.type, sum ? -0.0L : 1.0L));
    for (size_t j = 0; j < elements.size(); ++j) {
      lane[j % inst.lanes] = ReferenceOp(step, inst.type, lane[j % inst.lanes], elements[j], 0);
    }
    while (lane.size() > 1) {
      const size_t half = lane.size() / 2;
      for (size_t i = 0; i < half; ++i)
        lane[i] = ReferenceOp(step, inst.type, lane[i], lane[i + half], 0);
      lane.resize(half);
    }
    return lane[0];
  }

  const kir::Kernel k_;
};

class Reference : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "reference", .executes = true};
    return kCaps;
  }
  StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) override {
    return std::make_unique<Walker>(kernel);
  }
};

}  // namespace

uint64_t ReferenceOp(const Inst& inst, DType from, uint64_t a, uint64_t b, uint64_t c) {
  const DType t = inst.type;
  switch (inst.op) {
    case Op::kCast:
      return CastOf(t, from, a);
    case Op::kBitcast:
      return a;
    case Op::kSelect:
      return a ? b : c;
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
    case Op::kNe:
      return CompareOp(inst.op, from, a, b);
    default:
      break;
  }
  if (!IsFloat(t)) return Wrap(t, IntegerOp(inst.op, t, IntOf(t, a), IntOf(t, b)));
  return BitsOfReal(t, FloatOp(inst.op, t, RealOf(t, a), RealOf(t, b), RealOf(t, c)));
}

std::unique_ptr<Emitter> NewReference() { return std::make_unique<Reference>(); }

}  // namespace frazil::jit
