// Collectives over memory. Called by the step that a plan has for one (jit/library/collective.cc),
// eager or traced, and by nobody else.
//
// The order of a sum is the ranks': each rank gets its part of everybody's array, adds in ascending
// rank order and gives the sum of its part to all. That is the traffic of a ring, it goes in chunks
// so that adding and sending overlap, and N processes have the bits of one that adds N arrays in
// order. Arrays that fit into a packet go to everybody, who adds for himself: one round, the same
// bits.
//
// Every message begins with a header that tells the call: its number in the group, what it is, of
// which array. Ranks whose calls differ find out there and then, and both are in the error.
//
// Invariants: calls of a process reach the others in the order in which they were made, however many
// are under way; a call that fails fails the world, since nobody knows which messages are still under way.
#pragma once

#include "core/collective.h"
#include "core/layout.h"
#include "core/status.h"

namespace frazil::distributed {

struct CollectiveCall {
  Collective kind = Collective::kBarrier;
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kF32;
  LayoutRef shape;    // of x
  int64_t group = 0;  // number (distributed/world.h)
  int peer = 0;       // place in the group

  static CollectiveCall Of(AttrSpan attrs, DType dtype, const Layout* shape);
  std::string text() const;  // "all_reduce(sum) of float32[3]"
};

// x is dense, and so is out; they do not overlap.
Status Run(const CollectiveCall& call, const char* x, char* out);

// Whether there are other ranks and no MPI: then calls of the CPU's tensors and of the GPU's go one
// way, in the order of the program, and nothing is started.
bool WithoutMpi();

// The same as Run, which goes on beside the caller; the memory has to stay until Wait, which is told it by
// the result. What a plan leaves without waiting for it has to be drained, by the same thread.
void Start(const CollectiveCall& call, const char* x, char* out);
Status Wait(const char* out);
void Drain();

}  // namespace frazil::distributed
