// What the operating system says of a file, as an error that tells which one and what was tried.
// Called by core/files; bindings/python chooses the exception by ErrnoOf.
#pragma once

#include <string_view>

#include "core/status.h"

namespace frazil {

// "[op] cannot WHAT 'path': why." of errno.
Status SystemError(std::string_view op, std::string_view what, std::string_view path);

// The errno of such an error, else 0.
int ErrnoOf(const Status& status);

}  // namespace frazil
