// Turns a kernel's fault (an address, an instruction) into a return. Used by block.cc. Invariant:
// handlers are installed only inside RunGuarded(), and a fault of another thread in that time ends
// the process as it would have.
#pragma once

#include <string>

namespace fake {

enum class GridEnd { kDone, kFault, kMisaligned, kStuck };
struct GridResult {
  GridEnd end = GridEnd::kDone;
  std::string message;  // "" when done
};

// Runs `body` until it returns, faults or calls Abandon().
GridResult RunGuarded(void (*body)());
// Leaves the body of RunGuarded(), from whichever stack it is on.
[[noreturn]] void Abandon(GridEnd end, std::string message);

}  // namespace fake
