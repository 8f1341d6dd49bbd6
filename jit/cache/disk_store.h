// What a process leaves for the next on disk: machine code of kernels, by their content, and what
// was decided for a graph, by its content and the switches. Called by the kernel cache and by
// Compile; fz.memory.disk() tells. Invariants: entries are those of this build on such a
// processor; FRAZIL_DISK_CACHE=off, as for tests and benchmarks, no folder or no build id: nothing
// is found and nothing kept.
//
// The graph after its passes, the groups and what is computed again come as bytes
// (jit/graph/pack.h) under the bytes of the graph as recorded and the switches that matter; code
// comes under the kernel's content and level, without addresses (Compiled::image), and is copied
// into code memory as new code is. Lowering, memory plans and launches are made again: they depend
// on threads and cost little. With FRAZIL_VERIFY=1 what is found is compared with what is made and
// not used.
//
// The file is that of core/disk/disk_table.h, of one build (the linker's id), processor and
// assembler. core/disk/disk_cache.h writes what a process has made a quarter of a second later on
// a thread that then ends, or at exit; a fork leaves its parent's entries to the parent. The bound
// is the setting disk_bytes, for all files together. FRAZIL_CACHE_DIR names the folder; the images
// for GPUs lie there, too, by the same rules of core/disk/private_files.h.
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
