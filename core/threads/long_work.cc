#include "core/threads/long_work.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/apply.h"
#include "core/threads/fp_mode.h"
#include "core/tuned.h"

namespace frazil {
namespace {

constinit Host g_host = {};

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

FZ_HOT_TLS LongWork* LongWork::t_current = nullptr;
FZ_HOT_TLS int LongWork::t_interruptions = 0;

void SetHost(const Host& host) { g_host = host; }
bool HasHost() { return g_host.interrupted != nullptr; }

HostUnlocked::HostUnlocked() : token_(g_host.unlock ? g_host.unlock() : nullptr) {}
HostUnlocked::~HostUnlocked() {
  if (token_) g_host.lock(token_);
}

LongWork::LongWork()
    : outer_(std::exchange(t_current, this)),
      home_(&t_current),
      seen_(Now()),
      next_ask_(seen_ + g_host.ask_every) {}
LongWork::~LongWork() { t_current = outer_; }

void LongWork::Ask() {
  if (shielded_ || !unlocked_.token()) return;
  const int64_t now = Now();
  between_ =
      now - seen_ < tuned::kAskedTooSoon ? std::min(2 * between_ + 1, tuned::kMostUnasked) : 0;
  unasked_ = between_;
  seen_ = now;
  if (now < next_ask_) return;
  // The host may run user code, which is no part of this work nor of the call it belongs to.
  LongWork* const self = std::exchange(t_current, nullptr);
  ThreadState& state = State();
  Door* const door = std::exchange(state.door, nullptr);
  const Value* const spent = std::exchange(state.spent, nullptr);
  ReadObserver* const observer = std::exchange(state.observer, nullptr);
  {
    const DefaultFpMode mode;  // a kernel may flush subnormals
    ++t_interruptions;
    if (g_host.interrupted(unlocked_.token())) stopped_.store(true, std::memory_order_relaxed);
    --t_interruptions;
  }
  state.door = door;
  state.spent = spent;
  state.observer = observer;
  t_current = self;
  next_ask_ = Now() + g_host.ask_every;
}

Status Interrupted() {
  return MakeError(ErrorKind::kInterrupted, "[interrupt] the computation was interrupted.");
}

}  // namespace frazil
