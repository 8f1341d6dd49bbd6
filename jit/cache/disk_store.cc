#include "jit/cache/disk_store.h"

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "core/caches.h"
#include "core/config.h"
#include "core/disk/build_id.h"
#include "core/disk/disk_cache.h"
#include "core/str.h"
#include "jit/emit/x86/x86_emitter.h"

namespace frazil::jit {
namespace {

constexpr int kKinds = 2;

struct Counts {
  std::array<std::atomic<int64_t>, kKinds> found{};
  std::atomic<int64_t> kept{0};
};
Counts g_counts;

// All that entries depend on beside their keys: a line each.
std::string Identity() {
  const std::string build = BuildIdOf(reinterpret_cast<const void*>(&GetDiskStats));
  if (build.empty()) return "";
  return StrCat("build ", absl::BytesToHexString(build), "\n", X86Emitter::Identity(), "\ncaches ",
                SecondLevelCacheBytes(), " ", LastLevelCacheBytes(), "\n");
}

// Null: off.
DiskCache* Cache() {
  static DiskCache* const cache = []() -> DiskCache* {
    if (GetConfig().disk_cache != "on") return nullptr;
    std::string folder = KeptFolder(), identity = Identity();
    if (folder.empty() || identity.empty()) return nullptr;
    auto* made = new DiskCache(std::move(folder), std::move(identity));
    std::atexit(FlushDisk);
    return made;
  }();
  return cache;
}

std::string KeyOf(OnDisk kind, std::string_view key) {
  std::string whole(1, static_cast<char>(kind));
  return whole.append(key);
}

}  // namespace

bool DiskIsOn() { return Cache() != nullptr; }

std::optional<std::string> FindOnDisk(OnDisk kind, std::string_view key) {
  if (!Cache()) return std::nullopt;
  std::optional<std::string> value = Cache()->Find(KeyOf(kind, key));
  if (value) g_counts.found[size_t(kind)].fetch_add(1, std::memory_order_relaxed);
  return value;
}

void KeepOnDisk(OnDisk kind, std::string_view key, std::string value) {
  if (!Cache()) return;
  g_counts.kept.fetch_add(1, std::memory_order_relaxed);
  Cache()->Keep(KeyOf(kind, key), std::move(value));
}

void FlushDisk() {
  if (Cache()) Cache()->Flush();
}

DiskStats GetDiskStats() {
  DiskStats stats;
  if (!Cache()) return stats;
  stats.file = StrCat(KeptFolder(), "/", Cache()->table().file_name());
  struct stat s;
  if (stat(stats.file.c_str(), &s) == 0) stats.bytes = int64_t(s.st_size);
  stats.code = g_counts.found[size_t(OnDisk::kCode)].load();
  stats.decisions = g_counts.found[size_t(OnDisk::kDecisions)].load();
  stats.kept = g_counts.kept.load();
  stats.refused = Cache()->table().rejected();
  return stats;
}

}  // namespace frazil::jit
