#include <cstdio>
#include <string>
#include <vector>

#include "bindings/cli/npu.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0), argv + argc);
  const frazil::cli::Outcome outcome = frazil::cli::RunNpu(args);
  std::fwrite(outcome.out.data(), 1, outcome.out.size(), stdout);
  std::fwrite(outcome.err.data(), 1, outcome.err.size(), stderr);
  return std::fflush(stdout) == 0 ? outcome.status : 1;
}
