#include "jit/plan/epilogue.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "core/tuned.h"
#include "jit/run/epilogue_step.h"

namespace frazil::jit {
namespace {

// Whether a kernel may run over the rows of a product one block after another.
class RowsOf {
 public:
  // bytes: of a row of the product.
  RowsOf(int64_t rows, const PendingStep& product, int64_t bytes) : rows_(rows) {
    made_[product.touches.back().block] = bytes;
    touched_.Add(0, product.touches);
  }

  // If so, its results count as made by rows too.
  bool Add(const PendingStep& step) {
    if (!step.kernel() || !(step.device == Device())) return false;
    const Launch& launch = *step.kernel();
    if (launch.kernel.chunked) return false;
    if (EpilogueParts(launch.rows, launch.cols) % rows_ != 0) return false;
    absl::InlinedVector<std::pair<int32_t, int64_t>, 4> makes;
    bool takes = false;
    for (size_t i = 0; i < step.touches.size(); ++i) {
      const Touch& touch = step.touches[i];
      const bool waits = !touched_.Before({&touch, 1}).empty();
      if (!touch.write && !waits) continue;  // there before the product, and after
      const int64_t apart = Apart(launch, int(i));
      if (apart < 0) return false;
      if (touch.write) {
        if (waits) return false;
        makes.push_back({touch.block, apart});
      } else {
        if (made_.at(touch.block) != apart) return false;
        takes = true;
      }
    }
    made_.insert(makes.begin(), makes.end());
    touched_.Add(0, step.touches);
    return takes;
  }

 private:
  // Bytes from one row of the product to the next in a buffer that keeps each row's elements within
  // as many, counted from the memory's beginning; -1 for any other.
  int64_t Apart(const Launch& launch, int buffer) const {
    const kir::Kernel& k = launch.kernel;
    const int axes = k.axes();
    const int64_t* strides = launch.strides.data() + int64_t{buffer} * axes;
    int64_t last = FarthestOffset(k, buffer);
    if (last < 0) return -1;
    const int split = launch.rows == 1 ? k.rank - 1 : k.rank - 2;  // the innermost axis of parts
    const int64_t of_part = strides[split];
    if (launch.rows != 1) {  // rows are numbered through the outer axes
      int64_t next = of_part * launch.extents[split];
      for (int a = split - 1; a >= 0; --a) {
        if (launch.extents[a] == 1) continue;
        if (strides[a] != next) return -1;
        next *= launch.extents[a];
      }
    }
    const int64_t parts =
        EpilogueParts(launch.rows, launch.cols) / rows_;  // of a row of the product
    const int64_t apart = parts * of_part;
    last += launch.buffers[buffer].offset + (parts - 1) * of_part;
    if (launch.buffers[buffer].offset < 0 || of_part < 0) return -1;
    for (int a = split + 1; a < axes; ++a) {
      if (strides[a] < 0) return -1;
      last += (launch.extents[a] - 1) * strides[a];
    }
    return last + SizeOf(k.buffers[buffer].dtype) <= apart ? apart : -1;
  }

  // How many bytes behind what the strides say elements lie; -1 where that is not known, or before.
  static int64_t FarthestOffset(const kir::Kernel& kernel, int buffer) {
    int64_t farthest = 0;
    for (const kir::Inst& inst : kernel.body) {
      const bool load = inst.op == kir::Op::kLoad, store = inst.op == kir::Op::kStore;
      if ((!load && !store) || inst.imm != uint64_t(buffer)) continue;
      const kir::Id offset = load ? inst.a : inst.b;
      if (offset == kir::kNone) continue;
      const auto elements = static_cast<int64_t>(kernel.body[offset].imm);
      if (kernel.body[offset].op != kir::Op::kConst || elements < 0) return -1;
      farthest = std::max(farthest, elements * SizeOf(kernel.buffers[buffer].dtype));
    }
    return farthest;
  }

  const int64_t rows_;
  Touched touched_;                             // by the product and what has followed it
  absl::flat_hash_map<int32_t, int64_t> made_;  // memory -> bytes from row to row
};

}  // namespace

std::vector<Epilogue> FindEpilogues(const Graph& graph, absl::Span<const PendingStep> pending,
                                    bool always) {
  std::vector<Epilogue> found;
  for (size_t i = 0; i < pending.size(); ++i) {
    const PendingStep& product = pending[i];
    if (!product.call() || !(product.device == Device()) || product.call()->rows() < 2) continue;
    const Node& node = graph.nodes[product.node];
    const int64_t bytes = node.layout->size * SizeOf(node.dtype);
    if (bytes == 0 || (bytes < tuned::kWorthFollowing && !always)) continue;
    const int64_t rows = product.call()->rows();
    RowsOf made(rows, product, bytes / rows);
    size_t end = i + 1;
    while (end < pending.size() && made.Add(pending[end])) ++end;
    if (end - i > 1) found.push_back({int32_t(i), int32_t(end)});
    i = end - 1;
  }
  return found;
}

}  // namespace frazil::jit
