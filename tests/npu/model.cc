#include "tests/npu/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/fn.h"
#include "tests/kernels/scalar_v.h"

namespace frazil::npu::model {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Format {
  int mantissa, exponent;  // bits
  int bias() const { return (1 << (exponent - 1)) - 1; }
};
Format FormatOf(Type type) {
  return type == kF32 ? Format{23, 8} : type == kF16 ? Format{10, 5} : Format{7, 8};
}

double DecodeFloat(Format f, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << f.mantissa) - 1);
  const int exponent = int(bits >> f.mantissa) & ((1 << f.exponent) - 1);
  const double sign = bits >> (f.mantissa + f.exponent) & 1 ? -1 : 1;
  if (exponent == (1 << f.exponent) - 1) return mantissa ? kNaN : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias() - f.mantissa);
  return sign * std::ldexp(mantissa + (1u << f.mantissa), exponent - f.bias() - f.mantissa);
}

uint32_t EncodeFloat(Format f, double x) {
  const uint32_t top = ((1u << f.exponent) - 1) << f.mantissa;
  if (x != x) return top | 1u << (f.mantissa - 1);
  const uint32_t sign = std::signbit(x) ? 1u << (f.mantissa + f.exponent) : 0;
  x = std::fabs(x);
  if (x == kInf) return sign | top;
  const int lowest = 1 - f.bias();
  const int exponent = x == 0 ? lowest : std::max(std::ilogb(x), lowest);
  // Units in the last place; rounding up may reach the next power of two, which carries over.
  const uint32_t units = uint32_t(std::nearbyint(std::ldexp(x, f.mantissa - exponent)));
  const uint32_t bits = (uint32_t(exponent - lowest) << f.mantissa) + units;
  return sign | std::min(bits, top);
}

bool IsSignedInt(Type type) { return type == kI8 || type == kI32; }
int Bits(Type type) { return SizeOf(type) * 8; }

int64_t AsInt(Type type, uint32_t bits) {
  const int shift = 64 - Bits(type);
  const uint64_t high = uint64_t(bits) << shift;
  return IsSignedInt(type) ? int64_t(high) >> shift : int64_t(high >> shift);
}
uint32_t FromInt(Type type, int64_t value) {
  return uint32_t(uint64_t(value) & (~uint64_t{0} >> (64 - Bits(type))));
}

double Round32(double x) { return Decode(kF32, Encode(kF32, x)); }
// A result of f32 arithmetic as an element.
uint32_t Result(Type type, double x) { return Encode(type, Round32(x)); }

double Extreme(double a, double b, bool max) {
  if (a != a || b != b) return kNaN;
  if (a == 0 && b == 0) return (max ? std::signbit(a) : !std::signbit(a)) ? b : a;
  return (a > b) == max ? a : b;
}

int64_t IntBinary(Bin fn, Type type, int64_t x, int64_t y) {
  switch (fn) {
    case kBinAdd:
      return x + y;
    case kBinSub:
      return x - y;
    case kBinMul:
      return int64_t(uint64_t(x) * uint64_t(y));
    case kBinDiv:
      return y == 0 ? 0 : x / y;
    case kBinRem:
      return y == 0 ? 0 : x % y;
    case kBinMax:
      return std::max(x, y);
    case kBinMin:
      return std::min(x, y);
    case kBinAnd:
      return x & y;
    case kBinOr:
      return x | y;
    case kBinXor:
      return x ^ y;
    case kBinShl:
      return y < 0 || y >= Bits(type) ? 0 : int64_t(uint64_t(x) << y);
    case kBinShr:
      return y < 0 || y >= Bits(type) ? (x < 0 ? -1 : 0) : x >> y;
  }
  return 0;
}

double FloatBinary(Bin fn, double x, double y) {
  switch (fn) {
    case kBinAdd:
      return x + y;
    case kBinSub:
      return x - y;
    case kBinMul:
      return x * y;
    case kBinDiv:
      return x / y;
    default:
      return Extreme(x, y, fn == kBinMax);
  }
}

double Call(Fn f, double x) { return CallFn(f, ScalarV::Of(float(x))).As<float>(); }

