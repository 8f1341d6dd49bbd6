// Proofs by exhaustion over all small shapes for the rows of rewrites.def. Views are compared by
// where their elements lie and reductions by which elements they meet, so for all data.
#include <algorithm>

#include "gtest/gtest.h"
#include "tests/jit/rewrites_testing.h"

namespace frazil::jit {
namespace {

using AttrList = std::vector<Attrs>;

// All vectors that take one of `parts` at each place.
AttrList Product(const std::vector<AttrList>& parts) {
  AttrList all = {{}};
  for (const AttrList& part : parts) {
    AttrList longer;
    for (const Attrs& some : all) {
      for (const Attrs& more : part) {
        longer.push_back(some);
        longer.back().insert(longer.back().end(), more.begin(), more.end());
      }
    }
    all = std::move(longer);
  }
  return all;
}

AttrList ShapesOfRank(int rank, int64_t least, int64_t most) {
  AttrList extents;
  for (int64_t n = least; n <= most; ++n) extents.push_back({n});
  return Product(std::vector<AttrList>(rank, extents));
}

AttrList SlicesOfAxis(int64_t n) {
  AttrList all = {{0, 1, 0}};
  for (int64_t start = 0; start < n; ++start) {
    for (const int64_t step : {-2, -1, 1, 2, 3}) {
      for (int64_t size = 1, at = start; at >= 0 && at < n; ++size, at += step)
        all.push_back({start, step, size});
    }
  }
  return all;
}

// Every attribute that inference may accept for an op of x, up to a small rank and extent.
AttrList AllAttrs(OpId op, const Layout* x) {
  AttrList all;
  if (op == OpId::k_permute_dims) {
    Attrs axes;
    for (int i = 0; i < x->rank; ++i) axes.push_back(i);
    do all.push_back(axes);
    while (std::next_permutation(axes.begin(), axes.end()));
  } else if (op == OpId::k_reshape || op == OpId::k_broadcast_to) {
    for (int rank = 0; rank <= 3; ++rank) {
      for (const Attrs& dims : ShapesOfRank(rank, 0, op == OpId::k_reshape ? 4 : 3))
        all.push_back(dims);
    }
  } else if (op == OpId::k_slice) {
    std::vector<AttrList> axes;
    for (const int64_t n : x->dims()) axes.push_back(SlicesOfAxis(n));
    all = Product(axes);
  } else {
    for (int64_t axes = 0; axes < int64_t{1} << x->rank; ++axes) {
      for (const int64_t keeps : {0, 1}) all.push_back({axes, keeps});
    }
  }
  return all;
}

// Row-major and column-major memory of small shapes.
std::vector<const Layout*> SmallLayouts(int rank, int64_t least, int64_t most) {
  std::vector<const Layout*> layouts;
  for (const Attrs& dims : ShapesOfRank(rank, least, most)) {
    Attrs strides(dims.size());
    for (int64_t i = 0, next = 1; i < rank; next *= dims[i++]) strides[i] = next;
    layouts.push_back(Dense(dims));
    if (Intern(dims, strides) != layouts.back()) layouts.push_back(Intern(dims, strides));
  }
  return layouts;
}

// Calls f(graph) with every chain of the row's ops over an input of this layout.
template <typename F>
void ForAllChains(const Rewrite& row, const Choices& choices, DType dtype, const Layout* layout,
                  const F& f) {
  Graph graph;
  graph.AddInput(dtype, Device(), layout, false);
  const auto extend = [&](auto& self, int term, int32_t x) -> void {
    if (term < 0) {
      graph.outputs = {x};
      f(graph);
      return;
    }
    const Term& t = row.left.terms[term];
    const OpId op = t.choice >= 0 ? choices[t.choice] : t.op;
    const size_t size = graph.nodes.size();
    for (const Attrs& attrs : AllAttrs(op, graph.nodes[x].layout.get())) {
      const auto id = graph.AddOp(op, {x}, attrs);
      if (id.ok()) self(self, term - 1, *id);
      graph.nodes.resize(size);
    }
  };
  extend(extend, row.left.calls() - 1, 0);
}

bool IsChainOf(const Rewrite& row, OpClass klass) {
  for (int i = 0; i < row.left.size - 1; ++i) {
    const Term& term = row.left.terms[i];
    const OpId op = term.choice >= 0 ? AllChoices(row)[0][term.choice] : term.op;
    if (term.arity != 1 || (Info(op).klass != klass && Info(op).klass != OpClass::kView))
      return false;
  }
  const Term& root = row.left.terms[0];
  return Info(root.choice >= 0 ? AllChoices(row)[0][root.choice] : root.op).klass == klass;
}

TEST(RewriteProofs, ViewsOfAllSmallShapes) {
  int rows = 0;
  for (const Rewrite& row : Rewrites()) {
    if (!IsChainOf(row, OpClass::kView)) continue;
    SCOPED_TRACE(NameOfRow(row));
    ++rows;
    int64_t fired = 0, chains = 0;
    const RewriteSet rewrites({&row, 1});
    for (const Choices& choices : AllChoices(row)) {
      // Slices have many attributes; axes do not depend on each other.
      const bool slices = row.left.terms[0].op == OpId::k_slice || row.left.terms[0].choice >= 0;
      for (int rank = 0; rank <= (slices ? 2 : 3); ++rank) {
        const int64_t most = slices && rank == 1 ? 5 : slices ? 2 : 3;
        for (const Layout* layout : SmallLayouts(rank, 0, most)) {
          ForAllChains(row, choices, DType::kI8, layout, [&](const Graph& before) {
            ++chains;
            Graph after = before;
            FoldWith(&after, rewrites);
            if (after.outputs == before.outputs) return;
            ++fired;
            const int32_t x = before.outputs[0], y = after.outputs[0];
            const Node &from = before.nodes[BaseOf(before, x)], &to = after.nodes[BaseOf(after, y)];
            ASSERT_EQ(after.nodes[y].layout, before.nodes[x].layout) << Print(before);
            ASSERT_EQ(OffsetInBase(after, y), OffsetInBase(before, x)) << Print(before);
            ASSERT_TRUE(from.input == to.input && from.layout == to.layout)
                << Print(before) << Print(after);
          });
        }
      }
    }
    EXPECT_GT(fired, 100) << chains;
  }
  EXPECT_GE(rows, 6);
}

// Which elements of x each element of a node has met, as bits.
std::vector<uint32_t> ElementsMet(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const Layout* layout = node.layout.get();
  std::vector<uint32_t> met(layout->size, 0);
  if (node.input) {
    for (size_t i = 0; i < met.size(); ++i) met[i] = 1u << i;
    return met;
  }
  const std::vector<uint32_t> from = ElementsMet(graph, node.operands[0]);
  const Layout* x = graph.nodes[node.operands[0]].layout.get();
  for (size_t i = 0; i < from.size(); ++i) {
    std::vector<int64_t> at(x->rank);
    for (int64_t axis = x->rank - 1, rest = int64_t(i); axis >= 0; --axis) {
      at[axis] = rest % x->extents[axis];
      rest /= x->extents[axis];
    }
    int64_t to = 0;
    if (node.op == OpId::k_permute_dims) {
      for (int axis = 0; axis < x->rank; ++axis)
        to = to * layout->extents[axis] + at[node.attrs[axis]];
    } else if (node.op == OpId::k_reshape) {
      to = int64_t(i);
    } else {
      for (int axis = 0; axis < x->rank; ++axis) {
        if (!(node.attrs[0] >> axis & 1)) to = to * x->extents[axis] + at[axis];
      }
    }
    met[to] |= from[i];
  }
  return met;
}

// Maxima, minima, any, all and what wraps have no order: the same elements give the same bits.
TEST(RewriteProofs, ReductionsOfAllSmallShapes) {
  int rows = 0;
  for (const Rewrite& row : Rewrites()) {
    if (!IsChainOf(row, OpClass::kReduce)) continue;
    SCOPED_TRACE(NameOfRow(row));
    ++rows;
    int64_t fired = 0;
    const RewriteSet rewrites({&row, 1});
    for (const Choices& choices : AllChoices(row)) {
      const DType dtype = Info(choices[0]).types == TypeSet::kBool ? DType::kBool : DType::kI8;
      for (int rank = 0; rank <= 3; ++rank) {
        for (const Layout* layout : SmallLayouts(rank, 1, 3)) {
          ForAllChains(row, choices, dtype, layout, [&](const Graph& before) {
            Graph after = before;
            // An output must not become a view of an input.
            after.outputs = {*after.AddOp(OpId::k_copy, {before.outputs[0]}, {})};
            FoldWith(&after, rewrites);
            const int32_t root = after.nodes[after.outputs[0]].operands[0];
            if (root == before.outputs[0]) return;
            ++fired;
            ASSERT_EQ(ElementsMet(after, root), ElementsMet(before, before.outputs[0]))
                << Print(before) << Print(after);
            ASSERT_EQ(after.nodes[root].layout, before.nodes[before.outputs[0]].layout);
          });
        }
      }
    }
    EXPECT_GT(fired, 100);
  }
  EXPECT_EQ(rows, 5);
}

}  // namespace
}  // namespace frazil::jit
