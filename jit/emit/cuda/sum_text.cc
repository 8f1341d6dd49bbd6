#include "jit/emit/cuda/sum_text.h"

#include "core/str.h"
#include "jit/emit/cuda/expr.h"

namespace frazil::jit::cuda {
namespace {

constexpr std::string_view kArgs = R"text(
struct Args {
  const item_t* parts;
  const item_t* own;
  item_t* out;
  i64 count;
  i64 ranks, me;
};

FZ_DEVICE item_t element(const Args& args, i64 rank, i64 i) {
  return rank == args.me ? args.own[i] : args.parts[rank * args.count + i];
}
)text";

constexpr std::string_view kBody = R"text((const Args args) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < args.count; i += step) {
    item_t sum = args.ranks > 0 ? element(args, 0, i) : (item_t)0;
    for (i64 rank = 1; rank < args.ranks; ++rank) sum = added(sum, element(args, rank, i));
    args.out[i] = sum;
  }
}
)text";

}  // namespace

// 16-bit floats round after every addition; the sum of two has at most one rounding in f32, which
// changes nothing in the second (24 bits are at least 2 * 11 + 2).
std::string SumText(DType dtype) {
  if (dtype == DType::kF16) return "fz_f32_to_f16(fz_f16_to_f32(a) + fz_f16_to_f32(b))";
  if (dtype == DType::kBF16) return "fz_f32_to_bf16(fz_bf16_to_f32(a) + fz_bf16_to_f32(b))";
  if (IsBool(dtype)) return "a || b";
  if (IsFloat(dtype)) return "a + b";
  const std::string_view wide = SizeOf(dtype) == 8 ? "u64" : "u32";
  return StrCat("(item_t)((", wide, ")a + (", wide, ")b)");
}

std::string SumEntry(DType dtype) { return StrCat("frazil_rank_sum_", ShortName(dtype)); }

std::string SumText(DType dtype, const std::string& entry) {
  return StrCat("typedef ", TypeText(dtype), " item_t;\n",
                "FZ_DEVICE item_t added(item_t a, item_t b) { return ", SumText(dtype), "; }\n",
                kArgs, "extern \"C\" __global__ void __launch_bounds__(", kSumThreads, ") ", entry,
                kBody);
}

}  // namespace frazil::jit::cuda
