// Every row of rewrites.def by random evaluation: graphs that match it, for every dtype that it
// admits and every op of its lists, on the interpreter, before and after. A row that is never found
// fails, and so does an inexact one whose bits never differ.
#include <algorithm>
#include <map>

#include "gtest/gtest.h"
#include "tests/jit/rewrites_testing.h"

namespace frazil::jit {
namespace {

class RandomPattern final : public PatternGraph {
 public:
  RandomPattern(Rng& rng, const Rewrite& row, const Choices& choices, DType dtype)
      : PatternGraph(row, choices), rng_(rng), dtype_(dtype) {
    dims_.resize(Below(rng, 4));
    const int64_t extents[] = {1, 2, 3};
    for (int64_t& n : dims_) n = extents[Below(rng, std::size(extents))];
    same_shapes_ = Below(rng, 3) > 0;
    cast_ = Below(rng, kNumRealDTypes);
  }

 private:
  void AddLeaf(Graph* graph, int capture) override {
    const DType dtype = kCaptureNames[capture] == 'w' ? DType::kBool : dtype_;
    const bool immediate = !same_shapes_ && Below(rng_, 5) == 0;
    graph->AddInput(dtype, Device(), immediate ? Scalar0d() : RandomLayout(), immediate);
  }

  const Layout* RandomLayout() {
    std::vector<int64_t> dims = dims_;
    if (!same_shapes_ && !dims.empty()) {
      if (Below(rng_, 3) == 0) dims.erase(dims.begin());
      if (Below(rng_, 3) == 0 && !dims.empty()) dims.back() = 1;
    }
    if (Below(rng_, 4)) return Dense(dims);
    std::vector<int64_t> strides(dims.size());  // the first axis varies fastest, with gaps
    int64_t next = 2;
    for (size_t i = 0; i < dims.size(); next *= dims[i++]) strides[i] = next;
    return Intern(dims, strides);
  }

  Attrs AttrsFor(OpId op, const Node& x) override {
    const Layout* layout = x.layout.get();
    const int rank = layout->rank;
    switch (Info(op).klass) {
      case OpClass::kCast:
        return {Below(rng_, 2) ? cast_ : Below(rng_, kNumRealDTypes)};
      case OpClass::kReduce:
        return {Below(rng_, int64_t{1} << rank), Below(rng_, 2)};
      case OpClass::kView:
        return ViewAttrs(op, layout);
      default:
        return {};
    }
  }

  Attrs ViewAttrs(OpId op, const Layout* layout) {
    Attrs attrs;
    const int rank = layout->rank;
    if (op == OpId::k_permute_dims) {
      for (int i = 0; i < rank; ++i) attrs.push_back(i);
      if (Below(rng_, 3)) std::shuffle(attrs.begin(), attrs.end(), rng_);
    } else if (op == OpId::k_reshape) {
      if (Below(rng_, 3) == 0) return {layout->size};
      const bool transposed = Below(rng_, 2);
      for (int i = 0; i < rank; ++i)
        attrs.push_back(layout->extents[transposed ? rank - 1 - i : i]);
      if (Below(rng_, 3) == 0) attrs.push_back(1);
    } else if (op == OpId::k_broadcast_to) {
      if (Below(rng_, 3) == 0) attrs.push_back(2);
      const bool wider = Below(rng_, 2);
      for (int i = 0; i < rank; ++i)
        attrs.push_back(wider && layout->extents[i] == 1 ? 3 : layout->extents[i]);
    } else {
      for (int i = 0; i < rank; ++i) {
        const int64_t n = layout->extents[i];
        const int64_t start = Below(rng_, n), step = Below(rng_, 2) ? 1 : -1;
        if (Below(rng_, 2))
          attrs.insert(attrs.end(), {start, step, step > 0 ? n - start : start + 1});
        else
          attrs.insert(attrs.end(), {0, 1, n});
      }
    }
    return attrs;
  }

  Rng& rng_;
  DType dtype_;
  std::vector<int64_t> dims_;
  bool same_shapes_;
  int64_t cast_;
};

// What a value of the middle costs.
int64_t Computing(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& n) { return !n.input && !n.view; });
}

Graph Folded(const Graph& before, const RewriteSet& rewrites) {
  Graph after = before;
  FoldWith(&after, rewrites);
  EXPECT_TRUE(Verify(after).ok()) << Verify(after) << Print(before) << Print(after);
  Dce(&after);
  return after;
}

struct Found {
  int graphs = 0, fired = 0, differed = 0;
};

