#include "kernels/put.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/cost.h"
#include "core/parallel.h"

namespace frazil {
namespace {

// How many of `n` are worth handing to a thread, where `updates` elements go to them together.
int64_t Grain(int64_t n, int64_t updates) {
  const double each = cost::Updates(double(updates)) / double(n);
  return static_cast<int64_t>(std::max(1.0, double(cost::kPart) / std::max(each, 1e-3)));
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(double{ToFloat(a)} + double{ToFloat(b)});  // exact in double, rounded once
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(double{ToFloat(a)} + double{ToFloat(b)});
  } else if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

// Element offsets of every position of axes [begin, end) of a layout, row-major.
std::vector<int64_t> Offsets(const Layout* layout, int begin, int end) {
  std::vector<int64_t> offsets = {0};
  for (int axis = begin; axis < end; ++axis) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * layout->extents[axis]);
    for (const int64_t base : offsets) {
      for (int64_t i = 0; i < layout->extents[axis]; ++i)
        next.push_back(base + i * layout->strides_[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// Whether axes [begin, end) of a layout lie as one run.
bool IsRun(const Layout* layout, int begin, int end) {
  int64_t size = 1;
  for (int axis = end; axis-- > begin; size *= layout->extents[axis]) {
    if (layout->extents[axis] != 1 && layout->strides_[axis] != size) return false;
  }
  return true;
}

int64_t IndexAt(const PutArgs& args, int64_t element) {
  if (args.wide_indices) {
    int64_t index;
    std::memcpy(&index, args.indices_data + element * 8, 8);
    return index;
  }
  int32_t index;
  std::memcpy(&index, args.indices_data + element * 4, 4);
  return index;
}

template <typename T>
void CopyBase(const PutArgs& args) {
  T* out = reinterpret_cast<T*>(args.out);
  const T* x = reinterpret_cast<const T*>(args.x_data);
  if (args.x->dense) {
    if (out != x) std::memcpy(out, x, args.x->size * sizeof(T));
    return;
  }
  const int rank = args.x->rank;
  const std::vector<int64_t> rows = Offsets(args.x, 0, rank - 1);
  const int64_t n = args.x->extents[rank - 1], step = args.x->strides_[rank - 1];
  for (const int64_t row : rows) {
    for (int64_t i = 0; i < n; ++i) *out++ = x[row + i * step];
  }
}

// Updates [outer][position][inner] go to out [outer][index of position][inner].
template <typename T>
void Scatter(const PutArgs& args) {
  const int after = args.axis + args.indices->rank;
  const std::vector<int64_t> outer = Offsets(args.updates, 0, args.axis);
  const std::vector<int64_t> positions = Offsets(args.updates, args.axis, after);
  const bool run = !args.add && IsRun(args.updates, after, args.updates->rank);
  std::vector<int64_t> inner;
  if (!run) inner = Offsets(args.updates, after, args.updates->rank);
  std::vector<int64_t> rows = Offsets(args.indices, 0, args.indices->rank);
  for (int64_t& row : rows) row = IndexAt(args, row);
  const int64_t extent = args.x->extents[args.axis];
  int64_t width = 1;
  for (int axis = after; axis < args.updates->rank; ++axis) width *= args.updates->extents[axis];
  T* const out = reinterpret_cast<T*>(args.out);
  const T* const updates = reinterpret_cast<const T*>(args.updates_data);
  const auto columns = [&](int64_t o, int64_t begin, int64_t end) {
    for (size_t p = 0; p < positions.size(); ++p) {
      T* to = out + (o * extent + rows[p]) * width;
      const T* from = updates + outer[o] + positions[p];
      if (run) {
        std::copy(from + begin, from + end, to + begin);
        continue;
      }
      for (int64_t i = begin; i < end; ++i)
        to[i] = args.add ? Sum(to[i], from[inner[i]]) : from[inner[i]];
    }
  };
  // Threads share out the axes that are not indexed: each element of the result has one writer.
  const int64_t count = outer.size(), work = std::max<int64_t>(1, positions.size());
  if (count >= width) {
    ParallelFor(count, Grain(count, work * count * width), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) columns(o, 0, width);
    });
    return;
  }
  for (int64_t o = 0; o < count; ++o) {
    ParallelFor(width, std::max<int64_t>(64, Grain(width, work * width)),
                [&](int64_t begin, int64_t end) { columns(o, begin, end); });
  }
}

}  // namespace

void Put(const PutArgs& args) {
  if (args.x->size == 0) return;
  switch (args.dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    CopyBase<T>(args);                                \
    if (args.updates->size > 0) Scatter<T>(args);     \
    break;
#include "core/dtypes.def"
#undef FZ_DTYPE
  }
}

}  // namespace frazil
