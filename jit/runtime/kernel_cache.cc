#include "jit/runtime/kernel_cache.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <list>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/config.h"
#include "jit/emit/interp/interp.h"
#include "jit/emit/x86/x86_emitter.h"

namespace frazil::jit {
namespace {

constexpr size_t kMaxEntries = 16384;
constexpr size_t kMaxBytes = size_t{256} << 20;

// The tiers, fastest first; null where this machine or a switch has none.
struct Tiers {
  std::unique_ptr<Emitter> x86, interpreter = NewInterpreter();

  Tiers() {
    if (GetConfig().jit == "interp") return;
    std::optional<Isa> isa = X86Emitter::Detect();
    if (isa && GetConfig().isa == "avx2") isa = Isa::kAvx2;
    if (isa && X86Emitter::Supported(*isa)) x86 = std::make_unique<X86Emitter>(*isa);
  }
};

const Tiers& GetTiers() {
  static const Tiers* tiers = new Tiers;
  return *tiers;
}

// A kernel being compiled or compiled. The first thread to lock an empty one compiles.
struct Entry {
  absl::Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  Status status ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const Compiled> code ABSL_GUARDED_BY(mutex);
  size_t bytes = 0;  // guarded by the cache
};

class KernelCache {
 public:
  StatusOr<std::shared_ptr<const Compiled>> Get(const kir::Kernel& kernel, bool* compiled) {
    if (compiled) *compiled = false;
    const std::string key = kir::ContentKey(kernel);
    const std::shared_ptr<Entry> entry = Find(key);
    absl::MutexLock lock(&entry->mutex);
    if (!entry->done) {
      if (compiled) *compiled = true;
      Compile(kernel, entry.get());
      Account(key, entry);
    } else {
      hits_.fetch_add(1, std::memory_order_relaxed);
    }
    if (!entry->status.ok()) return entry->status;
    return entry->code;
  }

  KernelCacheStats Stats() {
    absl::MutexLock lock(&mutex_);
    return {compiles_.load(),           hits_.load(),           interpreted_.load(),
            nanoseconds_.load() / 1000, int64_t(order_.size()), int64_t(bytes_)};
  }

  void Clear() {
    absl::MutexLock lock(&mutex_);
    index_.clear();
    order_.clear();
    bytes_ = 0;
  }

  void SetLimits(size_t entries, size_t bytes) {
    absl::MutexLock lock(&mutex_);
    max_entries_ = entries;
    max_bytes_ = bytes;
    Evict();
  }

 private:
  using Item = std::pair<std::string, std::shared_ptr<Entry>>;

  std::shared_ptr<Entry> Find(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    const auto it = index_.find(key);
    if (it != index_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return it->second->second;
    }
    order_.emplace_front(key, std::make_shared<Entry>());
    index_.emplace(key, order_.begin());
    return order_.front().second;
  }

  void Compile(const kir::Kernel& kernel, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(entry->mutex) {
    const auto begin = std::chrono::steady_clock::now();
    const Tiers& tiers = GetTiers();
    const Emitter* used = tiers.x86.get();
    StatusOr<std::unique_ptr<Compiled>> code =
        NotImplementedError("[kernel] no compiler on this machine.");
    if (tiers.x86) code = tiers.x86->Emit(kernel);
    if (!code.ok() && KindOf(code.status()) == ErrorKind::kNotImplemented) {
      code = tiers.interpreter->Emit(kernel);
      used = tiers.interpreter.get();
      interpreted_.fetch_add(1, std::memory_order_relaxed);
    }
    const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    compiles_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(ns, std::memory_order_relaxed);
    entry->done = true;
    entry->status = code.status();
    if (code.ok()) entry->code = *std::move(code);
    if (LogEnabled("kernel")) {
      std::fprintf(stderr, "[kernel] %s: %s, %zu instructions, %.0f us\n", kernel.name.c_str(),
                   std::string(used->caps().name).c_str(), kernel.body.size(), double(ns) / 1000);
    }
  }

  // Counts a new entry's bytes; one that failed is forgotten, so that it is tried again.
  void Account(const std::string& key, const std::shared_ptr<Entry>& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(entry->mutex) {
    absl::MutexLock lock(&mutex_);
    const auto it = index_.find(key);
    if (it == index_.end() || it->second->second != entry) return;  // evicted meanwhile
    if (!entry->status.ok()) {
      order_.erase(it->second);
      index_.erase(it);
      return;
    }
    entry->bytes = entry->code->code_bytes() + key.size() * 2 + sizeof(Entry);
    bytes_ += entry->bytes;
    Evict();
  }

  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (order_.size() > 1 && (order_.size() > max_entries_ || bytes_ > max_bytes_)) {
      bytes_ -= order_.back().second->bytes;
      index_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  absl::Mutex mutex_;
  std::list<Item> order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<std::string, std::list<Item>::iterator> index_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t max_entries_ ABSL_GUARDED_BY(mutex_) = kMaxEntries;
  size_t max_bytes_ ABSL_GUARDED_BY(mutex_) = kMaxBytes;
  std::atomic<int64_t> compiles_{0}, hits_{0}, interpreted_{0}, nanoseconds_{0};
};

KernelCache& Cache() {
  static auto* cache = new KernelCache;
  return *cache;
}

}  // namespace

StatusOr<std::shared_ptr<const Compiled>> GetKernel(const kir::Kernel& kernel, bool* compiled) {
  return Cache().Get(kernel, compiled);
}

KernelCacheStats GetKernelCacheStats() { return Cache().Stats(); }
void ClearKernelCache() { Cache().Clear(); }
void SetKernelCacheLimits(size_t entries, size_t bytes) { Cache().SetLimits(entries, bytes); }

}  // namespace frazil::jit
