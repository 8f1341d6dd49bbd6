// What writes a disk table: the lock, entries, the limits.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

#include "core/disk/disk_table.h"
#include "core/str.h"

namespace frazil {
namespace {

constexpr int kTries = 50;                  // to get the lock,
constexpr useconds_t kBetweenTries = 2000;  // 0.1 s in all

bool TakeLock(int file) {
  for (int i = 0; i < kTries; ++i) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    usleep(kBetweenTries);
  }
  return false;
}

bool SameFile(const OpenFile& folder, const std::string& name, int file) {
  struct stat open, named;
  return fstat(file, &open) == 0 &&
         fstatat(folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

constexpr uint64_t RoundUp(uint64_t offset) { return (offset + 7) & ~uint64_t{7}; }

}  // namespace

struct DiskTable::Writer {
  OpenFile folder, file;  // the file is locked until it is closed
  Slots slots;
  uint64_t end = 0, used = 0;
  bool busy = false;  // another process has the lock

  template <typename T>
  static std::string_view BytesIn(const T* first, size_t count) {
    return {reinterpret_cast<const char*>(first), count * sizeof(T)};
  }
};

uint32_t DiskTable::ThisHour() { return uint32_t(time(nullptr) / 3600); }

// The file, begun or begun anew where it is not right, and its slots.
bool DiskTable::Lock(Writer* writer) {
  writer->folder = OpenPrivateFolder(folder_, true);
  if (!writer->folder) return false;
  for (int i = 0; i < kTries; ++i) {
    errno = 0;
    writer->file = OpenPrivateFile(writer->folder, name_, O_RDWR | O_CREAT);
    const int file = writer->file.get();
    // It may be right, but this process can have no more files now.
    if (file < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return false;
    if (file >= 0 && !TakeLock(file)) {
      writer->busy = true;
      return false;
    }
    if (file >= 0 && !SameFile(writer->folder, name_, file)) continue;
    uint64_t bytes = file >= 0 ? BytesOf(file) : 0;
    if (file >= 0 && bytes == 0) {
      if (ftruncate(file, off_t(kData)) != 0 || !WriteAt(file, Head(), 0)) return false;
      bytes = kData;
    }
    if (file >= 0 && bytes >= kData && HeadIsRight(file)) {
      writer->slots.resize(kSlots);
      writer->end = RoundUp(bytes);
      if (!ReadAt(file, writer->slots.data(), kSlots * sizeof(Slot), kFirstSlot)) return false;
      for (const Slot& slot : writer->slots) writer->used += slot.offset != 0;
      return true;
    }
    if (unlinkat(writer->folder.get(), name_.c_str(), 0) != 0) return false;
  }
  return false;
}

// The slot of the key, or where it may go; none if that is too far from its hash.
std::optional<uint64_t> DiskTable::PlaceFor(const Writer& writer, std::string_view key,
                                            bool* there) {
  const uint64_t hash = StableHash(key);
  *there = false;
  for (uint64_t past = 0; past < kFarthest; ++past) {
    const uint64_t at = (hash + past) % kSlots;
    const Slot& slot = writer.slots[at];
    if (slot.offset == 0) return at;
    if (slot.hash != hash) continue;
    *there = Read(writer.file.get(), slot, key).has_value();
    return at;  // one that is not right, or another key's of the same hash, gives way
  }
  return std::nullopt;
}

bool DiskTable::Put(Writer* writer, const Entry& entry, int64_t limit) {
  bool there;
  std::optional<uint64_t> at = PlaceFor(*writer, entry.key, &there);
  if (there) return true;
  std::string record;
  AppendWord(&record, entry.key.size());
  record += entry.key;
  record += entry.value;
  const uint64_t most = uint64_t(std::max<int64_t>(limit, 0));
  const uint64_t room = most > kData ? most - kData : 0;
  if (record.size() > UINT32_MAX || record.size() > room / 2) return true;  // too large
  if (!at || writer->used >= kMostEntries || writer->end + record.size() > most) {
    if (!Compact(writer, int64_t(kData + room / 4 * 3) - int64_t(record.size()))) return false;
    at = PlaceFor(*writer, entry.key, &there);
    if (!at) return false;
  }
  Slot& slot = writer->slots[*at];
  writer->used += slot.offset == 0;
  slot = {StableHash(entry.key), writer->end, uint32_t(record.size()), ThisHour(),
          StableHash(record)};
  const int file = writer->file.get();
  if (!WriteAt(file, record, slot.offset) ||
      !WriteAt(file, Writer::BytesIn(&slot, 1), kFirstSlot + *at * sizeof(Slot)))
    return false;
  writer->end = RoundUp(slot.offset + record.size());
  return true;
}

// A new file in place of the old, with what was used last: at most `aim` bytes and half the
// entries. Who reads the old one goes on reading it.
bool DiskTable::Compact(Writer* writer, int64_t aim) {
  Slots kept;
  for (const Slot& slot : writer->slots) {
    if (slot.offset != 0) kept.push_back(slot);
  }
  std::sort(kept.begin(), kept.end(), [](const Slot& a, const Slot& b) {
    return a.hour != b.hour ? a.hour > b.hour : a.offset > b.offset;
  });
  Writer fresh;
  const std::string name = StrCat(name_, ".new");
  unlinkat(writer->folder.get(), name.c_str(), 0);  // what died here; we hold the lock
  fresh.file = OpenPrivateFile(writer->folder, name, O_RDWR | O_CREAT | O_EXCL);
  const int to = fresh.file.get();
  if (to < 0 || !TakeLock(to) || ftruncate(to, off_t(kData)) != 0) return false;
  fresh.slots.resize(kSlots);
  fresh.end = kData;
  for (Slot slot : kept) {
    if (fresh.used >= kMostEntries / 2 || int64_t(fresh.end + slot.bytes) > aim) break;
    if (!slot.Within(writer->end)) continue;
    std::string record(slot.bytes, '\0');
    if (!ReadAt(writer->file.get(), record.data(), record.size(), slot.offset) ||
        StableHash(record) != slot.check)
      continue;
    uint64_t at = slot.hash % kSlots, past = 0;
    while (past < kFarthest && fresh.slots[at].offset != 0) at = (slot.hash + ++past) % kSlots;
    if (past == kFarthest) continue;
    slot.offset = fresh.end;
    if (!WriteAt(to, record, fresh.end)) return false;
    fresh.slots[at] = slot;
    fresh.end = RoundUp(fresh.end + record.size());
    ++fresh.used;
  }
  const int folder = writer->folder.get();
  if (!WriteAt(to, Writer::BytesIn(fresh.slots.data(), kSlots), kFirstSlot) ||
      !WriteAt(to, Head(), 0) || renameat(folder, name.c_str(), folder, name_.c_str()) != 0) {
    unlinkat(folder, name.c_str(), 0);
    return false;
  }
  fresh.folder = std::move(writer->folder);
  *writer = std::move(fresh);
  return true;
}

// Of other builds and processors.
void DiskTable::RemoveOldFiles(const Writer& writer, int64_t limit) const {
  const int copy = openat(writer.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(copy >= 0 ? fdopendir(copy) : nullptr, closedir);
  if (!list) return;
  struct Old {
    int64_t changed, bytes;
    std::string name;
  };
  std::vector<Old> others;
  int64_t total = int64_t(writer.end);
  while (const dirent* item = readdir(list.get())) {
    struct stat s;
    const std::string name = item->d_name;
    if (name.rfind("plans-", 0) != 0 || name == name_ ||
        fstatat(writer.folder.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    others.push_back({int64_t(s.st_mtime), int64_t(s.st_size), name});
    total += others.back().bytes;
  }
  std::sort(others.begin(), others.end(),
            [](const Old& a, const Old& b) { return a.changed < b.changed; });
  for (const Old& old : others) {
    if (total <= limit) break;
    unlinkat(writer.folder.get(), old.name.c_str(), 0);
    total -= old.bytes;
  }
}

bool DiskTable::Add(const std::vector<Entry>& entries, int64_t limit) {
  Writer writer;
  if (entries.empty() || limit <= 0 || !Lock(&writer)) return !writer.busy;
  for (const Entry& entry : entries) {
    if (!Put(&writer, entry, limit)) break;
  }
  RemoveOldFiles(writer, limit);
  if (file_.load(std::memory_order_relaxed) < 0) looked_.store(false, std::memory_order_release);
  return true;
}

}  // namespace frazil