double FloatUnary(Un fn, double x) {
  switch (fn) {
    case kUnNeg:
      return -x;
    case kUnAbs:
      return std::fabs(x);
    case kUnSqrt:
      return std::sqrt(x);
    case kUnRsqrt:
      return 1 / Round32(std::sqrt(x));
    case kUnRecip:
      return 1 / x;
    case kUnExp:
      return Call(Fn::kExp, x);
    case kUnLog:
      return Call(Fn::kLog, x);
    case kUnTanh:
      return Call(Fn::kTanh, x);
    case kUnErf:
      return Call(Fn::kErf, x);
    case kUnFloor:
      return std::floor(x);
    case kUnCeil:
      return std::ceil(x);
    case kUnRint:
      return std::nearbyint(x);
    case kUnSign:
      return x != x ? x : x > 0 ? 1 : x < 0 ? -1 : 0;
    case kUnRelu:
      return x != x ? x : x > 0 ? x : 0;
    default:
      return x;
  }
}

// Four operations of core/functions, each rounded to the type.
uint32_t Sigmoid(Type type, uint32_t x) {
  const uint32_t half = Encode(type, 0.5);
  x = Unary(kUnTanh, type, Binary(kBinMul, type, x, half));
  return Binary(kBinAdd, type, Binary(kBinMul, type, x, half), half);
}

bool Compare(Cmp cc, double x, double y) {
  switch (cc) {
    case kCmpEq:
      return x == y;
    case kCmpNe:
      return x != y;
    case kCmpLt:
      return x < y;
    case kCmpLe:
      return x <= y;
    case kCmpGt:
      return x > y;
    default:
      return x >= y;
  }
}

int64_t Saturated(Type type, int64_t x) {
  const int64_t low = IsSignedInt(type) ? -(int64_t{1} << (Bits(type) - 1)) : 0;
  const int64_t high = (int64_t{1} << (Bits(type) - IsSignedInt(type))) - 1;
  return std::clamp(x, low, high);
}

uint32_t Convert(Type from, uint32_t bits, Type to, int mode) {
  const double x = Decode(from, bits);
  if (IsFloat(to)) return Encode(to, x);
  if (!IsFloat(from))
    return FromInt(to, mode & 4 ? Saturated(to, AsInt(from, bits)) : AsInt(from, bits));
  if (x != x) return 0;
  const double rounded = (mode & 3) == 0   ? std::nearbyint(x)
                         : (mode & 3) == 1 ? std::trunc(x)
                         : (mode & 3) == 2 ? std::floor(x)
                                           : std::ceil(x);
  return FromInt(to, Saturated(to, int64_t(std::clamp(rounded, -1e15, 1e15))));
}

// --- VRED ---------------------------------------------------------------------------------------

// Accumulators: f32 or 32-bit integers, both held in a double.
struct Reducer {
  Red fn;
  Type type;
  bool floats() const { return IsFloat(type); }
  Type accumulator() const { return floats() ? kF32 : type == kU32 ? kU32 : kI32; }

  double Identity() const {
    switch (fn) {
      case kRedSum:
        return floats() ? -0.0 : 0;
      case kRedProd:
      case kRedAll:
        return 1;
      case kRedMax:
      case kRedArgmax:
        return floats() ? -kInf : type == kU32 ? 0 : -2147483648.0;
      case kRedMin:
      case kRedArgmin:
        return floats() ? kInf : type == kU32 ? 4294967295.0 : 2147483647.0;
      default:
        return 0;
    }
  }
  double Of(double a, double b) const {
    switch (fn) {
      case kRedSum:
      case kRedProd:
        if (floats()) return Round32(fn == kRedSum ? a + b : a * b);
        return double(
            AsInt(accumulator(),
                  FromInt(accumulator(), IntBinary(fn == kRedSum ? kBinAdd : kBinMul, accumulator(),
                                                   int64_t(a), int64_t(b)))));
      case kRedMax:
      case kRedArgmax:
        return Extreme(a, b, true);
      case kRedMin:
      case kRedArgmin:
        return Extreme(a, b, false);
      case kRedAny:
        return a != 0 || b != 0;
      default:
        return a != 0 && b != 0;
    }
  }
};

