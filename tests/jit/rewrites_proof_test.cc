// Proofs by exhaustion for the rows of rewrites.def: integers and bool of one byte, all values of
// 16-bit floats, all casts of what has at most 16 bits.
#include <algorithm>

#include "gtest/gtest.h"
#include "tests/jit/rewrites_testing.h"

namespace frazil::jit {
namespace {

bool IsElementwise(const Rewrite& row) {
  for (const Choices& choices : AllChoices(row)) {
    for (int i = 0; i < row.left.size; ++i) {
      const Term& term = row.left.terms[i];
      const OpId op = term.choice >= 0 ? choices[term.choice] : term.op;
      if (term.call && Info(op).klass != OpClass::kElementwise) return false;
    }
  }
  return true;
}

// Vectors of one length as inputs.
class VectorPattern final : public PatternGraph {
 public:
  VectorPattern(const Rewrite& row, const Choices& choices, DType dtype, int64_t n)
      : PatternGraph(row, choices), dtype_(dtype), n_(n) {}

 private:
  void AddLeaf(Graph* graph, int capture) override {
    const bool condition = kCaptureNames[capture] == 'w';
    graph->AddInput(condition ? DType::kBool : dtype_, Device(), Dense({n_}), false);
  }
  Attrs AttrsFor(OpId, const Node&) override { return {}; }

  DType dtype_;
  int64_t n_;
};

// What each input of a row runs through: all its values, or special ones where that would be much.
std::vector<std::vector<uint64_t>> Domains(const PatternGraph& pattern, DType dtype) {
  std::vector<uint64_t> all(IsBool(dtype) ? 2 : int64_t{1} << BitsOf(dtype));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<std::vector<uint64_t>> domains;
  const auto leaves = pattern.Leaves();
  const auto count = std::count(leaves.begin(), leaves.end(), true);
  const bool narrow = all.size() <= 256;
  int whole = count <= (dtype == DType::kBF16 ? 1 : 2) ? (narrow ? 2 : 1) : narrow;
  for (int i = 0; i < kCaptures; ++i) {
    if (!leaves[i]) continue;
    if (kCaptureNames[i] == 'w') {
      domains.push_back({0, 1});
    } else {
      domains.push_back(whole > 0 ? all : SpecialBits(dtype));
      whole -= whole > 0;
    }
  }
  return domains;
}

// The row's graphs on every combination of its inputs' domains; false: there is no such graph.
bool Prove(const Rewrite& row, const Choices& choices, DType dtype) {
  const auto domains = Domains(VectorPattern(row, choices, dtype, 1), dtype);
  int64_t n = 1;
  for (const auto& domain : domains) n *= static_cast<int64_t>(domain.size());
  auto made = VectorPattern(row, choices, dtype, n).Make();
  if (!made) return false;
  Graph before = *std::move(made);
  const auto root = static_cast<int32_t>(before.nodes.size()) - 1;
  before.outputs = {*before.AddOp(OpId::k_copy, {root}, {})};
  Graph after = before;
  FoldWith(&after, RewriteSet({&row, 1}));
  Dce(&after);
  EXPECT_NE(Print(after), Print(before));
  std::vector<ValueRef> inputs;
  int64_t period = 1;
  for (const auto& domain : domains) {
    const auto size = static_cast<int64_t>(domain.size());
    inputs.push_back(ValueOf(before.nodes[inputs.size()].dtype, Dense({n}),
                             [&](int64_t i) { return domain[i / period % size]; }));
    period *= size;
  }
  EXPECT_EQ(CompareGraphs(before, after, inputs), "") << Print(before) << Print(after);
  return true;
}

TEST(RewriteProofs, ElementwiseRowsForAllValuesOfNarrowTypes) {
  int proved = 0;
  for (const Rewrite& row : Rewrites()) {
    if (row.exactness == Exactness::kInexact || !IsElementwise(row)) continue;
    SCOPED_TRACE(NameOfRow(row));
    for (const Choices& choices : AllChoices(row)) {
      int types = 0;
      for (const DType dtype : {DType::kBool, DType::kI8, DType::kU8, DType::kF16, DType::kBF16}) {
        if (!Admits(row.of, dtype)) continue;
        if (IsFloat(dtype) && row.exactness != Exactness::kExact) continue;
        types += Prove(row, choices, dtype);
      }
      EXPECT_GT(types, 0);
      proved += types;
    }
  }
  EXPECT_GT(proved, 100);
}

// Casts: x of every value that has at most 16 bits, all pairs of dtypes.
TEST(RewriteProofs, CastsOfAllValuesOfNarrowTypes) {
  int fired = 0, kept = 0;
  std::vector<Rewrite> casts;
  for (const Rewrite& row : Rewrites()) {
    if (row.left_text.starts_with("astype")) casts.push_back(row);
  }
  const RewriteSet rewrites(casts);
  for (const DType dtype : {DType::kBool, DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                            DType::kF16, DType::kBF16}) {
    const int64_t n = IsBool(dtype) ? 2 : int64_t{1} << BitsOf(dtype);
    const ValueRef x = ValueOf(dtype, Dense({n}), [](int64_t i) { return uint64_t(i); });
    Graph before;
    before.AddInput(dtype, Device(), x->layout, false);
    for (int middle = 0; middle < kNumRealDTypes; ++middle) {
      const int32_t cast = *before.AddOp(OpId::k_astype, {0}, {middle});
      for (int to = 0; to < kNumRealDTypes; ++to) {
        const int32_t back = *before.AddOp(OpId::k_astype, {cast}, {to});
        before.outputs.push_back(*before.AddOp(OpId::k_copy, {back}, {}));
      }
    }
    Graph after = before;
    FoldWith(&after, rewrites);
    Dce(&after);
    for (size_t i = 0; i < after.outputs.size(); ++i) {
      const Node& copy = after.nodes[after.outputs[i]];
      const Node& cast = after.nodes[copy.operands[0]];
      (cast.input || after.nodes[cast.operands[0]].input ? fired : kept) += 1;
    }
    EXPECT_EQ(CompareGraphs(before, after, {&x, 1}), "");
  }
  EXPECT_GT(fired, 300);
  EXPECT_GT(kept, 300);
}

}  // namespace
}  // namespace frazil::jit
