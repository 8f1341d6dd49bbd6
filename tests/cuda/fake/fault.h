// Turns a kernel's fault (an address, an instruction) into a return. Used by block.cc. Invariant:
// handlers are installed only inside RunGuarded(), and a fault of another thread in that time ends
// the process as it would have.
#pragma once

#include <string>

namespace fake {

// Runs `body`; false if it faulted or called Abandon(), and what happened in *message.
bool RunGuarded(void (*body)(), std::string* message);
// Leaves the body of RunGuarded(), from whichever stack it is on.
[[noreturn]] void Abandon(std::string message);

}  // namespace fake