void Reduce(const Issue& issue, std::vector<uint8_t>* ub) {
  const Reducer reducer{Red(issue.fn), issue.type()};
  const int64_t rows = int64_t(issue.v[2]), cols = int64_t(issue.v[3]), mode = int64_t(issue.v[6]);
  const bool logical = reducer.fn >= kRedAny;
  const bool arg = reducer.fn == kRedArgmax || reducer.fn == kRedArgmin;
  const Type lane = logical ? kU8 : reducer.accumulator();
  const Type result = logical ? kU8 : arg ? kI32 : issue.type();
  const bool to_lanes = mode == kRedFirst || mode == kRedMore;
  const int64_t packed = to_lanes ? 64 * SizeOf(lane) : SizeOf(result);
  const int64_t d_ld = issue.v[4] ? int64_t(issue.v[4]) : packed;
  const int64_t x_ld = issue.v[5] || mode != kRedFinal ? int64_t(issue.v[5]) : 64 * SizeOf(lane);
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t* d = ub->data() + issue.v[0] + r * d_ld;
    const uint8_t* x = ub->data() + issue.v[1] + r * x_ld;
    std::vector<double> lanes(64, reducer.Identity());
    if (mode == kRedMore || mode == kRedFinal) {
      const uint8_t* from = mode == kRedMore ? d : x;
      for (int i = 0; i < 64; ++i)
        lanes[size_t(i)] = Decode(lane, Get(lane, from + i * SizeOf(lane)));
    }
    std::vector<double> row;
    if (mode != kRedFinal) {
      for (int64_t c = 0; c < cols; ++c)
        row.push_back(Decode(issue.type(), Get(issue.type(), x + c * SizeOf(issue.type()))));
    }
    for (size_t c = 0; c < row.size(); ++c) lanes[c % 64] = reducer.Of(lanes[c % 64], row[c]);
    if (to_lanes) {
      for (int i = 0; i < 64; ++i) {
        const double v = lanes[size_t(i)];
        Put(lane, logical ? v != 0 : Encode(lane, v), d + i * SizeOf(lane));
      }
      continue;
    }
    for (size_t h = 32; h > 0; h /= 2) {
      for (size_t i = 0; i < h; ++i) lanes[i] = reducer.Of(lanes[i], lanes[i + h]);
    }
    if (arg) {
      size_t at = 0;
      while (row[at] == row[at] && row[at] != lanes[0]) ++at;
      Put(kI32, uint32_t(at), d);
    } else if (logical) {
      *d = lanes[0] != 0;
    } else {
      Put(result, reducer.floats() ? Encode(result, lanes[0]) : FromInt(result, int64_t(lanes[0])),
          d);
    }
  }
}

}  // namespace

double Decode(Type type, uint32_t bits) {
  return IsFloat(type) ? DecodeFloat(FormatOf(type), bits) : double(AsInt(type, bits));
}
uint32_t Encode(Type type, double value) {
  return IsFloat(type) ? EncodeFloat(FormatOf(type), value) : FromInt(type, int64_t(value));
}

uint32_t Get(Type type, const uint8_t* at) {
  uint32_t bits = 0;
  for (int i = 0; i < SizeOf(type); ++i) bits |= uint32_t(at[i]) << (8 * i);
  return bits;
}
void Put(Type type, uint32_t bits, uint8_t* at) {
  for (int i = 0; i < SizeOf(type); ++i) at[i] = uint8_t(bits >> (8 * i));
}
bool Same(Type type, uint32_t a, uint32_t b) {
  if (a == b) return true;
  if (!IsFloat(type)) return false;
  const double x = Decode(type, a), y = Decode(type, b);
  return x != x && y != y;
}

bool Supports(Bin fn, Type type) { return !IsFloat(type) || fn <= kBinMin; }
bool Supports(Un fn, Type type) {
  return IsFloat(type) || fn == kUnCopy || fn == kUnNeg || fn == kUnAbs || fn == kUnSign ||
         fn == kUnRelu;
}

uint32_t Binary(Bin fn, Type type, uint32_t x, uint32_t y) {
  if (!IsFloat(type)) return FromInt(type, IntBinary(fn, type, AsInt(type, x), AsInt(type, y)));
  return Result(type, FloatBinary(fn, Decode(type, x), Decode(type, y)));
}

