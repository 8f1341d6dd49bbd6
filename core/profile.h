// What runs while a profile is taken: steps of plans, compilations and traced calls, each with when
// it began and ended, and the memory of arrays after it. Told by plans (jit/run/plan.cc,
// quick_call.h), the compiler and its cache, and the bindings' traced calls; begun, ended and read
// by bindings/python/profile_module.cc.
// Invariants: while no profile is taken, who runs a plan loads one word that nobody writes
// (Profiling), and nothing else; while one is, each thread writes into a log of its own; results
// never depend on it; what an event names as its owner, a plan, lives as long as the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

struct ProfileEvent {
  enum class Kind : uint8_t {
    kStep,        // number `step` of the plan `owner`
    kCall,        // a traced call whose body was skipped
    kBody,        // a traced call that ran its body
    kPlan,        // a plan was made
    kKernel,      // a kernel was compiled
    kCollective,  // one was under way, beside whatever else: these overlap others of their thread
  };
  static constexpr int kKinds = 6;
  Kind kind = Kind::kStep;
  int32_t name = -1;   // texts: of what was called or compiled; -1: the owner knows
  int32_t line = -1;   // texts: "train.py:12", where the program was; -1: the owner knows
  int32_t owner = -1;  // of a step: owners
  int32_t step = 0;
  int64_t begin = 0, end = 0;  // nanoseconds, ProfileClock
};

// Bytes of the CPU's arrays, of all threads.
struct MemorySample {
  int64_t at = 0, bytes = 0;
};

// One thread's log. `dropped`: events for which there was no more room.
struct ThreadProfile {
  int64_t thread = 0;  // the system's number
  std::string name;    // the system's
  std::vector<ProfileEvent> events;
  std::vector<MemorySample> memory;  // where it changed
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<const void>> owners;
  int64_t dropped = 0;
};

struct Profile {
  int64_t begin = 0, end = 0;
  std::vector<ThreadProfile> threads;  // that did something
};

// Hidden, so that to read it is one load.
extern std::atomic<bool> g_profiling __attribute__((visibility("hidden")));
inline bool Profiling() { return __builtin_expect(g_profiling.load(std::memory_order_relaxed), 0); }

int64_t ProfileClock();  // nanoseconds

// Each thread keeps at most `most` events. An error if one is being taken.
Status StartProfile(int64_t most);
StatusOr<Profile> StopProfile();

// The user's line now, or empty where nobody can say.
std::string ProfileLine();
// A step that ran from `begin` to now. `line`: of the call, where the plan knows none.
void ProfileStep(std::shared_ptr<const void> owner, int32_t step, std::string_view line,
                 int64_t begin);
// Anything else that did.
void ProfileSpan(ProfileEvent::Kind kind, std::string_view name, std::string_view line,
                 int64_t begin);

}  // namespace frazil
#pragma GCC visibility pop
