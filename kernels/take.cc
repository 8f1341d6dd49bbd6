#include "kernels/take.h"

#include <algorithm>
#include <cstring>

#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/places.h"

namespace frazil {
namespace {

template <typename I>
void Run(const TakeArgs& args) {
  const Places outer(args.x, 0, args.axis), places(args.indices, 0, args.indices->rank);
  int64_t run = 0;
  IsRun(*args.x, args.axis + 1, &run);
  const int64_t bytes = run * args.item, n = places.count();
  const int64_t stride = args.x->strides_[args.axis] * args.item;
  const auto* indices = reinterpret_cast<const I*>(args.indices_data);
  ParallelFor(outer.count() * n, tuned::kTakeGrain / bytes + 1, [&](int64_t begin, int64_t end) {
    const Places::View at = places.view(), from = outer.view();
    char* out = args.out + begin * bytes;
    for (int64_t i = begin; i < end; ++i, out += bytes) {
      const int64_t o = i / n, p = i - o * n;
      std::memcpy(out, args.x_data + from[o] * args.item + indices[at[p]] * stride,
                  static_cast<size_t>(bytes));
    }
  });
}

}  // namespace

void TakeRows(const TakeArgs& args) {
  if (args.x->size == 0 || args.indices->size == 0) return;
  args.wide_indices ? Run<int64_t>(args) : Run<int32_t>(args);
}

bool IsRun(const Layout& layout, int begin, int64_t* size) {
  *size = 1;
  for (int axis = layout.rank; axis-- > begin; *size *= layout.extents[axis]) {
    if (layout.extents[axis] != 1 && layout.strides_[axis] != *size) return false;
  }
  return true;
}

}  // namespace frazil
