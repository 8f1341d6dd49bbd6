// A segment op by op, where its plan does not fit into memory or does not compile.
#include "absl/cleanup/cleanup.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {
namespace {

StatusOr<Tensor> CallEagerly(OpId op, absl::Span<const Tensor> operands, AttrSpan attrs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : operands) pointers.push_back(&t);
  Tensor result = GlobalRuntime().eager->Call({op, pointers, attrs});
  FZ_RETURN_IF_ERROR(result.status());
  return result;
}

// Of each op's result, the op that takes it last; beyond all ops if it is a result of the whole.
std::vector<size_t> LastUses(const Expansion& expansion) {
  std::vector<size_t> last(expansion.ops.size());
  for (size_t i = 0; i < last.size(); ++i) {
    for (const int32_t ref : expansion.ops[i].operands) {
      if (ref >= 0) last[ref] = i;
    }
  }
  for (const int32_t ref : expansion.outputs) {
    if (ref >= 0) last[ref] = last.size();
  }
  return last;
}

StatusOr<std::vector<Tensor>> RunNode(const Node& node, absl::Span<const Tensor> operands) {
  std::vector<Tensor> results;
  if (!node.composite) {
    FZ_ASSIGN_OR_RETURN(Tensor result,
                        CallEagerly(static_cast<OpId>(node.op), operands, node.attrs));
    results.push_back(std::move(result));
    return results;
  }
  const std::vector<ExpandedOp>& ops = node.expansion->ops;
  std::vector<Tensor> local;
  const std::vector<size_t> last = LastUses(*node.expansion);
  const auto known = [&](int32_t ref) {
    if (ref >= 0) return local[ref];
    const size_t i = ~ref;
    return i < operands.size() ? operands[i]
                               : Tensor(node.expansion->constants[i - operands.size()]);
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    std::vector<Tensor> in;
    for (const int32_t ref : ops[i].operands) in.push_back(known(ref));
    FZ_ASSIGN_OR_RETURN(Tensor result, CallEagerly(ops[i].op, in, ops[i].attrs));
    local.push_back(std::move(result));
    for (const int32_t ref : ops[i].operands) {
      if (ref >= 0 && last[ref] == i) local[ref] = Tensor();
    }
  }
  for (const int32_t ref : node.expansion->outputs) results.push_back(known(ref));
  return results;
}

}  // namespace

// What has to be run for the results that are wanted and not there, and which call is the last that
// needs a result.
struct Session::Remaining {
  std::vector<const Node*> path;
  std::vector<bool> run;     // of each call
  std::vector<bool> wanted;  // of each result
  std::vector<int> last;     // of each result; -1: no call needs it
};

Session::Remaining Session::FindRemaining(const LiveMask& live) const {
  Remaining r{Path(), {}, {}, std::vector<int>(values_.size(), -1)};
  r.run.resize(r.path.size());
  for (size_t v = 0; v < values_.size(); ++v)
    r.wanted.push_back((live[v / 64] >> v % 64 & 1) && !values_[v]->ready());
  size_t end = values_.size();
  for (size_t i = r.path.size(); i-- > 0; end = static_cast<size_t>(r.path[i]->first_result)) {
    for (auto v = static_cast<size_t>(r.path[i]->first_result); v < end; ++v)
      r.run[i] = r.run[i] || r.wanted[v] || r.last[v] >= 0;
    if (!r.run[i]) continue;
    for (const int32_t ref : r.path[i]->operands) {
      if (ref >= 0 && !values_[ref]->ready() && r.last[ref] < 0) r.last[ref] = static_cast<int>(i);
    }
  }
  return r;
}

// From the inputs that are still pinned, in order, through the eager door: what the body would have
// done untraced, holding no more at a time.
Status Session::RunOneByOne(const LiveMask& live) {
  values_.FillPartly();
  // With the precision that the calls had.
  const Precision outside = std::exchange(State().precision, precision_);
  const absl::Cleanup restore = [outside] { State().precision = outside; };
  const Remaining remaining = FindRemaining(live);
  std::vector<ValueRef> made(values_.size());
  for (size_t i = 0; i < remaining.path.size(); ++i) {
    if (!remaining.run[i]) continue;
    const Node& node = *remaining.path[i];
    std::vector<Tensor> operands;
    for (const int32_t ref : node.operands) {
      const bool own = ref >= 0 && made[ref];
      operands.emplace_back(ref < 0 ? slots_[~ref] : own ? made[ref] : values_[ref]);
    }
    FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> results, RunNode(node, operands));
    for (const int32_t ref : node.operands) {
      if (ref >= 0 && remaining.last[ref] == static_cast<int>(i)) made[ref] = ValueRef();
    }
    for (size_t r = 0; r < results.size(); ++r) {
      const size_t v = static_cast<size_t>(node.first_result) + r;
      if (remaining.wanted[v] && !values_[v]->ready())
        FZ_RETURN_IF_ERROR(values_[v]->FillFrom(*results[r].value()));
      if (remaining.last[v] >= 0) made[v] = results[r].value_ref();
    }
  }
  return absl::OkStatus();
}

}  // namespace frazil::tracer
