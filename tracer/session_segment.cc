// Segments end: deferred values become real.
#include <algorithm>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "core/check.h"
#include "tracer/explain.h"
#include "tracer/script_builder.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {
namespace {

// A deferred value takes over what an eager op or a plan made.
Status Adopt(Value* deferred, const Value& made) {
  FZ_CHECK(made.layout == deferred->layout && made.dtype == deferred->dtype);
  if (made.storage) {
    deferred->Fill(made.storage, made.data);
    return absl::OkStatus();
  }
  FZ_ASSIGN_OR_RETURN(StorageRef storage, Allocate(SizeOf(made.dtype)));
  std::memcpy(storage->data, made.data, SizeOf(made.dtype));
  deferred->Fill(storage.get(), storage->data);
  return absl::OkStatus();
}

}  // namespace

std::vector<const Node*> Session::Path() const {
  std::vector<const Node*> path(cursor_->depth);
  for (const Node* n = cursor_; n->parent; n = n->parent) path[n->depth - 1] = n;
  return path;
}

std::vector<const CallRecord*> Session::PathContent() const {
  const std::vector<const Node*> path = Path();
  return {path.begin(), path.end()};
}

bool Session::Wanted() const {
  return std::any_of(values_.begin(), values_.end(),
                     [](const ValueRef& v) { return v->holders() > 1; });
}

LiveMask Session::Live() const {
  LiveMask live((values_.size() + 63) / 64);
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i]->holders() > 1) live[i / 64] |= uint64_t{1} << (i % 64);
  }
  return live;
}

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

void Session::OnRead(const Value& value, Reading how) {
  if (mode_ == Mode::kRecording && !expansion_ && !value.immediate) {
    const uint64_t tag = GetTag(const_cast<Value*>(&value));
    if (tag >> (kNumberBits + 1) == serial_ && !(tag & kSlotBit)) StartSegment();
  }
  if (builder_) builder_->OnRead(value, how);
}

void Session::OnIndexCheck(std::string_view op, const Value& indices, int64_t n,
                           std::string_view of) {
  if (builder_) builder_->OnIndexCheck(op, indices, n, of);
}

void Session::OnGradient(const GradNode& leaf) {
  if (builder_) builder_->OnGradient(leaf);
}

Status Session::Flush() {
  if (values_.empty()) {
    StartSegment();
    return absl::OkStatus();
  }
  Status status = absl::OkStatus(), refusal = absl::OkStatus();
  const bool wanted = Wanted();
  const LiveMask live = Live();
  if (builder_)
    builder_->OnSegment(PathContent(), slots_, values_, blas_);  // it holds what it sees
  if (wanted) {
    flushing_ = true;
    auto plan = recording_->FindPlan(cursor_, live, blas_);
    if (!plan) plan = MakePlan(live, blas_, &refusal);
    if (plan) {
      status = RunPlan(*plan, live);
      if (!status.ok() && !IsInterrupted(status)) refusal = NoteRefusal(Cause::kNoMemory, status);
    }
    // Op by op needs the least memory at a time.
    if (!plan || (!status.ok() && !IsInterrupted(status))) status = RunOneByOne();
    flushing_ = false;
  } else {
    cursor_->used.store(Bounds::Now(), std::memory_order_relaxed);
  }
  if (!status.ok()) {  // everything is there to do it again
    if (!IsInterrupted(status)) NoteRefusal(Cause::kFailed, status).IgnoreError();
    if (builder_) builder_->Postpone();
    builder_ = nullptr;
    return status;
  }
  StartSegment();
  return status.ok() && strict_ ? refusal : status;
}

