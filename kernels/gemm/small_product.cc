#include "kernels/gemm/small_product.h"

#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/float_gemm.h"

namespace frazil::gemm {
namespace {

// The calls of one product for all places of a batch. False: too many.
template <typename Call>
bool Repeat(absl::Span<const BatchPlace> batch, bool transposed, int64_t size,
            CallList<Call>* list) {
  const auto one = std::exchange(list->entries, {});
  if (one.size() * batch.size() > CallList<Call>::kMost) return false;
  for (const BatchPlace& at : batch) {
    for (auto call : one) {
      call.a += (transposed ? at.b : at.a) * size;
      call.b += (transposed ? at.a : at.b) * size;
      call.c += at.c * size;
      list->entries.push_back(call);
    }
  }
  return true;
}

}  // namespace

FZ_HOT_TLS const void* SmallProduct::t_read_to_end = nullptr;

std::unique_ptr<const SmallProduct> SmallProduct::Make(const GemmArgs& like,
                                                       absl::Span<const BatchPlace> batch,
                                                       Isa isa) {
  const bool single = like.dtype == DType::kF32;
  if (!single && like.dtype != DType::kF64) return nullptr;
  if (like.m <= 0 || like.n <= 0 || like.k <= 0 || batch.empty()) return nullptr;
  const double count = double(batch.size());
  if (double(like.m) * double(like.n) * double(like.k) * count > tuned::kSmallProductWork)
    return nullptr;
  alignas(64) char origin[64];  // an address to count bytes from
  GemmArgs args = like;
  args.a.data = args.b.data = args.c.data = origin;
  bool transposed = false;
  // What lists the calls is what makes a product, and that asks whether to go on: here it does.
  LongWork* const work = std::exchange(LongWork::Current(), nullptr);
  const absl::Cleanup restore = [work] { LongWork::Current() = work; };
  std::optional<SmallCalls> calls = single ? FloatCalls<float>(args, ResolveIsa(isa), &transposed)
                                           : FloatCalls<double>(args, ResolveIsa(isa), &transposed);
  if (!calls) return nullptr;
  const int64_t size = SizeOf(like.dtype);
  const auto repeat = [&](auto& list) { return Repeat(batch, transposed, size, &list); };
  if (batch.size() > 1 && !std::visit(repeat, *calls)) return nullptr;
  const bool returns = like.k * like.n * int64_t(batch.size()) * size > tuned::kReturningFactor;
  return std::unique_ptr<const SmallProduct>(
      new SmallProduct(*std::move(calls), transposed, returns));
}

}  // namespace frazil::gemm
