// The process's share in a disk table: what is to be kept is written a moment later by a thread
// that then ends, so that nobody who computes waits for a disk, or when the process exits. Called
// by jit/cache/disk_store. Invariants: an entry is written by the process that made it, not by
// its forks; nobody forks while a file is being written; signals go to other threads.
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "core/disk/disk_table.h"
#include "core/threads/mutex.h"

namespace frazil {

// Never destroyed. Bytes of all files: setting disk_bytes.
class DiskCache {
 public:
  // Writers wait for `moment` microseconds, for more to write.
  DiskCache(std::string folder, std::string identity, unsigned moment = 250'000);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> Find(std::string_view key) { return table_.Find(key); }
  void Keep(std::string key, std::string value);
  // Writes what waits.
  void Flush();

  DiskTable& table() { return table_; }

 private:
  using Waiting = absl::flat_hash_map<std::string, std::string>;

  void ForgetParents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartWriter();
  enum class Written { kAll, kNothing, kNotYet };
  Written WriteWaiting();
  void RunWriter();

  DiskTable table_;
  const unsigned moment_;
  std::mutex writing_;  // while nobody forks
  Mutex mutex_;
  Waiting waiting_ ABSL_GUARDED_BY(mutex_);
  bool has_writer_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace frazil
