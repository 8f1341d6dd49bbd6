// Random instructions and programs that the encoder takes, for tests of codec, text and files.
#pragma once

#include <random>

#include "npu/program.h"

namespace frazil::npu {

using Random = std::mt19937_64;

int Draw(Random* random, int count);  // in [0, count)

// Every field is legal; jumps reach anywhere in 32 bits.
Instr RandomInstr(Random* random, Op op);

// Passes Validate; runs nowhere in particular.
Program RandomProgram(Random* random, int instructions);

}  // namespace frazil::npu
