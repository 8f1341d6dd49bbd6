// The one way in for ops (Apply) and the one way out for bytes (Read).
// Called by Python, C++, gradient rules, composites and loaded graphs. Invariants: every op passes
// through Apply and is checked at once with the same errors in every mode; every byte leaves
// through Read, which makes deferred values real.
//
// Most calls have one or two operands, no attributes, no gradient, and have been made before with
// the same layouts and dtypes. TryApply asks the thread's door for those,
// Door::TryCall: the eager door finds the kernel in a direct-mapped table by two ids of layouts
// and two words of kinds, a session compares with the call that came next the last time. Python's
// operators ask before they look at anything else, so such a call makes no list of operands, looks
// at no promotion and allocates one block. Null means that nothing has happened: the call goes the
// ordinary way, which is also how it gets into the table. That is right because the table and the
// recording hold calls after promotion and checks: what is found is what promotion would have made
// of the same operands. pow with a number is the one exception (a square is a product) and never
// asks.
#pragma once

#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/op.h"
#include "core/precision.h"
#include "core/tensor.h"
#include "core/threads/tls.h"

#pragma GCC visibility push(default)
namespace frazil {

struct OpCall {
  OpId op;
  absl::Span<const Tensor* const> inputs;
  AttrSpan attrs;
  bool indices_checked = false;  // those among the inputs are in range, and not negative
};

// What inference says of a call's result (core/infer.h).
struct Inferred {
  DType dtype;
  Device device;
  const Layout* layout;
  bool view = false;   // shares the storage of input 0
  int64_t offset = 0;  // of the view, in elements of its dtype from input 0's first
};

// A function written with ops. Which it calls depends on metadata and attributes only, never on
// data.
struct CompositeCall {
  uint32_t id;  // row of core/functions/composites.def
  absl::Span<const Tensor* const> inputs;
  AttrSpan attrs;
};

// Fills the outputs by calling ops.
using CompositeBody = absl::FunctionRef<void(absl::Span<Tensor>)>;

// The thread's interpreter: eager, recorder or replayer. Calls arrive here after error operands and
// data checks.
class Door {
 public:
  virtual ~Door() = default;
  virtual Tensor Call(const OpCall& call) = 0;
  // The same for calls without attributes that need no check of data, by doors that have met them:
  // the result, which the caller owns and which may be an error. Null: nothing has happened, and
  // the call has to be made.
  virtual Value* TryCall(OpId op, const Tensor& a) { return nullptr; }
  virtual Value* TryCall(OpId op, const Tensor& a, const Tensor& b) { return nullptr; }
  // An immediate of a's dtype as the other operand, the first or the second.
  virtual Value* TryNumber(OpId op, const Tensor& a, uint64_t bits, bool first) { return nullptr; }
  // Whether its calls become others (batch/batch.h): it cannot be left out, and never answers TryCall.
  virtual bool rewrites() const { return false; }
  // Runs `body` (which calls ops) or, when replaying, matches the whole call at once.
  virtual void Composite(const CompositeCall& call, CompositeBody body,
                         absl::Span<Tensor> outputs) {
    body(outputs);
  }
};

// The tape (autograd/tape.h). Called by Apply when an input needs a gradient.
class TapeHook {
 public:
  virtual ~TapeHook() = default;
  // The node of a call that is about to run, which sees the operands as the call does; null if no
  // gradient can flow. Attached to the result if the call succeeds.
  virtual GradNodeRef Prepare(const OpCall& call) = 0;
  virtual void Attach(GradNodeRef node, Tensor* output) = 0;
  // The same of a composite of one result that is to be one call; null: its ops have nodes.
  virtual GradNodeRef PrepareComposite(const CompositeCall& call) = 0;
};

// What becomes of the bytes that are read: they leave, as bytes or as one bool or integer, or an op
// or a check looks at them.
enum class Reading { kBytes, kNumber, kInside };

// Integers from `low` to below `high`; low is 0, or -high where negative ones count from the end.
struct IndexRange {
  int64_t low, high;
  bool operator==(const IndexRange&) const = default;
};

// Told of all that the program learns from data on this thread (tracer/script.h: a call that is to
// be skipped has to learn the same).
class ReadObserver {
 public:
  // What has the elements of `value` and may be looked at as if it had been read; null: it has to
  // be read.
  virtual ValueRef Peek(const Value& value) = 0;
  // `value` is ready.
  virtual void OnRead(const Value& value, Reading how) = 0;
  // Integers that were found to lie in `range`, `of` what, by the op or function of that name.
  virtual void OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                            std::string_view of) = 0;
  // Integers that were not: the program may catch the error and go on.
  virtual void OnIndexError() = 0;
  // The .grad of a leaf is replaced.
  virtual void OnGradient(const GradNode& leaf) = 0;

