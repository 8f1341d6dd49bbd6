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

std::atomic<bool> g_tracing{true};

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

bool TracingEnabled() {
  return g_tracing.load(std::memory_order_relaxed) && GetConfig().jit != "off";
}
void SetTracingEnabled(bool on) { g_tracing.store(on, std::memory_order_relaxed); }

}  // namespace frazil
