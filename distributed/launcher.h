// Who started this process, as one of how many: read of the environment by distributed/world.cc.
// Invariant: nothing is opened and nobody is asked; what the variables leave out is an error that
// says so, or a world of one.
#pragma once

#include <string>

#include "core/status.h"
#include "distributed/rendezvous.h"

namespace frazil::distributed {

struct Launched {
  std::string by;  // "mpirun"; empty: nobody
  int size = 1;
  int local_rank = 0;  // among the ranks of this machine
  bool mpi = true;     // MPI knows the ranks
  // Where it does not: where they meet, and how they would be started so that it did.
  Meeting meeting;
  std::string advice;
};

StatusOr<Launched> ReadLauncher();

// "n[03-07,12]-x,m1": "n03-x".
std::string FirstOfNodes(const std::string& list);

}  // namespace frazil::distributed
