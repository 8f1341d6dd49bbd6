// A product so small that choosing its kernels would take longer than running them: it is chosen
// once and is then a list of calls. Made where a shape and layout are known before they are used
// (plans, GemmSeries). Invariant: kernels/gemm/gemm.h's rule; after Make nothing changes, so any
// number of threads may run one.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

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
  void Run(const void* a, const void* b, void* c) const {
    Call call = like;
    for (const Entry& e : entries) {
      call.a = static_cast<const char*>(a) + e.a;
      call.b = static_cast<const char*>(b) + e.b;
      call.c = static_cast<char*>(c) + e.c;
      e.kernel(&call);
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

class SmallProduct {
 public:
  // `like` without its pointers. Null for a product that is larger, that packs or converts what it
  // reads, or where code cannot be generated.
  static std::unique_ptr<const SmallProduct> Make(const GemmArgs& like, Isa isa = Isa::kBest);

  // On the calling thread, whose floating-point mode is the default.
  void Run(const void* a, const void* b, void* c) const {
    if (turned_) std::swap(a, b);
    if (const auto* tiles = std::get_if<CallList<KernelCall>>(&calls_)) return tiles->Run(a, b, c);
    std::get_if<CallList<DotsCall>>(&calls_)->Run(a, b, c);
  }

 private:
  SmallProduct(SmallCalls calls, bool turned) : calls_(std::move(calls)), turned_(turned) {}

  const SmallCalls calls_;
  const bool turned_;
};

}  // namespace frazil::gemm
