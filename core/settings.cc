#include "core/settings.h"

#include <cstdlib>
#include <string>

#include "core/check.h"
#include "core/whole_number.h"

namespace frazil {
namespace {

struct Row {
  std::string_view name;
  const char* variable;
  int64_t fallback, least;
  std::string_view doc;
};
constexpr Row kRows[] = {
#define FZ_SETTING(name, variable, fallback, least, doc) {#name, variable, fallback, least, doc},
#include "core/settings.def"
#undef FZ_SETTING
};

StatusOr<int64_t> FromEnvironment(const Row& row) {
  const char* text = std::getenv(row.variable);
  if (!text || !*text) return row.fallback;
  if (const auto value = WholeNumber(text); value && *value >= row.least) return *value;
  return ValueError("[config] ", row.variable, " must be a whole number from ", row.least,
                    " on, got '", text, "'.");
}

}  // namespace

std::atomic<int64_t>* SettingValues() {
  static std::atomic<int64_t>* const values = [] {
    auto* v = new std::atomic<int64_t>[kNumSettings];
    for (int i = 0; i < kNumSettings; ++i)
      v[i] = FromEnvironment(kRows[i]).value_or(kRows[i].fallback);
    return v;
  }();
  return values;
}

Status Set(std::string_view name, int64_t value) {
  for (int i = 0; i < kNumSettings; ++i) {
    if (kRows[i].name != name) continue;
    if (value < kRows[i].least) {
      return ValueError("[config] ", name, " must be at least ", kRows[i].least, ", got ", value,
                        ".");
    }
    SettingValues()[i].store(value, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  return ValueError("[config] no setting '", name,
                    "' can be changed while the program runs; config() lists them.");
}

Status CheckSettings() {
  for (const Row& row : kRows) FZ_RETURN_IF_ERROR(FromEnvironment(row).status());
  return absl::OkStatus();
}

void Set(Setting s, int64_t value) { FZ_CHECK(Set(Name(s), value).ok()); }

std::vector<SettingRow> SettingRows() {
  std::vector<SettingRow> rows;
  for (int i = 0; i < kNumSettings; ++i) {
    const Row& row = kRows[i];
    rows.push_back(
        {row.name, row.variable, row.doc, Get(static_cast<Setting>(i)), row.fallback, row.least});
  }
  return rows;
}

std::string_view Name(Setting s) { return kRows[static_cast<int>(s)].name; }

}  // namespace frazil
