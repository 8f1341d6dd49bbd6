#include "core/check.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/passes/rewrite.h"

namespace frazil::jit {
namespace {

// Which nodes lend their memory to an output.
std::vector<bool> Escaping(const Graph& graph) {
  std::vector<bool> escapes(graph.nodes.size(), false);
  for (int32_t id : graph.outputs) {
    escapes[id] = true;
    while (graph.nodes[id].view) escapes[id = graph.nodes[id].operands[0]] = true;
  }
  return escapes;
}

class Folder {
 public:
  Folder(Graph* graph, const RewriteSet& rewrites)
      : old_(graph), rewrites_(rewrites), escapes_(Escaping(*graph)) {}

  void Run() {
    std::vector<int32_t> now(old_->nodes.size());
    new_.num_inputs = old_->num_inputs;
    new_.origins = std::move(old_->origins);
    for (size_t id = 0; id < now.size(); ++id) {
      new_.nodes.push_back(std::move(old_->nodes[id]));
      for (int32_t& operand : new_.nodes.back().operands) operand = now[operand];
      now[id] = static_cast<int32_t>(new_.nodes.size()) - 1;
      if (!new_.nodes.back().input) now[id] = Simplify(now[id], escapes_[id]);
    }
    for (const int32_t output : old_->outputs) new_.outputs.push_back(now[output]);
    *old_ = std::move(new_);
  }

 private:
  // Rewrites shrink what they match, so this ends; the bound catches one that does not.
  int32_t Simplify(int32_t id, bool escapes) {
    for (int round = 0; round < 64; ++round) {
      const int32_t next = ApplyOne(id, escapes);
      if (next == id) return id;
      id = next;
      if (new_.nodes[id].input) return id;
    }
    FZ_CHECK(false && "rewrites undo each other");
  }

  int32_t ApplyOne(int32_t id, bool escapes) {
    const size_t size = new_.nodes.size();
    for (const Rewrite* rewrite : rewrites_.Of(new_.nodes[id].op)) {
      const int32_t equal = Apply(*rewrite, &new_, id, rewrites_.inexact());
      if (equal >= 0 && equal != id && MayReplace(id, equal, escapes)) {
        for (size_t made = size; made < new_.nodes.size(); ++made)
          new_.nodes[made].origin = new_.nodes[id].origin;
        return equal;
      }
      new_.nodes.resize(size);
    }
    return id;
  }

  // Everything that was inferred from the old node must stay true. A result in new memory must not
  // become an alias of an input (which may be foreign) or keep a larger block alive.
  bool MayReplace(int32_t id, int32_t equal, bool escapes) const {
    const Node &a = new_.nodes[id], &b = new_.nodes[equal];
    if (a.dtype != b.dtype || !(a.device == b.device) || a.layout != b.layout || b.immediate)
      return false;
    if (a.view || !escapes) return true;
    const Node& base = new_.nodes[BaseOf(new_, equal)];
    return !base.input && BytesOf(base) == BytesOf(a);
  }

  Graph* old_;
  const RewriteSet& rewrites_;
  std::vector<bool> escapes_;
  Graph new_;
};

}  // namespace

void FoldWith(Graph* graph, const RewriteSet& rewrites) { Folder(graph, rewrites).Run(); }

void Fold(Graph* graph) {
  static const auto* exact = new RewriteSet(Rewrites());
  FoldWith(graph, *exact);
}

}  // namespace frazil::jit
