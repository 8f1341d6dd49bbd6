// Results of attention, a block of queries after another.
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "core/cost.h"
#include "core/str.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "jit/library/attention/attention.h"
#include "jit/library/attention/kernels.h"
#include "jit/library/attention/operand.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/scratch.h"

namespace frazil::jit {
namespace {

struct ForwardKernels {
  PlaneKernel maximum, factor, weights, end, results;

  static StatusOr<ForwardKernels> Make(DType t) {
    ForwardKernels k;
    FZ_ASSIGN_OR_RETURN(k.maximum, PlaneKernel::Make(MaximumKernel(t)));
    FZ_ASSIGN_OR_RETURN(k.factor, PlaneKernel::Make(FactorKernel(t)));
    FZ_ASSIGN_OR_RETURN(k.weights, PlaneKernel::Make(WeightsKernel(t)));
    FZ_ASSIGN_OR_RETURN(k.end, PlaneKernel::Make(EndKernel(t)));
    FZ_ASSIGN_OR_RETURN(k.results, PlaneKernel::Make(ResultsKernel(t)));
    return k;
  }
};

// T: float or double. The result is flat: all results, then the logarithms.
template <typename T>
class Attention : public LibraryCall {
 public:
  Attention(const Layout* q, const Layout* k, const Layout* v, bool causal, ForwardKernels kernels)
      : q_(q, 2, kItem),
        k_(k, 2, kItem),
        v_(v, 2, kItem),
        causal_(causal),
        kernels_(std::move(kernels)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    try {
      const int64_t blocks = (q_.rows() + kQueryBlock - 1) / kQueryBlock;
      ParallelFor(q_.batches() * blocks, 1, [&](int64_t begin, int64_t end) {
        const DefaultFpMode mode;
        std::optional<Products> whole = WholeBlocks();
        for (int64_t i = begin; i < end && !Abandoned(); ++i)
          RunBlock(operands, i / blocks, i % blocks * kQueryBlock, whole ? &*whole : nullptr,
                   result);
      });
    } catch (const std::bad_alloc&) {
      return MemoryError("[attention] no memory for a block of queries: ", text(), ".");
    }
    return absl::OkStatus();
  }

  std::string text() const override {
    return StrCat(causal_ ? "causal attention " : "attention ", ShortName(kType), " batches ",
                  q_.batches(), " queries ", q_.rows(), " keys ", k_.rows(), " depth ", q_.cols(),
                  ", ", v_.cols());
  }
  int64_t work() const override {
    const double pairs = double(q_.batches()) * double(q_.rows()) * double(k_.rows());
    return cost::Whole(cost::Attention(pairs, double(q_.cols() + v_.cols()), kType));
  }

 private:
  static constexpr DType kType = DTypeOf<T>::value;
  static constexpr int64_t kItem = sizeof(T);

  // The memory of one block of queries: numbers of a query, and matrices with a column a query.
  struct Block {
    T *before, *maximum, *sum, *factor, *queries, *scores, *results;
  };

  Block Memory() const {
    const int64_t depth = q_.cols(), width = v_.cols();
    T* at = gemm::Scratch::ThisThread().Get<T>(gemm::Scratch::kAttention,
                                               kQueryBlock * (4 + depth + kKeyBlock + width));
    Block b;
    for (T** part : {&b.before, &b.maximum, &b.sum, &b.factor}) {
      *part = at;
      at += kQueryBlock;
    }
    b.queries = at;
    b.scores = b.queries + depth * kQueryBlock;
    b.results = b.scores + kKeyBlock * kQueryBlock;
    return b;
  }

  // The products of whole blocks, chosen once for all that a thread does.
  struct Products {
    gemm::Repeated<T> scores, results;
  };

  std::optional<Products> WholeBlocks() const {
    const Isa isa = ResolveIsa(Isa::kBest);
    const int64_t depth = q_.cols(), width = v_.cols();
    if (isa == Isa::kScalar || q_.rows() < kQueryBlock || k_.rows() < kKeyBlock) return {};
    if (depth > gemm::kChunk || std::min(depth, width) == 0) return {};
    const MatrixRef k = k_.Rows(nullptr, 0, 0), v = v_.Rows(nullptr, 0, 0);
    return Products{{isa,
                     {nullptr, k.row_stride, k.col_stride},
                     {nullptr, kQueryBlock, 1},
                     depth,
                     {nullptr, kKeyBlock, kQueryBlock, kQueryBlock}},
                    {isa,
                     {nullptr, 1, kQueryBlock},
                     {nullptr, v.row_stride, v.col_stride},
                     kKeyBlock,
                     {nullptr, kQueryBlock, width, width}}};
  }

