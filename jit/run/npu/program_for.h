// The program of a step of a plan, made for the device's present preset and again when that
// changes. Called by the kernels and products of the NPU. Invariant: one emission for a preset
// however many threads ask; with FRAZIL_VERIFY=1 every program passes Validate and Lint.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/threads/at_fork.h"
#include "jit/emit/npu/emit.h"
#include "jit/run/npu/device.h"

namespace frazil::jit {

// Of an op and the user's line, "train.py:12".
npu::EmitOptions OptionsFor(const std::string& op, const std::string& origin);

// With FRAZIL_VERIFY=1, stops the process: an emitted program that is wrong on sight is a bug of
// the emitter's.
void VerifyProgram(const npu::Program& program, const npu::Preset& preset);

// The program for the device's present preset, or why there is none.
class ProgramFor {
 public:
  // emit: StatusOr<npu::Program>(const npu::Preset&)
  template <typename Emit>
  std::shared_ptr<const NpuProgram> Get(Emit emit, std::string* refusal) const {
    const ForkGuard guard;
    const auto [preset, generation] = NpuDevice::Get().current();
    std::lock_guard lock(mutex_);
    if (generation_ != generation) {
      auto program = emit(preset);
      if (program.ok()) VerifyProgram(*program, preset);
      generation_ = generation;
      const auto why = program.status().message();
      refusal_.assign(why.data(), why.size());
      program_ =
          program.ok() ? std::make_shared<const NpuProgram>(*std::move(program), preset) : nullptr;
    }
    *refusal = refusal_;
    return program_;
  }

  int64_t bytes() const {
    const ForkGuard guard;
    std::lock_guard lock(mutex_);
    return program_ ? int64_t(sizeof(npu::Instr) * program_->program.code.size()) : 0;
  }

 private:
  mutable std::mutex mutex_;
  mutable int64_t generation_ = -1;
  mutable std::shared_ptr<const NpuProgram> program_;
  mutable std::string refusal_;
};

}  // namespace frazil::jit
