// A node that a pass adds where nothing can be wrong. Called by passes that write graphs anew.
// Invariant: an error is a bug of the pass, and stops the process.
#pragma once

#include "core/check.h"
#include "core/status.h"

namespace frazil::jit {

inline int32_t Must(const StatusOr<int32_t>& id) {
  FZ_CHECK(id.ok());
  return *id;
}

}  // namespace frazil::jit
