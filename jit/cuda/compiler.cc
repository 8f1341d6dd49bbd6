#include "jit/cuda/compiler.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "core/str.h"
#include "core/threads/at_fork.h"
#include "core/threads/parallel.h"
#include "jit/cuda/image_cache.h"

namespace frazil::cuda {
namespace {

struct Counters {
  std::atomic<int64_t> compiled{0}, from_disk{0}, rejected{0}, compile_us{0};
} g_counters;

std::atomic<int> g_pending{0};

// What the compiler is asked for on one architecture.
struct Target {
  int arch = 0;
  bool ptx = false;  // the compiler does not know the architecture: the driver translates
};

StatusOr<Target> TargetFor(const NvrtcTable& nvrtc, int arch) {
  int count = 0;
  std::vector<int> archs;
  if (nvrtc.GetNumSupportedArchs(&count) == 0 && count > 0) {
    archs.resize(count);
    nvrtc.GetSupportedArchs(archs.data());
  }
  if (std::count(archs.begin(), archs.end(), arch)) return Target{arch};
  // The newest that the device can still run.
  const auto known = std::find_if(archs.rbegin(), archs.rend(), [&](int a) { return a <= arch; });
  if (known == archs.rend()) {
    return RuntimeError("[cuda] the installed NVRTC compiles for compute capability ",
                        archs.empty() ? 0 : archs.front() / 10, ".",
                        archs.empty() ? 0 : archs.front() % 10, " and newer, the device has ",
                        arch / 10, ".", arch % 10, ": install an older one.");
  }
  return Target{*known, true};
}

std::string LogOf(const NvrtcTable& nvrtc, NvrtcProgram program) {
  size_t bytes = 0;
  std::string log;
  if (nvrtc.GetProgramLogSize(program, &bytes) == 0 && bytes > 1) {
    log.resize(bytes);
    nvrtc.GetProgramLog(program, log.data());
    log.resize(bytes - 1);
  }
  return log;
}

StatusOr<std::string> RunNvrtc(const NvrtcTable& nvrtc, const Source& source,
                               const Target& target) {
  const auto start = std::chrono::steady_clock::now();
  NvrtcProgram program = nullptr;
  if (nvrtc.CreateProgram(&program, source.text.c_str(), StrCat(source.name, ".cu").c_str(), 0,
                          nullptr, nullptr) != 0)
    return RuntimeError("[cuda] NVRTC takes no program for ", source.name, ".");
  struct Destroyer {
    const NvrtcTable& nvrtc;
    NvrtcProgram* program;
    ~Destroyer() { nvrtc.DestroyProgram(program); }
  } destroyer{nvrtc, &program};
  const std::vector<std::string> texts = source.options(target.arch, target.ptx);
  std::vector<const char*> options;
  for (const std::string& option : texts) options.push_back(option.c_str());
  const NvrtcResult result = nvrtc.CompileProgram(program, int(options.size()), options.data());
  ++g_counters.compiled;
  g_counters.compile_us += std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::steady_clock::now() - start)
                               .count();
  if (result != 0)
    return RuntimeError("[cuda] NVRTC does not compile ", source.name, " for compute capability ",
                        target.arch / 10, ".", target.arch % 10, ":\n", LogOf(nvrtc, program));
  size_t bytes = 0;
  std::string image;
  const bool sized = (target.ptx ? nvrtc.GetPTXSize : nvrtc.GetCUBINSize)(program, &bytes) == 0;
  image.resize(bytes);
  if (!sized || (target.ptx ? nvrtc.GetPTX : nvrtc.GetCUBIN)(program, image.data()) != 0)
    return RuntimeError("[cuda] NVRTC gives no code of ", source.name, ".");
  return image;
}

// All that an image depends on.
std::string KeyOf(const Source& source, const Target& target, int version) {
  std::string key = StrCat("nvrtc ", version, target.ptx ? " ptx" : "");
  for (const std::string& option : source.options(target.arch, target.ptx))
    StrAppend(&key, " ", option);
  return StrCat(key, "\n", source.text);
}

StatusOr<std::string> ImageOf(const Source& source, int arch) {
  FZ_ASSIGN_OR_RETURN(const NvrtcTable* nvrtc, Nvrtc());
  FZ_ASSIGN_OR_RETURN(const Target target, TargetFor(*nvrtc, arch));
  int major = 0, minor = 0;
  nvrtc->Version(&major, &minor);
  const std::string key = KeyOf(source, target, major * 1000 + minor);
  bool rejected = false;
  if (auto image = LoadImage(key, &rejected)) {
    ++g_counters.from_disk;
    return *std::move(image);
  }
  g_counters.rejected += rejected;
  FZ_ASSIGN_OR_RETURN(std::string image, RunNvrtc(*nvrtc, source, target));
  StoreImage(key, image);
  return image;
}

StatusOr<ModuleRef> Load(Device* device, const Source& source) {
  FZ_ASSIGN_OR_RETURN(const std::string image, ImageOf(source, device->info().arch));
  FZ_RETURN_IF_ERROR(device->Enter());
  CUmodule module = nullptr;
  char log[4096] = {};
  int names[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const CUresult result =
      device->driver().ModuleLoadDataEx(&module, image.c_str(), 2, names, values);
  FZ_RETURN_IF_ERROR(DriverStatus(
      result, "cuda",
      StrCat("the driver does not load ", source.name, *log ? StrCat(" (", log, ")") : "")));
  return std::make_shared<const Module>(device, module);
}

class Job : public Compilation {
 public:
  Job(Device* device, Source source) : device_(device), source_(std::move(source)) {}

  bool done() const override { return done_.load(std::memory_order_acquire); }
  StatusOr<ModuleRef> Wait() const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done(); });
    return result_;
  }
  // Once, by a worker.
  void Run() {
    StatusOr<ModuleRef> result = Load(device_, source_);
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    source_ = {};
    done_.store(true, std::memory_order_release);
    changed_.notify_all();
  }

 private:
  Device* const device_;
  Source source_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<bool> done_{false};
  StatusOr<ModuleRef> result_ = RuntimeError("[cuda] not compiled yet.");
};

