// The float GEMM over all of k: chooses orientation, cuts k into chunks, narrows at the end.
// Called by kernels/gemm/gemm.cc. Invariant: kernels/gemm/gemm.h's rule.
#pragma once

#include <optional>

#include "kernels/gemm/blocked.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/team.h"

namespace frazil::gemm {

// S is float, double, Half or BFloat16; `isa` is resolved.
template <typename S>
void FloatGemm(const GemmArgs& args, Isa isa, const Team& team);

// What Repeated (kernels/gemm/blocked.h) may compute, S being float or double; none where a product
// takes more than one of its. `*transposed`: with a and b in each other's place.
template <typename S>
std::optional<Repeated<S>> FloatSeries(const GemmArgs& like, Isa isa, bool* transposed);

// The kernels' calls of a small product (kernels/gemm/small_product.h), S being float or double and
// `isa` resolved, by pointers that are never read through. `*transposed` as above.
template <typename S>
std::optional<SmallCalls> FloatCalls(const GemmArgs& args, Isa isa, bool* transposed);

// kernels/gemm/gemm.h's GemmAdd; S is float or double.
template <typename S>
void FloatGemmAdd(const GemmArgs& args, Isa isa);

}  // namespace frazil::gemm
