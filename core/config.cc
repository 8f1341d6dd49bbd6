#include "core/config.h"

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_split.h"

namespace frazil {
namespace {

std::string FromEnvironment(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value ? value : fallback;
}

bool Lists(const std::string& list, std::string_view item) {
  for (absl::string_view part : absl::StrSplit(list, ',')) {
    if (std::string_view(part.data(), part.size()) == item) return true;
  }
  return false;
}

std::atomic<int8_t> g_mode{kTraces};

}  // namespace

const Config& GetConfig() {
  static const Config* config = new Config{
#define FZ_SWITCH(name, variable, fallback, doc) FromEnvironment(variable, fallback),
#include "core/config.def"
#undef FZ_SWITCH
  };
  return *config;
}

std::vector<ConfigRow> ConfigRows() {
  const Config& c = GetConfig();
  return {
#define FZ_SWITCH(name, variable, fallback, doc) {#name, variable, c.name, doc},
#include "core/config.def"
#undef FZ_SWITCH
  };
}

bool LogEnabled(std::string_view subject) {
  const std::string& log = GetConfig().log;
  return !log.empty() && Lists(log, subject);
}

bool PassEnabled(std::string_view pass) {
  const std::string& passes = GetConfig().passes;
  return passes.empty() || !Lists(passes, "-" + std::string(pass));
}

int8_t ProcessMode() { return g_mode.load(std::memory_order_relaxed); }
void SetProcessMode(int8_t mode) { g_mode.store(mode, std::memory_order_relaxed); }
bool TracingEnabled() {
  static const bool on = GetConfig().jit != "off";
  return on && ProcessMode() != kModeEager;
}

}  // namespace frazil
