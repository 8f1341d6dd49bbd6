#include "tracer/interpret.h"

namespace frazil::tracer {
namespace {

Status RunBody(const Program& body, absl::Span<const Tensor> operands, absl::Span<Tensor> results);

// Into `results`, which are as many as the call has.
Status Run(const CallRecord& call, absl::Span<const Tensor> operands, Tensor* results) {
  absl::InlinedVector<const Tensor*, 4> pointers;
  for (const Tensor& t : operands) pointers.push_back(&t);
  Door* const door = State().door ? State().door : GlobalRuntime().eager;
  if (!call.composite) {
    results[0] = door->Call({call.primitive(), pointers, call.attrs});
    return results[0].status();
  }
  Status status;
  const auto run = [&](absl::Span<Tensor> outputs) {
    status = RunBody(*call.body, operands, outputs);
  };
  door->Composite({call.op, pointers, call.attrs}, run, {results, call.results.size()});
  for (size_t i = 0; i < call.results.size(); ++i) FZ_RETURN_IF_ERROR(results[i].status());
  return status;
}

Status RunBody(const Program& body, absl::Span<const Tensor> operands, absl::Span<Tensor> results) {
  const auto nothing = [](ValueId) { return ValueRef(); };
  const auto take = [&](ValueId id, const Tensor& t) {
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      if (body.outputs[i].value == id) results[i] = t;
    }
    return absl::OkStatus();
  };
  const auto count = static_cast<size_t>(Parts(body).FirstResult(body.calls.size()));
  Interpreted all{std::vector<bool>(count), nothing, take};
  for (const Content& o : body.outputs) all.wanted[o.value] = true;
  return Interpret(body, operands, all);
}

}  // namespace

Status Interpret(const Program& program, absl::Span<const Tensor> arguments,
                 const Interpreted& how) {
  const Parts parts(program);
  const size_t count = program.calls.size();
  // Of each result, the last call that is run and takes it; -1: none.
  std::vector<int32_t> last(how.wanted.size(), -1);
  std::vector<bool> runs(count);
  const auto needed = [&](ValueId r) { return how.wanted[r] || last[r] >= 0; };
  for (size_t i = count; i-- > 0;) {
    for (ValueId r = parts.FirstResult(i); r < parts.FirstResult(i + 1); ++r)
      runs[i] = runs[i] || needed(r);
    if (!runs[i]) continue;
    for (const ValueId id : program.calls[i].operands) {
      if (id >= 0 && last[id] < 0 && !how.known(id)) last[id] = static_cast<int32_t>(i);
    }
  }
  std::vector<Tensor> made(how.wanted.size());
  const auto value = [&](ValueId id) {
    if (id >= 0) return made[id].defined() ? made[id] : Tensor(how.known(id));
    return program.IsConstant(id) ? Tensor(program.constant(id)) : arguments[~id];
  };
  for (size_t i = 0; i < count; ++i) {
    if (!runs[i]) continue;
    const Program::Call& call = program.calls[i];
    absl::InlinedVector<Tensor, 4> operands;
    for (const ValueId id : call.operands) operands.push_back(value(id));
    const ValueId first = parts.FirstResult(i), end = parts.FirstResult(i + 1);
    FZ_RETURN_IF_ERROR(Run(*call.record, operands, &made[first]));
    operands.clear();
    for (const ValueId id : call.operands) {
      if (id >= 0 && last[id] == static_cast<int32_t>(i)) made[id] = Tensor();
    }
    for (ValueId r = first; r < end; ++r) {
      if (how.wanted[r]) FZ_RETURN_IF_ERROR(how.take(r, made[r]));
      if (last[r] < 0) made[r] = Tensor();
    }
  }
  return absl::OkStatus();
}

}  // namespace frazil::tracer
