#include "jit/emit/cuda/copy_text.h"

#include "core/str.h"

namespace frazil::jit::cuda {
namespace {

constexpr std::string_view kArgs = R"text(
struct Args {
  const item_t* from;
  item_t* to;
  i64 count;
  i64 axes;
  i64 extents[RANK], strides[RANK];
};
)text";

constexpr std::string_view kBlock = R"text((const Args args) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  i64 rest = i, from = 0;
  for (int axis = (int)args.axes - 1; axis >= 0; --axis) {
    from += rest % args.extents[axis] * args.strides[axis];
    rest /= args.extents[axis];
  }
  args.to[i] = args.from[from];
}
)text";

}  // namespace

std::string CopyEntry(int item_bytes) { return StrCat("frazil_copy_", item_bytes); }

std::string CopyText(int item_bytes) {
  return StrCat("typedef u", 8 * item_bytes, " item_t;\n#define RANK ", kMaxRank, kArgs,
                "extern \"C\" __global__ void __launch_bounds__(", kCopyThreads, ") ",
                CopyEntry(item_bytes), kBlock);
}

}  // namespace frazil::jit::cuda
