// The table of switches with the names that only this layer knows: passes and presets of the NPU.
// Called by the entry points (Python module, frazil.h) before anything runs, and by what prints the
// table. Invariant: every variable of frazil's is a row here or in core/settings.def.
#pragma once

#include <vector>

#include "core/config.h"

namespace frazil::jit {

std::vector<SwitchRow> SwitchRows();

// ValueError if a switch or a setting has a value in the environment that it cannot have.
Status CheckSwitches();

}  // namespace frazil::jit
