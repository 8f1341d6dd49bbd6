#include <cmath>

#include "kernels/fn_exp.h"
#include "kernels/fn_log.h"
#include "kernels/fn_tanh_erf.h"
#include "kernels/semantics.h"
#include "npu/fn_value.h"
#include "npu/host_loop.h"
#include "npu/vector.h"

namespace frazil::npu {
namespace {

namespace semantics = kir::semantics;

template <typename T, auto f>
void Map(const void* x, int64_t n, void* d) {
  const T* a = static_cast<const T*>(x);
  T* b = static_cast<T*>(d);
  ForEach(n, [=](int64_t i) { b[i] = f(a[i]); });
}

template <typename T>
T Copy(T x) {
  return x;
}

// sign and relu as core/ops.def and core/functions/nn.cc define them: NaN stays, relu(-0) is +0.
template <typename T>
T Sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
}
template <typename T>
T Relu(T x) {
  return x <= T(0) ? T(0) : x;
}

float Sqrt(float x) { return std::sqrt(x); }
float Rsqrt(float x) { return 1.0f / std::sqrt(x); }
float Recip(float x) { return 1.0f / x; }
float Exp(float x) { return fn::Exp(LaneV::F(x)).f(); }
float Log(float x) { return fn::Log(LaneV::F(x)).f(); }
float Tanh(float x) { return fn::Tanh(LaneV::F(x)).f(); }
float Erf(float x) { return fn::Erf(LaneV::F(x)).f(); }
float Floor(float x) { return std::floor(x); }
float Ceil(float x) { return std::ceil(x); }
float Rint(float x) { return std::nearbyint(x); }

// To the nearest number of `type` and back.
void RoundLanes(Type type, float* x, int64_t n) {
  if (type == kF32) return;
  uint16_t small[kBlock];
  StoreLanes(type, x, n, reinterpret_cast<char*>(small));
  LoadLanes(type, reinterpret_cast<const char*>(small), n, x);
}

// tanh(x * 0.5) * 0.5 + 0.5 as core/functions/nn.cc: four operations, each rounded to the type.
template <Type type>
void Sigmoid(const void* x, int64_t n, void* d) {
  const float* a = static_cast<const float*>(x);
  float* b = static_cast<float*>(d);
  ForEach(n, [=](int64_t i) { b[i] = a[i] * 0.5f; });
  RoundLanes(type, b, n);
  Map<float, Tanh>(b, n, b);
  RoundLanes(type, b, n);
  ForEach(n, [=](int64_t i) { b[i] = b[i] * 0.5f; });
  RoundLanes(type, b, n);
  ForEach(n, [=](int64_t i) { b[i] = b[i] + 0.5f; });
}

UnaryKernel FloatFor(Un fn, Type type) {
  switch (fn) {
    case kUnCopy:
      return Map<float, Copy<float>>;
    case kUnNeg:
      return Map<float, semantics::Neg<float>>;
    case kUnAbs:
      return Map<float, semantics::Abs<float>>;
    case kUnSqrt:
      return Map<float, Sqrt>;
    case kUnRsqrt:
      return Map<float, Rsqrt>;
    case kUnRecip:
      return Map<float, Recip>;
    case kUnExp:
      return Map<float, Exp>;
    case kUnLog:
      return Map<float, Log>;
    case kUnTanh:
      return Map<float, Tanh>;
    case kUnErf:
      return Map<float, Erf>;
    case kUnSigmoid:
      return type == kF32 ? Sigmoid<kF32> : type == kF16 ? Sigmoid<kF16> : Sigmoid<kBF16>;
    case kUnFloor:
      return Map<float, Floor>;
    case kUnCeil:
      return Map<float, Ceil>;
    case kUnRint:
      return Map<float, Rint>;
    case kUnSign:
      return Map<float, Sign<float>>;
    case kUnRelu:
      return Map<float, Relu<float>>;
  }
  return nullptr;
}

template <typename T>
UnaryKernel IntegerFor(Un fn) {
  switch (fn) {
    case kUnCopy:
      return Map<T, Copy<T>>;
    case kUnNeg:
      return Map<T, semantics::Neg<T>>;
    case kUnAbs:
      return Map<T, semantics::Abs<T>>;
    case kUnSign:
      return Map<T, Sign<T>>;
    case kUnRelu:
      return Map<T, Relu<T>>;
    default:
      return nullptr;
  }
}

}  // namespace

UnaryKernel UnaryFor(Un fn, Type type) {
  if (IsFloat(type)) return FloatFor(fn, type);
  return type == kU32 ? IntegerFor<uint32_t>(fn) : IntegerFor<int32_t>(fn);
}

}  // namespace frazil::npu
