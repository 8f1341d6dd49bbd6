// Page-locked memory through which the host's arrays go to and from a GPU, piece by piece, so that
// copying one piece overlaps moving the other. Called by Device. Invariant: on return the caller's
// memory is no longer read, or holds all that was asked for.
#pragma once

#include <array>

#include "core/threads/mutex.h"
#include "jit/cuda/libraries.h"

namespace frazil::cuda {

class Staging {
 public:
  explicit Staging(const DriverTable& driver);

  // In the current context, ordered on `stream`.
  CUresult In(CUdeviceptr to, const char* from, size_t bytes, CUstream stream);
  CUresult Out(char* to, CUdeviceptr from, size_t bytes, CUstream stream);

 private:
  struct Piece {
    char* memory = nullptr;
    CUevent done = nullptr;  // the device has read or written it
  };
  CUresult Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DriverTable& driver_;
  Mutex mutex_;
  std::array<Piece, 2> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace frazil::cuda
