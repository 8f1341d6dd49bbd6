#include "jit/emit/cuda/put_text.h"

#include "core/str.h"
#include "jit/emit/cuda/expr.h"
#include "jit/emit/cuda/sum_text.h"

namespace frazil::jit::cuda {
namespace {

constexpr std::string_view kArgs = R"text(
struct Axes {
  i64 count;
  i64 extents[RANK], strides[RANK];
};

struct Args {
  const item_t* updates;
  const index_t* indices;
  item_t* out;
  i64 positions, columns, width;
  i64 extent;
  i64 ranges, range_rows;
  Axes outer, inner, position;
  i64 index_strides[RANK];
};

FZ_DEVICE i64 offset(const Axes& axes, const i64* strides, i64 i) {
  i64 at = 0;
  for (int axis = (int)axes.count - 1; axis >= 0; --axis) {
    at += i % axes.extents[axis] * strides[axis];
    i /= axes.extents[axis];
  }
  return at;
}
)text";

// The lanes of a warp look at 32 indices at once and then take those that are theirs, one by one.
constexpr std::string_view kBlock = R"text((const Args args) {
  const int lane = threadIdx.x % 32;
  const i64 warp = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const i64 blocks = (args.columns + 31) / 32;
  const i64 first = warp / blocks * args.range_rows;
  if (warp >= blocks * args.ranges) return;
  const i64 past = fz_min(first + args.range_rows, args.extent);
  const i64 column = warp % blocks * 32 + lane;
  const bool mine = column < args.columns;
  const i64 outer = column / args.width, inner = column % args.width;
  const item_t* const updates =
      args.updates + offset(args.outer, args.outer.strides, outer) + offset(args.inner, args.inner.strides, inner);
  item_t* const out = args.out + outer * args.extent * args.width + inner;
  for (i64 base = 0; base < args.positions; base += 32) {
    const i64 position = base + lane;
    i64 row = -1;
    if (position < args.positions) row = args.indices[offset(args.position, args.index_strides, position)];
    u32 wanted = __ballot_sync(0xffffffffu, row >= first && row < past);
    for (; wanted != 0; wanted &= wanted - 1) {
      const int from = __ffs((int)wanted) - 1;
      const i64 to = __shfl_sync(0xffffffffu, row, from);
      if (!mine) continue;
      const item_t update = updates[offset(args.position, args.position.strides, base + from)];
      out[to * args.width] = combined(out[to * args.width], update);
    }
  }
}
)text";

}  // namespace

std::string PutEntry(const PutShape& shape) {
  return StrCat("frazil_put_", shape.add ? "add_" : "set_", ShortName(shape.dtype),
                shape.wide_indices ? "_i64" : "_i32");
}

std::string PutText(const PutShape& shape) {
  return StrCat("typedef ", TypeText(shape.dtype), " item_t;\ntypedef ",
                shape.wide_indices ? "i64" : "i32", " index_t;\n#define RANK ", kMaxRank,
                "\nFZ_DEVICE item_t combined(item_t a, item_t b) { return ",
                shape.add ? SumText(shape.dtype) : "b", "; }\n", kArgs,
                "extern \"C\" __global__ void __launch_bounds__(", kPutThreads, ") ",
                PutEntry(shape), kBlock);
}

}  // namespace frazil::jit::cuda