std::shared_ptr<const SegmentPlan> Session::MakePlan(const LiveMask& live, bool blas,
                                                     Status* refusal) {
  if (!strict_ && !recording_->MayCompile(cursor_, live, blas)) return nullptr;
  const std::vector<const Node*> path = Path();
  auto compiled = GetSegmentCompiler()->Compile(PathContent(), live, blas, ~uint64_t{0});
  if (!compiled.ok()) {
    recording_->CompileFailed(cursor_, live, blas);
    *refusal = NoteRefusal(Cause::kNotCompiled, compiled.status());
    return nullptr;
  }
  const std::shared_ptr<const SegmentPlan>& plan = *compiled;
  const Recording::Planned before = recording_->StorePlan(cursor_, live, blas, plan);
  std::vector<Field> fields = PlanFields(*plan);
  if (before.cause == Cause::kWanted) {
    fields.emplace_back("old", DescribeLive(path, before.live));
    fields.emplace_back("new", DescribeLive(path, live));
  } else if (before.cause == Cause::kPrecision) {
    fields.emplace_back("old", blas ? "default" : "blas");
    fields.emplace_back("new", blas ? "blas" : "default");
  }
  recording_->Note(ExplainSegment(before.cause, *cursor_, std::move(fields)));
  if (plan->interpreted() > 0) {
    recording_->Note(
        {Cause::kInterpreted,
         {{"new", StrCat(plan->interpreted())}, {"kernels", StrCat(plan->kernels())}}});
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
  absl::InlinedVector<Value*, 32> inputs;
  for (const ValueRef& v : slots_) inputs.push_back(v.get());
  absl::InlinedVector<int, 32> wanted;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (live[i / 64] >> (i % 64) & 1) wanted.push_back(static_cast<int>(i));
  }
  absl::InlinedVector<ValueRef, 32> outputs(wanted.size());
  FZ_RETURN_IF_ERROR(plan.Run(inputs, absl::MakeSpan(outputs)));
  for (size_t k = 0; k < wanted.size(); ++k) {
    Value* v = values_[wanted[k]].get();
    if (!v->ready()) FZ_RETURN_IF_ERROR(Adopt(v, *outputs[k]));
  }
  kernels_ += plan.kernels();
  return absl::OkStatus();
}

// From the inputs that are still pinned, in order, through the eager door: what the body would have
// done untraced.
Status Session::RunOneByOne() {
  Door* eager = GlobalRuntime().eager;
  // With the precision that the calls had.
  const bool outside = std::exchange(State().blas, blas_);
  const absl::Cleanup restore = [outside] { State().blas = outside; };
  for (const Node* node : Path()) {
    const auto operand = [&](int32_t ref) { return ref >= 0 ? values_[ref] : slots_[~ref]; };
    std::vector<Tensor> results;
    if (node->composite) {
      std::vector<Tensor> local;
      const auto expanded = [&](int32_t ref) {
        if (ref >= 0) return local[ref];
        const size_t i = ~ref;
        const size_t inputs = node->operands.size();
        return Tensor(i < inputs ? operand(node->operands[i])
                                 : node->expansion->constants[i - inputs]);
      };
      for (const ExpandedOp& op : node->expansion->ops) {
        std::vector<Tensor> in;
        for (int32_t ref : op.operands) in.push_back(expanded(ref));
        std::vector<const Tensor*> pointers;
        for (const Tensor& t : in) pointers.push_back(&t);
        local.push_back(eager->Call({op.op, pointers, op.attrs}));
        FZ_RETURN_IF_ERROR(local.back().status());
      }
      for (int32_t ref : node->expansion->outputs) results.push_back(expanded(ref));
    } else {
      std::vector<Tensor> in;
      for (int32_t ref : node->operands) in.push_back(Tensor(operand(ref)));
      std::vector<const Tensor*> pointers;
      for (const Tensor& t : in) pointers.push_back(&t);
      results.push_back(eager->Call({static_cast<OpId>(node->op), pointers, node->attrs}));
      FZ_RETURN_IF_ERROR(results.back().status());
    }
    for (size_t r = 0; r < results.size(); ++r) {
      Value* v = values_[node->first_result + r].get();
      if (!v->ready()) FZ_RETURN_IF_ERROR(Adopt(v, *results[r].value()));
    }
  }
  return absl::OkStatus();
}

Status Session::Finish(bool interrupted) {
  Lock lock(this);
  Status status = interrupted && Wanted() ? Interrupted() : Flush();
  if (builder_ && !status.ok()) builder_->Postpone();
  builder_ = nullptr;
  recording_->Count([&](TraceStats& s) {
    ++s.calls;
    s.recorded += recorded_;
    s.fallbacks += fell_back_;
    s.replayed += !recorded_ && !fell_back_;
    s.matched_ops += matched_;
    s.last_kernels = kernels_;
  });
  return status;
}

}  // namespace frazil::tracer
