// The channels pass: convolutions of each channel by itself, as MobileNets have them. They are sums
// (core/functions/convolution.cc): the image, padded, moved to each element of the kernel in turn,
// times that element of every channel. Such a sum becomes one node (jit/graph/each_channel.h), which
// adds in the same order, reads the image where it is, in place of a padded copy, and has what
// follows it as its epilogue. The number that the image is padded with is an operand: that it is 0
// is not known (Node::zero).
#include <map>
#include <optional>
#include <utility>

#include "jit/graph/each_channel.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

constexpr int64_t kFewestTaps = 2;  // one is a product, which is part of a kernel

// The image moved to an element of the kernel, times it.
struct Tap {
  int32_t image, kernel;  // the padded image; [kh, kw, c, 1]
  int64_t row, col;       // of the kernel
  int64_t stride[2], start[2];
  friend bool operator==(const Tap&, const Tap&) = default;
};

// The first elements of a sum, in row-major order.
struct Sum {
  Tap first;
  int64_t count;
  int64_t dilation[2];
};

class Finder {
 public:
  explicit Finder(Graph* graph) : graph_(*graph) {}

  bool Run() {
    const auto count = static_cast<int32_t>(graph_.nodes.size());
    std::vector<std::optional<Sum>> found(graph_.nodes.size());
    bool changed = false, whole = false;
    for (int32_t id = 0; id < count; ++id) {
      Node& n = graph_.nodes[id];
      if (n.loop && !n.loop->scalars) {
        Loop loop = *n.loop;
        if (Finder(&loop.body).Run()) {
          n.loop = LoopRef(new Loop(std::move(loop)));
          changed = true;
        }
      }
      found[id] = SumAt(id);
      if (found[id]) sums_.emplace(id, *found[id]);
      whole |= found[id] && IsWhole(*found[id]);
    }
    if (!whole) return changed;
    const std::vector<Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    std::vector<int32_t> now;
    for (int32_t id = 0; id < count; ++id) {
      if (found[id] && IsWhole(old, *found[id])) {
        now.push_back(Write(old, id, *found[id], now));
        continue;
      }
      Node node = old[id];
      for (int32_t& x : node.operands) x = now[x];
      now.push_back(AddAgain(std::move(node), &graph_));
    }
    for (int32_t& x : graph_.outputs) x = now[x];
    Dce(&graph_);
    return true;
  }

 private:
  bool IsWhole(const Sum& sum) const { return IsWhole(graph_.nodes, sum); }
  static bool IsWhole(const std::vector<Node>& nodes, const Sum& sum) {
    const Dims kernel = nodes[sum.first.kernel].layout->dims();
    return sum.count >= kFewestTaps && sum.count == kernel[0] * kernel[1];
  }

  bool Is(int32_t id, OpId op) const {
    const Node& n = graph_.nodes[id];
    return !n.input && n.role == Role::kOp && n.op == op && n.device == Device();
  }

  // An element of a kernel [kh, kw, c, 1] for all channels, [c].
  bool ElementAt(int32_t id, Tap* tap) const {
    const std::vector<Node>& nodes = graph_.nodes;
    if (!Is(id, OpId::k_reshape) || nodes[id].layout->rank != 1) return false;
    const int32_t from = nodes[id].operands[0];
    if (!Is(from, OpId::k_slice)) return false;
    tap->kernel = nodes[from].operands[0];
    const Dims dims = nodes[tap->kernel].layout->dims();
    const Attrs& at = nodes[from].attrs;
    if (dims.size() != 4 || dims[3] != 1) return false;
    tap->row = at[0], tap->col = at[3];
    return at[2] == 1 && at[5] == 1 && at[8] == dims[2] && at[11] == 1;
  }

  std::optional<Tap> TapAt(int32_t id) const {
    const std::vector<Node>& nodes = graph_.nodes;
    const Node& n = nodes[id];
    if (!Is(id, OpId::k_multiply) || (n.dtype != DType::kF32 && n.dtype != DType::kF64))
      return std::nullopt;
    Tap tap{};
    if (!Is(n.operands[0], OpId::k_slice) || !ElementAt(n.operands[1], &tap)) return std::nullopt;
    const Node& moved = nodes[n.operands[0]];
    tap.image = moved.operands[0];
    const Dims image = nodes[tap.image].layout->dims();
    if (image.size() != 4 || moved.layout->dims() != n.layout->dims() || n.layout->size == 0)
      return std::nullopt;
    const Attrs& at = moved.attrs;
    if (at[0] != 0 || at[2] != image[0] || at[9] != 0 || at[11] != image[3] ||
        (at[1] != 1 && image[0] != 1) || (at[10] != 1 && image[3] != 1))
      return std::nullopt;
    for (int axis = 0; axis < 2; ++axis) {
      tap.start[axis] = at[3 * axis + 3];
      tap.stride[axis] = at[3 * axis + 4];
      if (tap.stride[axis] < 1) return std::nullopt;
    }
    return tap;
  }

