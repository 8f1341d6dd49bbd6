// The command line of frazil-npu as a value. Called by npu.cc. Invariant: an option that a command
// does not know is an error, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "npu/simulator.h"

namespace frazil::cli {

using Settings = std::vector<std::pair<std::string, std::string>>;  // NAME=VALUE

struct Options {
  std::string command;
  std::string input;         // "-": standard input
  std::string output = "-";  // "-": standard output
  std::string preset;        // name or path of a JSON file; empty: the program's
  std::string format = "text";
  npu::LaunchOptions launch;  // mode, schedule, seed, blocks, flag_order, l2_warm
  Settings gm, set, dump;
  bool words = false;
};

StatusOr<Options> ParseOptions(absl::Span<const std::string> args);
// What frazil-npu alone prints.
std::string Usage();

// A decimal or hexadecimal number of 64 bits, perhaps negative.
StatusOr<uint64_t> ParseU64(std::string_view what, std::string_view text);

}  // namespace frazil::cli
