#include "distributed/sums.h"

#include "kernels/semantics.h"

namespace frazil::distributed {
namespace {

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (kir::semantics::SmallFloat<T>) {
    return kir::semantics::Convert<T>(ToFloat(a) + ToFloat(b));
  } else {
    return kir::semantics::Add(a, b);
  }
}

template <typename T>
void Loop(int64_t count, const T* a, const T* b, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = Sum(a[i], b[i]);
}

}  // namespace

void Add(DType dtype, int64_t count, const char* a, const char* b, char* out) {
  if (IsComplex(dtype)) return Add(PartOf(dtype), 2 * count, a, b, out);
  VisitDType(dtype, [&]<typename T>() {
    Loop(count, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
         reinterpret_cast<T*>(out));
  });
}

}  // namespace frazil::distributed
