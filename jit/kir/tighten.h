// Reorders the bodies of repeats so that fewer values are alive at once. For emitters that keep
// them in registers; results do not change.
#pragma once

#include "jit/kir/kir.h"

namespace frazil::kir {

// An instruction goes forward to where its operands are known if it is the last to take one of
// them: a sum that the program makes at the end, as of the slopes of a Runge-Kutta step, is added
// to as soon as there is something to add. What still takes a carry comes before the value that
// replaces it.
Kernel Tighten(Kernel kernel);

}  // namespace frazil::kir
