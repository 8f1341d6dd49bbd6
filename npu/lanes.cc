#include "npu/lanes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gemm/convert.h"
#include "kernels/semantics.h"
#include "npu/host_loop.h"

namespace frazil::npu {
namespace {

namespace semantics = kir::semantics;

template <typename From, typename To>
void Cast(const void* from, int64_t n, void* to) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  ForEach(n, [=](int64_t i) { y[i] = To(x[i]); });
}

// f called with a zero of the C++ type of `type`.
template <typename F>
void WithType(Type type, const F& f) {
  switch (type) {
    case kF32:
      return f(float());
    case kF16:
      return f(Half());
    case kBF16:
      return f(BFloat16());
    case kI8:
      return f(int8_t());
    case kU8:
      return f(uint8_t());
    case kI32:
      return f(int32_t());
    default:
      return f(uint32_t());
  }
}

template <typename To>
To Rounded(float x, Rounding rounding) {
  switch (rounding) {
    case kRoundNearest:
      return semantics::Saturate<To>(std::nearbyint(x));
    case kRoundToZero:
      return semantics::Saturate<To>(x);
    case kRoundDown:
      return semantics::Saturate<To>(std::floor(x));
    default:
      return semantics::Saturate<To>(std::ceil(x));
  }
}

template <typename To, Rounding rounding>
void FloatsToIntegers(const float* x, int64_t n, char* out) {
  To* y = reinterpret_cast<To*>(out);
  ForEach(n, [=](int64_t i) { y[i] = Rounded<To>(x[i], rounding); });
}

template <typename To>
void FloatsToIntegers(const float* x, int64_t n, Rounding rounding, char* out) {
  switch (rounding) {
    case kRoundNearest:
      return FloatsToIntegers<To, kRoundNearest>(x, n, out);
    case kRoundToZero:
      return FloatsToIntegers<To, kRoundToZero>(x, n, out);
    case kRoundDown:
      return FloatsToIntegers<To, kRoundDown>(x, n, out);
    default:
      return FloatsToIntegers<To, kRoundUp>(x, n, out);
  }
}

template <typename From, typename To>
void IntegersTo(const From* x, int64_t n, bool saturate, char* out) {
  To* y = reinterpret_cast<To*>(out);
  if constexpr (std::is_integral_v<To>) {
    if (!saturate) return Cast<From, To>(x, n, y);
    using Limits = std::numeric_limits<To>;
    ForEach(n, [=](int64_t i) {
      y[i] = To(std::clamp<int64_t>(x[i], int64_t(Limits::min()), int64_t(Limits::max())));
    });
  } else if constexpr (std::is_same_v<To, float>) {
    Cast<From, float>(x, n, y);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = semantics::Convert<To>(x[i]);
  }
}

}  // namespace

const void* LoadLanes(Type type, const char* from, int64_t n, void* buffer) {
  switch (type) {
    case kF16:
      gemm::WidenRun(reinterpret_cast<const Half*>(from), n, static_cast<float*>(buffer));
      return buffer;
    case kBF16: {
      const uint16_t* x = reinterpret_cast<const uint16_t*>(from);
      uint32_t* y = static_cast<uint32_t*>(buffer);
      ForEach(n, [=](int64_t i) { y[i] = uint32_t(x[i]) << 16; });
      return buffer;
    }
    case kI8:
      Cast<int8_t, int32_t>(from, n, buffer);
      return buffer;
    case kU8:
      Cast<uint8_t, int32_t>(from, n, buffer);
      return buffer;
    default:
      return from;
  }
}

void StoreLanes(Type type, const void* lanes, int64_t n, char* to) {
  switch (type) {
    case kF16:
      return gemm::NarrowRun(static_cast<const float*>(lanes), n, reinterpret_cast<Half*>(to));
    case kBF16: {
      const uint32_t* x = static_cast<const uint32_t*>(lanes);
      uint16_t* y = reinterpret_cast<uint16_t*>(to);
      ForEach(n, [=](int64_t i) {
        const uint32_t u = x[i];
        const uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
        y[i] = uint16_t((u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);
      });
      return;
    }
    case kI8:
    case kU8:
      return Cast<uint32_t, uint8_t>(lanes, n, to);
    default:
      if (lanes != to) std::memcpy(to, lanes, size_t(n) * 4);
  }
}

void ConvertLanes(Type from, const void* lanes, int64_t n, Type to, Rounding rounding,
                  bool saturate, char* out) {
  if (LaneType(from) == kF32 && IsFloat(to)) return StoreLanes(to, lanes, n, out);
  WithType(to, [&](auto zero) {
    using To = decltype(zero);
    if (LaneType(from) == kI32)
      return IntegersTo<int32_t, To>(static_cast<const int32_t*>(lanes), n, saturate, out);
    if (LaneType(from) == kU32)
      return IntegersTo<uint32_t, To>(static_cast<const uint32_t*>(lanes), n, saturate, out);
    if constexpr (std::is_integral_v<To>)
      FloatsToIntegers<To>(static_cast<const float*>(lanes), n, rounding, out);
  });
}

}  // namespace frazil::npu
