#include "core/disk/disk_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/str.h"
#include "core/threads/at_fork.h"

namespace frazil {
namespace {

constexpr char kMagic[8] = {'f', 'r', 'a', 'z', 'i', 'l', '0', '1'};
constexpr uint64_t kGroup = 8;  // slots read at once

}  // namespace

DiskTable::DiskTable(std::string folder, std::string identity)
    : folder_(std::move(folder)), identity_(std::move(identity)) {
  FZ_CHECK(identity_.size() + sizeof kMagic + sizeof(uint64_t) <= kFirstSlot);
  name_ = StrCat("plans-", absl::Hex(StableHash(identity_), absl::kZeroPad16), ".fzp");
}

DiskTable::~DiskTable() { const OpenFile closed(file_.load()); }

std::string DiskTable::Head() const {
  std::string head(kMagic, sizeof kMagic);
  AppendWord(&head, identity_.size());
  return head + identity_;
}

bool DiskTable::HeadIsRight(int file) const {
  const std::string want = Head();
  std::string head(want.size(), '\0');
  return ReadAt(file, head.data(), head.size(), 0) && head == want;
}

int DiskTable::Reader() {
  if (!looked_.load(std::memory_order_acquire)) {
    const ForkGuard guard;
    const std::lock_guard<std::mutex> lock(looking_);
    if (!looked_.load(std::memory_order_relaxed)) OpenReader();
    looked_.store(true, std::memory_order_release);
  }
  return file_.load(std::memory_order_acquire);
}

void DiskTable::OpenReader() {
  const OpenFile folder = OpenPrivateFolder(folder_, false);
  if (!folder) return;
  // Writing notes when an entry was used last; who may not, only reads.
  OpenFile file = OpenPrivateFile(folder, name_, O_RDWR);
  if (!file) file = OpenPrivateFile(folder, name_, O_RDONLY);
  if (file && HeadIsRight(file.get())) {
    file_.store(file.Release(), std::memory_order_release);
  } else {
    rejected_.fetch_add(faccessat(folder.get(), name_.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
  }
}

std::optional<std::string> DiskTable::Read(int file, const Slot& slot, std::string_view key) {
  uint64_t key_bytes = 0;
  std::string record;
  if (slot.bytes < sizeof key_bytes || !slot.Within(BytesOf(file))) return std::nullopt;
  record.resize(slot.bytes);
  if (!ReadAt(file, record.data(), record.size(), slot.offset)) return std::nullopt;
  std::memcpy(&key_bytes, record.data(), sizeof key_bytes);
  if (StableHash(record) != slot.check || key_bytes != key.size() ||
      record.size() - sizeof key_bytes < key.size() ||
      std::string_view(record).substr(sizeof key_bytes, key.size()) != key)
    return std::nullopt;
  record.erase(0, sizeof key_bytes + key.size());
  return record;
}

std::optional<std::string> DiskTable::Find(std::string_view key) {
  const int file = Reader();
  if (file < 0) return std::nullopt;
  const uint64_t hash = StableHash(key);
  std::array<Slot, kGroup> slots;
  for (uint64_t past = 0; past < kFarthest;) {
    const uint64_t at = (hash + past) % kSlots, count = std::min(kGroup, kSlots - at);
    if (!ReadAt(file, slots.data(), count * sizeof(Slot), kFirstSlot + at * sizeof(Slot)))
      return std::nullopt;
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].offset == 0) return std::nullopt;
      if (slots[i].hash != hash) continue;
      std::optional<std::string> value = Read(file, slots[i], key);
      if (!value) {
        rejected_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      if (const uint32_t now = ThisHour(); slots[i].hour != now) {
        const uint64_t word = kFirstSlot + (at + i) * sizeof(Slot) + offsetof(Slot, hour);
        WriteAt(file, {reinterpret_cast<const char*>(&now), sizeof now}, word);
      }
      return value;
    }
    past += count;
  }
  return std::nullopt;
}

}  // namespace frazil
