// The elements of a value one by one, for the few places that look at data themselves. Called by
// index checks, masks and sorting. Invariant: row-major order of the value's shape, whatever its
// strides.
#pragma once

#include <array>

#include "core/value.h"

namespace frazil {

// Calls body(position, element) for each element of a layout: its number in row-major order and its
// distance from the first, in elements, until it returns false.
template <typename Body>
void ForEachIndex(const Layout& layout, const Body& body) {
  std::array<int64_t, kMaxRank> at{};
  for (int64_t k = 0; k < layout.size; ++k) {
    int64_t element = 0;
    for (int i = 0; i < layout.rank; ++i) element += at[i] * layout.strides_[i];
    if (!body(k, element)) return;
    for (int i = layout.rank - 1; i >= 0 && ++at[i] == layout.extents[i]; --i) at[i] = 0;
  }
}

// Calls body(position, pointer) for each element of a ready value until it returns false.
template <typename Body>
void ForEachElement(const Value& v, const Body& body) {
  const int size = SizeOf(v.dtype);
  ForEachIndex(*v.layout,
               [&](int64_t k, int64_t element) { return body(k, v.data + element * size); });
}

}  // namespace frazil
