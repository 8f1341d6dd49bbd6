// The state of the fake driver: devices, contexts and what handles stand for. Used by the files
// that export the driver's functions (driver_*.cc). Invariants: every exported function holds
// Driver::mutex; a handle that was destroyed is never given out again, so a stale one is an error;
// an error of a kernel stays with its context until fake_cuda_clear_error().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/cuda/types.h"
#include "tests/cuda/fake/memory.h"
#include "tests/cuda/fake/recorder.h"
#include "tests/cuda/fake/work.h"

namespace fake {

using namespace frazil::cuda;

// CUresult beyond those that frazil names.
inline constexpr CUresult kInvalidContext = 201, kInvalidHandle = 400, kLaunchTimeout = 702,
                          kMisalignedAddress = 716, kCaptureUnsupported = 900,
                          kCaptureInvalidated = 901, kCaptureUnmatched = 903,
                          kCaptureUnjoined = 904, kCaptureImplicit = 906,
                          kGraphExecUpdateFailure = 910;

// What an operation does when it runs: kSuccess, or the error its context is left with.
using Action = std::function<CUresult()>;

struct Stream;
struct Event;
struct Module;
struct Function;
struct Graph;
struct GraphExec;

struct Context {
  Context(int device, size_t bytes) : device(device), memory(bytes) {}
  const int device;
  DeviceMemory memory;
  CUresult error = kSuccess;
  std::shared_ptr<Stream> legacy, per_thread;
};

// Handles of one kind.
template <typename T, typename Handle>
class Registry {
 public:
  Handle Add(std::shared_ptr<T> object) {
    static std::atomic<uintptr_t> next = 0x7f0000001000;
    const uintptr_t key = next += 16;
    objects_[key] = std::move(object);
    return reinterpret_cast<Handle>(key);
  }
  // Null for what was never given out or is gone.
  std::shared_ptr<T> Get(Handle handle) const {
    const auto it = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }
  size_t size() const { return objects_.size(); }
  bool Remove(Handle handle) { return objects_.erase(reinterpret_cast<uintptr_t>(handle)) != 0; }
  template <typename F>
  void RemoveIf(F f) {
    std::erase_if(objects_, [&](const auto& entry) { return f(*entry.second); });
  }
  template <typename F>
  void ForEach(F f) const {
    for (const auto& [key, object] : objects_) f(*object);
  }

 private:
  std::unordered_map<uintptr_t, std::shared_ptr<T>> objects_;
};

// What a function needs before it may be called.
enum class Needs { kNothing, kStart, kInit, kContext };

class Driver {
 public:
  static Driver& Get();

  // Notes the call; an error if a test asked for one, or if what the function needs is not there.
  CUresult Enter(Needs needs, const char* name, const std::string& arguments);

  // cuInit.
  CUresult Start();

  Context* current() const;
  // The device whose addresses these are, or null.
  Context* OwnerOf(CUdeviceptr address) const;

  std::recursive_mutex mutex;
  bool initialized = false;
  int arch = 90, version = 12090;
  std::vector<std::unique_ptr<Context>> contexts;  // by device
  Work work;
  Registry<Stream, CUstream> streams;
  Registry<Event, CUevent> events;
  Registry<Module, CUmodule> modules;
  Registry<Function, CUfunction> functions;
  Registry<Graph, CUgraph> graphs;
  Registry<GraphExec, CUgraphExec> execs;
  std::unordered_map<uintptr_t, size_t> pinned;  // by address, bytes

 private:
  Driver();
  int process_ = 0;  // that called cuInit
};

CUcontext HandleOf(Context* context);
// Null if it is none.
Context* FromHandle(CUcontext handle);
void SetCurrent(Context* context);

// Appends to a stream, or to the graph it is captured into.
CUresult Enqueue(CUstream stream, Action action);
// An action as an operation: does nothing once the context has an error.
std::function<void()> InContext(Context* context, Action action);
// After something that may have written: says what lies outside of blocks and leaves the error.
void ReportDamage(Context* context, const std::string& when);
// An error if a capture of this thread forbids such a call (and ends that capture).
CUresult CheckNotCapturing();

}  // namespace fake

// All functions of driver.def, with the names and types the real library has.
namespace fake {
extern "C" {
#define FZ_CUDA(symbol, name, parameters) \
  __attribute__((visibility("default"))) CUresult symbol parameters;
#include "jit/cuda/driver.def"
#undef FZ_CUDA
}
}  // namespace fake

// The first line of each of them.
#define FAKE_CALL(needs, name, ...)                                                              \
  std::lock_guard lock(Driver::Get().mutex);                                                     \
  if (const CUresult refused = Driver::Get().Enter(Needs::needs, #name, Arguments(__VA_ARGS__))) \
  return refused
