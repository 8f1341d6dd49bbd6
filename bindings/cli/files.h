// Whole files for the command line. Called by npu.cc and launch.cc. Invariant: "-" is a standard
// stream; an error names the path.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace frazil::cli {

StatusOr<std::string> ReadFile(const std::string& path);
// Not for "-": what goes to standard output is kept by the caller.
Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace frazil::cli
