// Messages of one collective: begun together, waited for one by one or all. Used by
// distributed/collectives.cc on the thread that runs the collective.
//
// Whoever waits asks MPI again and again, since a rank that is lost must end the wait: first at
// once, then letting other threads and processes have the core, then asleep for moments.
//
// Invariant: memory that was given to a message is not written after the exchange is gone; what MPI
// may still write to then is kept for ever.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "distributed/collectives.h"
#include "distributed/world.h"

namespace frazil::distributed {

class Exchange {
 public:
  // `call`: for errors. `patient`: on a thread beside one that computes.
  Exchange(const CollectiveCall& call, bool patient) : call_(call), patient_(patient) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;

  Status Send(const char* bytes, int64_t count, int to, int tag);
  // Its number.
  StatusOr<size_t> Receive(char* bytes, int64_t count, int from, int tag);
  // The library's own sum over all ranks; `count` elements of the result.
  Status AllReduce(const char* x, char* out, int64_t count);
  Status ReduceScatter(const char* x, char* out, int64_t count);
  Status Wait(size_t number);
  Status WaitAll();
  // Memory that lives as long as a message may need it.
  char* Buffer(int64_t bytes);

 private:
  struct Message {
    Mpi::Request request;
    int rank;  // -1: all
    bool receives, done = false;
  };

  Status WaitFor(Message* message);
  Status Broken() const;

  const CollectiveCall& call_;
  const bool patient_;
  std::deque<Message> messages_;
  std::vector<std::unique_ptr<char[]>> buffers_;
};

}  // namespace frazil::distributed
