// The processes of a run, as their launcher started them: who is there, which of them form a group,
// and whether all are well. Called by the bindings, by distributed/functions.h and by
// distributed/collectives.h.
//
// Where the launcher tells MPI nothing (torchrun, Slurm without PMI), the ranks meet by TCP and all
// that travels does so over NCCL (distributed/accelerator.h); beside MPI that carries the tensors of
// GPUs, if all ranks have it. A process that no launcher started is a world of its own, in which
// every collective is local and nothing is opened. MPI is asked for threads; where it has none, calls
// of it are made one at a time under one lock, as they are anyway.
//
// Invariants: Init happens once; what it read of the launcher agrees with what MPI says, or is an
// error; once the world has failed every collective says why, at once and in every process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/liveness.h"
#include "distributed/mpi.h"

#pragma GCC visibility push(default)
namespace frazil::distributed {

// Some of the ranks, in the order in which they take part. Known by its content: ranks that name
// the same ones mean the same group.
struct Members {
  std::vector<int> ranks;
  uint64_t id = 0;
  int me = -1;  // this rank's place, or -1
  int size() const { return static_cast<int>(ranks.size()); }
};

struct InitOptions {
  double timeout = 10;  // seconds without a sign of life after which a rank counts as lost
  // Seconds that a collective waits for the messages of ranks that are alive.
  double collective_timeout = 1800;
};

Status Init(const InitOptions& options = {});
bool Initialized();
// 0 and 1 before Init.
int Rank();
int Size();
int LocalRank();  // among the ranks of this machine, as far as the launcher says
double CollectiveTimeout();
std::string Library();  // whose MPI; empty in a world of 1

// Of all ranks: what is numbered 0. Others have the numbers that this process met them in.
const Members& GroupNumbered(int64_t number);
StatusOr<int64_t> NumberOf(absl::Span<const int64_t> ranks);

// Whether this process was forked from a rank: it is none itself.
bool Forked();

// Tells the others that this rank ends because of an error; their collectives fail with it.
void Abandon(const std::string& why);
// Ends MPI. A failed world leaves without it, since nobody would come.
void Finalize();

}  // namespace frazil::distributed
#pragma GCC visibility pop

namespace frazil::distributed {

// For distributed/collectives.cc: null in a world of 1, TheMpi also where there is none.
Mpi* TheMpi();
Liveness* TheLiveness();

}  // namespace frazil::distributed
