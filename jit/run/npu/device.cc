#include "jit/run/npu/device.h"

#include <algorithm>
#include <cstdio>

#include "core/check.h"
#include "core/config.h"
#include "core/memory/transfers.h"
#include "core/threads/at_fork.h"

namespace frazil::jit {
namespace {

constexpr size_t kMaxWork = 4096;

npu::Mode ModeFromConfig() {
  return GetConfig().npu_check == "1" ? npu::Mode::kCheck : npu::Mode::kRun;
}

// Windows on device memory for the buffers of a launch. Addresses depend on sizes alone, so that
// cycles do too; buffers that share memory share a window.
struct Windows {
  std::vector<npu::Window> windows;
  std::vector<uint64_t> addresses;  // of each buffer's first element

  explicit Windows(absl::Span<const NpuBuffer> buffers) {
    std::vector<size_t> order(buffers.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return buffers[a].data + buffers[a].low < buffers[b].data + buffers[b].low;
    });
    std::vector<size_t> of(buffers.size());
    std::vector<NpuBuffer> joined;  // low is 0: data is where the window begins
    for (size_t i : order) {
      const NpuBuffer& b = buffers[i];
      char* begin = b.data + b.low;
      if (joined.empty() || begin >= joined.back().data + joined.back().high)
        joined.push_back({begin, 0, 0, false});
      NpuBuffer& w = joined.back();
      w.high = std::max<int64_t>(w.high, b.data + b.high - w.data);
      w.writable |= b.writable;
      of[i] = joined.size() - 1;
    }
    // In the order of the parameters, not of the host's addresses.
    std::vector<uint64_t> base(joined.size(), 0);
    uint64_t next = npu::kGmBase;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const NpuBuffer& w = joined[of[i]];
      if (base[of[i]] == 0) {
        base[of[i]] = next + reinterpret_cast<uintptr_t>(w.data) % 64;
        next = (base[of[i]] + uint64_t(w.high) + kRedZone + 511) / 512 * 512;
        windows.push_back({base[of[i]], w.high, w.data, w.writable});
      }
      addresses.push_back(base[of[i]] + uint64_t(buffers[i].data - w.data));
    }
  }
  static constexpr uint64_t kRedZone = 64;
};

}  // namespace

NpuDevice& NpuDevice::Get() {
  static auto* device = new NpuDevice;
  return *device;
}

NpuDevice::NpuDevice() : mode_(ModeFromConfig()) {
  const auto preset = npu::FindPreset(GetConfig().npu_preset);
  preset_ = preset.ok() ? *preset : *npu::FindPreset(npu::PresetNames()[0]);
  HoldAcrossFork(ForkOrder::kCaches, &mutex_);
}

npu::Preset NpuDevice::preset() const {
  MutexLock lock(&mutex_);
  return preset_;
}
npu::Mode NpuDevice::mode() const {
  MutexLock lock(&mutex_);
  return mode_;
}
std::pair<npu::Preset, int64_t> NpuDevice::current() const {
  MutexLock lock(&mutex_);
  return {preset_, generation_};
}

void NpuDevice::Configure(const npu::Preset& preset, npu::Mode mode) {
  MutexLock lock(&mutex_);
  if (!(preset == preset_)) {
    ++generation_;
    account_.clear();
    index_.clear();
    unlisted_ = 0;
  }
  preset_ = preset;
  mode_ = mode;
}

void NpuDevice::SetBudget(int64_t instructions) {
  MutexLock lock(&mutex_);
  budget_ = instructions;
}

NpuProgram::NpuProgram(npu::Program p, const npu::Preset& made_for)
    : program(std::move(p)), preset(made_for), hash(14695981039346656037u) {
  for (const npu::Instr& instr : program.code) hash = (hash ^ npu::Encode(instr)) * 1099511628211u;
}

Status NpuDevice::Launch(const std::shared_ptr<const NpuProgram>& program,
                         absl::Span<const NpuBuffer> buffers, absl::Span<const uint64_t> words,
                         const std::string& origin) {
  const Windows windows(buffers);
  std::vector<uint64_t> params = windows.addresses;
  params.insert(params.end(), words.begin(), words.end());
  npu::LaunchOptions options;
  {
    MutexLock lock(&mutex_);
    options.mode = mode_;
    options.budget = budget_;
  }
  FZ_ASSIGN_OR_RETURN(
      const npu::LaunchResult result,
      npu::Launch(program->program, program->preset, params, windows.windows, options));
  if (result.fault)
    return NpuFaultError("[npu] ", result.fault->Text(), "\nThis is a bug of frazil's.");
  MutexLock lock(&mutex_);
  if (!(program->preset == preset_)) return absl::OkStatus();  // of an account that has ended
  bool fresh = false;
  NpuWork* work = Find(StrCat(program->program.name, "\n", origin, "\n", program->hash), &fresh);
  if (!work) return absl::OkStatus();
  if (fresh) {
    *work = {program, program->program.name, origin, "", params, windows.windows};
    for (npu::Window& w : work->windows) w.data = nullptr;
  }
  ++work->launches;
  return absl::OkStatus();
}

void NpuDevice::CountCpu(const std::string& name, const std::string& origin,
                         const std::string& reason, absl::Span<const NpuBuffer> buffers) {
  const Device npu(DeviceKind::kNpu, 0);
  for (const NpuBuffer& b : buffers) {
    b.writable ? CountTransfer(Device(), npu, b.high - b.low)
               : CountTransfer(npu, Device(), b.high - b.low);
  }
  MutexLock lock(&mutex_);
  bool fresh = false;
  NpuWork* work = Find(StrCat(name, "\n", origin, "\n", reason), &fresh);
  if (!work) return;
  if (fresh) *work = {nullptr, name, origin, reason};
  ++work->launches;
}

NpuWork* NpuDevice::Find(const std::string& key, bool* fresh) {
  const auto found = index_.find(key);
  if (found != index_.end()) return &account_[found->second];
  if (account_.size() >= kMaxWork) {
    ++unlisted_;
    return nullptr;
  }
  *fresh = true;
  index_.emplace(key, account_.size());
  return &account_.emplace_back();
}

int64_t NpuDevice::unlisted() const {
  MutexLock lock(&mutex_);
  return unlisted_;
}

std::vector<NpuWork> NpuDevice::account() const {
  MutexLock lock(&mutex_);
  return account_;
}

void NpuDevice::ResetAccount() {
  MutexLock lock(&mutex_);
  account_ = {};
  unlisted_ = 0;
  index_.clear();
}

}  // namespace frazil::jit
