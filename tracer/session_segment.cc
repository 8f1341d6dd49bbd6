// Segments end: deferred values become real.
#include <algorithm>
#include <bit>
#include <iterator>

#include "core/collective.h"
#include "tracer/explain.h"
#include "tracer/program_text.h"
#include "tracer/script_builder.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {

Status Session::Force(const Value* value) {
  {
    Lock lock(this);
    if (lock.lost()) {
      return RuntimeError("[trace] ", Describe(*value),
                          " was being computed by another thread when this process was forked.");
    }
    if (value->pending.load(std::memory_order_acquire) == this) {
      if (flushing_) {
        return RuntimeError("[trace] ", Describe(*value),
                            " is being computed: a signal handler cannot wait for it.");
      }
      if (builder_ && owner_.load(std::memory_order_relaxed) != &State())
        builder_->Refuse("another thread reads what the body computes");
      FZ_RETURN_IF_ERROR(Flush());
    }
  }
  return value->ready() ? absl::OkStatus() : Read(*value, Reading::kInside);
}

std::vector<const Node*> Session::ViewsOf(const Value& value) const {
  const uint64_t tag = GetTag(const_cast<Value*>(&value));
  std::vector<const Node*> views;
  if (value.immediate || tag >> (kNumberBits + 1) != serial_ || tag & kSlotBit) return views;
  auto number = static_cast<int32_t>(tag & (kSlotBit - 1));
  for (const Node* n = cursor_; n->parent; n = n->parent) {
    if (n->first_result > number) continue;
    if (n->composite || Info(static_cast<OpId>(n->op)).klass != OpClass::kView) return {};
    views.push_back(n);
    number = n->operands[0];
    if (number < 0) return views;
  }
  return {};
}

ValueRef Session::Peek(const Value& value) {
  if (!RecordsViews() || body_) return ValueRef();
  const Lock lock(this, Lock::kOwner);
  const bool ours = value.pending.load(std::memory_order_acquire) == this;
  if (!ours && mode_ != Mode::kRecording) return ValueRef();
  std::vector<const Node*> views = ViewsOf(value);
  if (views.empty() || !(value.device == Device())) return ValueRef();
  // What is recorded has been computed; it is not read so that replaying need not end a segment.
  if (!ours) return ValueRef::Share(const_cast<Value*>(&value));
  const ValueRef& base = slots_[~views.back()->operands[0]];
  if (!base->ready() || (base->storage && base->storage->foreign)) return ValueRef();
  Tensor view(base);
  std::vector<ValueRef> made;
  std::reverse(views.begin(), views.end());
  for (const Node* node : views) {
    view = GlobalRuntime().eager->Call({node->primitive(), {&view}, node->attrs});
    if (!view.ok()) return ValueRef();
    made.push_back(view.value_ref());
  }
  if (builder_) builder_->OnViews(views, *base, made, precision_);
  return made.back();
}

void Session::OnRead(const Value& value, Reading how) {
  if (mode_ == Mode::kRecording && !body_ && !value.immediate) {
    const uint64_t tag = GetTag(const_cast<Value*>(&value));
    if (tag >> (kNumberBits + 1) == serial_ && !(tag & kSlotBit)) StartSegment();
  }
  if (builder_) builder_->OnRead(value, how);
}

void Session::OnLending() {
  Lock lock(this, Lock::kOwner);
  Flush().IgnoreError();  // what could not be computed holds its operands, which are not lent then
}

void Session::OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                           std::string_view of) {
  if (builder_) builder_->OnIndexCheck(op, indices, range, of);
}

void Session::OnIndexError() {
  if (builder_) builder_->OnIndexError();
}

void Session::OnGradient(const GradNode& leaf) {
  if (builder_) builder_->OnGradient(leaf);
}

Status Session::Flush() {
  const Status status = EndSegment();
  // What could not be computed stays: everything is there to do it again.
  if (values_.empty()) StartSegment();
  return status;
}

bool Session::WantEffects(bool all, LiveMask* live) const {
  if (last_effect_ < 0) return false;
  const auto want = [&](int32_t result) {
    (*live)[static_cast<size_t>(result) / 64] |= uint64_t{1} << result % 64;
  };
  want(last_effect_);
  for (const Node* n = cursor_; all && n->parent; n = n->parent) {
    if (!n->composite && HasEffect(n->primitive())) want(n->first_result);
  }
  return true;
}

