#include "tracer/trace.h"

#include "core/config.h"
#include "tracer/aside.h"
#include "tracer/session.h"

namespace frazil::tracer {
namespace {

// The outermost call's session; set as the thread's door while it runs.
FZ_HOT_TLS Session* t_session = nullptr;
FZ_HOT_TLS bool t_learns = false;  // a ScriptBuilder is told of it

}  // namespace

bool TracesModules() {
  const int8_t own = State().mode;
  return (own < 0 ? ProcessMode() : own) & kTracesModules && !Inside() && Enabled();
}

Trace::Trace(std::string name, bool pure)
    : name_(std::move(name)), recording_(std::make_shared<Recording>(name_, pure)) {}
Trace::~Trace() = default;
TraceStats Trace::stats() const { return recording_->stats(); }
std::string Trace::Explain() const { return recording_->Explain(); }
std::vector<PlanReport> Trace::Plans() const { return recording_->Plans(); }
std::vector<TraceEvent> Trace::Events() const { return recording_->Events(); }
void Trace::Clear() { recording_->Clear(); }

void LetGoOfAbandoned() { Session::SweepAbandoned(); }
bool Inside() { return t_session || State().transforms > 0; }
void BeforeLending() {
  if (t_session) t_session->OnLending();
}

bool Aside::Possible() { return Enabled() && !Strict() && !State().checks && !t_learns; }

Aside::Aside()
    : session_(std::exchange(t_session, nullptr)),
      door_(std::exchange(State().door, nullptr)),
      observer_(std::exchange(State().observer, nullptr)),
      transforms_(std::exchange(State().transforms, 0)) {}

Aside::~Aside() {
  t_session = session_;
  State().door = door_;
  State().observer = observer_;
  State().transforms = transforms_;
}

Call::Call(Trace* trace, ScriptBuilder* builder) {
  if (Inside() || !Enabled()) {
    trace->recording().CountInner();
    return;
  }
  // What it calls may be worth more, and is then traced by itself.
  if (!builder && !Strict() && trace->recording().Rests()) return;
  outermost_ = true;
  t_session = Session::Begin(&trace->recording(), builder);
  t_learns = builder != nullptr;
  State().door = t_session;
  State().observer = t_session;
}

Status Call::Finish(bool interrupted) {
  if (!outermost_) return absl::OkStatus();
  outermost_ = false;
  Session* session = t_session;
  Status status = session->Finish(interrupted);
  State().door = nullptr;
  State().observer = nullptr;
  t_session = nullptr;
  t_learns = false;
  Session::End(session);
  return status;
}

Call::~Call() { (void)Finish(); }

}  // namespace frazil::tracer
