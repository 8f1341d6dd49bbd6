// What processes exchange, as attributes of the op `collective` (core/ops.def). Filled in by
// distributed/functions.h, read by inference, gradient rules, vmap and the step that runs it
// (jit/library/collective.h). Invariant: the attributes say all that a result's shape depends on,
// so that this layer knows no processes.
#pragma once

#include <cstdint>

#include "core/op.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class Collective : uint8_t {
  kAllReduce,      // the sum of every rank's x, on all
  kReduceScatter,  // of the sum, the rank's part along axis 0
  kAllGather,      // every rank's x, one after another along axis 0
  kBroadcast,      // the peer's x
  kReduce,         // the sum on the peer, zeros elsewhere
  kAllToAll,       // along axis 0 a part for each rank, and from each
  kSend,           // nothing: x goes to the peer
  kRecv,           // what the peer sent, shaped like x
  kBarrier,        // nothing: all ranks are there
  kCollectives,
};

// Of which function a call is a part: ranks that ask for different ones do not agree, though the
// same bytes would travel. The native ones leave the order of a sum to the library that carries it.
enum class Reduction : uint8_t {
  kSum,
  kMean,
  kProd,
  kMin,
  kMax,
  kNativeSum,
  kNativeMean,
  kReductions
};

// Where the attributes stand. kCollectiveStarted: whether the call only begins, and the op
// `collective_wait` waits for its end.
enum CollectiveAttr {
  kCollectiveKind,
  kCollectiveRanks,
  kCollectiveReduction,
  kCollectiveGroup,
  kCollectivePeer,
  kCollectiveStarted,
  kCollectiveAttrs
};

inline Collective KindOfCollective(AttrSpan attrs) {
  return static_cast<Collective>(attrs[kCollectiveKind]);
}
inline bool IsMean(Reduction op) { return op == Reduction::kMean || op == Reduction::kNativeMean; }
inline bool IsNative(Reduction op) {
  return op == Reduction::kNativeSum || op == Reduction::kNativeMean;
}
inline bool IsSum(Reduction op) { return op == Reduction::kSum || IsMean(op) || IsNative(op); }
// Its rows along axis 0 belong to ranks.
inline bool ByRows(Collective kind) {
  return kind == Collective::kReduceScatter || kind == Collective::kAllGather ||
         kind == Collective::kAllToAll;
}

// An op that other processes see: it runs as often and in the order that the program says.
inline bool HasEffect(OpId op) { return Info(op).klass == OpClass::kCollective; }

}  // namespace frazil
#pragma GCC visibility pop
