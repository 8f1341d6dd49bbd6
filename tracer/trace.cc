#include "tracer/trace.h"

#include "core/config.h"
#include "tracer/session.h"

namespace frazil::tracer {
namespace {

// The outermost call's session; set as the thread's door while it runs.
Session*& Current() {
  static thread_local Session* session = nullptr;
  return session;
}

}  // namespace

bool Enabled() {
  const int8_t own = State().mode;
  return own < 0 ? TracingEnabled() : own > 0 && TracingEnabled();
}

bool Strict() {
  const int8_t own = State().mode;
  return (own < 0 ? ProcessMode() : own) & kStrict;
}

bool TracesModules() {
  const int8_t own = State().mode;
  return (own < 0 ? ProcessMode() : own) & kTracesModules && !Inside() && Enabled();
}

Trace::Trace(std::string name, bool pure)
    : name_(std::move(name)), recording_(std::make_shared<Recording>(name_, pure)) {}
Trace::~Trace() = default;
TraceStats Trace::stats() const { return recording_->stats(); }
std::string Trace::Explain() const { return recording_->Explain(); }
std::vector<TraceEvent> Trace::Events() const { return recording_->Events(); }
void Trace::Clear() { recording_->Clear(); }

bool Inside() { return Current() != nullptr; }

Call::Call(Trace* trace, ScriptBuilder* builder) {
  if (Current() || !Enabled()) {
    trace->recording().Count([](TraceStats& s) { ++s.calls; });
    return;
  }
  outermost_ = true;
  Current() = Session::Begin(&trace->recording(), builder);
  State().door = Current();
  State().observer = Current();
}

Status Call::Finish(bool interrupted) {
  if (!outermost_) return absl::OkStatus();
  outermost_ = false;
  Session* session = Current();
  Status status = session->Finish(interrupted);
  State().door = nullptr;
  State().observer = nullptr;
  Current() = nullptr;
  Session::End(session);
  return status;
}

Call::~Call() { (void)Finish(); }

}  // namespace frazil::tracer
