// Switches: every environment variable and setting in one table. Called wherever behaviour can be
// switched; the only place that reads the environment. Invariant: read once at first use;
// fz.config() prints exactly these rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frazil {

struct Config {
#define FZ_SWITCH(name, variable, fallback, doc) std::string name;
#include "core/config.def"
#undef FZ_SWITCH
};

const Config& GetConfig();

struct ConfigRow {
  std::string_view name, variable, value, doc;
};
std::vector<ConfigRow> ConfigRows();

// True if FRAZIL_LOG names this subject (a comma list: guard, pass, kernel).
bool LogEnabled(std::string_view subject);
// False if FRAZIL_PASSES switches this pass off ("-fuse,-cse").
bool PassEnabled(std::string_view pass);

// The process-wide mode (fz.mode): "eager"; or kTraces, alone for "auto", with kTracesModules for
// "graph", and with kStrict.
enum : int8_t { kModeEager = 0, kTraces = 1, kStrict = 2, kTracesModules = 4 };
int8_t ProcessMode();
void SetProcessMode(int8_t mode);
// It traces, and FRAZIL_JIT does not say otherwise.
bool TracingEnabled();

}  // namespace frazil
