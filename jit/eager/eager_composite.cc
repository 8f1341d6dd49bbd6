#include "jit/eager/eager_composite.h"

#include <algorithm>
#include <utility>

#include "core/config.h"
#include "core/functions/composite.h"
#include "jit/eager/eager.h"
#include "jit/eager/eager_calls.h"
#include "jit/graph/passes/passes.h"
#include "tracer/body_recorder.h"
#include "tracer/program_without_data.h"
#include "tracer/recording.h"

namespace frazil::jit {
namespace {

using Inputs = absl::InlinedVector<Value*, 12>;

// Runs a body's ops and writes them down.
class RecordingDoor final : public Door {
 public:
  RecordingDoor(ThreadState* state, tracer::BodyRecorder* recorder)
      : state_(state), recorder_(recorder) {
    door_ = std::exchange(state_->door, this);
  }
  ~RecordingDoor() override { state_->door = door_; }

  Tensor Call(const OpCall& call) override {
    Tensor out = EagerDoor()->Call(call);
    if (out.ok()) recorder_->Add(call, out);
    return out;
  }

 private:
  ThreadState* const state_;
  Door* door_;
  tracer::BodyRecorder* const recorder_;
};

// A call that was met once: it is known as a program, and compiled if it comes again.
struct MetCall {
  CallKey key;
  tracer::Program program;
};
constexpr int kMetBits = 6;

// Direct-mapped, of this thread. (A pointer: memory that threads have from the start is scarce.)
std::unique_ptr<MetCall>& MetSlot(uint64_t hash) {
  using Met = std::array<std::unique_ptr<MetCall>, size_t{1} << kMetBits>;
  static thread_local const std::unique_ptr<Met> met = std::make_unique<Met>();
  return (*met)[hash >> (64 - kMetBits)];
}

// What may fail by its data is met one by one; a single op is a plan already.
bool Plannable(const tracer::Program& body) {
  return body.calls.size() > 1 &&
         std::none_of(body.calls.begin(), body.calls.end(),
                      [](const auto& call) { return MayFail(call->primitive()); });
}

// The call alone, over its distinct operands.
tracer::Program ProgramOf(const CompositeCall& call, const CallView& view,
                          std::shared_ptr<const tracer::Program> body) {
  auto record = std::make_shared<tracer::CallRecord>();
  record->composite = true;
  record->op = call.id;
  for (const tracer::Content& o : body->outputs)  // each op has one result
    record->results.push_back(body->calls[o.value]->results[0]);
  record->attrs.assign(call.attrs.begin(), call.attrs.end());
  record->body = std::move(body);
  tracer::Program program;
  for (const Value* v : view.inputs) program.parameters.push_back(tracer::Parameter::Of(*v));
  tracer::Operands operands;
  for (const int32_t input : view.operands) operands.push_back(~input);
  program.calls.push_back({std::move(record), std::move(operands)});
  return program;
}

std::shared_ptr<const PreparedCall> Keep(const CallKey& key, PreparedCall::How how) {
  auto prepared = std::make_shared<PreparedCall>();
  prepared->key = key;
  prepared->how = std::move(how);
  return Share(std::move(prepared));
}

// Runs the body and learns of it: nothing, that it always has to run, or its ops.
void RunBody(const CompositeCall& call, const CallView& view, uint64_t hash, CompositeBody body,
             absl::Span<Tensor> outputs) {
  const tracer::HeldInputs inputs(call.inputs);  // view's values, too
  tracer::BodyRecorder recorder(inputs);
  {
    const RecordingDoor door(&State(), &recorder);
    body(outputs);
  }
  std::shared_ptr<const tracer::Program> recorded = recorder.Finish(outputs);
  if (!recorded) return;
  CallKey key = view.Key();
  if (!Plannable(*recorded)) {
    CallSlot(hash) = Keep(key, PreparedCall::Body());
    return;
  }
  MetSlot(hash) = std::make_unique<MetCall>(
      MetCall{std::move(key), ProgramOf(call, view, std::move(recorded))});
}

std::shared_ptr<const PreparedCall> Compile(const CallKey& key, const tracer::Program& program) {
  const size_t results = program.calls[0]->results.size();
  const tracer::LiveMask live(1, (uint64_t{1} << results) - 1);
  auto plan = tracer::GetSegmentCompiler()->Compile(program, live, State().precision, {}, nullptr);
  return Keep(key, plan.ok() ? PreparedCall::How(*std::move(plan)) : PreparedCall::Body());
}

// The plan of a call that was met once; null if that was not so.
std::shared_ptr<const PreparedCall> CompileMet(const CallView& view, uint64_t hash) {
  std::unique_ptr<MetCall>& slot = MetSlot(hash);
  if (!slot || !view.Is(slot->key)) return nullptr;
  const std::unique_ptr<MetCall> met = std::move(slot);
  return Compile(met->key, met->program);
}

// The plan of a call whose body would take much memory op by op; null if it has to run.
std::shared_ptr<const PreparedCall> CompileUnmet(const CompositeCall& call, const CallView& view,
                                                 CompositeBody body, size_t outputs) {
  if (!ops::TakesMuch(call)) return nullptr;
  auto program = tracer::ProgramWithoutData(call, body, outputs);
  if (!program || !Plannable(*program)) return nullptr;
  return Compile(view.Key(), ProgramOf(call, view, std::move(program)));
}

bool Fusing() {
  static const bool fusing = [] {
    const auto passes = PassSwitches::FromText(GetConfig().passes);
    return passes.ok() && passes->enabled("fuse");
  }();
  return fusing;
}

// Ready values on the CPU. (Programs for other devices are compiled at greater cost.)
bool Suits(const CompositeCall& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [](const Tensor* t) {
    const Value& v = *t->value();
    return v.ready() && v.device == Device();
  });
}

void Run(const tracer::SegmentPlan& plan, absl::Span<Value* const> inputs,
         absl::Span<Tensor> outputs) {
  absl::InlinedVector<ValueRef, 3> results(outputs.size());
  const Status status = plan.Run(inputs, absl::MakeSpan(results), [](int32_t) { return false; });
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = status.ok() ? Tensor(std::move(results[i])) : Tensor(status);
  }
}

}  // namespace

void RunComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs) {
  const ThreadState& state = State();
  if (state.spent || !Fusing() || !Suits(call)) return body(outputs);
  Inputs all;
  for (const Tensor* t : call.inputs) all.push_back(t->value());
  const DistinctInputs distinct(all);
  const CallView view{Called::Composite(call.id, state.precision), 0, distinct.values,
                      distinct.operands, call.attrs};
  const uint64_t hash = view.Hash();
  std::shared_ptr<const PreparedCall>& slot = CallSlot(hash);
  if (!slot || !view.Is(slot->key)) {
    std::shared_ptr<const PreparedCall> found = FindShared(view.Key());
    if (!found) found = CompileMet(view, hash);
    if (!found) found = CompileUnmet(call, view, body, outputs.size());
    if (!found) return RunBody(call, view, hash, body, outputs);
    slot = std::move(found);
  }
  const auto* const whole = std::get_if<PreparedCall::Composite>(&slot->how);
  if (!whole) return body(outputs);
  const tracer::SegmentPlan& plan = **whole;
  // A run that lets others go on may meet a handler whose calls take the slot.
  const auto held = plan.unlocks() ? *whole : nullptr;
  Run(plan, distinct.values, outputs);
}

}  // namespace frazil::jit
