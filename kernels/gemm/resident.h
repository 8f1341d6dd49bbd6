// Large products of f32 and f64 on AVX-512: a block of B, packed, stays in the second-level cache
// while all rows of A pass by it, read where they are, also stored by columns. Called by
// kernels/gemm/blocked.cc. Invariant: as there, C gets one fma a k step in ascending order; what a
// thread takes on never changes a result.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/gemm/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/sum_rule.h"
#include "kernels/gemm/team.h"

namespace frazil::gemm {

template <typename T>
struct ResidentPlan;

// Many such products of one shape and layout; the pointers of operands are given to Run.
template <typename T>
class Resident {
 public:
  // None where another way is faster, or no code can be generated. `team` is not kept.
  static std::unique_ptr<Resident> Make(Isa isa, View<T> a, View<T> b, int64_t k, const Block<T>& c,
                                        const Team& team);
  ~Resident();

  void Run(const T* a, const T* b, T* c, const Team& team, bool continues);

 private:
  explicit Resident(std::unique_ptr<ResidentPlan<T>> plan);

  std::unique_ptr<ResidentPlan<T>> plan_;
};

}  // namespace frazil::gemm
