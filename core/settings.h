// Numbers that may be set while the program runs, above all the bounds of caches: one row of
// settings.def each, from the environment at first use and from fz.config(name=value) after.
// Called by whatever a setting rules. Invariant: a value is never below its row's least.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class Setting {
#define FZ_SETTING(name, variable, fallback, least, doc) k_##name,
#include "core/settings.def"
#undef FZ_SETTING
};
inline constexpr int kNumSettings = 0
#define FZ_SETTING(name, variable, fallback, least, doc) +1
#include "core/settings.def"
#undef FZ_SETTING
    ;

// Values as they stand; filled from the environment at first use.
std::atomic<int64_t>* SettingValues();
inline int64_t Get(Setting s) {
  return SettingValues()[static_cast<int>(s)].load(std::memory_order_relaxed);
}
// ValueError below the row's least, or for a name that is no setting. Bounds take effect with what
// is added next.
Status Set(std::string_view name, int64_t value);
void Set(Setting s, int64_t value);
// ValueError if a variable holds no number that its row may have; the default holds then.
Status CheckSettings();

struct SettingRow {
  std::string_view name, variable, doc;
  int64_t value, fallback, least;
};
std::vector<SettingRow> SettingRows();

// `name` as a row names it: "plan_entries".
std::string_view Name(Setting s);

}  // namespace frazil
#pragma GCC visibility pop
