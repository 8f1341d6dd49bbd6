// A table of keys and values in one file, for processes that run one after another or at once.
// Called by core/disk/disk_cache. The file begins with the identity: all that its entries depend on
// beside their keys (build, processor); another identity is another file.
//
// Invariants. A value is returned only for the very key it was added under, whole, from a folder
// and file that nobody else can write. Writers take turns by a lock on the file. A record is
// written before the slot that names it, so one that dies leaves at most bytes that nobody finds;
// readers take no lock and check what they read. What is damaged is written anew, what cannot be
// read or written is only not found. All such files in the folder together keep to the limit: the
// entries, then the files, that were used least recently go.
//
// Layout, in the machine's words: a page with magic, length of the identity and identity; kSlots
// slots, found by hash and the next ones after; records: length of the key, key, value.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/disk/private_files.h"

namespace frazil {

class DiskTable {
 public:
  struct Entry {
    std::string key, value;
  };

  DiskTable(std::string folder, std::string identity);
  ~DiskTable();
  DiskTable(const DiskTable&) = delete;
  DiskTable& operator=(const DiskTable&) = delete;

  // Any thread. What other processes add after the first look may not be seen.
  std::optional<std::string> Find(std::string_view key);

  // One thread at a time, while nobody forks. `limit`: bytes of all files. False if other processes
  // keep the file locked: try again.
  bool Add(const std::vector<Entry>& entries, int64_t limit);

  // Records that were there and not right, and files.
  int64_t rejected() const { return rejected_.load(std::memory_order_relaxed); }
  const std::string& file_name() const { return name_; }

  static constexpr uint64_t kSlots = 16384;
  static constexpr uint64_t kFirstSlot = 4096;

 private:
  struct Slot {
    uint64_t hash = 0, offset = 0;  // offset 0: empty
    uint32_t bytes = 0;             // of the record
    uint32_t hour = 0;              // last used, since 1970
    uint64_t check = 0;             // hash of the record
    bool Within(uint64_t size) const { return bytes <= size && offset <= size - bytes; }
  };
  static_assert(sizeof(Slot) == 32);
  using Slots = std::vector<Slot>;
  struct Writer;

  static constexpr uint64_t kData = kFirstSlot + kSlots * sizeof(Slot);
  static constexpr uint64_t kMostEntries = kSlots / 4 * 3;
  static constexpr uint64_t kFarthest = 256;  // slots between a hash and its entry

  static uint32_t ThisHour();
  std::string Head() const;
  bool HeadIsRight(int file) const;
  int Reader();
  void OpenReader();
  std::optional<std::string> Read(int file, const Slot& slot, std::string_view key);
  bool Lock(Writer* writer);
  bool Put(Writer* writer, const Entry& entry, int64_t limit);
  std::optional<uint64_t> PlaceFor(const Writer& writer, std::string_view key, bool* there);
  bool Compact(Writer* writer, int64_t aim);
  void RemoveOldFiles(const Writer& writer, int64_t limit) const;

  std::string folder_, identity_, name_;
  std::atomic<int> file_{-1};        // for reading, opened once
  std::atomic<bool> looked_{false};  // for it
  std::mutex looking_;               // while nobody forks
  std::atomic<int64_t> rejected_{0};
};

}  // namespace frazil