uint32_t Unary(Un fn, Type type, uint32_t x) {
  if (fn == kUnSigmoid) return Sigmoid(type, x);
  if (IsFloat(type)) return Result(type, FloatUnary(fn, Decode(type, x)));
  const int64_t v = AsInt(type, x);
  switch (fn) {
    case kUnNeg:
      return FromInt(type, -v);
    case kUnAbs:
      return FromInt(type, v < 0 ? -v : v);
    case kUnSign:
      return FromInt(type, (v > 0) - (v < 0));
    case kUnRelu:
      return FromInt(type, std::max<int64_t>(v, 0));
    default:
      return x;
  }
}

void Run(const Issue& issue, std::vector<uint8_t>* ub) {
  if (issue.op == Op::kVRED) return Reduce(issue, ub);
  const Type type = issue.type();
  const int64_t es = SizeOf(type);
  const auto& v = issue.v;
  const OpInfo& info = Info(issue.op);
  int64_t rows = 0, cols = 0, ld[4] = {};
  for (int i = 0; i < info.num_operands; ++i) {
    if (info.operands[i].kind == OperandKind::kRows) rows = int64_t(v[size_t(i)]);
    if (info.operands[i].kind == OperandKind::kCols) cols = int64_t(v[size_t(i)]);
    if (info.operands[i].kind == OperandKind::kLd) ld[info.operands[i].of] = int64_t(v[size_t(i)]);
  }
  const Type out = issue.op == Op::kVCVT                             ? Type(issue.fn)
                   : issue.op == Op::kVCMP || issue.op == Op::kVCMPS ? kU8
                                                                     : type;
  if (ld[0] == 0) ld[0] = (issue.op == Op::kVTR ? rows : cols) * SizeOf(out);
  if (issue.op == Op::kVBINC && ld[2] == 0) ld[2] = es;
  if (issue.op == Op::kVSEL) ld[2] = ld[3] = ld[0];
  const std::vector<uint8_t> before = *ub;  // so that the order of elements does not matter
  const auto in = [&](int operand, int64_t r, int64_t c) {
    return Get(type, before.data() + v[size_t(operand)] + r * ld[operand] + c * es);
  };
  const uint32_t mask = es == 4 ? ~0u : (1u << (8 * es)) - 1;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      uint8_t* d = ub->data() + v[0] + r * ld[0] + c * SizeOf(out);
      const uint32_t scalar = uint32_t(v[2]) & mask;
      switch (issue.op) {
        case Op::kVBIN:
          Put(type, Binary(Bin(issue.fn), type, in(1, r, c), in(2, r, c)), d);
          break;
        case Op::kVBINC:
          Put(type, Binary(Bin(issue.fn), type, in(1, r, c), in(2, r, 0)), d);
          break;
        case Op::kVBINS:
          Put(type,
              issue.fn >= kBinSwapped
                  ? Binary(Bin(issue.fn - kBinSwapped), type, scalar, in(1, r, c))
                  : Binary(Bin(issue.fn), type, in(1, r, c), scalar),
              d);
          break;
        case Op::kVUN:
          Put(type, Unary(Un(issue.fn), type, in(1, r, c)), d);
          break;
        case Op::kVFMA:
          Put(type,
              Encode(type,
                     std::fma(float(Decode(type, in(1, r, c))), float(Decode(type, in(2, r, c))),
                              float(Decode(type, in(0, r, c))))),
              d);
          break;
        case Op::kVCMP:
          *d = Compare(Cmp(issue.fn), Decode(type, in(1, r, c)), Decode(type, in(2, r, c)));
          break;
        case Op::kVCMPS:
          *d = Compare(Cmp(issue.fn), Decode(type, in(1, r, c)), Decode(type, scalar));
          break;
        case Op::kVSEL:
          Put(type, in(before[v[1] + uint64_t(r * ld[1] + c)] ? 2 : 3, r, c), d);
          break;
        case Op::kVCVT:
          Put(out, Convert(type, in(1, r, c), out, int(v[6])), d);
          break;
        case Op::kVDUP:
          Put(type, uint32_t(v[1]), d);
          break;
        case Op::kVIOTA:
          Put(type, uint32_t(v[1] + v[2] * uint64_t(c)), d);
          break;
        case Op::kVTR:
          Put(type, in(1, r, c), ub->data() + v[0] + c * ld[0] + r * es);
          break;
        default:
          break;
      }
    }
  }
}

}  // namespace frazil::npu::model
