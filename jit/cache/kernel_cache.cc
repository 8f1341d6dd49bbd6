#include "jit/cache/kernel_cache.h"

#include <atomic>
#include <cstdio>
#include <fstream>

#include "core/config.h"
#include "core/profile.h"
#include "core/str.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "jit/cache/bound.h"
#include "jit/cache/disk_store.h"
#include "jit/emit/interp/interp.h"
#include "jit/emit/x86/code_names.h"
#include "jit/emit/x86/x86_emitter.h"
#include "tracer/bounds.h"

namespace frazil::jit {
namespace {

void (*g_let_go)() = nullptr;

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

// For FRAZIL_KERNELS: processes that write the same kernel write the same file.
void WriteKernel(const kir::Kernel& kernel) {
  const std::string file = StrCat(absl::Hex(kir::ContentHash(kernel), absl::kZeroPad16), ".kir");
  std::ofstream(StrCat(GetConfig().kernels, "/", kernel.name, "-", file)) << kir::Print(kernel);
}

// A kernel being compiled or compiled. The first thread to lock an empty one compiles.
struct Entry {
  Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  Status status ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const Compiled> code;  // written once, before `ready`
  std::atomic<bool> ready{false};        // done: `code` no longer changes
};

struct KernelBound : SettingsBound {
  // Who waits for a kernel or compiles it holds the entry; plans hold the code: evicting it would
  // free nothing and be compiled twice.
  static bool Held(const std::shared_ptr<Entry>& entry) {
    return entry.use_count() > 1 || !entry->ready.load(std::memory_order_acquire) ||
           entry->code.use_count() > 1;
  }
};
constexpr KernelBound kBound{{Setting::k_kernel_entries, Setting::k_kernel_bytes,
                              tracer::Cause::kEvictedKernels, "kernels"}};

class KernelCache {
 public:
  StatusOr<std::shared_ptr<const Compiled>> Get(const kir::Kernel& kernel, bool* compiled,
                                                std::string_view lines) {
    if (compiled) *compiled = false;
    const std::string key = kir::ContentKey(kernel);
    bool fresh;
    const std::shared_ptr<Entry> entry = cache_.FindOrAdd(key, std::make_shared<Entry>, &fresh);
    Made made = Made::kBefore;
    StatusOr<std::shared_ptr<const Compiled>> code = nullptr;
    {
      const ForkGuard guard;
      MutexLock lock(&entry->mutex);
      if (!entry->done) made = Make(kernel, key, lines, entry.get());
      code = entry->code;
      if (!entry->status.ok()) code = entry->status;
    }
    if (compiled) *compiled = made == Made::kCompiled;
    if (made == Made::kBefore) return code;
    if (!code.ok()) {
      cache_.Erase(key, entry);  // to be tried again
    } else if (!cache_.Weigh(key, entry,
                             int64_t((*code)->code_bytes() + key.size() * 2 + sizeof(Entry)))) {
      MakeRoom();
    }
    return code;
  }

  KernelCacheStats Stats() {
    return {cache_.stats(), compiles_.load(), interpreted_.load(), loaded_.load(),
            nanoseconds_.load() / 1000};
  }

  void Clear() {
    cache_.EraseIf([](const auto&) { return true; });
  }

  void Shrink() {
    if (!cache_.Shrink()) MakeRoom();
  }

 private:
  enum class Made { kBefore, kLoaded, kCompiled };

  // What plans hold is freed only with them: the least used plans go.
  void MakeRoom() {
    tracer::Bounds::ShrinkPlans(StrCat(Name(kBound.bytes), " = ", frazil::Get(kBound.bytes)));
    if (g_let_go) g_let_go();
    cache_.Shrink();
  }

  Made Make(const kir::Kernel& kernel, const std::string& key, std::string_view lines, Entry* entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(entry->mutex) {
    if (!GetConfig().kernels.empty()) WriteKernel(kernel);
    Made made = Made::kCompiled;
    StatusOr<std::shared_ptr<const Compiled>> code = LoadOrCompile(kernel, key, &made);
    if (code.ok() && (*code)->fn()) {
      const auto* const at = reinterpret_cast<const char*>((*code)->fn());
      NameCode({at, (*code)->code_bytes()}, kernel.name, lines);
    }
    entry->done = true;
    entry->status = code.status();
    if (code.ok()) entry->code = *std::move(code);
    entry->ready.store(true, std::memory_order_release);
    return made;
  }

  // From disk, or compiled and then left there. FRAZIL_VERIFY=1 compares instead.
  StatusOr<std::shared_ptr<const Compiled>> LoadOrCompile(const kir::Kernel& kernel,
                                                          const std::string& key, Made* made) {
    Emitter* x86 = GetTiers().x86.get();
    if (!x86 || !DiskIsOn()) return Compile(kernel);
    const std::string on_disk = StrCat(x86->caps().name, " ", key);
    const std::optional<std::string> image = FindOnDisk(OnDisk::kCode, on_disk);
    const bool verify = GetConfig().verify == "1";
    if (image && !verify) {
      // Without executable memory nothing is loaded, and Compile knows what to do.
      if (auto code = x86->Load(*image, kernel.name); code.ok()) {
        loaded_.fetch_add(1, std::memory_order_relaxed);
        *made = Made::kLoaded;
        return code;
      }
    }
    FZ_ASSIGN_OR_RETURN(std::shared_ptr<const Compiled> code, Compile(kernel));
    if (code->image().empty()) return code;
    if (!image) KeepOnDisk(OnDisk::kCode, on_disk, std::string(code->image()));
    if (image && verify && *image != code->image())
      return RuntimeError("[kernel] the code of ", kernel.name,
                          " on disk is not what it compiles to.");
    return code;
  }

  StatusOr<std::shared_ptr<const Compiled>> Compile(const kir::Kernel& kernel) {
    const int64_t begin = ProfileClock();
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
    const int64_t ns = ProfileClock() - begin;
    if (Profiling()) ProfileSpan(ProfileEvent::Kind::kKernel, kernel.name, "", begin);
    compiles_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(ns, std::memory_order_relaxed);
    if (LogEnabled("kernel")) {
      std::fprintf(stderr, "[kernel] %s: %s, %zu instructions, %.0f us\n", kernel.name.c_str(),
                   std::string(used->caps().name).c_str(), kernel.body.size(), double(ns) / 1000);
    }
    return code;
  }

  BoundedCache<std::string, Entry, KernelBound> cache_{kBound};
  std::atomic<int64_t> compiles_{0}, interpreted_{0}, nanoseconds_{0}, loaded_{0};
};

KernelCache& Cache() {
  static auto* cache = new KernelCache;
  return *cache;
}

}  // namespace

StatusOr<std::shared_ptr<const Compiled>> GetKernel(const kir::Kernel& kernel, bool* compiled,
                                                    std::string_view lines) {
  return Cache().Get(kernel, compiled, lines);
}

KernelCacheStats GetKernelCacheStats() { return Cache().Stats(); }
void ClearKernelCache() { Cache().Clear(); }
void SetHolderOfKernels(void (*let_go)()) { g_let_go = let_go; }
void ShrinkKernelCache() { Cache().Shrink(); }

}  // namespace frazil::jit
