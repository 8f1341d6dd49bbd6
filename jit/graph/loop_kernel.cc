#include "jit/graph/loop_kernel.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

using Kind = Loop::Source::Kind;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::shared_ptr<const LoopKernel> Run(absl::Span<const int32_t> nodes,
                                        absl::Span<const int32_t> outputs) {
    for (const int32_t id : nodes) {
      const Node& node = graph_.nodes[id];
      if (Info(node.op).klass == OpClass::kReduce) return nullptr;
      if (node.role == Role::kOp) {
        out_.nodes.push_back(Copy(id));
      } else if (node.loop ? !AddLoop(id) : !AddResult(id)) {
        return nullptr;
      }
    }
    for (const int32_t id : outputs) {
      if (!now_.contains(id)) return nullptr;
      out_.outputs.push_back(now_[id]);
    }
    return std::make_shared<const LoopKernel>(std::move(out_));
  }

 private:
  int32_t Add(Node node, int32_t around) {
    node.origin = -1;
    out_.graph.nodes.push_back(std::move(node));
    out_.around.push_back(around);
    return static_cast<int32_t>(out_.around.size()) - 1;
  }

  // A node of the graph around, and what it reads.
  int32_t Copy(int32_t id) {
    Node node = graph_.nodes[id];
    for (int32_t& x : node.operands) x = Use(x);
    return now_[id] = Add(std::move(node), id);
  }

  // A value that a node reads: what lies in memory has no operands here.
  int32_t Use(int32_t id) {
    if (const auto known = now_.find(id); known != now_.end()) return known->second;
    const Node& node = graph_.nodes[id];
    if (node.view) return Copy(id);
    Node value = node;
    value.role = Role::kOp;
    value.operands.clear();
    return now_[id] = Add(std::move(value), id);
  }

  // A copy in the loop, of the type of an input of the body.
  int32_t AddCopy(Node like, absl::InlinedVector<int32_t, 3> operands) {
    like.input = like.immediate = false;
    like.layout = Dense(like.layout->dims());
    like.operands = std::move(operands);
    out_.nodes.push_back(Add(std::move(like), -1));
    return out_.nodes.back();
  }

  bool AddLoop(int32_t id) {
    const Node& node = graph_.nodes[id];
    const Loop& loop = *node.loop;
    const Graph& body = loop.body;
    if (out_.times > 0 || loop.condition >= 0) return false;  // one loop a kernel
    out_.times = loop.times;
    if (!absl::c_all_of(absl::MakeSpan(body.nodes).subspan(body.num_inputs), MayRepeatInKernel))
      return false;
    std::vector<int32_t> of_body(body.nodes.size());
    for (size_t i = 0; i < loop.sources.size(); ++i) {
      const Loop::Source& s = loop.sources[i];
      if (s.kind == Kind::kSlide || (s.kind == Kind::kEach && !body.nodes[i].immediate))
        return false;
      if (s.kind != Kind::kEach) of_body[i] = Use(node.operands[s.operand]);
    }
    out_.first = Count();
    for (size_t i = 0; i < loop.sources.size(); ++i) {
      const Loop::Source& s = loop.sources[i];
      if (s.kind == Kind::kSame) continue;
      const auto numbers = node.operands.begin() + s.operand;
      const bool state = s.kind == Kind::kState;
      out_.each.emplace_back(numbers, numbers + (state ? 0 : loop.times));
      of_body[i] = state ? AddCopy(body.nodes[i], {of_body[i]}) : AddCopy(body.nodes[i], {});
    }
    out_.body = Count();
    for (size_t i = loop.sources.size(); i < body.nodes.size(); ++i) {
      Node copy = body.nodes[i];
      for (int32_t& x : copy.operands) x = of_body[x];
      of_body[i] = Add(std::move(copy), -1);
      if (!body.nodes[i].view) out_.nodes.push_back(of_body[i]);
    }
    out_.last = Count();
    last_.assign(body.outputs.size(), -1);
    for (size_t i = 0; i < loop.sources.size(); ++i) {
      const Loop::Source& s = loop.sources[i];
      if (s.kind != Kind::kState) continue;
      last_[s.next] = AddCopy(body.nodes[i], {of_body[i], of_body[body.outputs[s.next]]});
    }
    out_.end = Count();
    return true;
  }

  // Of the loop: state behind the last iteration.
  bool AddResult(int32_t id) {
    const Node& node = graph_.nodes[id];
    if (node.role != Role::kEnd || out_.times == 0 || last_[node.attrs[0]] < 0) return false;
    now_[id] = last_[node.attrs[0]];
    out_.around[now_[id]] = id;
    return true;
  }

  int32_t Count() const { return static_cast<int32_t>(out_.around.size()); }

  const Graph& graph_;
  LoopKernel out_;
  absl::flat_hash_map<int32_t, int32_t> now_;  // nodes of the graph around
  std::vector<int32_t> last_;                  // of each output: that is state, or -1
};

}  // namespace

std::shared_ptr<const LoopKernel> LoopKernel::Of(const Graph& graph,
                                                 absl::Span<const int32_t> nodes,
                                                 absl::Span<const int32_t> outputs) {
  return Writer(graph).Run(nodes, outputs);
}

bool IsOneKernel(const Graph& graph, int32_t id) {
  std::vector<int32_t> nodes(EndOfLoop(graph, id) - id);
  std::iota(nodes.begin(), nodes.end(), id);
  return Analyse(graph, nodes, absl::MakeSpan(nodes).subspan(1)).has_value();
}

bool MayRepeatInKernel(const Node& node) {
  const OpClass klass = Info(node.op).klass;
  return node.role == Role::kOp && (klass == OpClass::kElementwise || klass == OpClass::kCast ||
                                    node.op == OpId::k_broadcast_to || node.op == OpId::k_reshape);
}

}  // namespace frazil::jit
