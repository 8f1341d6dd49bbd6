// The rewrites of Fold as data: a row of rewrites.def each, matched and built by one function.
// Called by fold.cc and by tests/jit/rewrites_test.cc, which proves every row. Invariant: the
// replacement of an exact row has the bits of what it replaces, for all data, and makes at most one
// node, so it never costs more, whoever else reads what was matched.
//
// What fold knows is data: jit/graph/passes/rewrites.def, a row for each rewrite. "subtract(add(x,
// y), y)" -> "x", exact for integers; "F(x:G(y))" -> "x" with lists of ops for F and G; conditions
// and attributes that a pattern cannot say (casts that lose nothing, composition of views) are
// named functions over dtypes, layouts and attributes (conditions.h). Patterns are read from text
// while the compiler runs (pattern.h): a row that is none does not compile. One function matches,
// operands that commute in either order (rewrite.cc); fold.cc applies the rows to every node in
// turn until none holds and sees to it that type and layout stay and no result becomes an alias of
// an input. The values of numbers are arguments of a plan, not part of its graph, so no row looks
// at them.
//
// A row is exact, exact for integers (and bool), or inexact. An exact one makes at most one node,
// so it costs nothing where others read what it matched. Inexact ones are never applied: no option
// asks for them; they stand there so that nobody adds them as exact. tests/jit/rewrites_test finds
// each row in random graphs, for every dtype and op that it admits, and runs both graphs on the
// interpreter over random bits and special values; a row that is never found fails, and so does an
// inexact one whose bits never differ. rewrites_proof_test goes over all pairs of one-byte
// integers, all 16-bit floats and all casts of 16-bit values, rewrites_shape_test over all small
// shapes, where views are compared by where elements lie and reductions by which elements they
// meet.
#pragma once

#include <bitset>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/graph/passes/pattern.h"

namespace frazil::jit {

enum class Exactness : uint8_t {
  kExact,             // the same bits for all data
  kExactForIntegers,  // and bool; floats would be rounded differently
  kInexact,           // never by default
};

// What the dtype of x may be.
enum class Of : uint8_t { kAny, kFloat, kInt, kBits, kBool, kSigned };  // kSigned: has negatives
bool Admits(Of of, DType dtype);

// Where a pattern was found.
struct Match {
  const Graph* graph;
  std::array<int32_t, kMaxTerms> at;  // the node of each op of the pattern
  std::array<int32_t, kCaptures> captures;
  std::array<OpId, kChoiceNames.size()> choices;

  const Node& node(int term) const { return graph->nodes[at[term]]; }
  const Node& x() const { return graph->nodes[captures[0]]; }
};

// What a pattern cannot say: whether the row holds here, and the attributes of the new op.
using Condition = bool (*)(const Match& match, Attrs* attrs);

struct Rewrite {
  Exactness exactness;
  Of of;
  std::string_view left_text, right_text, choices_text;
  Pattern left, right;
  std::array<OpSet, kChoiceNames.size()> choices;
  Condition when;
  int below;  // the first term below the root that is an op, an operand of the root; 0: none is

  bool MayStandFor(const Term& term, OpId op) const {
    return term.choice >= 0 ? choices[term.choice].Has(op) : term.op == op;
  }
};

absl::Span<const Rewrite> Rewrites();

// A value equal to node `id`, whose operands are simplified already, or -1: no match. It may append
// a node. `inexact`: floats may be rounded differently.
int32_t Apply(const Rewrite& rewrite, Graph* graph, int32_t id, bool inexact);

// Rows by the op that they replace.
class RewriteSet {
 public:
  explicit RewriteSet(absl::Span<const Rewrite> rows, bool inexact = false);
  absl::Span<const Rewrite* const> Of(OpId op) const { return by_op_[static_cast<size_t>(op)]; }
  bool inexact() const { return inexact_; }

 private:
  std::array<std::vector<const Rewrite*>, kNumOps> by_op_;
  bool inexact_;
};

// Fold with these rows.
void FoldWith(Graph* graph, const RewriteSet& rewrites);

}  // namespace frazil::jit