// One random graph of a row, folded and run.
void TryRow(Rng& rng, const Rewrite& row, const RewriteSet& rewrites, const Choices& choices,
            DType dtype, bool may_differ, Found* found) {
  const auto made = RandomPattern(rng, row, choices, dtype).Make();
  if (!made) return;
  ++found->graphs;
  Graph before = *made;
  const auto root = static_cast<int32_t>(before.nodes.size()) - 1;
  // Another reader, so that the root is no output, which must stay in memory of its own.
  before.outputs = {*before.AddOp(OpId::k_copy, {root}, {})};
  if (Below(rng, 3) == 0) before.outputs.push_back(root);
  const Graph after = Folded(before, rewrites);
  Graph untouched = before;
  Dce(&untouched);
  if (Print(after) == Print(untouched)) return;
  ++found->fired;
  for (int round = 0; round < 3; ++round) {
    const std::string where = CompareGraphs(before, after, TellingInputs(rng, before));
    if (where.empty()) continue;
    ++found->differed;
    EXPECT_TRUE(may_differ) << where << "\n" << Print(before) << Print(after);
  }
  // Where all that the pattern reads is wanted, too, nothing becomes more.
  if (row.exactness == Exactness::kInexact) return;
  Graph wanted = *made;
  for (int32_t id = wanted.num_inputs; id <= root; ++id) wanted.outputs.push_back(id);
  EXPECT_LE(Computing(Folded(wanted, rewrites)), Computing(wanted)) << Print(wanted);
}

// Until some graphs were rewritten, if inference accepts any.
Found TryRowOften(Rng& rng, const Rewrite& row, const RewriteSet& rewrites, const Choices& choices,
                  DType dtype, bool may_differ) {
  Found found;
  for (int i = 0; i < 1000 && found.fired < 10; ++i) {
    TryRow(rng, row, rewrites, choices, dtype, may_differ, &found);
    if (i == 50 && found.graphs == 0) break;
  }
  return found;
}

TEST(Rewrites, EachIsFoundAndKeepsTheBits) {
  Rng rng(1);
  for (const Rewrite& row : Rewrites()) {
    if (row.exactness == Exactness::kInexact) continue;
    SCOPED_TRACE(NameOfRow(row));
    const RewriteSet rewrites({&row, 1});
    bool fired = false;
    for (const Choices& choices : AllChoices(row)) {
      bool chosen = false;
      for (int d = 0; d < kNumRealDTypes; ++d) {
        const auto dtype = static_cast<DType>(d);
        const bool exact = row.exactness == Exactness::kExact || !IsFloat(dtype);
        const Found found = TryRowOften(rng, row, rewrites, choices, dtype, false);
        chosen |= found.fired > 0;
        if (Admits(row.of, dtype) && exact) {
          EXPECT_EQ(found.fired > 0, found.graphs > 0) << ShortName(dtype);
        } else {
          EXPECT_EQ(found.fired, 0) << ShortName(dtype);
        }
      }
      EXPECT_TRUE(chosen) << "never found with " << Info(choices[0]).name << " and "
                          << Info(choices[1]).name;
      fired |= chosen;
    }
    EXPECT_TRUE(fired);
  }
}

TEST(Rewrites, InexactOnesAreOffAndInexact) {
  Rng rng(2);
  int rows = 0;
  for (const Rewrite& row : Rewrites()) {
    if (row.exactness == Exactness::kExact) continue;
    SCOPED_TRACE(NameOfRow(row));
    ++rows;
    const RewriteSet off({&row, 1}), on({&row, 1}, true);
    for (const Choices& choices : AllChoices(row)) {
      int differed = 0;
      for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
        EXPECT_EQ(TryRowOften(rng, row, off, choices, dtype, false).fired, 0);
        for (int i = 0; i < (differed ? 1 : 50); ++i) {
          const Found found = TryRowOften(rng, row, on, choices, dtype, true);
          EXPECT_GT(found.fired, 0) << ShortName(dtype);
          differed += found.differed;
        }
      }
      EXPECT_GT(differed, 0) << "is exact, as it seems";
    }
  }
  EXPECT_GT(rows, 0);
}

// What the pattern language promises: both orders of operands that commute, a letter is one value.
TEST(Rewrites, PatternsAreFoundInEitherOrder) {
  int folded = 0;
  for (const auto& [sum, root, want] : {std::tuple{"add %0, %1", "subtract %2, %0", true},
                                        {"add %0, %1", "subtract %2, %1", true},
                                        {"subtract %0, %1", "add %1, %2", true},
                                        {"subtract %0, %1", "add %0, %2", false},
                                        {"subtract %0, %1", "subtract %0, %2", true},
                                        {"subtract %0, %1", "subtract %1, %2", false}}) {
    const auto graph =
        Parse(StrCat("graph (i32[3], i32[3]) {\n %2 = ", sum, " : i32[3]\n %3 = ", root,
                     " : i32[3]\n %4 = copy %3 : i32[3]\n return %4\n}"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const RewriteSet rewrites(Rewrites());
    const Graph after = Folded(*graph, rewrites);
    EXPECT_EQ(Computing(after) == 1, want) << Print(after);
    ++folded;
  }
  EXPECT_EQ(folded, 6);
}

}  // namespace
}  // namespace frazil::jit
