// Runs small programs on the simulated NPU: buffers in device memory and the text of a program.
// Called by the tests of the machine and the checker. Invariant: buffers lie apart from each other
// in device memory, with bytes between them that belong to none.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "core/str.h"
#include "npu/asm.h"
#include "npu/machine.h"
#include "npu/schedule.h"
#include "npu/simulator.h"

namespace frazil::npu {

class Harness {
 public:
  explicit Harness(std::string_view preset = "dc16") : preset_(*FindPreset(preset)) {}

  // Each buffer is a window, its address a parameter of the kernel.
  template <typename T>
  int Input(const std::vector<T>& data) {
    return Add(data.data(), data.size() * sizeof(T), false);
  }
  int Output(size_t bytes) {
    const std::vector<char> zeros(bytes);
    return Add(zeros.data(), bytes, true);
  }
  void Number(uint64_t value) {
    params_.push_back(value);
    header_ += StrCat(" p", params_.size(), ":u64");
  }

  // The lines after the header; HALT is added.
  StatusOr<LaunchResult> Launch(std::string_view body, const LaunchOptions& options = {}) {
    StatusOr<Program> program = Parse(body);
    if (!program.ok()) return program.status();
    return Launch(*program, options);
  }
  StatusOr<Program> Parse(std::string_view body) const {
    return Assemble(StrCat(".snpu 1.0\n.kernel test", header_.empty() ? "" : " params", header_,
                           "\n", body, "\nHALT\n"));
  }
  // What each block issues, run without checks.
  std::optional<Fault> Record(const Program& program, int blocks,
                              std::vector<std::vector<Issue>>* issues) {
    const Windows windows = *Windows::Make(windows_);
    Machine machine(preset_, windows);
    BlockContext context{&program, &preset_, params_};
    context.blocks = blocks;
    context.load_ub = Machine::LoadUb;
    context.load_context = &machine;
    for (context.block = 0; context.block < blocks; ++context.block) {
      machine.StartBlock();
      Recorder recorder;
      Sink* const sinks[] = {&machine, &recorder};
      BlockResult result = RunBlock(context, sinks);
      if (result.fault) return result.fault;
      issues->push_back(recorder.issues());
    }
    return std::nullopt;
  }
  StatusOr<LaunchResult> Launch(const Program& program, const LaunchOptions& options = {}) {
    std::vector<Window> windows = windows_;
    return npu::Launch(program, preset_, params_, windows, options);
  }
  // Launches without a fault.
  void Run(std::string_view body, const LaunchOptions& options = {}) {
    StatusOr<LaunchResult> result = Launch(body, options);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ASSERT_FALSE(result->fault) << result->fault->Text() << "\n" << body;
  }
  // The text of the fault; "no fault" or the status where there is none.
  std::string FaultOf(std::string_view body, const LaunchOptions& options = {}) {
    StatusOr<LaunchResult> result = Launch(body, options);
    if (!result.ok()) return std::string(result.status().message());
    return result->fault ? result->fault->Text() : "no fault";
  }

  template <typename T>
  std::vector<T> Get(int buffer) const {
    const std::vector<char>& bytes = buffers_[size_t(buffer)];
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
  std::vector<char>* Bytes(int buffer) { return &buffers_[size_t(buffer)]; }
  const Preset& preset() const { return preset_; }
  Preset* mutable_preset() { return &preset_; }

 private:
  int Add(const void* data, size_t bytes, bool writable) {
    const char* begin = static_cast<const char*>(data);
    buffers_.emplace_back(begin, begin + bytes);
    const uint64_t at = next_;
    next_ += (bytes + 64 + 511) / 512 * 512;
    windows_.push_back({at, int64_t(bytes), buffers_.back().data(), writable});
    params_.push_back(at);
    header_ += StrCat(" p", params_.size(), writable ? ":gm.w" : ":gm.r");
    return int(buffers_.size()) - 1;
  }

  Preset preset_;
  std::deque<std::vector<char>> buffers_;
  std::vector<Window> windows_;
  std::vector<uint64_t> params_;
  std::string header_;
  uint64_t next_ = kGmBase;
};

}  // namespace frazil::npu
