#include "kernels/gemm/small_product.h"

#include <optional>

#include "kernels/gemm/float_gemm.h"

namespace frazil::gemm {
namespace {

constexpr double kMost = 1 << 18;  // multiply-adds: below what is worth sharing or interrupting

}  // namespace

std::unique_ptr<const SmallProduct> SmallProduct::Make(const GemmArgs& like, Isa isa) {
  const bool single = like.dtype == DType::kF32;
  if (!single && like.dtype != DType::kF64) return nullptr;
  if (like.m <= 0 || like.n <= 0 || like.k <= 0) return nullptr;
  if (double(like.m) * double(like.n) * double(like.k) > kMost) return nullptr;
  alignas(64) char origin[64];  // an address to count bytes from
  GemmArgs args = like;
  args.a.data = args.b.data = args.c.data = origin;
  bool turned = false;
  std::optional<SmallCalls> calls = single ? FloatCalls<float>(args, ResolveIsa(isa), &turned)
                                           : FloatCalls<double>(args, ResolveIsa(isa), &turned);
  if (!calls) return nullptr;
  return std::unique_ptr<const SmallProduct>(new SmallProduct(*std::move(calls), turned));
}

}  // namespace frazil::gemm
