// Ways that branches take while a call is written down, whatever their data say: fz.export has the
// branches of `cond` and `switch` done that no example takes. Made and read by the binding
// (bindings/python/program_module.cc), asked by tracer/script_builder.cc. Invariant: one thread's; a
// number that is read while `outcome` is set is known as that in the program, in the tensor it stays
// what it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace frazil::tracer {

struct Choices {
  std::vector<int64_t> given;  // of the first branches; of the others data decide
  std::vector<std::pair<int64_t, int64_t>> made;  // which of how many
  std::optional<uint64_t> outcome;
  int64_t reads = 0;  // of numbers; a loop may never end for data that are not its branch's
  static constexpr int64_t kMostReads = 4096;

  // This thread's; null while nobody chooses.
  static std::unique_ptr<Choices>& Current();
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
