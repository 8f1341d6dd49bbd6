// One chunk of k of the float GEMM: panels, packing and cache blocks around the generated kernels.
// Called by kernels/gemm/float_gemm.cc. Invariant: C gets, from +0, one fma a k step in ascending
// order; a block of k continues the accumulator that the block before it left in C.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/gemm/codegen.h"
#include "kernels/gemm/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/small_product.h"
#include "kernels/gemm/sum_rule.h"
#include "kernels/gemm/team.h"

namespace frazil::gemm {

// out = a @ b for k of at most kChunk. `isa` is resolved. Where packing takes part, `team` shares
// it. With `continues` the accumulators start from what `out` holds instead of +0.
template <typename S>
void ChunkGemm(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out, const Team& team,
               bool continues = false);

// The same, from +0, some rows of A against columns of 16-bit floats that
// are adjacent along k, read as they lie. False,
// with nothing done, where it is another product or no code can be generated.
template <typename S>
bool TryTurnedStored(Isa isa, View<float> a, View<S> b, int64_t k, const Block<float>& out);

// The kernels' calls for such a product, which has fewer than 2^20 multiply-adds; none where it
// packs, or takes many. `isa` is not kScalar.
template <typename S>
std::optional<SmallCalls> ListCalls(Isa isa, View<S> a, View<S> b, int64_t k,
                                    const Block<Acc<S>>& out);

// Such a product with another kind of step: kPairs of BFloat16, or sums of integers of words of
// four bytes (kernels/gemm/words.h), which stand in the floats. False, with nothing done, where no
// code can be generated; `isa` is not kScalar.
template <typename S>
bool TryStepGemm(Isa isa, Step step, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out,
                 const Team& team, bool continues = false);

// Many products by ChunkGemm of one shape and instruction set, which is not kScalar, on one thread:
// what is
// chosen by the shape is chosen once. The pointers of `a`, `b` and `out` are given to Run.
template <typename S>
class Repeated {
 public:
  using Element = S;
  Repeated(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out);
  Repeated(Repeated&&) noexcept;
  ~Repeated();

  void Run(const S* a, const S* b, Acc<S>* out, bool continues);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::gemm
