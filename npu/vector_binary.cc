#include <cmath>

#include "kernels/semantics.h"
#include "npu/host_loop.h"
#include "npu/vector.h"

namespace frazil::npu {
namespace {

namespace semantics = kir::semantics;

template <typename T, auto f>
void Map(const void* x, const void* y, int64_t n, void* d) {
  const T *a = static_cast<const T*>(x), *b = static_cast<const T*>(y);
  T* c = static_cast<T*>(d);
  ForEach(n, [=](int64_t i) { c[i] = f(a[i], b[i]); });
}

template <typename T>
T And(T a, T b) {
  return a & b;
}
template <typename T>
T Or(T a, T b) {
  return a | b;
}
template <typename T>
T Xor(T a, T b) {
  return a ^ b;
}

template <typename T>
BinaryKernel ArithmeticFor(Bin fn) {
  switch (fn) {
    case kBinAdd:
      return Map<T, semantics::Add<T>>;
    case kBinSub:
      return Map<T, semantics::Sub<T>>;
    case kBinMul:
      return Map<T, semantics::Mul<T>>;
    case kBinDiv:
      return Map<T, semantics::Div<T>>;
    case kBinMax:
      return Map<T, semantics::Max<T>>;
    case kBinMin:
      return Map<T, semantics::Min<T>>;
    default:
      return nullptr;
  }
}

template <typename T>
BinaryKernel IntegerFor(Bin fn) {
  switch (fn) {
    case kBinAnd:
      return Map<T, And<T>>;
    case kBinOr:
      return Map<T, Or<T>>;
    case kBinXor:
      return Map<T, Xor<T>>;
    case kBinShl:
      return Map<T, semantics::Shl<T>>;
    case kBinShr:
      return Map<T, semantics::Shr<T>>;
    case kBinRem:
      return Map<T, semantics::Rem<T>>;
    default:
      return ArithmeticFor<T>(fn);
  }
}

template <typename T, Cmp cc>
void Compare(const void* x, const void* y, int64_t n, void* d) {
  const T *a = static_cast<const T*>(x), *b = static_cast<const T*>(y);
  uint8_t* c = static_cast<uint8_t*>(d);
  ForEach(n, [=](int64_t i) {
    c[i] = cc == kCmpEq   ? a[i] == b[i]
           : cc == kCmpNe ? a[i] != b[i]
           : cc == kCmpLt ? a[i] < b[i]
           : cc == kCmpLe ? a[i] <= b[i]
           : cc == kCmpGt ? a[i] > b[i]
                          : a[i] >= b[i];
  });
}

template <typename T>
BinaryKernel CompareOf(Cmp cc) {
  switch (cc) {
    case kCmpEq:
      return Compare<T, kCmpEq>;
    case kCmpNe:
      return Compare<T, kCmpNe>;
    case kCmpLt:
      return Compare<T, kCmpLt>;
    case kCmpLe:
      return Compare<T, kCmpLe>;
    case kCmpGt:
      return Compare<T, kCmpGt>;
    case kCmpGe:
      return Compare<T, kCmpGe>;
  }
  return nullptr;
}

}  // namespace

BinaryKernel BinaryFor(Bin fn, Type type) {
  if (IsFloat(type)) return ArithmeticFor<float>(fn);
  return type == kU32 ? IntegerFor<uint32_t>(fn) : IntegerFor<int32_t>(fn);
}

BinaryKernel CompareFor(Cmp cc, Type type) {
  if (IsFloat(type)) return CompareOf<float>(cc);
  return type == kU32 ? CompareOf<uint32_t>(cc) : CompareOf<int32_t>(cc);
}

void FusedMultiplyAdd(const void* x, const void* y, int64_t n, void* d) {
  const float *a = static_cast<const float*>(x), *b = static_cast<const float*>(y);
  float* c = static_cast<float*>(d);
  ForEach(n, [=](int64_t i) { c[i] = std::fma(a[i], b[i], c[i]); });
}

}  // namespace frazil::npu
