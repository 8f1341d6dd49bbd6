// Who is told how far the writing of a file is (core/files/new_file.h): Python's bars, nobody else.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

// Is told, every few megabytes, how many bytes are written; may end it with an error.
using Told = absl::FunctionRef<Status(uint64_t)>;
inline Status NobodyTold(uint64_t) { return absl::OkStatus(); }

}  // namespace frazil
#pragma GCC visibility pop
