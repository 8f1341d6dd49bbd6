#include "tracer/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/at_fork.h"
#include "core/check.h"
#include "core/config.h"
#include "core/infer.h"
#include "core/long_work.h"
#include "core/tls.h"
#include "tracer/explain.h"
#include "tracer/script_builder.h"

namespace frazil::tracer {
namespace {

// Sessions that no call uses. Never destroyed.
struct Idle {
  absl::Mutex mutex;
  std::vector<Session*> spare ABSL_GUARDED_BY(mutex);
  // Those of interrupted calls whose values nobody has read yet.
  std::vector<Session*> left ABSL_GUARDED_BY(mutex);
  std::atomic<int> left_count{0};
};
Idle& GetIdle() {
  static Idle* idle = [] {
    auto* made = new Idle;
    HoldAcrossFork(ForkOrder::kCaches, &made->mutex);
    return made;
  }();
  return *idle;
}

// The thread's last session, so that a call takes no lock.
struct ThreadSpare {
  Session* session = nullptr;
  ~ThreadSpare() {
    if (!session) return;
    absl::MutexLock lock(&GetIdle().mutex);
    GetIdle().spare.push_back(session);
  }
};
thread_local ThreadSpare t_spare;

// A segment never grows beyond this many calls: unrolled loops are cut into equal pieces.
constexpr int kMaxSegment = 1024;

// Tags: which result or slot of which segment a value is. 40 bits serial, 1 bit slot, 23 bits
// number.
constexpr int kNumberBits = 23;
constexpr uint64_t kSlotBit = uint64_t{1} << kNumberBits;

// Threads take serials by the thousand, so that they share no word.
constexpr uint64_t kSerials = 1024;
constinit std::atomic<uint64_t> g_next_serials{kSerials};
FZ_HOT_TLS uint64_t t_next_serial = 0;

uint64_t NextSerial() {
  if (t_next_serial % kSerials == 0)
    t_next_serial = g_next_serials.fetch_add(kSerials, std::memory_order_relaxed);
  return t_next_serial++ & ((uint64_t{1} << 40) - 1);
}

void SetTag(Value* v, uint64_t tag) {
  std::atomic_ref<uint64_t>(v->tag).store(tag, std::memory_order_relaxed);
}
uint64_t GetTag(Value* v) {
  return std::atomic_ref<uint64_t>(v->tag).load(std::memory_order_relaxed);
}

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

// The owner's calls and another thread's Force exclude each other; the owner may nest.
class Session::Lock {
 public:
  explicit Lock(Session* s) : s_(s) {
    if (owner_ && s->lock_depth_++ > 0) return;
    if (__builtin_expect(!Busy(), 1)) return;
    Wait();
  }
  // The thread that had it exists in the parent process only.
  bool lost() const { return lost_; }
  ~Lock() {
    if (lost_ || (owner_ && --s_->lock_depth_ > 0)) return;
    s_->busy_.store(false, std::memory_order_release);
  }