// The jobs and the threads that run them. Never destroyed: its threads end with the process.
class Service {
 public:
  static Service& Get() {
    static auto* service = new Service;
    return *service;
  }

  CompilationRef Start(Device* device, Source source, bool* fresh) {
    const std::string key = StrCat(device->index(), " ", KeyOf(source, {}, 0));
    const auto make = [&] { return std::make_shared<Job>(device, std::move(source)); };
    const std::shared_ptr<Job> job = jobs_.FindOrAdd(key, make, fresh);
    if (!*fresh) return job;
    Enqueue(job);
    jobs_.Weigh(key, job, 0);
    return job;
  }

  void Clear() {
    jobs_.EraseIf([](const auto& job) { return job->done(); });
  }
  CacheStats stats() { return jobs_.stats(); }

 private:
  void Enqueue(const std::shared_ptr<Job>& job) {
    std::lock_guard lock(mutex_);
    queue_.push_back(job);
    ++g_pending;
    if (workers_ == 0) {
      born_ = ForkGeneration();
      std::atexit([] { Get().Stop(); });
    }
    // Those that sleep may have been woken for what stands before it in the queue.
    if (queue_.size() > static_cast<size_t>(idle_) && workers_ < NumThreads()) {
      ++workers_;
      std::thread([this] { Work(); }).detach();
    }
    wake_.notify_one();
  }

  // NVRTC must not be at work when the process takes it down.
  void Stop() {
    if (ForkGeneration() != born_) return;  // a child has none of the threads
    std::unique_lock lock(mutex_);
    queue_.clear();
    finished_.wait(lock, [&] { return idle_ == workers_; });
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      finished_.notify_all();
      wake_.wait(lock, [&] { return !queue_.empty(); });
      --idle_;
      const std::shared_ptr<Job> job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      job->Run();
      --g_pending;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  BoundedCache<std::string, Job, CountBound<4096>> jobs_;
  std::deque<std::shared_ptr<Job>> queue_;
  int workers_ = 0, idle_ = 0;
  uint32_t born_ = 0;
};

}  // namespace

Module::~Module() {
  // In a forked child the context is not ours to use.
  if (device_->Synchronize().ok()) device_->driver().ModuleUnload(module_);
}

StatusOr<CUfunction> Module::Function(const std::string& entry) const {
  FZ_RETURN_IF_ERROR(device_->Enter());
  CUfunction function = nullptr;
  FZ_RETURN_IF_ERROR(
      DriverStatus(device_->driver().ModuleGetFunction(&function, module_, entry.c_str()), "cuda",
                   StrCat("no function ", entry)));
  return function;
}

CompilationRef StartCompile(Device* device, Source source, bool* fresh) {
  bool unasked;
  return Service::Get().Start(device, std::move(source), fresh ? fresh : &unasked);
}

StatusOr<ModuleRef> Compile(Device* device, Source source) {
  return StartCompile(device, std::move(source))->Wait();
}

int PendingCompilations() { return g_pending.load(std::memory_order_relaxed); }

CompilerStats GetCompilerStats() {
  return {Service::Get().stats(), g_counters.compiled, g_counters.from_disk, g_counters.rejected,
          g_counters.compile_us};
}

void ClearModules() { Service::Get().Clear(); }

}  // namespace frazil::cuda
