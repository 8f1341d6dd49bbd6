// Many matrices of up to tuned::kMostAlone rows and columns are shared by our pool, each by one of
// OpenBLAS's threads; large ones take all of these. Who works with how many threads
// follows from the shape: bits may depend on it.
#include "jit/library/lapack.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>

#include "core/cost.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/blas.h"
#include "kernels/lapack/task.h"

namespace frazil::jit {
namespace {

// How many multiply-adds a matrix takes, about, in parts of m n min(m, n).
double Effort(OpId op, int64_t option) {
  switch (op) {
    case OpId::k_svd_factors:
      return option == kSingularValues ? 6 : 24;
    case OpId::k_pseudo_inverse:
      return 24;
    case OpId::k_eigh_factors:
      return option & kValuesOnly ? 4 : 12;
    case OpId::k_eig_factors:
      return option & kValuesOnly ? 16 : 40;
    case OpId::k_qr_factors:
      return 3;
    default:
      return 1.5;
  }
}

class LapackCall final : public LibraryCall {
 public:
  LapackCall(const Graph& graph, int32_t id)
      : op_(graph.nodes[id].op),
        dtype_(graph.nodes[graph.nodes[id].operands[0]].dtype),
        option_(graph.nodes[id].attrs[0]) {
    for (const int32_t operand : graph.nodes[id].operands)
      operands_.push_back(graph.nodes[operand].layout);
    const Layout& a = *operands_[0];
    m_ = a.dim(-2);
    n_ = a.dim(-1);
    for (int i = 0; i + 2 < a.rank; ++i) batch_ *= a.extents[i];
    const bool solves = op_ == OpId::k_lu_solve || op_ == OpId::k_triangular_solve;
    right_ = solves ? operands_.back()->dim(-1) : 0;
    item_ = batch_ ? graph.nodes[id].layout->size / batch_ * SizeOf(graph.nodes[id].dtype) : 0;
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (batch_ == 0) return absl::OkStatus();
    FZ_RETURN_IF_ERROR(lapack::Check());
    try {
      const bool small = std::max({m_, n_, right_}) <= tuned::kNeverShared;
      if (batch_ > 1 && std::max({m_, n_, right_}) <= tuned::kMostAlone)
        return Share(operands, result);
      std::optional<BlasTurn> turn;
      if (!small) turn.emplace(std::max({m_, n_, right_}) > tuned::kMostAlone);
      RunRange(operands, result, 0, batch_);
    } catch (const std::bad_alloc&) {
      return NoMemory();
    }
    return absl::OkStatus();
  }
  int64_t work() const override { return cost::Whole(double(batch_) * TimeOfOne()); }
  std::string text() const override {
    return StrCat(Info(op_).name, " ", ShortName(dtype_), " batches ", batch_, " m ", m_, " n ",
                  n_);
  }

 private:
  double TimeOfOne() const {
    const double size = double(m_) * double(n_);
    const double products =
        right_ ? size * double(right_) : size * double(std::min(m_, n_)) * Effort(op_, option_);
    return double(cost::kCall) +
           cost::Products(products * (IsComplex(dtype_) ? 4 : 1), PartOf(dtype_));
  }
  Status NoMemory() const {
    return MemoryError("[", Info(op_).name, "] no memory to work on ",
                       ToString(operands_[0]->dims()), ".");
  }

  Status Share(absl::Span<char* const> operands, char* result) const {
    const int64_t grain = std::max<int64_t>(1, int64_t(double(cost::kPart) / TimeOfOne()));
    std::atomic<bool> no_memory{false};
    std::optional<BlasTurn> turn;
    if (std::max({m_, n_, right_}) > tuned::kNeverShared) turn.emplace(false);
    ParallelFor(batch_, grain, [&](int64_t begin, int64_t end) {
      try {
        RunRange(operands, result, begin, end);
      } catch (const std::bad_alloc&) {
        no_memory.store(true, std::memory_order_relaxed);
      }
    });
    return no_memory.load() ? NoMemory() : absl::OkStatus();
  }

  void RunRange(absl::Span<char* const> operands, char* result, int64_t begin, int64_t end) const {
    const auto task = lapack::Task::Make(op_, dtype_, m_, n_, right_, option_);
    absl::InlinedVector<lapack::Place, 3> places(operands.size());
    for (int64_t i = begin; i < end && !Abandoned(); ++i) {
      for (size_t k = 0; k < operands.size(); ++k) places[k] = PlaceOf(k, operands[k], i);
      task->Run(places.data(), result + i * item_);
    }
  }

  // An operand's matrix, or its row behind the batch axes, or number, of one batch.
  lapack::Place PlaceOf(size_t k, const char* data, int64_t index) const {
    const Layout& layout = *operands_[k];
    const int axes = layout.rank - (operands_[0]->rank - 2);
    lapack::Place place{data, 1, 1, 1, 1};
    if (axes >= 1) {
      place.columns = layout.dim(-1);
      place.column_stride = layout.strides_[layout.rank - 1];
    }
    if (axes == 2) {
      place.rows = layout.dim(-2);
      place.row_stride = layout.strides_[layout.rank - 2];
    }
    int64_t element = 0;
    for (int axis = layout.rank - axes - 1; axis >= 0; --axis) {
      element += index % layout.extents[axis] * layout.strides_[axis];
      index /= layout.extents[axis];
    }
    place.data += element * SizeOf(dtype_);
    return place;
  }

  const OpId op_;
  const DType dtype_;
  const int64_t option_;
  absl::InlinedVector<LayoutRef, 3> operands_;
  int64_t m_ = 0, n_ = 0, right_ = 0, batch_ = 1, item_ = 0;  // item_: bytes of a result
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeLapackCall(const Graph& graph, int32_t id) {
  return std::make_unique<LapackCall>(graph, id);
}

}  // namespace frazil::jit