 protected:
  ~ReadObserver() = default;
};

class AnomalyScope;  // core/anomaly.h

// Everything that changes how this thread's ops run. Plain data: one thread-local access an op.
struct ThreadState {
  Door* door = nullptr;  // null: the eager door
  bool grad_enabled = true;
  int grad_limit = 1 << 30;  // only nodes with a level below it count
  int grad_depth = 0;        // nesting of function-style gradients and forward mode
  int transforms = 0;  // nesting of vmap and forward mode: no call is traced by itself in there
  Precision precision = Precision::kDefault;
  ReadObserver* observer = nullptr;
  int8_t mode = -1;  // thread's own mode (context manager), -1: the process's
  // The content of a cell that the result of the next op replaces, which may write over its
  // memory (jit/eager/eager.h: OverwriteScope).
  const Value* spent = nullptr;
  AnomalyScope* anomaly = nullptr;  // the innermost of this thread
  bool checks = false;              // results are looked at
};
extern FZ_HOT_TLS ThreadState t_state;
inline ThreadState& State() { return t_state; }

// Process-wide parts, set once by the entry point (bindings or frazil.h), never by static
// initialisers.
struct Runtime {
  Door* eager = nullptr;
  TapeHook* tape = nullptr;
  std::string (*locate)() = nullptr;  // "train.py:12", where the program is; empty: nobody can say
};
extern Runtime g_runtime;
inline Runtime& GlobalRuntime() { return g_runtime; }

Tensor Apply(const OpCall& call);
Tensor ApplyUnwatched(const OpCall& call);  // whatever ThreadState::checks says
Tensor Apply(OpId op, std::initializer_list<const Tensor*> inputs, AttrSpan attrs = {});
void ApplyComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs);

// True if a gradient must flow to this tensor in this thread's state.
inline bool NeedsGrad(const ThreadState& state, const Tensor& t) {
  return t.node() && state.grad_enabled && t.node()->level < state.grad_limit;
}

// Apply for the common case, in few instructions: Door::TryCall if no gradient is wanted. Null:
// Apply has to be called, with what the caller makes of its operands.
template <typename Try>
inline Value* TryAtDoor(const ThreadState& state, bool wants_grad, const Try& ask) {
  if (__builtin_expect(wants_grad, 0)) return nullptr;
  return ask(state.door ? state.door : GlobalRuntime().eager);
}
inline Value* TryApply(OpId op, const Tensor& a) {
  const ThreadState& state = State();
  return TryAtDoor(state, NeedsGrad(state, a), [&](Door* door) { return door->TryCall(op, a); });
}
inline Value* TryApply(OpId op, const Tensor& a, const Tensor& b) {
  const ThreadState& state = State();
  return TryAtDoor(state, NeedsGrad(state, a) || NeedsGrad(state, b),
                   [&](Door* door) { return door->TryCall(op, a, b); });
}
inline Value* TryApplyNumber(OpId op, const Tensor& a, uint64_t bits, bool first) {
  const ThreadState& state = State();
  return TryAtDoor(state, NeedsGrad(state, a),
                   [&](Door* door) { return door->TryNumber(op, a, bits, first); });
}

// Makes `value` ready: waits for, or runs, what it is deferred behind.
Status Read(const Value& value, Reading how = Reading::kBytes);

}  // namespace frazil
#pragma GCC visibility pop
