// What a launch from the command line works on: memory from files or made up, and numbers. Called
// by npu.cc. Invariant: every parameter of the program is given exactly once.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "npu/simulator.h"

namespace frazil::cli {

class Arguments {
 public:
  static StatusOr<Arguments> Make(const npu::Program& program, const Options& options);

  absl::Span<const uint64_t> params() const { return params_; }
  // Onto the bytes of this object.
  std::vector<npu::Window> Windows();
  // Behind a parameter that is an address.
  const std::string& Bytes(const std::string& name) const {
    return buffers_[by_name_.at(name)].bytes;
  }

 private:
  struct Buffer {
    uint64_t address = 0;
    std::string bytes;
    bool writable = false;
  };
  Status AddMemory(const npu::Param& param, const std::string& data, uint64_t seed);
  Status Share(const npu::Param& param, const std::string& with);

  std::deque<Buffer> buffers_;
  std::map<std::string, size_t> by_name_;
  std::vector<uint64_t> params_;
};

}  // namespace frazil::cli
