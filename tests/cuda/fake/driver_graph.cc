// The fake driver: graphs.
#include <algorithm>

#include "tests/cuda/fake/launch.h"
#include "tests/cuda/fake/stream.h"

namespace fake {

CUgraphNode Graph::Add(Node node) {
  static uintptr_t next = 0x6f0000001000;
  node.handle = reinterpret_cast<CUgraphNode>(next += 16);
  nodes.push_back(std::move(node));
  return nodes.back().handle;
}

bool Graph::Has(CUgraphNode handle) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [handle](const Node& node) { return node.handle == handle; });
}

std::shared_ptr<Graph> Graph::Copy() const {
  auto copy = std::make_shared<Graph>(*this);
  for (Node& node : copy->nodes) {
    if (node.child != nullptr) node.child = node.child->Copy();
  }
  return copy;
}

namespace {

// The operations that nothing in the graph comes after.
std::vector<OpRef> Expand(const Graph& graph, const OpRef& begin) {
  std::unordered_map<CUgraphNode, OpRef> ops;
  std::unordered_map<CUgraphNode, bool> inner;
  for (const Node& node : graph.nodes) {
    std::vector<OpRef> needs = {begin};
    for (CUgraphNode need : node.needs) {
      needs.push_back(ops[need]);
      inner[need] = true;
    }
    Work& work = Driver::Get().work;
    if (node.child != nullptr) {
      const OpRef child = work.Add(std::move(needs), nullptr);
      ops[node.handle] = work.Add(Expand(*node.child, child), nullptr);
    } else if (node.launch != nullptr) {
      ops[node.handle] =
          work.Add(std::move(needs),
                   InContext(node.context, [launch = node.launch] { return launch->Run(); }));
    } else {
      ops[node.handle] = work.Add(std::move(needs), InContext(node.context, node.action));
    }
  }
  std::vector<OpRef> last = {begin};
  for (const auto& [node, op] : ops) {
    if (!inner[node]) last.push_back(op);
  }
  return last;
}

Node* FindNode(GraphExec* exec, CUgraphNode handle) {
  for (Node& node : exec->graph->nodes) {
    if (node.handle == handle) return &node;
  }
  return nullptr;
}

// Whether one graph may take the place of the other in an instantiated one: equal but for the
// parameters of its nodes.
bool SameShape(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  std::unordered_map<CUgraphNode, CUgraphNode> to_b;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    to_b[x.handle] = y.handle;
    if ((x.launch == nullptr) != (y.launch == nullptr) ||
        (x.child == nullptr) != (y.child == nullptr) || x.needs.size() != y.needs.size())
      return false;
    for (size_t n = 0; n < x.needs.size(); ++n) {
      if (to_b[x.needs[n]] != y.needs[n]) return false;
    }
    if (x.child != nullptr && !SameShape(*x.child, *y.child)) return false;
  }
  return true;
}

CUresult AddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 Node made) {
  const auto real = Driver::Get().graphs.Get(graph);
  if (real == nullptr) return kInvalidHandle;
  for (size_t i = 0; i < count; ++i) {
    if (!real->Has(dependencies[i])) return kInvalidValue;
    if (std::find(made.needs.begin(), made.needs.end(), dependencies[i]) != made.needs.end())
      return kInvalidValue;
    made.needs.push_back(dependencies[i]);
  }
  made.context =
      made.launch != nullptr ? made.launch->function->module->context : Driver::Get().current();
  *node = real->Add(std::move(made));
  return kSuccess;
}

}  // namespace

void AppendGraph(Stream* stream, GraphExec* exec) {
  const OpRef begin = Append(stream, {exec->last}, nullptr);
  exec->last = Append(stream, Expand(*exec->graph, begin), nullptr);
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  FAKE_CALL(kContext, cuGraphCreate, flags);
  if (flags != 0) return kInvalidValue;
  *graph = Driver::Get().graphs.Add(std::make_shared<Graph>());
  return kSuccess;
}

CUresult cuGraphDestroy(CUgraph graph) {
  FAKE_CALL(kContext, cuGraphDestroy, graph);
  return Driver::Get().graphs.Remove(graph) ? kSuccess : kInvalidHandle;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const KernelNodeParams* params) {
  FAKE_CALL(kContext, cuGraphAddKernelNode_v2, graph, count, params->func);
  Node made;
  if (const CUresult error = MakeLaunch(*params, &made.launch)) return error;
  return AddNode(node, graph, dependencies, count, std::move(made));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  FAKE_CALL(kContext, cuGraphAddChildGraphNode, graph, count, child);
  const auto inner = Driver::Get().graphs.Get(child);
  if (inner == nullptr || child == graph) return kInvalidValue;
  Node made;
  made.child = inner->Copy();
  return AddNode(node, graph, dependencies, count, std::move(made));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  FAKE_CALL(kContext, cuGraphInstantiateWithFlags, graph, flags);
  const auto real = Driver::Get().graphs.Get(graph);
  if (real == nullptr) return kInvalidHandle;
  auto made = std::make_shared<GraphExec>();
  made->context = Driver::Get().current();
  made->graph = real->Copy();
  *exec = Driver::Get().execs.Add(std::move(made));
  return kSuccess;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const KernelNodeParams* params) {
  FAKE_CALL(kContext, cuGraphExecKernelNodeSetParams_v2, exec, node, params->func);
  const auto real = Driver::Get().execs.Get(exec);
  if (real == nullptr) return kInvalidHandle;
  Node* const at = FindNode(real.get(), node);
  if (at == nullptr || at->launch == nullptr) return kInvalidValue;
  std::shared_ptr<Launch> launch;
  if (const CUresult error = MakeLaunch(*params, &launch)) return error;
  if (launch->function->module->context != at->context) return kInvalidValue;
  at->launch = std::move(launch);  // launches in flight keep the one they had
  return kSuccess;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  FAKE_CALL(kContext, cuGraphExecChildGraphNodeSetParams, exec, node, child);
  const auto real = Driver::Get().execs.Get(exec);
  const auto inner = Driver::Get().graphs.Get(child);
  if (real == nullptr || inner == nullptr) return kInvalidHandle;
  Node* const at = FindNode(real.get(), node);
  if (at == nullptr || at->child == nullptr) return kInvalidValue;
  if (!SameShape(*at->child, *inner)) return kGraphExecUpdateFailure;
  at->child = inner->Copy();
  return kSuccess;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FAKE_CALL(kContext, cuGraphLaunch, exec, stream);
  const auto real = Driver::Get().execs.Get(exec);
  const auto on = FindStream(stream);
  if (real == nullptr || on == nullptr) return kInvalidHandle;
  if (on->capture == nullptr) {
    AppendGraph(on.get(), real.get());
    return kSuccess;
  }
  if (on->capture->invalid) return kCaptureInvalidated;
  Node node;
  node.child = real->graph->Copy();
  AppendNode(on.get(), std::move(node));
  return kSuccess;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_CALL(kContext, cuGraphExecDestroy, exec);
  return Driver::Get().execs.Remove(exec) ? kSuccess : kInvalidHandle;
}

}  // namespace fake
