// Gradients of attention. Where there are batches for all threads, one pass over keys makes all
// three gradients of a batch; otherwise one pass makes those of keys and values, block by block,
// and another those of queries. The order of additions into each is the same.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/cost.h"
#include "core/str.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "jit/library/attention/attention.h"
#include "jit/library/attention/kernels.h"
#include "jit/library/attention/operand.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/scratch.h"

namespace frazil::jit {
namespace {

struct Operands {
  AttentionOperand q, k, v, g, logs, delta;
};

template <typename T>
class AttentionGradient : public LibraryCall {
 public:
  AttentionGradient(const Operands& in, bool causal, PlaneKernel gradients)
      : in_(in), causal_(causal), gradients_(std::move(gradients)) {}

  // The result is flat: the gradients of q, of k, of v.
  Status Run(absl::Span<char* const> operands, char* result) const override {
    const Call call{operands, reinterpret_cast<T*>(result)};
    const int64_t batches = in_.q.batches();
    std::memset(result, 0,
                size_t(batches * (Queries() * Depth() + Keys() * (Depth() + Width()))) * sizeof(T));
    try {
      if (batches >= NumThreads()) {
        For(batches, [&](int64_t batch) {
          for (int64_t key = 0; key < Keys(); key += kKeyBlock)
            OverQueries(call, batch, key, kOfAll);
        });
      } else {
        const int64_t blocks = (Keys() + kKeyBlock - 1) / kKeyBlock;
        For(batches * blocks,
            [&](int64_t i) { OverQueries(call, i / blocks, i % blocks * kKeyBlock, kOfKeys); });
        const int64_t query_blocks = (Queries() + kQueryBlock - 1) / kQueryBlock;
        For(batches * query_blocks,
            [&](int64_t i) { OverKeys(call, i / query_blocks, i % query_blocks * kQueryBlock); });
      }
    } catch (const std::bad_alloc&) {
      return MemoryError("[attention] no memory for a block of the gradient: ", text(), ".");
    }
    return absl::OkStatus();
  }

  std::string text() const override {
    return StrCat(causal_ ? "causal attention" : "attention", " gradient ", ShortName(kType),
                  " batches ", in_.q.batches(), " queries ", Queries(), " keys ", Keys(), " depth ",
                  Depth(), ", ", Width());
  }
  int64_t work() const override {
    const double pairs = double(in_.q.batches()) * double(Queries()) * double(Keys());
    return cost::Whole(cost::Attention(pairs, 2.5 * double(Depth() + Width()), kType));
  }

 private:
  static constexpr DType kType = DTypeOf<T>::value;
  static constexpr int64_t kItem = sizeof(T);
  enum Part { kOfQueries = 1, kOfKeys = 2, kOfAll = 3 };

  struct Call {
    absl::Span<char* const> in;
    T* out;
  };
  // A block of keys: k and v with a column a key, then scores and gradients of weights.
  struct Block {
    T *k, *v, *scores, *weights;
  };

  int64_t Queries() const { return in_.q.rows(); }
  int64_t Keys() const { return in_.k.rows(); }
  int64_t Depth() const { return in_.q.cols(); }
  int64_t Width() const { return in_.v.cols(); }
  // Query i sees keys up to i + Ahead().
  int64_t Ahead() const { return Keys() - Queries(); }
  bool Sees(int64_t query, int64_t queries, int64_t key) const {
    return !causal_ || key <= query + queries - 1 + Ahead();
  }

  template <typename F>
  static void For(int64_t n, const F& body) {
    ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
      const DefaultFpMode mode;
      for (int64_t i = begin; i < end && !Abandoned(); ++i) body(i);
    });
  }

  Block Memory() const {
    const int64_t pairs = kQueryBlock * kKeyBlock;
    T* at = gemm::Scratch::ThisThread().Get<T>(gemm::Scratch::kAttention,
                                               kKeyBlock * (Depth() + Width()) + 2 * pairs);
    Block b;
    b.k = at;
    b.v = b.k + kKeyBlock * Depth();
    b.scores = b.v + kKeyBlock * Width();
    b.weights = b.scores + pairs;
    return b;
  }

  static void Pack(const MatrixRef& m, int64_t rows, int64_t depth, T* to) {
    gemm::PackPanel(gemm::View<T>{static_cast<const T*>(m.data), m.col_stride, m.row_stride}, depth,
                    rows, kKeyBlock, to);
  }

  void PackKeys(const Call& call, int64_t batch, int64_t key, int64_t keys, const Block& b) const {
    Pack(in_.k.Rows(call.in[1], batch, key), keys, Depth(), b.k);
    Pack(in_.v.Rows(call.in[2], batch, key), keys, Width(), b.v);
  }

