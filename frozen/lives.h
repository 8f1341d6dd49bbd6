// When the results of a frozen block are taken for the last time: fills `dies` of its calls and
// cases. Called by frozen/parse.cc on each block that is no case of another. Invariant: no call
// takes a result that died before it.
#pragma once

#include "frozen/program.h"

namespace frazil::frozen {

void FindLives(Block* block);

}  // namespace frazil::frozen
