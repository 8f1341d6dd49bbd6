// Random arrays on the CPU and on a GPU, and what an expression of both gives. Used by tests of the
// library steps on the fake libraries. Invariant: the bits of two values are compared, any NaN like
// any other.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "core/apply.h"
#include "core/backend.h"
#include "core/functions/ops.h"
#include "jit/register.h"
#include "tests/cuda/on_fakes.h"

namespace frazil {

class OnGpu : public cuda::OnFakes {
 protected:
  void SetUp() override {
    jit::RegisterJit();
    OnFakes::SetUp();
    State().precision = Precision::kDefault;
  }
  void TearDown() override { State().precision = Precision::kDefault; }

  static constexpr Device kGpu{DeviceKind::kCuda, 0};

  // Small integers and fractions, a few special values; integers of all bits.
  Tensor Random(DType dtype, Dims dims) {
    ValueRef v = *Value::Allocate(dtype, Device(), Dense(dims));
    for (int64_t i = 0; i < v->size(); ++i) {
      const double x = std::normal_distribution<double>()(rng_);
      const uint64_t bits = rng_();
      char* const to = v->data + i * SizeOf(dtype);
      switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E: {                                    \
    const T item = Make<T>(x, bits);                  \
    std::memcpy(to, &item, sizeof(T));                \
    break;                                            \
  }
#include "core/dtypes.def"
#undef FZ_DTYPE
        default:
          break;
      }
    }
    return Tensor(std::move(v));
  }

  using Function = std::function<Tensor(absl::Span<const Tensor>)>;

  // f of arrays on the GPU against f of the same arrays on the CPU.
  void Compare(const std::vector<Tensor>& arrays, const Function& f, const std::string& what,
               Device device = kGpu) {
    std::vector<Tensor> there;
    for (const Tensor& array : arrays) there.push_back(ops::to_device(array, device));
    const Precision precision = std::exchange(State().precision, Precision::kDefault);
    const Tensor want = f(arrays);
    State().precision = precision;
    const Tensor got = f(there);
    ASSERT_TRUE(want.ok()) << what << ": " << want.status();
    ASSERT_TRUE(got.ok()) << what << ": " << got.status();
    ASSERT_TRUE(got.value()->device == device) << what;
    EXPECT_EQ(Differences(want, got), 0) << what;
  }

  static int64_t Differences(const Tensor& want, const Tensor& got) {
    const Tensor w = Apply(OpId::k_copy, {&want});
    const auto x = OnHost(*w.value()), y = OnHost(*got.value());
    if (!got.value()->layout->dense) return -1;
    if (!x.ok() || !y.ok() || (*x)->size() != (*y)->size() || (*x)->dtype != (*y)->dtype) return -1;
    int64_t differ = 0;
    const int64_t item = SizeOf((*x)->dtype);
    for (int64_t i = 0; i < (*x)->size(); ++i) {
      const char *a = (*x)->data + i * item, *b = (*y)->data + i * item;
      differ +=
          std::memcmp(a, b, size_t(item)) != 0 && !(IsNan((*x)->dtype, a) && IsNan((*x)->dtype, b));
    }
    return differ;
  }

 private:
  template <typename T>
  static T Make(double x, uint64_t bits) {
    const double special[] = {0.0, -0.0, INFINITY, -INFINITY, std::nan(""), 1e-41};
    if (bits % 64 == 0) x = special[bits / 64 % 6];
    if constexpr (std::is_same_v<T, Half>)
      return ToHalf(x);
    else if constexpr (std::is_same_v<T, BFloat16>)
      return ToBFloat16(x);
    else if constexpr (std::is_same_v<T, bool>)
      return bits % 2 == 0;
    else if constexpr (std::is_integral_v<T>)
      return T(bits);
    else
      return T(x);
  }
  template <typename T>
  static bool NanAt(const char* data) {
    T x;
    std::memcpy(&x, data, sizeof(T));
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return std::isnan(ToFloat(x));
    else
      return x != x;
  }
  static bool IsNan(DType dtype, const char* data) {
    switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return NanAt<T>(data);
#include "core/dtypes.def"
#undef FZ_DTYPE
      default:
        break;
    }
    return false;
  }

  std::mt19937_64 rng_{1};
};

}  // namespace frazil
