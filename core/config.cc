#include "core/config.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "core/threads/parallel.h"
#include "core/whole_number.h"

namespace frazil {
namespace {

std::string FromEnvironment(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value && *value ? value : fallback;
}

bool Lists(std::string_view list, std::string_view separator, std::string_view item) {
  for (const absl::string_view part : absl::StrSplit(AbslView(list), AbslView(separator))) {
    if (part == AbslView(item)) return true;
  }
  return false;
}

bool IsFolder(std::string_view path) {
  struct stat found;
  return stat(std::string(path).c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool IsAllowed(const SwitchRow& row) {
  if (row.value == row.fallback) return true;
  switch (row.form) {
    case SwitchForm::kOneOf:
      return Lists(row.allowed, ", ", row.value);
    case SwitchForm::kSomeOf:
      for (const absl::string_view part : absl::StrSplit(AbslView(row.value), ',')) {
        if (!Lists(row.allowed, ", ", {part.data(), part.size()})) return false;
      }
      return true;
    case SwitchForm::kThreads: {
      const std::optional<int64_t> n = WholeNumber(row.value);
      return n && *n >= 1 && *n <= kMostThreads;
    }
    case SwitchForm::kFolder:
      return IsFolder(row.value);
    case SwitchForm::kPath:
      return true;
  }
  return false;
}

}  // namespace

constinit std::atomic<int8_t> g_process_mode{kTraces};
constinit std::atomic<bool> g_jit_is_on{false};

const Config& GetConfig() {
  static const Config* config = new Config{
#define FZ_SWITCH(name, variable, fallback, form, allowed, doc) FromEnvironment(variable, fallback),
#include "core/config.def"
#undef FZ_SWITCH
  };
  return *config;
}

std::vector<SwitchRow> ConfigRows() {
  const Config& c = GetConfig();
  return {
#define FZ_SWITCH(name, variable, fallback, form, allowed, doc) \
  {#name, variable, c.name, fallback, doc, SwitchForm::form, allowed},
#include "core/config.def"
#undef FZ_SWITCH
  };
}

std::string Allowed(const SwitchRow& row) {
  const size_t last = row.allowed.rfind(", ");
  const std::string names = last == std::string::npos ? row.allowed
                                                      : StrCat(row.allowed.substr(0, last), " or ",
                                                               row.allowed.substr(last + 2));
  switch (row.form) {
    case SwitchForm::kOneOf:
      return names;
    case SwitchForm::kSomeOf:
      return StrCat(names, ", or several with commas between them");
    case SwitchForm::kThreads:
      return StrCat("a whole number from 1 to ", kMostThreads);
    case SwitchForm::kFolder:
      return "a folder that is there";
    case SwitchForm::kPath:
      return "any path";
  }
  return "";
}

Status Check(const SwitchRow& row) {
  if (IsAllowed(row)) return absl::OkStatus();
  return ValueError("[config] ", row.variable, " must be ", Allowed(row), ", got '", row.value,
                    "'.");
}

bool LogEnabled(std::string_view subject) {
  const std::string& log = GetConfig().log;
  return !log.empty() && Lists(log, ",", subject);
}

void SetProcessMode(int8_t mode) { g_process_mode.store(mode, std::memory_order_relaxed); }
bool LookWhetherJitIsOn() {
  const bool on = GetConfig().jit != "off";
  g_jit_is_on.store(on, std::memory_order_relaxed);
  return on;
}

}  // namespace frazil