  std::optional<Sum> SumAt(int32_t id) const {
    if (const auto tap = TapAt(id)) {
      if (tap->row != 0 || tap->col != 0 || tap->start[0] != 0 || tap->start[1] != 0)
        return std::nullopt;
      return Sum{*tap, 1, {1, 1}};
    }
    if (!Is(id, OpId::k_add)) return std::nullopt;
    const Node& n = graph_.nodes[id];
    const auto before = sums_.find(n.operands[0]);
    if (before == sums_.end()) return std::nullopt;
    const auto tap = TapAt(n.operands[1]);
    if (!tap) return std::nullopt;
    Sum sum = before->second;
    const int64_t cols = graph_.nodes[sum.first.kernel].layout->extents[1];
    Tap want = sum.first;
    want.row = sum.count / cols, want.col = sum.count % cols;
    if (sum.count == 1 && cols > 1) sum.dilation[1] = tap->start[1];
    if (sum.count == cols) sum.dilation[0] = tap->start[0];
    want.start[0] = want.row * sum.dilation[0], want.start[1] = want.col * sum.dilation[1];
    if (sum.dilation[0] < 1 || sum.dilation[1] < 1 || !(*tap == want)) return std::nullopt;
    ++sum.count;
    return sum;
  }

  int32_t Add(OpId op, int32_t operand, const Attrs& attrs, int32_t origin) {
    return Must(graph_.AddOp(op, {operand}, attrs, origin));
  }

  // The node in place of sum `id` of the old graph; `now`: its nodes in the new one.
  int32_t Write(const std::vector<Node>& old, int32_t id, const Sum& sum,
                const std::vector<int32_t>& now) {
    const Node& n = old[id];
    const Dims kernel = old[sum.first.kernel].layout->dims(), out = n.layout->dims();
    int32_t image = sum.first.image, fill = -1;
    int64_t low[2] = {};
    const Node& pad = old[image];
    if (!pad.input && pad.role == Role::kOp && pad.op == OpId::k_pad && pad.device == Device() &&
        pad.attrs[0] == 0 && pad.attrs[1] == 0 && pad.attrs[6] == 0 && pad.attrs[7] == 0) {
      low[0] = pad.attrs[2], low[1] = pad.attrs[4];
      image = pad.operands[0];
      fill = now[pad.operands[1]];
      if (graph_.nodes[fill].immediate) {
        auto [copy, fresh] = numbers_.try_emplace(fill, -1);
        if (fresh) copy->second = Add(OpId::k_copy, fill, {}, n.origin);
        fill = copy->second;
      }
    }
    Node node = n;
    node.op = OpId::k_conv2d;
    node.attrs.assign(kConvAttrs + 1, 1);
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t reach = (out[1 + axis] - 1) * sum.first.stride[axis] +
                            (kernel[axis] - 1) * sum.dilation[axis] + 1;
      node.attrs[kConvStride + axis] = sum.first.stride[axis];
      node.attrs[kConvDilation + axis] = sum.dilation[axis];
      node.attrs[kConvPadding + 2 * axis] = low[axis];
      node.attrs[kConvPadding + 2 * axis + 1] =
          reach - old[image].layout->extents[1 + axis] - low[axis];
    }
    const int32_t taps =
        Add(OpId::k_reshape, now[sum.first.kernel], {kernel[0], kernel[1], 1, kernel[2]}, n.origin);
    node.operands = {now[image], taps};
    if (fill >= 0) node.operands.push_back(fill);
    graph_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(graph_.nodes.size()) - 1;
  }

  Graph& graph_;
  std::map<int32_t, Sum> sums_;
  std::map<int32_t, int32_t> numbers_;  // immediates as arrays
};

}  // namespace

void Channels(Graph* graph) { Finder(graph).Run(); }

}  // namespace frazil::jit
