// What a command line comes to. Made by npu.cc and run.cc, printed by their main functions.
#pragma once

#include <cstdio>
#include <string>

namespace frazil::cli {

struct Outcome {
  int status = 0;        // of the process: 1 after an error, a fault or a finding, 2: usage
  std::string out, err;  // for the standard streams
};

// To the standard streams; the process's status.
inline int Finish(const Outcome& outcome) {
  std::fwrite(outcome.out.data(), 1, outcome.out.size(), stdout);
  std::fwrite(outcome.err.data(), 1, outcome.err.size(), stderr);
  return std::fflush(stdout) == 0 ? outcome.status : 1;
}

}  // namespace frazil::cli
