// What a process leaves for the next on disk: machine code of kernels, by their content, and what
// was decided for a graph, by its content and the switches. Called by the kernel cache and by
// Compile; fz.memory.disk() tells. Invariants: entries are those of this build on such a processor;
// FRAZIL_DISK_CACHE=off, no folder or no build id: nothing is found and nothing kept.
//
// Machine code of kernels and what was decided for a graph (jit/cache/disk_store.h) are kept on
// disk, so that a second process starts warm: the graph after its passes, the groups and what is
// computed again come as bytes (jit/graph/pack.h) under the bytes of the graph as recorded and the
// switches that matter; code comes under the kernel's content and level, without addresses
// (Compiled::image), and is copied into code memory as new code is. Lowering, memory plans and
// launches are made again: they depend on threads and cost little. One file
// (core/disk/disk_table.h) holds the entries of one build (the linker's id), processor and
// assembler; another build is another file. It is a table of slots and records that processes read
// without a lock and append to under one; a record is written before its slot, everything read is
// checked, and what is damaged, foreign or writable by others is not used. core/disk/disk_cache.h
// writes what a process has made a quarter of a second later on a thread that then ends, or at
// exit; a fork leaves its parent's entries to the parent. The bound is the setting disk_bytes, for
// all files together; entries and files used least recently go. FRAZIL_CACHE_DIR names the folder
// (the images for GPUs lie there, too, by the same rules of core/disk/private_files.h),
// FRAZIL_DISK_CACHE=off switches it off, as tests and benchmarks do; with FRAZIL_VERIFY=1 what is
// found is compared with what is made and not used; fz.memory.disk() counts.
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
