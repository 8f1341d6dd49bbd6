// Where a long segment ends. Called by the session before it takes a call that would make one too
// long.
// Invariant: the answer depends on the calls of the path alone, so a replay cuts where the
// recording did.
//
// A Python loop arrives unrolled. Long segments are cut behind a whole number of bodies, so that
// all pieces of a loop are the same path of the trie (cut every 1024 calls, they would be as many
// different ones as the body has calls). What is no loop goes on: a training step is best planned as
// a whole, however many layers it has. A loop is told from a network by what its bodies take: those
// of a loop take what the one before made and what all of them take; each layer has weights of its
// own, or what its forward pass left. So has a loop over data or over parts of an array; it is cut,
// too, once it is longer than networks are deep.
//
// What the limits protect: a loop that never ends must not hold calls without limit, nor the arrays
// that they take, which eager code would have let go of. Where a path has taken more than
// kMostHeld, it ends as early as others did.
//
// The roll pass (jit/graph/passes/roll.cc, repeated_body.h) finds a body that the graph repeats, by
// what the nodes are and by where their operands come from, and makes it a graph of its own, in
// whose place one node stands (jit/graph/graph.h); where it is elementwise the loop is part of one
// kernel, whose state stays in registers (jit/graph/loop_kernel.h). A script puts the pieces of a
// loop together again (tracer/pieces.h), so a simulation of a thousand steps is one launch (of many
// thousand calls it is a loop before it gets there: counted_loop.h); and
// other segments up to kMaxSegment calls, which checks of indices parted: a check then comes before
// them all, with the few elementwise calls that make its indices, and the body runs where it fails.
#pragma once

#include "tracer/node.h"

namespace frazil::tracer {

// Where a path is looked at first, and from where on two bodies are a loop.
inline constexpr int kLoopSegment = 1024, kLongSegment = 4096;
// Fewer bodies of at most kLongSegment calls may as well be the layers of a network.
inline constexpr int kFewBodies = 8;
// No network has as many layers.
inline constexpr int kManyBodies = 256;
// Calls of the longest segment, and bytes that one takes beyond which it has no more than
// kLongSegment.
inline constexpr int kMaxSegment = 1 << 17;
inline constexpr int64_t kMostHeld = int64_t{4} << 30;

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
