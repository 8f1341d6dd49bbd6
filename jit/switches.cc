#include "jit/switches.h"

#include "core/settings.h"
#include "jit/graph/passes/passes.h"
#include "npu/preset.h"

namespace frazil::jit {
namespace {

std::string PassNames() {
  std::string names = "none";
  for (const Pass& pass : Passes()) StrAppend(&names, ", -", pass.name);
  return names;
}

std::string NamesOfPresets() {
  std::string names;
  for (const std::string_view name : npu::PresetNames())
    StrAppend(&names, names.empty() ? "" : ", ", name);
  return names;
}

}  // namespace

std::vector<SwitchRow> SwitchRows() {
  std::vector<SwitchRow> rows = ConfigRows();
  for (SwitchRow& row : rows) {
    if (row.name == "passes") row.allowed = PassNames();
    if (row.name == "npu_preset") row.allowed = NamesOfPresets();
  }
  return rows;
}

Status CheckSwitches() {
  for (const SwitchRow& row : SwitchRows()) FZ_RETURN_IF_ERROR(Check(row));
  return CheckSettings();
}

}  // namespace frazil::jit