Status Session::EndSegment() {
  if (values_.empty() || (last_effect_ < 0 && EndQuickly())) return absl::OkStatus();
  Status status = absl::OkStatus(), refusal = absl::OkStatus();
  LiveMask live;
  const bool held = values_.FindLive(&live);
  const bool wanted = WantEffects(false, &live) || held;
  if (builder_) builder_->OnSegment(PathTo(*cursor_), slots_, values_.span(), precision_);
  if (wanted) {
    flushing_ = true;
    Pin pin;
    int64_t gain = 0;
    const SegmentPlan* plan = recording_->FindPlan(cursor_, live, precision_, &pin, &gain);
    gain_ += gain;
    if (!plan) {
      std::shared_ptr<const SegmentPlan> made = MakePlan(live, precision_, &refusal);
      if (builder_ && made) builder_->OnPlan(made, live);
      plan = pin.Hold(std::move(made));
    }
    if (plan) {
      status = RunPlan(*plan, live);
      if (!status.ok() && !IsInterrupted(status)) refusal = NoteRefusal(Cause::kNoMemory, status);
    }
    // Op by op needs the least memory at a time, if nobody holds what the ops make.
    if (!plan || (!status.ok() && !IsInterrupted(status))) {
      if (builder_ && plan) builder_->Postpone();
      status = RunOneByOne(live);
    }
    flushing_ = false;
  } else {
    cursor_->used.store(Bounds::Now(), std::memory_order_relaxed);
  }
  if (!status.ok()) {
    if (!IsInterrupted(status)) NoteRefusal(Cause::kFailed, status).IgnoreError();
    if (builder_) builder_->Postpone();
    builder_ = nullptr;
    return status;
  }
  if (__builtin_expect(builder_ != nullptr, 0)) {  // it holds what it saw
    values_.Clear();
  } else {
    values_.Recycle(live);
  }
  return strict_ ? refusal : status;
}

std::shared_ptr<const SegmentPlan> Session::MakePlan(const LiveMask& live, Precision precision,
                                                     Status* refusal) {
  if (!strict_ && !recording_->MayCompile(cursor_, live, precision)) return nullptr;
  const std::vector<const Node*> path = PathTo(*cursor_);
  Program program = ProgramOf(path);
  for (size_t r = 0; r < values_.size(); ++r) {
    if (IsLive(live, r)) program.outputs.push_back({static_cast<ValueId>(r), {}});
  }
  Dump(program);
  auto compiled = GetSegmentCompiler()->Compile(program, live, precision, {.all = true}, nullptr);
  if (!compiled.ok()) {
    recording_->CompileFailed(cursor_, live, precision);
    *refusal = NoteRefusal(Cause::kNotCompiled, compiled.status());
    return nullptr;
  }
  const std::shared_ptr<const SegmentPlan>& plan = *compiled;
  const Recording::Planned before =
      recording_->StorePlan(cursor_, live, precision, plan, GainOf(path, live));
  std::vector<Field> fields = PlanFields(*plan);
  if (before.cause == Cause::kWanted) {
    fields.emplace_back("old", DescribeLive(path, before.live));
    fields.emplace_back("new", DescribeLive(path, live));
  } else if (before.cause == Cause::kPrecision) {
    fields.emplace_back("old", Name(before.precision));
    fields.emplace_back("new", Name(precision));
  }
  recording_->Note(ExplainSegment(before.cause, *cursor_, std::move(fields)));
  if (plan->interpreted() > 0) {
    recording_->Note(
        {Cause::kInterpreted,
         {{"new", StrCat(plan->interpreted())}, {"kernels", StrCat(plan->kernels())}}});
  }
  if (!plan->elsewhere().empty()) {
    std::string_view why = plan->elsewhere()[0];
    if (why.ends_with('.')) why.remove_suffix(1);
    recording_->Note({Cause::kElsewhere,
                      {{"new", StrCat(plan->elsewhere().size())},
                       {"kernels", StrCat(plan->kernels())},
                       {"why", std::string(why)}}});
  }
  return plan;
}

Status Session::NoteRefusal(Cause cause, const Status& status) {
  std::string_view message(status.message().data(), status.message().size());
  if (message.ends_with('.')) message.remove_suffix(1);
  const std::string line =
      recording_->Note(ExplainSegment(cause, *cursor_, {{"new", std::string(message)}}));
  return RuntimeError("[trace] ", line, " mode(strict=True) does not fall back.");
}

Status Session::RunPlan(const SegmentPlan& plan, const LiveMask& live) {
  // Copied: while the plan runs, a signal handler may call ops.
  Value* few[64];
  std::vector<Value*> many;
  Value** inputs = few;
  const size_t num_inputs = slots_.size();
  if (num_inputs + values_.size() > std::size(few)) {
    many.resize(num_inputs + values_.size());
    inputs = many.data();
  }
  for (size_t i = 0; i < num_inputs; ++i) inputs[i] = slots_.data()[i].get();
  Value** const wanted = inputs + num_inputs;
  size_t count = 0;
  for (size_t w = 0; w < live.size(); ++w) {
    for (uint64_t bits = live[w]; bits != 0; bits &= bits - 1)
      wanted[count++] = values_.data()[64 * w + std::countr_zero(bits)].get();
  }
  FZ_RETURN_IF_ERROR(plan.Fill({inputs, num_inputs}, {wanted, count}));
  kernels_ += plan.kernels();
  return absl::OkStatus();
}

Status Session::Finish(bool interrupted) {
  Lock lock(this, Lock::kOwner);
  Status status = interrupted && values_.AnyWaitedFor() ? Interrupted() : EndSegment();
  if (builder_ && !status.ok()) builder_->Postpone();
  builder_ = nullptr;
  recording_->CountCall(shard_, !recorded_ && !fell_back_, matched_, kernels_);
  if (__builtin_expect(!recorded_ && !fell_back_, 1)) {
    recording_->CountGain(shard_, gain_);
  } else {
    recording_->Count([&](TraceStats& s) {
      s.recorded += recorded_;
      s.fallbacks += fell_back_;
    });
  }
  return status;
}

}  // namespace frazil::tracer
