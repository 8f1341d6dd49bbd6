// Messages of one collective: begun when it wants, asked for when somebody looks. Used by
// distributed/collectives.cc; one thread at a time.
//
// Invariant: memory that was given to a message is not written after the exchange is gone; what MPI
// may still write to then is kept for ever.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "distributed/world.h"

namespace frazil::distributed {

class Exchange {
 public:
  Exchange() = default;
  ~Exchange();
  Exchange(const Exchange&) = delete;

  Status Send(const char* bytes, int64_t count, int to, int tag);
  // Its number.
  StatusOr<size_t> Receive(char* bytes, int64_t count, int from, int tag);
  // The library's own sum over all ranks; `count` elements of the result.
  Status AllReduce(const char* x, char* out, int64_t count, DType dtype);
  Status ReduceScatter(const char* x, char* out, int64_t count, DType dtype);
  StatusOr<bool> Came(size_t number);
  StatusOr<bool> AllCame();
  size_t done() const { return done_; }  // messages
  std::vector<int> Open() const;         // the ranks of the others
  // Memory that lives as long as a message may need it.
  char* Buffer(int64_t bytes);

 private:
  struct Message {
    Mpi::Request request;
    int rank;  // -1: all
    bool done = false;
  };

  std::deque<Message> messages_;
  size_t all_below_ = 0;  // have come
  size_t done_ = 0;
  std::vector<std::unique_ptr<char[]>> buffers_;
};

}  // namespace frazil::distributed
