#include "jit/graph/passes/rewrite.h"

#include <algorithm>

#include "jit/graph/passes/conditions.h"

namespace frazil::jit {
namespace {

constexpr Rewrite Row(Exactness exactness, Of of, std::string_view left, std::string_view right,
                      std::string_view choices, Condition when) {
  Rewrite row{exactness, of, left, right, choices, PatternOf(left), PatternOf(right), {}, when, 0};
  for (size_t i = 0; i < kChoiceNames.size(); ++i)
    row.choices[i] = ChoicesOf(choices, static_cast<int>(i));
  for (int i = row.left.size - 1; i > 0; --i) {
    if (row.left.terms[i].call) row.below = i;
  }
  if (exactness != Exactness::kInexact && row.right.calls() > 1)
    throw std::invalid_argument("an exact row makes more than one node");
  return row;
}

constexpr Rewrite kRewrites[] = {
#define FZ_REWRITE(exactness, of, left, right, choices, when) \
  Row(Exactness::exactness, Of::of, left, right, choices, conditions::when),
#include "jit/graph/passes/rewrites.def"
#undef FZ_REWRITE
};

class Matcher {
 public:
  Matcher(const Rewrite& row, const Graph& graph) : row_(row), match_{&graph, {}, {}, {}} {
    for (int i = 0; i < row.left.size; ++i) {
      if (row.left.terms[i].arity == 2) pairs_ |= 1u << i;
    }
  }

  // All orders of operands that commute, the written one first.
  bool Find(int32_t id, bool inexact, Attrs* attrs) {
    for (uint32_t swapped = 0;; swapped = (swapped - pairs_) & pairs_) {
      match_.captures.fill(-1);
      chosen_.fill(false);
      swapped_ = swapped;
      attrs->clear();
      if (Visit(0, id) >= 0 && HasDType(inexact) && row_.when(match_, attrs)) return true;
      if (swapped == pairs_) return false;
    }
  }

  const Match& match() const { return match_; }

 private:
  // The term behind those of `id`, or -1.
  int Visit(int t, int32_t id) {
    const Term& term = row_.left.terms[t];
    if (term.capture >= 0) {
      int32_t& captured = match_.captures[term.capture];
      if (captured >= 0 && captured != id) return -1;
      captured = id;
    }
    if (!term.call) return t + 1;
    const Node& node = match_.graph->nodes[id];
    if (node.input || node.role != Role::kOp || !Takes(term, node.op)) return -1;
    const bool swap = swapped_ >> t & 1;
    if (swap && !Has(node.op, traits::kCommutes)) return -1;
    match_.at[t] = id;
    int next = t + 1;
    for (int i = 0; i < term.arity && next >= 0; ++i)
      next = Visit(next, node.operands[swap ? 1 - i : i]);
    return next;
  }

  bool Takes(const Term& term, OpId op) {
    if (!row_.MayStandFor(term, op)) return false;
    if (term.choice < 0) return true;
    bool& chosen = chosen_[term.choice];
    OpId& choice = match_.choices[term.choice];
    if (chosen && choice != op) return false;
    chosen = true;
    choice = op;
    return true;
  }

  bool HasDType(bool inexact) const {
    const DType dtype = match_.x().dtype;
    if (!Admits(row_.of, dtype)) return false;
    return inexact || row_.exactness == Exactness::kExact ||
           (row_.exactness == Exactness::kExactForIntegers && !IsFloat(dtype));
  }

  const Rewrite& row_;
  Match match_;
  std::array<bool, kChoiceNames.size()> chosen_{};
  uint32_t pairs_ = 0, swapped_ = 0;
};

// Most nodes are told apart by what their operands are made of.
bool MayMatch(const Rewrite& row, const Graph& graph, int32_t id) {
  if (row.below == 0) return true;
  const auto& operands = graph.nodes[id].operands;
  return std::any_of(operands.begin(), operands.end(), [&](int32_t operand) {
    const Node& node = graph.nodes[operand];
    return !node.input && row.MayStandFor(row.left.terms[row.below], node.op);
  });
}

// The replacement's value, or -1 if inference refuses it.
int32_t Build(const Rewrite& row, const Match& match, AttrSpan attrs, Graph* graph, int* at) {
  const Term& term = row.right.terms[(*at)++];
  if (!term.call) return match.captures[term.capture];
  absl::InlinedVector<int32_t, 3> operands;
  for (int i = 0; i < term.arity; ++i) {
    operands.push_back(Build(row, match, {}, graph, at));
    if (operands.back() < 0) return -1;
  }
  const OpId op = term.choice >= 0 ? match.choices[term.choice] : term.op;
  const auto id = graph->AddOp(op, operands, attrs);
  return id.ok() ? *id : -1;
}

}  // namespace

bool Admits(Of of, DType dtype) {
  switch (of) {
    case Of::kAny:
      return true;
    case Of::kFloat:
      return IsFloat(dtype);
    case Of::kInt:
      return IsInt(dtype);
    case Of::kBits:
      return IsInt(dtype) || IsBool(dtype);
    case Of::kBool:
      return IsBool(dtype);
    case Of::kSigned:
      return IsFloat(dtype) || IsSigned(dtype);
  }
  __builtin_unreachable();
}

absl::Span<const Rewrite> Rewrites() { return kRewrites; }

int32_t Apply(const Rewrite& rewrite, Graph* graph, int32_t id, bool inexact) {
  if (!MayMatch(rewrite, *graph, id)) return -1;
  Matcher matcher(rewrite, *graph);
  Attrs attrs;
  if (!matcher.Find(id, inexact, &attrs)) return -1;
  int at = 0;
  return Build(rewrite, matcher.match(), attrs, graph, &at);
}

RewriteSet::RewriteSet(absl::Span<const Rewrite> rows, bool inexact) : inexact_(inexact) {
  for (const Rewrite& row : rows) {
    if (row.exactness == Exactness::kInexact && !inexact) continue;
    for (int op = 0; op < kNumOps; ++op) {
      if (row.MayStandFor(row.left.terms[0], static_cast<OpId>(op))) by_op_[op].push_back(&row);
    }
  }
}

}  // namespace frazil::jit
