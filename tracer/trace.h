// Trace: what one traced callable has recorded, and the door that records and replays it.
// Called by bindings/python (fz.trace) and frazil.h (jit::trace). Invariant: entering and leaving
// never changes results; no deferred value outlives the outermost traced call, whether it returns
// or raises, unless it could not be computed (Ctrl-C, memory): then it is when somebody reads it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/apply.h"
#include "core/config.h"
#include "tracer/causes.h"
#include "tracer/plan_report.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

struct TraceStats {
  int64_t calls = 0;      // outermost and nested calls of the function
  int64_t recorded = 0;   // calls that recorded something new
  int64_t replayed = 0;   // calls whose every op matched
  int64_t skipped = 0;    // calls by promise whose body did not run
  int64_t untraced = 0;   // calls that ran as without tracing: replaying them gains nothing
  int64_t fallbacks = 0;  // calls that left a recording half-way
  int64_t segments = 0;   // distinct flushed segments
  int64_t plans = 0;      // compiled plans
  int64_t kernels_compiled = 0;
  int64_t last_kernels = 0;  // kernel launches and library calls of the last replayed call
  int64_t matched_ops = 0;
  std::array<int64_t, kNumCauses> causes{};  // how often each came up
};

// Something worth saying: what explain() and FRAZIL_LOG=guard print.
struct TraceEvent {
  Cause cause;
  std::string where;  // the user's file and line
  std::string text;   // the sentence, filled in
  int64_t times = 1;  // the same one again counts here
};

class Recording;      // tracer/recording.h: the trie of recorded calls and its plans
class ScriptBuilder;  // tracer/script_builder.h

// The state kept per traced callable; shared by threads.
class Trace {
 public:
  // pure: the body may be skipped (tracer/promise.h).
  explicit Trace(std::string name, bool pure = false);
  ~Trace();

  const std::string& name() const { return name_; }
  TraceStats stats() const;
  std::string Explain() const;  // one line per event: what, where, what changed, old -> new
  std::vector<TraceEvent> Events() const;
  std::vector<PlanReport> Plans() const;  // of every plan that is kept
  void Clear();                           // forgets everything recorded

  Recording& recording() { return *recording_; }

 private:
  std::string name_;
  std::shared_ptr<Recording> recording_;
};

// A call of a traced function on this thread. The constructor enters (or nests by inlining); Finish
// makes the deferred values that are still held ready. The destructor finishes too (exceptions).
class Call {
 public:
  explicit Call(Trace* trace, ScriptBuilder* builder = nullptr);
  ~Call();
  Call(const Call&) = delete;
  // Flushes. MemoryError and the like surface here. `interrupted`: the user wants the call to end
  // now; what is still wanted is computed when it is read.
  Status Finish(bool interrupted = false);

 private:
  bool outermost_ = false;
};

// Calls that could not compute all (Ctrl-C, memory) keep what that needs. Lets go of what nobody
// waits for any more; done when a call begins and when memory is short.
void LetGoOfAbandoned();

// True inside a traced call of this thread: a nested one is part of it.
bool Inside();

// Called before memory is given to somebody who may write to it: what reads it, of the call on this
// thread, runs first and holds it no longer.
void BeforeLending();

// True if a module called now is to be traced: mode("graph"), outside of any traced call.
bool TracesModules();

// True if tracing is on for this thread: mode("auto"), and FRAZIL_JIT is not "off".
inline bool Enabled() { return State().mode != 0 && TracingEnabled(); }
// True if a departure from what is recorded is an error in this thread: mode("auto", strict=True).
inline bool Strict() {
  const int8_t own = State().mode;
  return (own < 0 ? ProcessMode() : own) & kStrict;
}

}  // namespace frazil::tracer
#pragma GCC visibility pop
