// The simulated NPU as a device of the process: its preset and mode, launches, and the account of
// what ran where. Called by NPU steps of plans and by the bindings. Invariant: a fault is an error
// of frazil's and is raised as NpuFault, never hidden by running elsewhere; accounts grow by what
// was run, in any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/threads/mutex.h"
#include "npu/simulator.h"

namespace frazil::jit {

// Memory of a launch: what one parameter points into.
struct NpuBuffer {
  char* data = nullptr;       // of the first element
  int64_t low = 0, high = 0;  // bytes around it that may be touched: [data + low, data + high)
  bool writable = false;
};

// A program and the parameters it was made for.
struct NpuProgram {
  npu::Program program;
  npu::Preset preset;
  uint64_t hash = 0;  // of the words

  NpuProgram(npu::Program p, const npu::Preset& made_for);
};

// What became of one kernel or product.
struct NpuWork {
  std::shared_ptr<const NpuProgram> program;  // null: the CPU ran it
  std::string name, origin, reason;           // reason: why the CPU did
  // Of the first launch, for timing it again; windows have no data.
  std::vector<uint64_t> params;
  std::vector<npu::Window> windows;
  int64_t launches = 0;
};

class NpuDevice {
 public:
  static NpuDevice& Get();

  npu::Preset preset() const;
  npu::Mode mode() const;
  // The preset and how often it has changed: programs are made for one.
  std::pair<npu::Preset, int64_t> current() const;
  // Another preset begins a new account: cycles of two machines are not to be added.
  void Configure(const npu::Preset& preset, npu::Mode mode);
  // Instructions of one launch after which it ends in WATCHDOG.
  void SetBudget(int64_t instructions);

  // buffers: as the program's first parameters; words: the others.
  Status Launch(const std::shared_ptr<const NpuProgram>& program,
                absl::Span<const NpuBuffer> buffers, absl::Span<const uint64_t> words,
                const std::string& origin);
  // The CPU ran something on these buffers; what it read and wrote counts as transfers.
  void CountCpu(const std::string& name, const std::string& origin, const std::string& reason,
                absl::Span<const NpuBuffer> buffers);

  // In order of first launch. Its length is bounded: launches of what came later are only counted.
  std::vector<NpuWork> account() const;
  int64_t unlisted() const;
  void ResetAccount();

 private:
  NpuDevice();

  // Of a key, or null where the account is full.
  NpuWork* Find(const std::string& key, bool* fresh) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  npu::Preset preset_;
  npu::Mode mode_;
  int64_t generation_ = 0;
  int64_t budget_ = npu::LaunchOptions().budget;
  std::vector<NpuWork> account_;
  int64_t unlisted_ = 0;
  std::map<std::string, size_t> index_;  // into account_
};

}  // namespace frazil::jit
