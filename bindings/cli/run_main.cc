#include <string>
#include <vector>

#include "bindings/cli/run.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0), argv + argc);
  return frazil::cli::Finish(frazil::cli::RunProgram(args));
}
