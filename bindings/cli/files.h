// Whole files for the command lines. Called by npu.cc, launch.cc and run.cc. Invariants: "-" is a
// standard stream; an error names the program (`op`) and the path; a file that is written is there
// whole or as it was.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace frazil::cli {

StatusOr<std::string> ReadFile(std::string_view op, const std::string& path);
// Not for "-": what goes to standard output is kept by the caller.
Status WriteFile(std::string_view op, const std::string& path, std::string_view bytes);

}  // namespace frazil::cli
