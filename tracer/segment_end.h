// Where a long segment ends. Called by the session before it takes a call that would make one too
// long.
// Invariant: the answer depends on the calls of the path alone, so a replay cuts where the
// recording did.
//
// A Python loop arrives unrolled. Long segments are cut behind a whole number of bodies, so that
// all pieces of a loop are the same path of the trie (cut every 1024 calls, they would be as many
// different ones as the body has calls). What repeats no body, or but a few times, as the layers of
// a network do, goes on up to 4096 calls: a training step is best planned as a whole. The roll pass
// (jit/graph/passes/roll.cc, repeated_body.h) finds a body that the graph repeats, by what the
// nodes are and by where their operands come from, and makes it a graph of its own, in whose place
// one node stands (jit/graph/graph.h); where it is elementwise the loop is part of one kernel,
// whose state stays in registers (jit/graph/loop_kernel.h). A script puts the pieces of a loop
// together again (tracer/pieces.h), so a simulation of a thousand steps is one launch; and other
// segments up to 4096 calls, which checks of indices parted: a check then comes before them all,
// with the few elementwise calls that make its indices, and the body runs where it fails. A path
// that repeats a body with another slice each time is not cut: later pieces could not find it.
#pragma once

#include "tracer/node.h"

namespace frazil::tracer {

// Segments have about as many calls at most: unrolled loops are cut into pieces, which are to be
// the same; others, where what a training step keeps for its backward pass is planned best as a
// whole, are cut to bound what a plan takes to make.
inline constexpr int kLoopSegment = 1024, kMaxSegment = 4096;
// A body that takes another slice each time has no path of its own for later pieces to find, but
// one plan for all of it is no larger.
inline constexpr int kMaxSliced = 1 << 15;
// Pieces of a loop of any ops that go together again: its plan has the body once.
inline constexpr int kMaxRolled = 1 << 17;
inline constexpr int kManyBodies = 32;
// Fewer bodies may as well be the layers of a network.
inline constexpr int kFewBodies = 8;

// The shortest body that the latter half of `calls`, or more of them, repeats. length 0: they do
// not repeat.
Bodies FindBodies(absl::Span<const uint64_t> calls);

// The attributes by which a call is known among the iterations of a loop: which slice it takes may
// differ from one to the next. Whether a loop is cut and whether its pieces go together again both
// ask this.
const Attrs& AttrsInBody(const CallRecord& call);

// True if no call may follow `last`. A path that repeats a body is cut behind a whole number of
// bodies: the next piece then begins as this one did and finds its path. Cut anywhere else, a loop
// would make as many different pieces as its body has calls.
bool EndsSegment(Node* last);

}  // namespace frazil::tracer
