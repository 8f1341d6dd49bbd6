// How ranks find rank 0 where no MPI knows them (torchrun's variables, Slurm's without PMI): rank 0
// listens at MASTER_ADDR near MASTER_PORT, says who it is to whoever comes, and gives each its text.
// Called by distributed/world.cc, once.
//
// Near: torchrun's own store may hold the port itself, and another job the one behind it. So rank 0
// takes the first that is free of a few, and speaks first: who hears another job's name, or
// nothing, goes on to the next port.
//
// Invariant: nothing is sent to a listener that has not said the job's name.
#pragma once

#include <string>

#include "core/status.h"

namespace frazil::distributed {

struct Meeting {
  std::string host;
  int port = 0;
  std::string job;  // alike on its ranks, and on no others
  int rank = 0, size = 1;
};

// What rank 0 gives it is what it gives back on all ranks.
StatusOr<std::string> ShareByTcp(const Meeting& meeting, const std::string& text);

}  // namespace frazil::distributed