  void RunBlock(absl::Span<char* const> operands, int64_t batch, int64_t first, Products* whole,
                char* result) const {
    const Block b = Memory();
    const int64_t rows = std::min(kQueryBlock, q_.rows() - first), width = v_.cols();
    const MatrixRef q = q_.Rows(operands[0], batch, first);
    gemm::PackPanel(gemm::View<T>{static_cast<const T*>(q.data), q.col_stride, q.row_stride},
                    q_.cols(), rows, kQueryBlock, b.queries);
    std::fill(b.maximum, b.maximum + kQueryBlock, T(-INFINITY));
    std::fill(b.sum, b.sum + kQueryBlock, T(0));
    std::fill(b.results, b.results + rows * width, T(0));
    // Query i sees keys up to i + ahead; what no query of the block sees is left out.
    const int64_t ahead = k_.rows() - q_.rows();
    const int64_t end = causal_ ? std::min(k_.rows(), first + rows + ahead) : k_.rows();
    for (int64_t key = 0; key < end && !Abandoned(); key += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, k_.rows() - key);
      AddKeys(b, rows, k_.Rows(operands[1], batch, key), v_.Rows(operands[2], batch, key), keys,
              causal_ ? key - first - ahead : -kKeyBlock,
              rows == kQueryBlock && keys == kKeyBlock ? whole : nullptr);
    }
    Finish(b, rows, (batch * q_.rows() + first), result);
  }

  // Row c of queries sees row r of keys if r + from <= c.
  void AddKeys(const Block& b, int64_t rows, const MatrixRef& k, const MatrixRef& v, int64_t keys,
               int64_t from, Products* whole) const {
    const int64_t width = v_.cols(), row = kQueryBlock * kItem;
    const MatrixRef queries{b.queries, kQueryBlock, 1}, to{b.scores, kQueryBlock, 1};
    if (whole) {
      whole->scores.Run(static_cast<const T*>(k.data), b.queries, b.scores, false);
    } else {
      Gemm({kType, keys, rows, q_.cols(), k, queries, to});
    }
    const Plane scores{b.scores, row, kItem}, maximum{b.maximum, 0, kItem}, sum{b.sum, 0, kItem};
    const Plane before{b.before, 0, kItem}, factor{b.factor, 0, kItem};
    for (int64_t r = std::max<int64_t>(0, 1 - from); r < keys; ++r)
      std::fill_n(b.scores + r * kQueryBlock, std::min(rows, r + from), T(-INFINITY));
    std::copy(b.maximum, b.maximum + rows, b.before);
    kernels_.maximum.Run<3>({scores, before, maximum}, keys, rows);
    kernels_.factor.Run<3>({before, maximum, factor}, 1, rows);
    kernels_.weights.Run<6>({scores, maximum, sum, factor, scores, sum}, keys, rows);
    Rescale(b, rows);
    if (whole) {
      whole->results.Run(b.scores, static_cast<const T*>(v.data), b.results, true);
    } else {
      GemmAdd({kType, rows, width, keys, {b.scores, 1, kQueryBlock}, v, {b.results, width, 1}});
    }
  }

  // Times 1 changes nothing, and few rows have a new maximum after the first blocks.
  void Rescale(const Block& b, int64_t rows) const {
    const int64_t width = v_.cols();
    for (int64_t i = 0; i < rows; ++i) {
      const T factor = b.factor[i];
      if (factor == 1) continue;
      T* const row = b.results + i * width;
      for (int64_t j = 0; j < width; ++j) row[j] *= factor;
    }
  }

  void Finish(const Block& b, int64_t rows, int64_t at, char* result) const {
    const int64_t width = v_.cols(), all = q_.batches() * q_.rows();
    T* out = reinterpret_cast<T*>(result) + at * width;
    T* logs = reinterpret_cast<T*>(result) + all * width + at;
    kernels_.end.Run<4>(
        {Plane{b.maximum, 0, kItem}, {b.sum, 0, kItem}, {logs, 0, kItem}, {b.factor, 0, kItem}}, 1,
        rows);
    const Plane factor{b.factor, kItem, 0};
    kernels_.results.Run<3>(
        {Plane{b.results, width * kItem, kItem}, factor, {out, width * kItem, kItem}}, rows, width);
  }

  AttentionOperand q_, k_, v_;
  bool causal_;
  ForwardKernels kernels_;
};

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeAttention(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const auto layout = [&](int i) -> const Layout* { return graph.nodes[node.operands[i]].layout; };
  const bool causal = node.attrs[0] != 0;
  FZ_ASSIGN_OR_RETURN(ForwardKernels kernels, ForwardKernels::Make(node.dtype));
  if (node.dtype == DType::kF32) {
    return std::make_unique<const Attention<float>>(layout(0), layout(1), layout(2), causal,
                                                    std::move(kernels));
  }
  return std::make_unique<const Attention<double>>(layout(0), layout(1), layout(2), causal,
                                                   std::move(kernels));
}

}  // namespace frazil::jit