 private:
  bool Busy() { return s_->busy_.exchange(true, std::memory_order_acquire); }
  // Who has it may be waiting for the host's lock.
  void Wait() {
    const HostUnlocked unlocked;
    for (int spin = 0; Busy(); ++spin) {
      lost_ = s_->generation_.load(std::memory_order_relaxed) != ForkGeneration();
      if (lost_) return;
      if (spin < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  Session* s_;
  bool lost_ = false;
  const bool owner_ = s_->owner_.load(std::memory_order_relaxed) == &State();
};

Session* Session::Begin(Recording* recording, ScriptBuilder* builder) {
  if (GetIdle().left_count.load(std::memory_order_relaxed) > 0) SweepLeft();
  Session* s = std::exchange(t_spare.session, nullptr);
  if (!s) s = TakeSpare();
  s->recording_ = recording;
  s->builder_ = builder;
  s->epoch_ = recording->Enter();
  s->fell_back_ = s->recorded_ = false;
  s->kernels_ = 0;
  s->matched_ = 0;
  s->strict_ = Strict();
  s->blas_ = State().blas;
  s->owner_.store(&State(), std::memory_order_relaxed);
  s->generation_.store(ForkGeneration(), std::memory_order_relaxed);
  s->StartSegment();
  return s;
}

void Session::End(Session* s) {
  if (s->Wanted()) {
    Idle& idle = GetIdle();
    s->kept_ = s->recording_->shared_from_this();
    s->owner_.store(nullptr, std::memory_order_relaxed);
    absl::MutexLock lock(&idle.mutex);
    idle.left.push_back(s);
    idle.left_count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  s->StartSegment();
  s->recording_->Leave(s->epoch_);
  if (!t_spare.session) {
    t_spare.session = s;
    return;
  }
  absl::MutexLock lock(&GetIdle().mutex);
  GetIdle().spare.push_back(s);
}

Session* Session::TakeSpare() {
  absl::MutexLock lock(&GetIdle().mutex);
  std::vector<Session*>& spare = GetIdle().spare;
  if (spare.empty()) return new Session;
  Session* s = spare.back();
  spare.pop_back();
  return s;
}

void Session::SweepLeft() {
  std::vector<Session*> done;
  {
    Idle& idle = GetIdle();
    absl::MutexLock lock(&idle.mutex);
    std::erase_if(idle.left, [&](Session* s) {
      // Somebody is computing it: another time.
      if (s->busy_.exchange(true, std::memory_order_acquire)) return false;
      const bool wanted = s->Wanted();
      if (!wanted) done.push_back(s);
      s->busy_.store(false, std::memory_order_release);
      return !wanted;
    });
    idle.left_count.store(static_cast<int>(idle.left.size()), std::memory_order_relaxed);
  }
  // Letting go of values may run destructors that come here again.
  for (Session* s : done) {
    s->StartSegment();
    s->recording_->Leave(s->epoch_);
    s->kept_ = nullptr;
    absl::MutexLock lock(&GetIdle().mutex);
    GetIdle().spare.push_back(s);
  }
}

void Session::StartSegment() {
  if (recording_->epoch() != epoch_) {  // a long call lets go of what was evicted meanwhile
    recording_->Leave(epoch_);
    epoch_ = recording_->Enter();
  }
  cursor_ = recording_->root();
  mode_ = Mode::kReplaying;
  slots_.clear();
  values_.clear();
  num_slots_ = num_results_ = 0;
  serial_ = NextSerial();
}

// ---- Calls

Tensor Session::Call(const OpCall& call) {
  {
    const Lock lock(this);
    const Request request{Primitive(call.op), call.inputs, call.attrs};
    if (Node* next = Predicted(request)) {
      Tensor out;
      Defer(next, request, {&out, 1});
      return out;
    }
  }
  return CallUnpredicted(call);
}

Tensor Session::CallUnpredicted(const OpCall& call) {
  // Results of another thread's trace become ready first, without holding our lock.
  for (const Tensor* t : call.inputs) {
    Pending* pending = t->value()->pending.load(std::memory_order_acquire);
    if (pending && pending != this) {
      if (Status s = Read(*t->value(), Reading::kInside); !s.ok()) return Tensor(std::move(s));
    }
  }
  Lock lock(this);
  if (expansion_) {
    Tensor out = RunEagerly(call);
    if (out.ok()) RecordExpanded(call, out);
    return out;
  }
  const OpInfo& info = Info(call.op);
  bool foreign = false;
  for (const Tensor* t : call.inputs)
    foreign |= t->value()->storage && t->value()->storage->foreign;
  const bool external_view = info.klass == OpClass::kView && !recording_->records_views() &&
                             call.inputs[0]->value()->ready() &&
                             (mode_ == Mode::kReplaying ||
                              GetTag(call.inputs[0]->value()) >> (kNumberBits + 1) != serial_ ||
                              (GetTag(call.inputs[0]->value()) & kSlotBit));
  if (external_view || foreign) {
    if (foreign && builder_) builder_->Refuse("an op reads borrowed memory");
    // Borrowed memory may change under us: what reads it runs now.
    if (foreign && !external_view) {
      NoteBorrowed(call.op);
      if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
    }
    return RunEagerly(call);
  }
  if (__builtin_expect(State().blas != blas_, 0)) {
    if (Status s = ChangePrecision(); !s.ok()) return Tensor(std::move(s));
  }
  const Request request{Primitive(call.op), call.inputs, call.attrs};
  if (cursor_->depth >= kMaxSegment) {
    if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
  }
  if (Node* child = FindChild(request)) {
    Tensor out;
    Defer(child, request, {&out, 1});
    return out;
  }
  return RunAndRecord(call);
}

Tensor Session::RunAndRecord(const OpCall& call) {
  // What is recorded is what ran: meanwhile another thread may replace the content of a cell.
  absl::InlinedVector<Tensor, 4> held;
  absl::InlinedVector<const Tensor*, 4> inputs;
  held.reserve(call.inputs.size());
  for (const Tensor* t : call.inputs) {
    held.push_back(Tensor(t->value_ref()));
    inputs.push_back(&held.back());
  }
  const Request request{Primitive(call.op), inputs, call.attrs};
  if (Status s = StartRecording(request); !s.ok()) return Tensor(std::move(s));
  Tensor out = RunEagerly({call.op, inputs, call.attrs});
  if (out.ok()) Record(request, {&out, 1}, nullptr);
  return out;
}

// A segment is computed with one precision.
Status Session::ChangePrecision() {
  FZ_RETURN_IF_ERROR(Flush());
  blas_ = State().blas;
  return absl::OkStatus();
}

void Session::Composite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs) {
  if (expansion_) return body(outputs);  // part of the outer composite
  for (const Tensor* t : call.inputs) {
    const Value& v = *t->value();
    Pending* pending = v.pending.load(std::memory_order_acquire);
    if (pending && pending != this && !Read(v, Reading::kInside).ok()) return body(outputs);
    if (v.ready() && v.storage && v.storage->foreign) return body(outputs);
  }
  Lock lock(this);
  const Request request{CompositeRow(call.id), call.inputs, call.attrs};
  Status status = absl::OkStatus();
  if (__builtin_expect(State().blas != blas_, 0)) status = ChangePrecision();
  if (status.ok() && cursor_->depth >= kMaxSegment) status = Flush();
  if (!status.ok()) {
    for (Tensor& t : outputs) t = Tensor(status);
    return;
  }
  if (Node* child = FindChild(request)) return Defer(child, request, outputs);
  if (Status s = StartRecording(request); !s.ok()) {
    for (Tensor& t : outputs) t = Tensor(s);
    return;
  }
  RunComposite(call, body, outputs);
}

// ---- Matching

// The common case, which needs none of the checks that decide how a call is taken: the call that
// came next the last time.
Node* Session::Predicted(const Request& request) const {
  if (mode_ == Mode::kRecording || expansion_ || State().blas != blas_) return nullptr;
  Node* predicted = cursor_->predicted.load(std::memory_order_acquire);
  return predicted && Matches(*predicted, request) ? predicted : nullptr;
}

Node* Session::FindChild(const Request& request) {
  if (mode_ == Mode::kRecording) return nullptr;
  Node* predicted = cursor_->predicted.load(std::memory_order_acquire);
  if (predicted && Matches(*predicted, request)) return predicted;
  Node* child = SearchChild(request);
  if (child) Recording::Predict(cursor_, child);
  return child;
}

Node* Session::SearchChild(const Request& request) const {
  if (ChildIndex* index = cursor_->index.load(std::memory_order_acquire)) {
    const uint64_t hash = CallHash(request.what, request.inputs, request.attrs);
    Node* c = index->Bucket(hash).load(std::memory_order_acquire);
    for (; c; c = c->next_in_bucket.load(std::memory_order_acquire)) {
      if (c->hash == hash && Matches(*c, request)) return c;
    }
    return nullptr;
  }
  Node* c = cursor_->children.load(std::memory_order_acquire);
  for (; c; c = c->next.load(std::memory_order_acquire)) {
    if (Matches(*c, request)) return c;
  }
  return nullptr;
}

bool Session::Matches(const Node& node, const Request& request) const {
  const size_t n = request.inputs.size();
  if ((uint64_t{node.composite} << 32 | node.op) != request.what || node.operands.size() != n ||
      AttrSpan(node.attrs) != request.attrs) {
    return false;
  }
  const int32_t* operands = node.operands.data();
  const size_t known = slots_.size();
  size_t fresh = 0;
  for (size_t i = 0; i < n; ++i) {
    const Value* v = request.inputs[i]->value();
    const int32_t ref = operands[i];
    if (ref >= 0) {
      if (values_[ref].get() != v) return false;
      continue;
    }
    const size_t slot = ~ref;
    if (slot < known) {
      if (slots_[slot].get() != v) return false;
    } else if (slot == known + fresh) {
      if (!node.slots[fresh].Admits(*v) || !v->ready() || (v->storage && v->storage->foreign))
        return false;
      ++fresh;
    } else {
      // A slot that this very call introduced at an earlier operand.
      for (size_t j = 0; j < i; ++j) {
        if (operands[j] == ref && request.inputs[j]->value() != v) return false;
      }
    }
  }
  return true;
}

void Session::Defer(Node* node, const Request& request, absl::Span<Tensor> outputs) {
  if (!node->slots.empty()) {
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (static_cast<size_t>(~node->operands[i]) == slots_.size())
        slots_.push_back(request.inputs[i]->value_ref());
    }
  }
  const Result* results = node->results.data();
  for (size_t r = 0; r < outputs.size(); ++r) {
    Value* value = Value::Deferred(results[r].dtype, results[r].device, results[r].layout, this,
                                   serial_ << (kNumberBits + 1) | values_.size());
    values_.push_back(ValueRef::Adopt(value));
    outputs[r].Set(ValueRef::Adopt(value), nullptr);
  }
  cursor_ = node;
  ++matched_;
}

// ---- Recording

Tensor Session::RunEagerly(const OpCall& call) {
  // A deferred operand here was left by an op outside the segment's reach (a view of borrowed
  // memory, say).
  for (const Tensor* t : call.inputs) {
    if (t->value()->ready()) continue;
    if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
    if (!t->value()->ready()) return Tensor(Read(*t->value(), Reading::kInside));
  }
  return GlobalRuntime().eager->Call(call);
}

Status Session::StartRecording(const Request& request) {
  if (mode_ == Mode::kRecording) return absl::OkStatus();
  if (builder_) builder_->Postpone();
  const Explanation why = ExplainDeparture(
      *cursor_,
      {request.composite(), request.op(), request.inputs, request.attrs, slots_, values_});
  if (values_.empty()) {
    recording_->Note(why, "; recorded");
    mode_ = Mode::kRecording;
    return absl::OkStatus();
  }
  const std::string effect = StrCat("; the ", cursor_->depth, " calls before it ran one by one");
  const std::string line = recording_->Note(why, effect);
  FZ_RETURN_IF_ERROR(LeaveReplay());
  if (strict_) {
    StartSegment();
    return RuntimeError("[trace] ", line, " mode(strict=True) does not fall back.");
  }
  mode_ = Mode::kRecording;
  return absl::OkStatus();
}

void Session::NoteBorrowed(OpId op) {
  if (recording_->FirstBorrowed(op)) {
    recording_->Note({Cause::kBorrowed, {{"op", NameOf(false, static_cast<uint32_t>(op))}}});
  } else {
    recording_->CountCause(Cause::kBorrowed);
  }
}

Status Session::LeaveReplay() {
  Node* here = cursor_;
  const int slots = static_cast<int>(slots_.size()), results = static_cast<int>(values_.size());
  // The next calls are recorded behind the same path: its values keep their numbers as tags.
  for (int i = 0; i < slots; ++i) {
    if (!slots_[i]->immediate) SetTag(slots_[i].get(), serial_ << (kNumberBits + 1) | kSlotBit | i);
  }
  flushing_ = true;
  const Status status = RunOneByOne();
  flushing_ = false;
  FZ_RETURN_IF_ERROR(status);
  fell_back_ = true;
  slots_.clear();
  values_.clear();
  cursor_ = here;
  num_slots_ = slots;
  num_results_ = results;
  return absl::OkStatus();
}

void Session::Record(const Request& request, absl::Span<const Tensor> outputs,
                     std::unique_ptr<Expansion> expansion) {
  auto node = std::make_unique<Node>();
  node->composite = request.composite();
  node->op = request.op();
  node->attrs.assign(request.attrs.begin(), request.attrs.end());
  node->hash = CallHash(request.what, request.inputs, request.attrs);
  node->parent = cursor_;
  node->depth = cursor_->depth + 1;
  node->first_result = num_results_;
  node->first_slot = num_slots_;
  for (const Tensor* t : request.inputs) {
    Value* v = t->value();
    const uint64_t tag = v->immediate ? 0 : GetTag(v);
    if (tag >> (kNumberBits + 1) == serial_) {
      const auto number = static_cast<int32_t>(tag & (kSlotBit - 1));
      node->operands.push_back(tag & kSlotBit ? ~number : number);
      continue;
    }
    if (!v->immediate)
      SetTag(v, serial_ << (kNumberBits + 1) | kSlotBit | static_cast<uint64_t>(num_slots_));
    node->operands.push_back(~num_slots_++);
    node->slots.push_back({v->dtype, v->device, v->immediate, v->layout});
  }
  for (const Tensor& t : outputs) {
    node->results.push_back({t.dtype(), t.device(), t.layout()});
    FZ_CHECK(!t.value()->immediate);
    SetTag(t.value(), serial_ << (kNumberBits + 1) | static_cast<uint64_t>(num_results_++));
  }
  node->expansion = std::move(expansion);
  node->origin = Here();
  cursor_ = recording_->AddChild(cursor_, std::move(node));
  recorded_ = true;
}

void Session::RecordExpanded(const OpCall& call, const Tensor& output) {
  ExpandedOp op{call.op, Attrs(call.attrs.begin(), call.attrs.end()), {}};
  const int inputs = static_cast<int>(composite_->inputs.size());
  for (const Tensor* t : call.inputs) {
    Value* v = t->value();
    int32_t ref = 0;
    bool found = false;
    for (int i = 0; i < inputs && !found; ++i) {
      found = composite_->inputs[i]->value() == v;
      if (found) ref = ~i;
    }
    if (!found && !v->immediate && GetTag(v) >> (kNumberBits + 1) == serial_ &&
        !(GetTag(v) & kSlotBit)) {
      ref = static_cast<int32_t>(GetTag(v) & (kSlotBit - 1));
      found = true;
    }
    if (!found) {
      // Numbers and small tables made by the body: constants of the expansion.
      expansion_->constants.push_back(t->value_ref());
      ref = ~(inputs + static_cast<int>(expansion_->constants.size()) - 1);
    }
    op.operands.push_back(ref);
  }
  SetTag(output.value(), serial_ << (kNumberBits + 1) | expansion_->ops.size());
  expansion_->ops.push_back(std::move(op));
}

void Session::RunComposite(const CompositeCall& call, CompositeBody body,
                           absl::Span<Tensor> outputs) {
  // The body's values are numbered on their own, under a serial of their own.
  auto expansion = std::make_unique<Expansion>();
  const uint64_t outer = serial_;
  serial_ = NextSerial();
  expansion_ = expansion.get();
  composite_ = &call;
  body(outputs);
  expansion_ = nullptr;
  composite_ = nullptr;
  bool good = true;
  for (const Tensor& t : outputs) {
    good = good && t.ok() && !t.value()->immediate &&
           GetTag(t.value()) >> (kNumberBits + 1) == serial_ && !(GetTag(t.value()) & kSlotBit);
    if (good)
      expansion->outputs.push_back(static_cast<int32_t>(GetTag(t.value()) & (kSlotBit - 1)));
  }
  serial_ = outer;
  // A body that made nothing of its own, or failed, is no call of the segment.
  if (good) Record({CompositeRow(call.id), call.inputs, call.attrs}, outputs, std::move(expansion));
}

// ---- Segments

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
    if (!IsInterrupted(status)) NoteRefusal(Cause::kFailed, status);
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
