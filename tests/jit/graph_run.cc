#include "tests/jit/graph_run.h"

#include <algorithm>
#include <map>
#include <memory>

#include "core/check.h"
#include "core/str.h"

namespace frazil::jit {
namespace {

constexpr size_t kGuard = 256;
constexpr char kCanary = char(0xA5);

// Byte offset of the i-th element in row-major order.
int64_t OffsetOf(const Layout* layout, int64_t i, int size) {
  int64_t at = 0;
  for (int a = layout->rank - 1; a >= 0; --a) {
    at += (i % layout->extents[a]) * layout->strides_[a];
    i /= layout->extents[a];
  }
  return at * size;
}

struct Block {
  std::vector<char> bytes;
  explicit Block(int64_t n) : bytes(n + 2 * kGuard + 64, kCanary), size(n) {}
  char* data() {
    const auto p = reinterpret_cast<uintptr_t>(bytes.data()) + kGuard;
    return reinterpret_cast<char*>((p + 63) / 64 * 64);
  }
  bool Intact() {
    const char *begin = bytes.data(), *end = begin + bytes.size();
    return std::all_of(begin, static_cast<const char*>(data()),
                       [](char c) { return c == kCanary; }) &&
           std::all_of(static_cast<const char*>(data() + size), end,
                       [](char c) { return c == kCanary; });
  }
  int64_t size;
};

class Runner {
 public:
  Runner(const Graph& graph, const std::vector<Elements>& inputs, Emitter* emitter,
         RunCounts* counts)
      : graph_(graph), emitter_(emitter), counts_(counts) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      memory_.push_back(Scatter(inputs[i], graph.nodes[i].layout));
      words_.push_back(inputs[i].bits.empty() ? 0 : inputs[i].bits[0]);
    }
  }

  Status Run(const Group& group) {
    FZ_ASSIGN_OR_RETURN(const LoweredGroup lowered, Lower(graph_, group));
    std::vector<std::unique_ptr<Block>> temporaries;
    for (int64_t bytes : lowered.temporary_bytes)
      temporaries.push_back(std::make_unique<Block>(bytes));
    for (int32_t id : group.outputs) {
      values_[id] =
          std::make_unique<Block>(graph_.nodes[id].layout->size * SizeOf(graph_.nodes[id].dtype));
    }
    for (const Launch& launch : lowered.launches) FZ_RETURN_IF_ERROR(Run(launch, temporaries));
    for (auto& t : temporaries) FZ_CHECK(t->Intact());
    for (int32_t id : group.outputs) FZ_CHECK(values_[id]->Intact());
    return absl::OkStatus();
  }

  char* DataOf(int32_t node) {
    return node < graph_.num_inputs ? memory_[node].data() : values_.at(node)->data();
  }

 private:
  Status Run(const Launch& launch, std::vector<std::unique_ptr<Block>>& temporaries) {
    std::vector<void*> buffers;
    for (const Launch::Buffer& b : launch.buffers) {
      buffers.push_back((b.node < 0 ? temporaries[-1 - b.node]->data() : DataOf(b.node)) +
                        b.offset);
    }
    std::vector<uint64_t> scalars;
    for (int32_t s : launch.scalars) scalars.push_back(s < 0 ? launch.literals[-1 - s] : words_[s]);
    if (counts_) {
      ++counts_->kernels;
      counts_->texts.push_back(kir::Print(launch.kernel));
      counts_->keys.push_back(kir::ContentKey(launch.kernel));
    }
    FZ_ASSIGN_OR_RETURN(const auto code, emitter_->Emit(launch.kernel));
    const kir::KernelArgs args{buffers.data(), launch.extents.data(), launch.strides.data(),
                               scalars.data()};
    // In four parts: nothing may depend on the split.
    const int64_t row = launch.rows / 2, col = launch.cols / 2 / 64 * 64;
    for (auto [r0, r1] : {std::pair{int64_t{0}, row}, {row, launch.rows}}) {
      for (auto [c0, c1] : {std::pair{int64_t{0}, col}, {col, launch.cols}}) {
        if (r0 < r1 && c0 < c1) code->Run(args, r0, r1, c0, c1);
      }
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  Emitter* emitter_;
  RunCounts* counts_;
  std::vector<Memory> memory_;
  std::vector<uint64_t> words_;
  std::map<int32_t, std::unique_ptr<Block>> values_;
};

bool IsNan(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kF16:
      return (bits & 0x7FFF) > 0x7C00;
    case DType::kBF16:
      return (bits & 0x7FFF) > 0x7F80;
    case DType::kF32:
      return (bits & 0x7FFFFFFF) > 0x7F800000;
    case DType::kF64:
      return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
    default:
      return false;
  }
}

}  // namespace

bool Same(const Elements& a, const Elements& b, std::string* where) {
  if (a.dtype != b.dtype || a.dims != b.dims || a.bits.size() != b.bits.size()) {
    *where = "types or shapes differ";
    return false;
  }
  for (size_t i = 0; i < a.bits.size(); ++i) {
    if (a.bits[i] == b.bits[i] || (IsNan(a.dtype, a.bits[i]) && IsNan(a.dtype, b.bits[i])))
      continue;
    *where = absl::StrCat("element ", i, ": ", absl::Hex(a.bits[i]), " and ", absl::Hex(b.bits[i]));
    return false;
  }
  return true;
}

Memory Scatter(const Elements& x, const Layout* layout) {
  const int size = SizeOf(x.dtype);
  int64_t low = 0, high = 0;
  for (int64_t i = 0; i < layout->size; ++i) {
    low = std::min(low, OffsetOf(layout, i, size));
    high = std::max(high, OffsetOf(layout, i, size));
  }
  Memory m;
  m.bytes.resize(high - low + size, char(0x7B));
  m.first = -low;
  for (int64_t i = 0; i < layout->size; ++i)
    std::memcpy(m.data() + OffsetOf(layout, i, size), &x.bits[i], size);
  return m;
}

Elements Gather(DType dtype, const Layout* layout, const char* data) {
  Elements x{dtype, {layout->extents, layout->extents + layout->rank}, {}};
  for (int64_t i = 0; i < layout->size; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, data + OffsetOf(layout, i, SizeOf(dtype)), SizeOf(dtype));
    x.bits.push_back(word);
  }
  return x;
}

StatusOr<std::vector<Elements>> RunGraph(const Graph& graph, const std::vector<Elements>& inputs,
                                         bool fuse, Emitter* emitter, RunCounts* counts) {
  Runner runner(graph, inputs, emitter, counts);
  for (const Group& group : Fuse(graph, fuse).groups) {
    FZ_CHECK(group.kind == Group::Kind::kKernel);
    FZ_RETURN_IF_ERROR(runner.Run(group));
  }
  std::vector<Elements> outputs;
  for (int32_t id : graph.outputs) {
    const Node& n = graph.nodes[id];
    outputs.push_back(
        Gather(n.dtype, n.layout, runner.DataOf(BaseOf(graph, id)) + OffsetInBase(graph, id)));
  }
  return outputs;
}

}  // namespace frazil::jit
