// MPI, opened at run time: Open MPI 4 and 5 and MPICH (and what has its ABI) without building
// against either. Called by distributed/wire.h and world.h.
//
// In Open MPI a handle is the address of a symbol, in MPICH an int; both travel in a register, so
// one declaration with words as handles serves both, and a request is a word in memory that either
// fills.
//
// Invariant: nothing is opened before Open is called; what a function of MPI says comes back as a
// status, since errors are returned on the communicator that is used, which is a copy of the
// world's.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/status.h"

namespace frazil::distributed {

class Mpi {
 public:
  struct Request {
    uintptr_t word = 0;
  };

  // Opens the library and starts MPI, if nobody has.
  Status Open();
  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& version() const { return version_; }  // "Open MPI v4.1.4 ..."
  // Whether several threads may call it at once.
  bool multiple() const { return provided_ >= kMultiple; }
  int most_tag() const { return most_tag_; }

  Status Send(const void* bytes, int64_t count, int to, int tag, Request* request);
  Status Receive(void* bytes, int64_t count, int from, int tag, Request* request);
  StatusOr<bool> Test(Request* request);
  // The same, waited for: before anything else is there that tells of lost ranks.
  Status SendNow(const void* bytes, int64_t count, int to);
  Status ReceiveNow(void* bytes, int64_t count, int from);

  // The library's own sums over all ranks, in the order that it likes; whether it has them of a
  // dtype. `count`: of the result.
  bool Adds(DType dtype) const { return TypeOf(dtype) != 0; }
  Status AllReduce(const void* x, void* out, int64_t count, DType dtype, Request* request);
  Status ReduceScatter(const void* x, void* out, int64_t count, DType dtype, Request* request);
  // Waits for all ranks; only if Open has started MPI.
  void Finalize();

 private:
  static constexpr int kMultiple = 3, kSuccess = 0;
  using Handle = uintptr_t;

  Status Load();
  Status WaitFor(Request* request);
  Handle TypeOf(DType dtype) const;
  Status Check(const char* what, int code);

  void* library_ = nullptr;
  std::string path_, version_;
  bool started_ = false;
  int rank_ = 0, size_ = 1, provided_ = 0;
  int most_tag_ = 32767, tag_key_ = 0;  // what the standard promises; MPI_TAG_UB
  Handle world_ = 0, byte_ = 0, errors_return_ = 0, sum_ = 0;
  Handle types_[16] = {};   // of dtypes that MPI adds
  void* ignore_ = nullptr;  // MPI_STATUS_IGNORE
  Handle communicator_ = 0;

  struct Functions {
#define FZ_MPI(name, ...) int (*name)(__VA_ARGS__) = nullptr;
#include "distributed/mpi.def"
  } mpi_;
};

}  // namespace frazil::distributed
