// Attention by blocks of queries and keys, without a matrix of queries by keys in memory: the ops
// `attend` and `attend_grad`. Called by jit/library/library.cc. Method: the running maximum and sum
// of Milakov and Gimelshein 2018 (Online normalizer calculation for softmax), over blocks as in
// Rabe and Staats 2021 (Self-attention does not need O(n^2) memory); weights are computed again for
// the gradient, as in Dao et al. 2022 (FlashAttention). Invariant: the order of operations is that
// of core/SEMANTICS.md, "Attention"; blocks are those below, whatever the machine.
#pragma once

#include <memory>

#include "jit/library/library.h"

namespace frazil::jit {

inline constexpr int64_t kQueryBlock = 64;
inline constexpr int64_t kKeyBlock = 64;

// For node `id`, a k_attend or k_attend_grad.
StatusOr<std::unique_ptr<const LibraryCall>> MakeAttention(const Graph& graph, int32_t id);
StatusOr<std::unique_ptr<const LibraryCall>> MakeAttentionGradient(const Graph& graph, int32_t id);

}  // namespace frazil::jit
