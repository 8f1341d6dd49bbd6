// BodyWriter: the instructions of a kernel for the nodes of a Space. Called by jit/lower only.
// Invariant: every op's result is rounded to its dtype before it is used, so fusing changes no
// bits.
#pragma once

#include <map>
#include <vector>

#include "jit/graph/space.h"
#include "jit/lower/elements.h"
#include "jit/lower/maker.h"

namespace frazil::jit {

class BodyWriter {
 public:
  // Adds the buffers of reads and outputs to `maker`.
  BodyWriter(const Graph& graph, const Space& space, KernelMaker* maker);

  // A reduction that runs over the loop, at a point of the unrolled axes (one coordinate for each
  // space axis, 0 for all others).
  struct LoopedReduce {
    int32_t id;
    std::vector<int64_t> at;
  };
  // In chunked kernels reductions are stored to these buffers (LoopedReduces order), not rounded.
  void SetPartials(std::vector<int> buffers) { partials_ = std::move(buffers); }
  std::vector<LoopedReduce> LoopedReduces() const;
  // After maker->ChooseAxes().
  void Write();

  int64_t cost() const { return space_.cost; }

 private:
  const Node& node(int32_t id) const { return graph_.nodes[id]; }
  const SpaceMember& member(int32_t id) const { return space_.members.find(id)->second; }
  bool IsMember(int32_t id) const { return space_.members.contains(id); }
  bool StoredInLoop(int32_t output) const;
  bool IsLooped(int32_t id) const;

  // A value and where on the unrolled axes that it varies along.
  using Key = std::pair<int, int64_t>;
  Key KeyOf(int32_t id) const { return {id, PointOf(member(id).varies)}; }
  int64_t PointOf(const std::vector<int>& axes) const;
  template <typename Fn>
  void ForPoints(const std::vector<int>& axes, const Fn& fn);
  // A buffer for each point of the unrolled axes, or one and distances in elements.
  struct Place {
    std::vector<int> axes, buffers;
    std::vector<int64_t> strides;
    bool near = true;
  };
  Place AddPlace(int32_t base, DType dtype, bool out, int64_t offset,
                 const std::vector<int64_t>& strides);
  std::pair<int, kir::V> At(const Place& place);  // buffer and distance here

  kir::V Wide(int32_t id);
  kir::V Narrow(int32_t id);
  kir::V Keep(kir::V v, kir::V* slot, bool outer);
  Pair& Value(int32_t id);
  Pair Compute(int32_t id);
  Pair ComputeElementwise(int32_t id);
  Pair ComputePad(int32_t id);
  Pair ComputeTake(int32_t id);
  kir::V Operand(int32_t id, int k);  // widened
  Pair& OperandPair(int32_t id, int k);
  kir::V ReduceElement(int32_t id);  // what a reduction reduces
  Pair ComputeWrittenOut(int32_t id);
  void Hoist(int32_t id, std::map<Key, bool>* seen);
  void WriteLoop(int phase);
  void WriteRepeat();
  void Ready(int32_t id);
  kir::V BeginReduce(int32_t id, int phase);
  void EndReduce(int32_t id, int phase, kir::V result);
  void Store(int32_t output);

  const Graph& graph_;
  const Space& space_;
  KernelMaker* maker_;
  kir::Builder& b_;
  bool open_ = false;                  // inside a loop
  std::vector<int64_t> at_;            // where on the unrolled axes instructions are written for
  std::map<Key, Pair> outer_, inner_;  // values made outside, and in the open loop
  std::map<Key, Pair> outer_reads_, inner_reads_;
  std::vector<Place> reads_;  // as space_.reads; no buffers: an immediate
  std::vector<int> partials_;
  std::map<int32_t, Place> outputs_, imaginary_;  // the latter of complex ones
  std::map<Key, kir::V> extremes_;                // of argmax and argmin, between their two loops
  std::map<Key, kir::V> raw_;                     // reductions before rounding
};

}  // namespace frazil::jit
