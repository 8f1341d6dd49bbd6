// Which build of a program or library some code is. Called to name what only the same build may
// use. Invariant: two files whose code differs have different ids (the linker's hash of all that it
// wrote).
#pragma once

#include <string>

namespace frazil {

// The id of the file that the code at `address` was loaded from; empty if its linker wrote none.
std::string BuildIdOf(const void* address);

}  // namespace frazil
