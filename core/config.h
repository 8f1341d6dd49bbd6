// Switches: texts from environment variables in one table (config.def); numbers that may change
// later are core/settings.h. Called wherever behaviour can be switched; no other file reads a
// variable of frazil's. Invariant: read once at first use; an empty variable is as good as none;
// entry points refuse wrong values before anything runs (jit/switches.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

struct Config {
#define FZ_SWITCH(name, variable, fallback, form, allowed, doc) std::string name;
#include "core/config.def"
#undef FZ_SWITCH
};

const Config& GetConfig();

// What a switch may be, besides its default.
enum class SwitchForm {
  kOneOf,    // a name of the list `allowed`
  kSomeOf,   // names of it with commas between them
  kThreads,  // a number of threads
  kFolder,   // a folder that is there
  kPath      // anything
};

struct SwitchRow {
  std::string_view name, variable, value, fallback, doc;
  SwitchForm form;
  std::string allowed;  // names with ", " between them
};
std::vector<SwitchRow> ConfigRows();

// ValueError if the row's value is none that it may have: names variable, value and what is
// allowed.
Status Check(const SwitchRow& row);
// What the row may be, in words: "on, interp or off".
std::string Allowed(const SwitchRow& row);

// True if FRAZIL_LOG names this subject.
bool LogEnabled(std::string_view subject);

// The process-wide mode (fz.mode): "eager"; or kTraces, alone for "auto", with kTracesModules for
// "graph", and with kStrict.
enum : int8_t { kModeEager = 0, kTraces = 1, kStrict = 2, kTracesModules = 4 };
extern std::atomic<int8_t> g_process_mode;
inline int8_t ProcessMode() { return g_process_mode.load(std::memory_order_relaxed); }
void SetProcessMode(int8_t mode);
// It traces, and FRAZIL_JIT does not say otherwise.
extern std::atomic<bool> g_jit_is_on;  // false as long as nobody has looked
bool LookWhetherJitIsOn();
inline bool TracingEnabled() {
  return ProcessMode() != kModeEager &&
         (g_jit_is_on.load(std::memory_order_relaxed) || LookWhetherJitIsOn());
}

}  // namespace frazil
#pragma GCC visibility pop
