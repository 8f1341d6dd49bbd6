#include "jit/emit/interp/block.h"

#include "kernels/fn_tables.h"
#include "kernels/semantics.h"

namespace frazil::jit::interp {
namespace {

namespace sem = kir::semantics;
using kir::Inst;
using kir::Op;
using kir::ReduceKind;

template <typename T>
concept Arithmetic = (sem::Integer<T> && sizeof(T) >= 4) || std::floating_point<T>;

template <typename R, typename T, typename F>
void Map1(const Arrays& v, F f) {
  const T* a = static_cast<const T*>(v.a);
  R* out = static_cast<R*>(v.out);
  for (int i = 0; i < v.n; ++i) out[i] = f(a[i]);
}
template <typename R, typename T, typename F>
void Map2(const Arrays& v, F f) {
  const T* a = static_cast<const T*>(v.a);
  const T* b = static_cast<const T*>(v.b);
  R* out = static_cast<R*>(v.out);
  for (int i = 0; i < v.n; ++i) out[i] = f(a[i], b[i]);
}

template <typename T>
void Fma(const Arrays& v) {
  const T *a = static_cast<const T*>(v.a), *b = static_cast<const T*>(v.b);
  const T* c = static_cast<const T*>(v.c);
  T* out = static_cast<T*>(v.out);
  for (int i = 0; i < v.n; ++i) out[i] = std::fma(a[i], b[i], c[i]);
}
template <typename T>
void Select(const Arrays& v) {
  const bool* cond = static_cast<const bool*>(v.a);
  const T *b = static_cast<const T*>(v.b), *c = static_cast<const T*>(v.c);
  T* out = static_cast<T*>(v.out);
  for (int i = 0; i < v.n; ++i) out[i] = cond[i] ? b[i] : c[i];
}

// Comparisons; T is the operands' type.
template <typename T>
bool Compare(Op op, const Arrays& v) {
  switch (op) {
    case Op::kEq:
      Map2<bool, T>(v, [](T a, T b) { return a == b; });
      return true;
    case Op::kNe:
      Map2<bool, T>(v, [](T a, T b) { return a != b; });
      return true;
    case Op::kLt:
      Map2<bool, T>(v, [](T a, T b) { return a < b; });
      return true;
    case Op::kLe:
      Map2<bool, T>(v, [](T a, T b) { return a <= b; });
      return true;
    default:
      return false;
  }
}

template <Arithmetic T>
bool Common(Op op, const Arrays& v) {
  switch (op) {
    case Op::kNeg:
      Map1<T, T>(v, [](T a) { return sem::Neg(a); });
      return true;
    case Op::kAbs:
      Map1<T, T>(v, [](T a) { return sem::Abs(a); });
      return true;
    case Op::kAdd:
      Map2<T, T>(v, [](T a, T b) { return sem::Add(a, b); });
      return true;
    case Op::kSub:
      Map2<T, T>(v, [](T a, T b) { return sem::Sub(a, b); });
      return true;
    case Op::kMul:
      Map2<T, T>(v, [](T a, T b) { return sem::Mul(a, b); });
      return true;
    case Op::kDiv:
      Map2<T, T>(v, [](T a, T b) { return sem::Div(a, b); });
      return true;
    case Op::kMin:
      Map2<T, T>(v, [](T a, T b) { return sem::Min(a, b); });
      return true;
    case Op::kMax:
      Map2<T, T>(v, [](T a, T b) { return sem::Max(a, b); });
      return true;
    case Op::kSelect:
      Select<T>(v);
      return true;
    default:
      return false;
  }
}

template <typename T>
bool IntegerOnly(Op op, const Arrays& v) {
  switch (op) {
    case Op::kMulhi:
      Map2<T, T>(v, [](T a, T b) { return sem::Mulhi(a, b); });
      return true;
    case Op::kRem:
      Map2<T, T>(v, [](T a, T b) { return sem::Rem(a, b); });
      return true;
    case Op::kAnd:
      Map2<T, T>(v, [](T a, T b) { return T(a & b); });
      return true;
    case Op::kOr:
      Map2<T, T>(v, [](T a, T b) { return T(a | b); });
      return true;
    case Op::kXor:
      Map2<T, T>(v, [](T a, T b) { return T(a ^ b); });
      return true;
    case Op::kNot:
      Map1<T, T>(v, [](T a) { return T(~a); });
      return true;
    case Op::kShl:
      Map2<T, T>(v, [](T a, T b) { return sem::Shl(a, b); });
      return true;
    case Op::kShr:
      Map2<T, T>(v, [](T a, T b) { return sem::Shr(a, b); });
      return true;
    default:
      return false;
  }
}

template <typename T>
bool FloatOnly(Op op, const Arrays& v) {
  switch (op) {
    case Op::kFma:
      Fma<T>(v);
      return true;
    case Op::kSqrt:
      Map1<T, T>(v, [](T a) { return std::sqrt(a); });
      return true;
    case Op::kScale:
      Map2<T, T>(v, [](T a, T b) { return sem::Scale(a, b); });
      return true;
    case Op::kFloor:
      Map1<T, T>(v, [](T a) { return std::floor(a); });
      return true;
    case Op::kCeil:
      Map1<T, T>(v, [](T a) { return std::ceil(a); });
      return true;
    case Op::kTrunc:
      Map1<T, T>(v, [](T a) { return std::trunc(a); });
      return true;
    case Op::kRint:
      Map1<T, T>(v, [](T a) { return std::nearbyint(a); });
      return true;
    default:
      return false;
  }
}

bool Logic(Op op, const Arrays& v) {
  switch (op) {
    case Op::kAnd:
      Map2<bool, bool>(v, [](bool a, bool b) { return a && b; });
      return true;
    case Op::kOr:
      Map2<bool, bool>(v, [](bool a, bool b) { return a || b; });
      return true;
    case Op::kXor:
      Map2<bool, bool>(v, [](bool a, bool b) { return a != b; });
      return true;
    case Op::kNot:
      Map1<bool, bool>(v, [](bool a) { return !a; });
      return true;
    case Op::kSelect:
      Select<bool>(v);
      return true;
    default:
      return false;
  }
}

void Cast(DType to, DType from, const Arrays& v) {
  VisitDType(to, [&]<typename To>() {
    VisitDType(from, [&]<typename From>() {
      Map1<To, From>(v, [](From a) { return sem::Convert<To>(a); });
    });
  });
}

// Calls f with the step of a reduction: T step(T, T).
template <typename T, typename F>
void VisitStep(ReduceKind kind, F f) {
  if constexpr (std::same_as<T, bool>) {
    if (kind == ReduceKind::kAnd)
      f([](bool a, bool b) { return a && b; });
    else
      f([](bool a, bool b) { return a || b; });
  } else {
    switch (kind) {
      case ReduceKind::kSum:
        return f([](T a, T b) { return sem::Add(a, b); });
      case ReduceKind::kProd:
        return f([](T a, T b) { return sem::Mul(a, b); });
      case ReduceKind::kMax:
        return f([](T a, T b) { return sem::Max(a, b); });
      default:
        return f([](T a, T b) { return sem::Min(a, b); });
    }
  }
}

template <typename T>
T Identity(ReduceKind kind) {
  if constexpr (std::same_as<T, bool>) {
    return kind == ReduceKind::kAnd;
  } else {
    using Limits = std::numeric_limits<T>;
    constexpr T kLow = std::floating_point<T> ? -Limits::infinity() : Limits::lowest();
    constexpr T kHigh = std::floating_point<T> ? Limits::infinity() : Limits::max();
    switch (kind) {
      case ReduceKind::kSum:
        return std::floating_point<T> ? T(-0.0) : T(0);
      case ReduceKind::kProd:
        return T(1);
      case ReduceKind::kMax:
        return kLow;
      default:
        return kHigh;
    }
  }
}

// Calls f.operator()<T>() for the types that reduce.
template <typename F>
void VisitReduced(DType type, F f) {
  VisitDType(type, [&]<typename T>() {
    if constexpr (std::same_as<T, bool> || Arithmetic<T>) f.template operator()<T>();
  });
}

}  // namespace

void Compute(const Inst& inst, DType from, const Arrays& v) {
  if (inst.op == Op::kCast) return Cast(inst.type, from, v);
  if (inst.op == Op::kBitcast) {
    std::memcpy(v.out, v.a, size_t(v.n) * SizeOf(inst.type));
    return;
  }
  if (inst.op == Op::kLookup) {
    const float* const table = fn::kTables[inst.imm];
    return Map1<float, uint32_t>(v, [&](uint32_t a) { return table[a % fn::kTableSize]; });
  }
  const bool compares = inst.op >= Op::kLt && inst.op <= Op::kNe;
  const bool done = VisitDType(compares ? from : inst.type, [&]<typename T>() {
    if constexpr (std::same_as<T, bool>) {
      return compares ? Compare<T>(inst.op, v) : Logic(inst.op, v);
    } else if constexpr (Arithmetic<T>) {
      if (compares) return Compare<T>(inst.op, v);
      if (Common<T>(inst.op, v)) return true;
      if constexpr (std::floating_point<T>)
        return FloatOnly<T>(inst.op, v);
      else
        return IntegerOnly<T>(inst.op, v);
    } else {
      return false;
    }
  });
  FZ_CHECK(done);
}

void StartReduce(const Inst& inst, void* lanes, int n) {
  VisitReduced(inst.type, [&]<typename T>() {
    const T identity = Identity<T>(ReduceKind(inst.imm));
    for (int i = 0; i < LanesOf(inst) * n; ++i) static_cast<T*>(lanes)[i] = identity;
  });
}

void AddToReduce(const Inst& inst, void* lanes, const void* x, int64_t at, int n, bool across) {
  const int mask = LanesOf(inst) - 1;
  VisitReduced(inst.type, [&]<typename T>() {
    VisitStep<T>(ReduceKind(inst.imm), [&](auto step) {
      T* lane = static_cast<T*>(lanes);
      const T* element = static_cast<const T*>(x);
      if (across) {
        for (int i = 0; i < n; ++i) lane[(at + i) & mask] = step(lane[(at + i) & mask], element[i]);
      } else {
        T* row = lane + (at & mask) * n;
        for (int i = 0; i < n; ++i) row[i] = step(row[i], element[i]);
      }
    });
  });
}

void FinishReduce(const Inst& inst, void* lanes, void* out, int64_t count, int n) {
  const ReduceKind kind = ReduceKind(inst.imm);
  VisitReduced(inst.type, [&]<typename T>() {
    T* lane = static_cast<T*>(lanes);
    VisitStep<T>(kind, [&](auto step) {
      for (int half = LanesOf(inst) / 2; half >= 1; half /= 2) {
        for (int i = 0; i < half * n; ++i) lane[i] = step(lane[i], lane[i + half * n]);
      }
    });
    // The identity of sum is -0, an empty sum is +0.
    const bool empty_sum = count == 0 && kind == ReduceKind::kSum;
    for (int i = 0; i < n; ++i) static_cast<T*>(out)[i] = empty_sum ? T(0) : lane[i];
  });
}

}  // namespace frazil::jit::interp