  void OverQueries(const Call& call, int64_t batch, int64_t key, Part part) const {
    const Block b = Memory();
    const int64_t keys = std::min(kKeyBlock, Keys() - key);
    PackKeys(call, batch, key, keys, b);
    for (int64_t query = 0; query < Queries() && !Abandoned(); query += kQueryBlock) {
      const int64_t queries = std::min(kQueryBlock, Queries() - query);
      if (Sees(query, queries, key)) Pairs(call, b, batch, query, queries, key, keys, part);
    }
  }

  void OverKeys(const Call& call, int64_t batch, int64_t query) const {
    const Block b = Memory();
    const int64_t queries = std::min(kQueryBlock, Queries() - query);
    for (int64_t key = 0; key < Keys() && Sees(query, queries, key) && !Abandoned();
         key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, Keys() - key);
      PackKeys(call, batch, key, keys, b);
      Pairs(call, b, batch, query, queries, key, keys, kOfQueries);
    }
  }

  // Adds what a block of queries and a block of keys give to each other.
  void Pairs(const Call& call, const Block& b, int64_t batch, int64_t query, int64_t queries,
             int64_t key, int64_t keys, Part part) const {
    const MatrixRef q = in_.q.Rows(call.in[0], batch, query);
    const MatrixRef k = in_.k.Rows(call.in[1], batch, key);
    const MatrixRef g = in_.g.Rows(call.in[3], batch, query);
    const MatrixRef scores{b.scores, kKeyBlock, 1}, weights{b.weights, kKeyBlock, 1};
    Gemm({kType, queries, keys, Depth(), q, {b.k, kKeyBlock, 1}, scores});
    Gemm({kType, queries, keys, Width(), g, {b.v, kKeyBlock, 1}, weights});
    Weigh(call, b, batch, query, queries, key, keys);
    // Now the gradients of scores lie where gradients of weights did, and weights where scores did.
    T* const dq = call.out + (batch * Queries() + query) * Depth();
    T* const all_dk = call.out + in_.q.batches() * Queries() * Depth();
    T* const dk = all_dk + (batch * Keys() + key) * Depth();
    T* const dv = all_dk + in_.q.batches() * Keys() * Depth() + (batch * Keys() + key) * Width();
    if (part & kOfKeys) {
      GemmAdd({kType, keys, Width(), queries, Transposed(scores), g, {dv, Width(), 1}});
      GemmAdd({kType, keys, Depth(), queries, Transposed(weights), q, {dk, Depth(), 1}});
    }
    if (part & kOfQueries) GemmAdd({kType, queries, Depth(), keys, weights, k, {dq, Depth(), 1}});
  }

  void Weigh(const Call& call, const Block& b, int64_t batch, int64_t query, int64_t queries,
             int64_t key, int64_t keys) const {
    const auto numbers = [&](const AttentionOperand& x, int i) {
      return Plane{x.At(call.in[i], batch) + query * x.rs() * kItem, x.rs() * kItem, 0};
    };
    const Plane scores{b.scores, kKeyBlock * kItem, kItem};
    const Plane weights{b.weights, kKeyBlock * kItem, kItem};
    for (int64_t r = 0; causal_ && r < queries; ++r) {
      const int64_t seen = std::clamp<int64_t>(query + r + Ahead() - key + 1, 0, keys);
      std::fill(b.scores + r * kKeyBlock + seen, b.scores + r * kKeyBlock + keys, T(-INFINITY));
    }
    gradients_.Run<6>(
        {scores, weights, numbers(in_.logs, 4), numbers(in_.delta, 5), scores, weights}, queries,
        keys);
  }

  const Operands in_;
  const bool causal_;
  const PlaneKernel gradients_;
};

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeAttentionGradient(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const auto operand = [&](int i) {
    return AttentionOperand(graph.nodes[node.operands[i]].layout, i < 4 ? 2 : 1,
                            SizeOf(node.dtype));
  };
  const Operands in{operand(0), operand(1), operand(2), operand(3), operand(4), operand(5)};
  const bool causal = node.attrs[0] != 0;
  FZ_ASSIGN_OR_RETURN(PlaneKernel gradients, PlaneKernel::Make(GradientsKernel(node.dtype)));
  if (node.dtype == DType::kF32)
    return std::make_unique<const AttentionGradient<float>>(in, causal, std::move(gradients));
  return std::make_unique<const AttentionGradient<double>>(in, causal, std::move(gradients));
}

}  // namespace frazil::jit
