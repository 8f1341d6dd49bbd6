#include "tracer/program_without_data.h"

#include <utility>
#include <vector>

#include "core/infer.h"
#include "tracer/body_recorder.h"

namespace frazil::tracer {
namespace {

class EmptyDoor final : public Door, public Pending {
 public:
  explicit EmptyDoor(BodyRecorder* recorder)
      : recorder_(recorder), door_(std::exchange(State().door, this)) {}
  ~EmptyDoor() override { State().door = door_; }

  Tensor Call(const OpCall& call) override {
    const StatusOr<Inferred> inferred = Infer(call);
    if (!inferred.ok()) return Tensor(inferred.status());
    const LayoutRef layout(inferred->layout);
    Value* const value =
        Value::Deferred(Value::KindOf(inferred->dtype, inferred->device, false), layout, this, 0);
    made_.push_back(ValueRef::Adopt(value));
    Tensor out(ValueRef::Adopt(value));
    recorder_->Add(call, out);
    return out;
  }
  Status Force(const Value*) override {
    return RuntimeError("[composite] what its body makes has no data.");
  }
  bool LetGo(const Value*) override { return false; }

 private:
  BodyRecorder* const recorder_;
  Door* const door_;
  std::vector<ValueRef> made_;
};

}  // namespace

std::shared_ptr<const Program> ProgramWithoutData(const CompositeCall& call, CompositeBody body,
                                                  size_t outputs) {
  const HeldInputs inputs(call.inputs);
  BodyRecorder recorder(inputs);
  EmptyDoor door(&recorder);
  std::vector<Tensor> results(outputs);
  body(absl::MakeSpan(results));
  return recorder.Finish(results);
}

}  // namespace frazil::tracer
