// A product so small that choosing its kernels would take longer than running them: it is chosen
// once and is then a list of calls. Made where a shape and layout are known before they are used
// (plans, GemmSeries). Invariant: kernels/gemm/gemm.h's rule; after Make nothing changes, so any
// number of threads may run one.
//
// A small product is chosen when its plan is made and then is a list of calls of kernels
// (kernels/gemm/small_product.h); larger ones choose at each run, by the threads there are. The
// largest keep a block of one factor in the second-level cache while the other passes by
// (kernels/gemm/resident.cc); those between pack both (blocked.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "core/threads/tls.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/dots_code.h"
#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// Calls of generated kernels that differ in their places alone: bytes from the operands' first
// elements.
template <typename Call>
struct CallList {
  struct Entry {
    void (*kernel)(const Call*);
    int64_t a, b, c;
  };
  static constexpr size_t kMost = 64;

  bool Add(void (*kernel)(const Call*), const Call& call, const void* a, const void* b,
           const void* c) {
    if (entries.empty()) like = call;
    entries.push_back({kernel, Apart(a, call.a), Apart(b, call.b), Apart(c, call.c)});
    return entries.size() <= kMost;
  }
  void Run(const void* a, const void* b, void* c, bool backwards) const {
    Call call = like;
    const auto run = [&](const Entry& e) {
      call.a = static_cast<const char*>(a) + e.a;
      call.b = static_cast<const char*>(b) + e.b;
      call.c = static_cast<char*>(c) + e.c;
      e.kernel(&call);
    };
    if (!backwards) {
      for (const Entry& e : entries) run(e);
    } else {
      for (size_t i = entries.size(); i-- > 0;) run(entries[i]);
    }
  }

  Call like{};
  std::vector<Entry> entries;

 private:
  static int64_t Apart(const void* from, const void* to) {
    return static_cast<const char*>(to) - static_cast<const char*>(from);
  }
};

using SmallCalls = std::variant<CallList<KernelCall>, CallList<DotsCall>>;

// Where a product of a batch lies, in elements from the first one.
struct BatchPlace {
  int64_t a, b, c;
};

class SmallProduct {
 public:
  // `like` without its pointers. Null for a product that is larger, that packs or converts what it
  // reads, or where code cannot be generated.
  static std::unique_ptr<const SmallProduct> Make(const GemmArgs& like, Isa isa = Isa::kBest) {
    return Make(like, {{0, 0, 0}}, isa);
  }
  // The same of a batch of them.
  static std::unique_ptr<const SmallProduct> Make(const GemmArgs& like,
                                                  absl::Span<const BatchPlace> batch,
                                                  Isa isa = Isa::kBest);

  // On the calling thread, whose floating-point mode is the default.
  void Run(const void* a, const void* b, void* c) const {
    const bool backwards = returns_ && TurnsBack(b);
    if (transposed_) std::swap(a, b);
    if (const auto* tiles = std::get_if<CallList<KernelCall>>(&calls_))
      return tiles->Run(a, b, c, backwards);
    std::get_if<CallList<DotsCall>>(&calls_)->Run(a, b, c, backwards);
  }

  int64_t bytes() const {
    const auto of = [](const auto& list) {
      return list.entries.capacity() * sizeof(list.entries[0]);
    };
    return static_cast<int64_t>(sizeof(*this) + std::visit(of, calls_));
  }

 private:
  SmallProduct(SmallCalls calls, bool transposed, bool returns)
      : calls_(std::move(calls)), transposed_(transposed), returns_(returns) {}

  // Where this thread's last product read the same factor to its end, this one begins there: the
  // first-level cache still holds what was read last.
  static bool TurnsBack(const void* b) {
    const bool back = t_read_to_end == b;
    t_read_to_end = back ? nullptr : b;
    return back;
  }
  static FZ_HOT_TLS const void* t_read_to_end;

  const SmallCalls calls_;
  const bool transposed_;
  const bool returns_;  // b is larger than that cache
};

}  // namespace frazil::gemm
