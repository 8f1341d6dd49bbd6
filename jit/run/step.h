// What a plan runs, one step after another: kernels and library calls over pointers that are found
// at run time, and several of them as one (list_step.h, epilogue_step.h, loop_step.h,
// jit/plan/branches.h, graphs of a device). Made by the planner (jit/plan/plan_builder.cc), run by
// plans and by each other. Invariant: nothing of a step changes after building, so it may run in
// many threads at once; it touches what its pointers point to and nothing else.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/small_stack.h"
#include "jit/emit/emitter.h"
#include "jit/run/device_kernel.h"

namespace frazil::jit {

// Slots of a run: the data of each input, then the arenas, then the memory of each result.
struct Pointer {
  int32_t slot;
  int64_t offset;  // bytes

  bool operator==(const Pointer&) const = default;
};

class Step {
 public:
  virtual ~Step() = default;
  virtual Status Run(char* const* slots, absl::Span<Value* const> inputs) const = 0;
  virtual std::vector<Pointer> touches() const = 0;  // where it reads and writes
  virtual int64_t work() const = 0;                  // as Launch::work
  virtual std::string text() const = 0;              // for errors and reports
  virtual int64_t bytes() const = 0;                 // about what it holds, kernels apart
  virtual bool capturable() const { return false; }  // as LibraryCall's
};

using Steps = std::vector<std::unique_ptr<Step>>;
int64_t BytesOf(const Steps& steps);
inline Steps TakeSteps(Steps* from, size_t begin, size_t end) {
  const auto first = std::make_move_iterator(from->begin());
  return {first + int64_t(begin), first + int64_t(end)};
}

// Steps of which some are several as one.
struct JoinedSteps {
  Steps steps;
  std::vector<int32_t> now;  // of each that there was before: which it is a part of

  void Add(int32_t count, std::unique_ptr<Step> one) {
    now.insert(now.end(), size_t(count), int32_t(steps.size()));
    steps.push_back(std::move(one));
  }
};

struct KernelStep final : public Step {
  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  std::vector<Pointer> touches() const override { return buffers; }
  int64_t work() const override { return own_work; }
  std::string text() const override { return device ? device->text() : "kernel"; }
  int64_t bytes() const override;
  bool capturable() const override { return device && device->capturable(); }

  std::shared_ptr<const Compiled> code;
  kir::KernelFn fn = nullptr;                  // code's plain entry, null for the interpreter
  std::unique_ptr<const DeviceKernel> device;  // not on the CPU: runs instead of `code`
  std::vector<Pointer> buffers;
  std::vector<int32_t> scalars;  // input numbers, or -1: the word in `words`
  std::vector<uint64_t> words;   // as scalars
  std::vector<int64_t> extents, strides;
  int64_t rows = 0, cols = 0, own_work = 0;
};

// What one run of a kernel step is called with.
struct StepArgs {
  SmallStack<void*, 16> buffers;
  SmallStack<uint64_t, 16> scalars;

  StepArgs(const KernelStep& step, char* const* slots, absl::Span<Value* const> inputs) {
    for (const Pointer& p : step.buffers) buffers.push_back(slots[p.slot] + p.offset);
    for (size_t i = 0; i < step.scalars.size(); ++i) {
      const int32_t input = step.scalars[i];
      scalars.push_back(input >= 0 ? inputs[input]->imm : step.words[i]);
    }
  }
  kir::KernelArgs For(const KernelStep& step) const {
    return {buffers.begin(), step.extents.data(), step.strides.data(), scalars.begin()};
  }
};

struct LibraryStep final : public Step {
  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  std::vector<Pointer> touches() const override;
  int64_t work() const override { return call->work(); }
  std::string text() const override { return call->text(); }
  int64_t bytes() const override { return int64_t{sizeof(*this)} + call->bytes(); }
  bool capturable() const override { return call->capturable(); }

  std::unique_ptr<const LibraryCall> call;
  std::vector<Pointer> operands;
  Pointer result{};
};

// Several steps as one. The effect of a run is that of the steps one after another.
class StepGroup : public Step {
 public:
  explicit StepGroup(Steps steps);
  std::vector<Pointer> touches() const override;
  int64_t work() const override { return work_; }
  std::string text() const override;
  int64_t bytes() const override { return int64_t{sizeof(*this)} + BytesOf(steps_); }

 protected:
  const Steps& steps() const { return steps_; }

 private:
  const Steps steps_;
  int64_t work_ = 0;
};

}  // namespace frazil::jit
