// What a process leaves for the next on disk: machine code of kernels, by their content, and what
// was decided for a graph, by its content and the switches. Called by the kernel cache and by
// Compile; fz.memory.disk() tells. Invariants: entries are those of this build on such a processor;
// FRAZIL_DISK_CACHE=off, no folder or no build id: nothing is found and nothing kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::jit {

enum class OnDisk : char { kCode, kDecisions };

bool DiskIsOn();
std::optional<std::string> FindOnDisk(OnDisk kind, std::string_view key);
// Written soon after, or when the process exits.
void KeepOnDisk(OnDisk kind, std::string_view key, std::string value);
// Writes it now.
void FlushDisk();

struct DiskStats {
  std::string file;                 // empty: off
  int64_t bytes = 0;                // of the file
  int64_t code = 0, decisions = 0;  // found by this process
  int64_t kept = 0;                 // left by it
  int64_t refused = 0;              // files and entries that were not right
};
DiskStats GetDiskStats();

}  // namespace frazil::jit
