#include "kernels/dense_copy.h"

#include <complex>
#include <cstring>

#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil {
namespace {

// Where row `row` of a layout begins, in elements; a row is its last axis.
int64_t RowOffset(const Layout& layout, int64_t row) {
  int64_t offset = 0;
  for (int axis = layout.rank - 1; axis-- > 0; row /= layout.extents[axis])
    offset += row % layout.extents[axis] * layout.strides_[axis];
  return offset;
}

template <typename Word>
void CopyRows(const Layout& layout, const char* from, char* to) {
  const auto* source = reinterpret_cast<const Word*>(from);
  auto* target = reinterpret_cast<Word*>(to);
  const int last = layout.rank - 1;
  const int64_t n = layout.extents[last], step = layout.strides_[last];
  const int64_t grain = tuned::kCopyGrain / (n * int64_t{sizeof(Word)}) + 1;
  ParallelFor(layout.size / n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Word* at = source + RowOffset(layout, row);
      Word* out = target + row * n;
      if (step == 1) {
        std::memcpy(out, at, static_cast<size_t>(n) * sizeof(Word));
      } else {
        for (int64_t i = 0; i < n; ++i) out[i] = at[i * step];
      }
    }
  });
}

}  // namespace

void CopyDense(const Layout& layout, int64_t item, const char* from, char* to) {
  if (layout.size == 0) return;
  if (layout.dense) {
    ParallelFor(layout.size * item, tuned::kCopyGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  if (item == 1) return CopyRows<uint8_t>(layout, from, to);
  if (item == 2) return CopyRows<uint16_t>(layout, from, to);
  if (item == 4) return CopyRows<uint32_t>(layout, from, to);
  if (item == 8) return CopyRows<uint64_t>(layout, from, to);
  CopyRows<std::complex<double>>(layout, from, to);
}

}  // namespace frazil
