// Bodies that a graph repeats: BodyFinder finds them, WriteLoop (loop_writer.cc) makes a loop of
// one. Called by the roll pass alone.
//
// Nodes are compared by what they are, then by where their operands come from: an operand of
// iteration t is a value of the same iteration, the state (a value of iteration t - 1), a value of
// its own from before the loop, or the same value in every iteration.
// Invariant: what is found does what the repeated nodes do. Of a loop that is to be one kernel only
// the state behind the last iteration is read elsewhere, and only numbers are its iterations' own.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

// [first, first + length * times) repeats a body of `length` nodes.
struct Bodies {
  int32_t first, length, times;

  int32_t nodes() const { return length * times; }
  int32_t end() const { return first + nodes(); }
};

// Where a node of the body has an operand from.
struct BodySource {
  enum class Kind : uint8_t { kSame, kBody, kState, kEach } kind;
  int32_t id;  // kSame: the value; kBody, kState: place in the body; kEach: list among them
};

struct RepeatedBody {
  Bodies run;
  std::vector<absl::InlinedVector<BodySource, 3>> sources;  // of each node of the body
  // Places in the body. A body of steps may also read views of them, places with the source kBody.
  std::vector<int32_t> state;
  std::vector<int32_t> inits;              // as state: values before the loop
  std::vector<std::vector<int32_t>> each;  // a value for each iteration
  std::vector<int32_t> like;               // one of each of these lists
};

// Views into one dense value, at equal distances.
struct Slide {
  int32_t base;
  int64_t start, step;  // elements

  // Whose first two they are, if any.
  static std::optional<Slide> Of(const Graph& graph, int32_t first, int32_t second);
  // Whether `id` is number `t` of them.
  bool Has(const Graph& graph, int32_t id, int64_t t) const;
  bool HasAll(const Graph& graph, absl::Span<const int32_t> list) const;
};

// What the loop is to be: one kernel, or steps of a plan (of any ops).
enum class LoopOf : uint8_t { kKernel, kSteps };

class BodyFinder {
 public:
  // `good`: whether a loop that was found is wanted. Lives as long as this.
  BodyFinder(const Graph& graph, LoopOf what, absl::FunctionRef<bool(const RepeatedBody&)> good);

  // The first at or behind node `at`, if any.
  std::optional<RepeatedBody> Find(int32_t at);
  // The graph has changed.
  void Describe();

 private:
  int32_t Count() const { return static_cast<int32_t>(graph_.nodes.size()); }
  std::optional<RepeatedBody> FindAt(int32_t at, int32_t* tried);
  bool LooksRepeated(int32_t at, int32_t length);
  int32_t LooksTheSame(int32_t at, int32_t length);
  std::optional<RepeatedBody> Rotate(int32_t at, int32_t length);
  std::optional<RepeatedBody> Compare(int32_t first, int32_t length);
  bool CountTimes(RepeatedBody* loop);
  void AddIterations(RepeatedBody* loop, const std::vector<bool>& is_state);
  bool Fits(const RepeatedBody& loop, const BodySource& s, int32_t operand, int32_t t) const;
  bool MayRepeat(const Node& node) const;
  bool IsAlike(int32_t id, int32_t like) const;
  bool StaysInSlide(absl::Span<const int32_t> list, int32_t operand) const;
  int64_t CostOf(const RepeatedBody& loop) const;
  std::optional<BodySource> FindSource(int32_t place, int k, int32_t second,
                                       std::vector<std::pair<int32_t, int32_t>>* views,
                                       RepeatedBody* loop) const;
  bool AddState(int32_t place, int32_t init, RepeatedBody* loop) const;
  bool AddStateOfView(int32_t place, int32_t init, RepeatedBody* loop) const;
  bool StaysInside(const RepeatedBody& loop, const std::vector<bool>& is_state) const;

  const Graph& graph_;
  const bool steps_;
  const absl::FunctionRef<bool(const RepeatedBody&)> good_;
  std::vector<uint64_t> what_;       // a node and its type; 0: never part of a loop
  std::vector<int32_t> last_use_;    // the last node that reads it
  std::vector<int32_t> next_alike_;  // the next node of the same `what_`
  int64_t work_;                     // that is left
};

// Which values of the body are read outside of it: of each place the iterations, in order. What
// reads a view of one reads it.
std::vector<std::vector<int32_t>> FindKept(const RepeatedBody& body, const Graph& graph);

// Puts a loop (graph.h) in the place of the nodes; returns its node.
int32_t WriteLoop(const RepeatedBody& body, Graph* graph);

}  // namespace frazil::jit
