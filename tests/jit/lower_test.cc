// Fuse and Lower: results against a scalar evaluation, fused against unfused bit for bit, over
// dtypes and layouts.
#include "jit/lower/lower.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "jit/emit/interp/interp.h"
#include "jit/emit/x86/x86_emitter.h"
#include "tests/jit/graph_reference.h"
#include "tests/jit/graph_run.h"

namespace frazil::jit {
namespace {

using Rng = std::mt19937_64;
using DimsVector = std::vector<int64_t>;

int64_t Mask(std::initializer_list<int> axes) {
  int64_t mask = 0;
  for (int a : axes) mask |= int64_t{1} << a;
  return mask;
}

// A graph being built; every AddOp must succeed.
struct Builder {
  Graph graph;

  int32_t In(DType dtype, const Layout* layout, bool immediate = false) {
    return graph.AddInput(dtype, Device(), layout, immediate);
  }
  int32_t In(DType dtype, DimsVector dims) { return In(dtype, Dense(dims)); }
  int32_t Op(OpId op, std::vector<int32_t> operands, Attrs attrs = {}) {
    const auto id = graph.AddOp(op, operands, attrs);
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
};

// Mostly small numbers, integers now and then, so that sums, comparisons and shifts meet ties and
// zeros.
uint64_t RandomBits(DType t, Rng& rng) {
  if (IsBool(t)) return rng() & 1;
  const int kind = int(rng() % 16);
  if (!IsFloat(t)) {
    const uint64_t mask = BitsOf(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitsOf(t)) - 1;
    if (kind == 0) return rng() & mask;
    if (kind == 1) return (uint64_t{1} << (BitsOf(t) - 1)) & mask;
    return (IsSigned(t) ? rng() % 13 - 6 : rng() % 13) & mask;
  }
  const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0};
  if (kind == 0 && rng() % 4 == 0) return FromDouble(t, specials[rng() % 6]);
  if (kind < 4) return FromDouble(t, double(int(rng() % 7)) - 3);
  return FromDouble(t, (double(rng() % 2000001) - 1e6) / 2.5e5);
}

Elements Random(DType t, const Layout* layout, Rng& rng) {
  Elements x{t, {layout->extents, layout->extents + layout->rank}, {}};
  for (int64_t i = 0; i < layout->size; ++i) x.bits.push_back(RandomBits(t, rng));
  // A broadcast axis holds one element many times.
  for (int64_t i = 0; i < layout->size; ++i) {
    int64_t rest = i, first = 0, step = 1;
    for (int a = layout->rank - 1; a >= 0; --a) {
      if (layout->strides_[a] != 0) first += rest % layout->extents[a] * step;
      rest /= layout->extents[a];
      step *= layout->extents[a];
    }
    x.bits[i] = x.bits[first];
  }
  return x;
}

std::vector<Elements> RandomInputs(const Graph& graph, Rng& rng) {
  std::vector<Elements> inputs;
  for (int i = 0; i < graph.num_inputs; ++i) {
    inputs.push_back(Random(graph.nodes[i].dtype, graph.nodes[i].layout, rng));
  }
  return inputs;
}

// kinds: 0 dense, 1 transposed, 2 rows with gaps, 3 reversed, 4 broadcast along the first axis, 5
// along the last.
constexpr int kLayouts = 6;
const Layout* MakeLayout(const DimsVector& dims, int kind) {
  DimsVector strides(dims.size());
  int64_t step = 1;
  for (size_t a = dims.size(); a-- > 0;) {
    strides[a] = step;
    step *= dims[a] + (kind == 2);
  }
  if (kind == 1) {
    step = 1;
    for (size_t a = 0; a < dims.size(); ++a) {
      strides[a] = step;
      step *= dims[a];
    }
  }
  if (kind == 3) {
    for (int64_t& s : strides) s = -s;
  }
  if (kind == 4 && !dims.empty()) strides.front() = 0;
  if (kind == 5 && !dims.empty()) strides.back() = 0;
  return Intern(dims, strides);
}

class LowerTest : public testing::Test {
 protected:
  LowerTest() {
    if (const auto isa = X86Emitter::Detect()) x86_ = std::make_unique<X86Emitter>(*isa);
  }

  std::vector<Elements> Run(const Graph& graph, const std::vector<Elements>& inputs, bool fuse,
                            Emitter* emitter) {
    counts_ = {};
    auto out = RunGraph(graph, inputs, fuse, emitter, &counts_);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : std::vector<Elements>{};
  }

  void ExpectSame(const std::vector<Elements>& a, const std::vector<Elements>& b,
                  const Graph& graph, const char* what) {
    ASSERT_EQ(a.size(), b.size());
    std::string texts;
    for (const std::string& t : counts_.texts) texts += t;
    for (size_t i = 0; i < a.size(); ++i) {
      std::string where;
      ASSERT_TRUE(Same(a[i], b[i], &where)) << what << ", output " << i << ", " << where << "\n"
                                            << Print(graph) << texts;
    }
  }

  // Unfused, fused, on the interpreter and compiled: the same bits; and those of the reference if
  // it has them.
  void Check(const Graph& graph, Rng& rng, bool exact) {
    const std::vector<Elements> inputs = RandomInputs(graph, rng);
    const auto unfused = Run(graph, inputs, false, interpreter_.get());
    ExpectSame(unfused, Run(graph, inputs, true, interpreter_.get()), graph, "fused");
    if (exact) ExpectSame(unfused, Reference(graph, inputs), graph, "reference");
    if (x86_) ExpectSame(unfused, Run(graph, inputs, true, x86_.get()), graph, "x86");
  }

  std::unique_ptr<Emitter> interpreter_ = NewInterpreter(), x86_;
  RunCounts counts_;
};

std::vector<DType> Dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kNumRealDTypes; ++i) all.push_back(DType(i));
  return all;
}

bool Shifts(OpId op) {
  return op == OpId::k_bitwise_left_shift || op == OpId::k_bitwise_right_shift;
}

TEST_F(LowerTest, EveryElementwiseOpMeansWhatItsReferenceSays) {
  Rng rng(1);
  for (int i = 0; i < kNumOps; ++i) {
    const OpId op = OpId(i);
    const OpInfo& info = Info(op);
    if (info.klass != OpClass::kElementwise) continue;
    for (DType t : Dtypes()) {
      if (!Accepts(info.types, t) || (Shifts(op) && IsFloat(t))) continue;
      Builder b;
      std::vector<int32_t> operands;
      for (int k = 0; k < info.arity; ++k) {
        operands.push_back(b.In(op == OpId::k_where && k == 0 ? DType::kBool : t, {3, 67}));
      }
      b.graph.outputs = {b.Op(op, operands)};
      Check(b.graph, rng, !(IsInexact(op) && IsFloat(t)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(LowerTest, CastsBetweenAllTypes) {
  Rng rng(3);
  for (DType from : Dtypes()) {
    Builder b;
    const int32_t x = b.In(from, {101});
    for (DType to : Dtypes()) b.graph.outputs.push_back(b.Op(OpId::k_astype, {x}, {int64_t(to)}));
    Check(b.graph, rng, true);
  }
}

TEST_F(LowerTest, LayoutsOfInputs) {
  Rng rng(4);
  const std::vector<std::pair<DimsVector, DimsVector>> shapes = {
      {{}, {}},          {{1}, {17}},         {{33}, {33}},     {{5, 70}, {70}},
      {{5, 70}, {5, 1}}, {{4, 1, 9}, {3, 9}}, {{0, 3}, {1, 3}}, {{2, 3, 4, 5}, {3, 1, 5}},
      {{1, 1}, {1}}};
  for (const auto& [da, db] : shapes) {
    for (int la = 0; la < kLayouts; ++la) {
      for (int lb = 0; lb < kLayouts; ++lb) {
        for (DType t : {DType::kF32, DType::kI8, DType::kBF16, DType::kF64}) {
          Builder b;
          const int32_t x = b.In(t, MakeLayout(da, la)), y = b.In(t, MakeLayout(db, lb));
          const int32_t s = b.In(t, Scalar0d(), true);
          b.graph.outputs = {b.Op(OpId::k_multiply, {b.Op(OpId::k_subtract, {x, y}), s})};
          Check(b.graph, rng, true);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(LowerTest, ReductionsOverAllAxesTypesAndLayouts) {
  Rng rng(5);
  for (int i = 0; i < kNumOps; ++i) {
    const OpId op = OpId(i);
    if (Info(op).klass != OpClass::kReduce) continue;
    for (DType t : Dtypes()) {
      if (!Accepts(Info(op).types, t)) continue;
      for (int64_t mask = 0; mask < 8; ++mask) {
        Builder b;
        const int32_t x = b.In(t, MakeLayout({3, 19, 5}, int(rng() % kLayouts)));
        b.graph.outputs = {b.Op(op, {x}, {mask, int64_t(rng() % 2)})};
        Check(b.graph, rng, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(LowerTest, LongReductionsFollowTheChunkRule) {
  Rng rng(6);
  for (OpId op : {OpId::k_sum, OpId::k_prod, OpId::k_max, OpId::k_argmin}) {
    for (DType t : {DType::kF32, DType::kF64, DType::kF16, DType::kI16}) {
      for (auto [dims, mask] : std::vector<std::pair<DimsVector, int64_t>>{
               {{4097}, 1}, {{2, 9000}, 2}, {{9000, 3}, 1}, {{70, 80, 2}, 3}, {{130, 2, 64}, 5}}) {
        for (int layout : {0, 3}) {
          if (t == DType::kF64 && op != OpId::k_sum) continue;
          Builder b;
          const int32_t x = b.In(t, MakeLayout(dims, layout));
          b.graph.outputs = {b.Op(op, {x}, {mask, 0})};
          Check(b.graph, rng, true);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Over 4096 chunks are cut again: the kernels are those that shorter axes have tested.
TEST_F(LowerTest, TwoLevelsOfChunks) {
  const int64_t n = kir::kChunk * kir::kChunk + 5000;
  Builder b;
  b.graph.outputs = {b.Op(OpId::k_sum, {b.In(DType::kF32, {n})}, {1, 0})};
  const auto lowered = Lower(b.graph, Fuse(b.graph).groups[0]);
  ASSERT_TRUE(lowered.ok());
  ASSERT_EQ(lowered->launches.size(), 3u);
  EXPECT_EQ(lowered->temporary_bytes, (std::vector<int64_t>{(kir::kChunk + 2) * 4, 2 * 4}));
  const Launch &first = lowered->launches[0], &second = lowered->launches[1],
               &third = lowered->launches[2];
  EXPECT_EQ(first.extents, (std::vector<int64_t>{kir::kChunk + 2, n}));
  EXPECT_EQ(second.extents, (std::vector<int64_t>{2, kir::kChunk + 2}));
  EXPECT_EQ(third.extents, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(kir::ContentKey(first.kernel), kir::ContentKey(second.kernel));
  EXPECT_FALSE(third.kernel.chunked);
}

TEST_F(LowerTest, EmptyReductionsGiveTheIdentity) {
  Rng rng(8);
  for (const DimsVector& dims : std::vector<DimsVector>{{0}, {3, 0}, {0, 3}, {2, 0, 3}}) {
    Builder b;
    const int32_t x = b.In(DType::kF32, dims), y = b.In(DType::kI8, dims);
    for (int64_t mask = 0; mask < int64_t{1} << dims.size(); ++mask) {
      b.graph.outputs.push_back(b.Op(OpId::k_sum, {x}, {mask, 0}));
      b.graph.outputs.push_back(b.Op(OpId::k_prod, {y}, {mask, 1}));
    }
    Check(b.graph, rng, true);
  }
}

// --- fused shapes ---

int32_t Softmax(Builder& b, int32_t x, int axis) {
  const Attrs attrs = {int64_t{1} << axis, 1};
  const int32_t e = b.Op(OpId::k_exp, {b.Op(OpId::k_subtract, {x, b.Op(OpId::k_max, {x}, attrs)})});
  return b.Op(OpId::k_divide, {e, b.Op(OpId::k_sum, {e}, attrs)});
}

TEST_F(LowerTest, SoftmaxIsOneKernel) {
  Rng rng(9);
  for (DType t : {DType::kF32, DType::kF16, DType::kF64}) {
    for (int axis : {0, 1}) {
      for (int layout = 0; layout < kLayouts; ++layout) {
        Builder b;
        const int32_t x = b.In(t, MakeLayout({37, 75}, layout));
        b.graph.outputs = {Softmax(b, x, axis)};
        EXPECT_EQ(Fuse(b.graph).groups.size(), 1u);
        Check(b.graph, rng, false);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(LowerTest, LongSoftmaxIsCut) {
  Rng rng(10);
  Builder b;
  const int32_t x = b.In(DType::kF32, {3, 5000});
  b.graph.outputs = {Softmax(b, x, 1)};
  Check(b.graph, rng, false);
}

// The mean's axis is dropped and put back by a reshape: still one loop.
int32_t LayerNorm(Builder& b, int32_t x, int32_t scale, int32_t weight, bool keep) {
  const DimsVector dims(b.graph.nodes[x].layout->extents, b.graph.nodes[x].layout->extents + 2);
  const auto mean = [&](int32_t v) {
    int32_t s = b.Op(OpId::k_sum, {v}, {2, keep});
    if (!keep) s = b.Op(OpId::k_reshape, {s}, {dims[0], 1});
    return b.Op(OpId::k_multiply, {s, scale});
  };
  const int32_t d = b.Op(OpId::k_subtract, {x, mean(x)});
  const int32_t v = mean(b.Op(OpId::k_multiply, {d, d}));
  return b.Op(OpId::k_multiply, {b.Op(OpId::k_divide, {d, b.Op(OpId::k_sqrt, {v})}), weight});
}

TEST_F(LowerTest, LayerNormIsOneKernel) {
  Rng rng(11);
  for (DType t : {DType::kF32, DType::kBF16}) {
    for (bool keep : {true, false}) {
      Builder b;
      const int32_t x = b.In(t, {20, 48}), scale = b.In(t, Scalar0d(), true),
                    weight = b.In(t, {48});
      b.graph.outputs = {LayerNorm(b, x, scale, weight, keep)};
      EXPECT_EQ(Fuse(b.graph).groups.size(), 1u) << Print(b.graph);
      Check(b.graph, rng, true);
    }
  }
}

TEST_F(LowerTest, ColumnSumTakesItsProducerAndStoresIt) {
  Rng rng(12);
  Builder b;
  const int32_t x = b.In(DType::kF32, {50, 70}), y = b.In(DType::kF32, {70});
  const int32_t p = b.Op(OpId::k_multiply, {x, y});
  b.graph.outputs = {b.Op(OpId::k_sum, {p}, {1, 0}), p};
  EXPECT_EQ(Fuse(b.graph).groups.size(), 1u);
  Check(b.graph, rng, true);
}

TEST_F(LowerTest, ViewsOfIntermediates) {
  Rng rng(13);
  Builder b;
  const int32_t x = b.In(DType::kF32, {6, 10}), y = b.In(DType::kF32, {10, 6});
  const int32_t t = b.Op(OpId::k_negative, {x});
  const int32_t p = b.Op(OpId::k_permute_dims, {t}, {1, 0});
  const int32_t s = b.Op(OpId::k_add, {p, y});
  EXPECT_EQ((Fuse(b.graph).groups.size()), 1u);
  const int32_t r = b.Op(OpId::k_reshape, {s}, {60});
  const int32_t q = b.Op(OpId::k_slice, {r}, {59, -2, 30});
  const int32_t w = b.Op(OpId::k_broadcast_to,
                         {b.Op(OpId::k_reshape, {b.Op(OpId::k_exp, {q})}, {30, 1})}, {2, 30, 3});
  b.graph.outputs = {b.Op(OpId::k_sum, {w}, {4, 0}), p, q, b.Op(OpId::k_add, {t, t})};
  Check(b.graph, rng, false);
}

TEST_F(LowerTest, AValueAndItsTransposeDoNotShareAKernel) {
  Rng rng(14);
  Builder b;
  const int32_t x = b.In(DType::kF32, {9, 9});
  const int32_t t = b.Op(OpId::k_negative, {x});
  b.graph.outputs = {b.Op(OpId::k_subtract, {t, b.Op(OpId::k_permute_dims, {t}, {1, 0})})};
  EXPECT_EQ(Fuse(b.graph).groups.size(), 2u);
  Check(b.graph, rng, true);
}

// a feeds b outside the kernel that also wants a: joining them would make a cycle.
TEST_F(LowerTest, NoCyclesBetweenGroups) {
  Rng rng(15);
  Builder b;
  const int32_t x = b.In(DType::kF32, {8, 8});
  const int32_t a = b.Op(OpId::k_negative, {x});
  const int32_t s = b.Op(OpId::k_slice, {a}, {7, -1, 8, 0, 1, 8});
  const int32_t c = b.Op(OpId::k_abs, {s});
  b.graph.outputs = {
      b.Op(OpId::k_add,
           {a, b.Op(OpId::k_reshape, {b.Op(OpId::k_slice, {c}, {7, -1, 8, 0, 1, 8})}, {8, 8})})};
  Check(b.graph, rng, true);
}

// Loops of one element, the second over what the first leaves.
TEST_F(LowerTest, LoopsOfOneElement) {
  Rng rng(19);
  Builder b;
  const int32_t x = b.In(DType::kF64, {6, 1});
  const int32_t s = b.Op(OpId::k_negative, {b.Op(OpId::k_sum, {x}, {2, 1})});
  const int32_t p = b.Op(OpId::k_permute_dims, {s}, {1, 0});
  b.graph.outputs = {b.Op(OpId::k_min, {p}, {0, 0}),
                     b.Op(OpId::k_sign, {b.Op(OpId::k_permute_dims, {p}, {1, 0})})};
  b.graph.outputs.push_back(s);
  Check(b.graph, rng, true);
}

// --- movement ---

TEST_F(LowerTest, Movement) {
  Rng rng(16);
  for (DType t : {DType::kF32, DType::kU8, DType::kBool, DType::kBF16, DType::kI64}) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      Builder b;
      const int32_t x = b.In(t, MakeLayout({4, 7, 3}, layout)),
                    y = b.In(t, MakeLayout({4, 2, 3}, layout));
      const int32_t empty = b.In(t, {4, 0, 3}), fill = b.In(t, Scalar0d(), true);
      const int32_t c = b.Op(OpId::k_concat, {x, empty, y, x}, {1});
      const int32_t p = b.Op(OpId::k_pad, {x, fill}, {1, 0, 0, 0, 2, 3});
      const int32_t p2 = b.Op(OpId::k_pad, {empty, fill}, {0, 0, 1, 1, 0, 0});
      const int32_t k = b.Op(OpId::k_copy, {x});
      b.graph.outputs = {c,
                         p,
                         p2,
                         k,
                         b.Op(OpId::k_equal, {p, fill}),
                         b.Op(OpId::k_any, {b.Op(OpId::k_equal, {p, fill})}, {7, 0})};
      Check(b.graph, rng, true);
      if (HasFatalFailure()) return;
    }
  }
}

// Whole rows of 16 elements that lie together are transposed; others are copied one by one.
TEST_F(LowerTest, TransposedCopies) {
  Rng rng(21);
  struct Case {
    DType dtype;
    const Layout* layout;
    bool transposed;
  };
  const Case cases[] = {
      {DType::kF32, MakeLayout({64, 48}, 1), true},
      {DType::kI32, MakeLayout({16, 17}, 1), true},
      {DType::kF32, Intern(DimsVector{32, 35}, DimsVector{1, 40}), true},
      {DType::kF32, Intern(DimsVector{3, 32, 20}, DimsVector{640, 1, 32}), true},
      {DType::kU32, Intern(DimsVector{32, 3, 20}, DimsVector{1, 700, 33}), true},
      {DType::kF32, Intern(DimsVector{3, 16, 16}, DimsVector{0, 1, 16}), true},
      {DType::kF32, MakeLayout({64, 48}, 0), false},
      {DType::kF32, MakeLayout({15, 48}, 1), false},
      {DType::kF32, MakeLayout({16, 15}, 1), false},
      {DType::kF64, MakeLayout({32, 32}, 1), false},
      {DType::kF32, MakeLayout({32, 32}, 3), false},
  };
  for (const Case& c : cases) {
    Builder b;
    b.graph.outputs = {b.Op(OpId::k_copy, {b.In(c.dtype, c.layout)})};
    Check(b.graph, rng, true);
    ASSERT_EQ(counts_.texts.size(), 1);
    EXPECT_EQ(counts_.texts.begin()->find("k_copy_transposed") != std::string::npos, c.transposed);
  }
}

TEST_F(LowerTest, Take) {
  Rng rng(17);
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (int axis = 0; axis < 3; ++axis) {
      for (DType index : {DType::kI32, DType::kI64}) {
        Builder b;
        const int32_t x = b.In(DType::kF32, MakeLayout({4, 5, 6}, layout)),
                      i = b.In(index, MakeLayout({2, 3}, layout));
        const int32_t y = b.In(DType::kF32, {4, 5, 6});
        const int32_t z = b.Op(OpId::k_take, {x, i}, {axis});
        b.graph.outputs = {b.Op(OpId::k_negative, {z}),
                           b.Op(OpId::k_take, {b.Op(OpId::k_abs, {y}), i}, {axis}),
                           b.Op(OpId::k_sum, {z}, {Mask({axis}), 0})};
        std::vector<Elements> inputs = RandomInputs(b.graph, rng);
        for (uint64_t& v : inputs[i].bits) v = v % 4;
        // Keep a broadcast axis broadcast.
        inputs[i] = Gather(index, b.graph.nodes[i].layout,
                           Scatter(inputs[i], b.graph.nodes[i].layout).data());
        const auto want = Reference(b.graph, inputs);
        ExpectSame(Run(b.graph, inputs, true, interpreter_.get()), want, b.graph, "fused");
        ExpectSame(Run(b.graph, inputs, false, interpreter_.get()), want, b.graph, "unfused");
        if (x86_) ExpectSame(Run(b.graph, inputs, true, x86_.get()), want, b.graph, "x86");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(LowerTest, IotaAndRandomBits) {
  Rng rng(18);
  for (DType t : Dtypes()) {
    if (IsBool(t)) continue;
    Builder b;
    const int32_t y = b.In(t, {5, 50});
    const int32_t i = b.Op(OpId::k_iota, {}, {int64_t(t), 50});
    b.graph.outputs = {b.Op(OpId::k_add, {y, i}),
                       b.Op(OpId::k_sum, {b.Op(OpId::k_multiply, {i, i})}, {1, 0})};
    Check(b.graph, rng, true);
  }
  for (DimsVector dims : std::vector<DimsVector>{{}, {1}, {5}, {7, 9}, {0}, {64}}) {
    Builder b;
    const int32_t state = b.In(DType::kU64, {2});
    b.graph.outputs = {b.Op(OpId::k_random_bits, {state}, Attrs(dims.begin(), dims.end()))};
    std::vector<Elements> inputs = {{DType::kU64, {2}, {rng(), 0xFFFFFFFFu}}};
    const auto want = Reference(b.graph, inputs);
    ExpectSame(Run(b.graph, inputs, true, interpreter_.get()), want, b.graph, "interpreter");
    if (x86_) ExpectSame(Run(b.graph, inputs, true, x86_.get()), want, b.graph, "x86");
  }
}

// The published test vectors of Philox 4x32-10 (Random123's kat_vectors) that leave the counter's
// high half 0.
TEST_F(LowerTest, RandomBitsAreTheKnownOnes) {
  Builder b;
  const int32_t state = b.In(DType::kU64, {2});
  b.graph.outputs = {b.Op(OpId::k_random_bits, {state}, {4})};
  const auto out = Run(b.graph, {{DType::kU64, {2}, {0, 0}}}, true, interpreter_.get());
  EXPECT_EQ(out[0].bits, (std::vector<uint64_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

// --- random graphs ---

class Generator {
 public:
  Generator(DType t, Rng& rng) : t_(t), rng_(rng) {
    for (const DimsVector& dims : std::vector<DimsVector>{{6, 21}, {21}, {6, 1}, {1, 21}}) {
      Note(b_.In(t, MakeLayout(dims, int(rng() % kLayouts))));
    }
    Note(b_.In(t, Scalar0d(), true));
  }

  Graph Make(int ops) {
    for (int i = 0; i < ops; ++i) Step();
    for (int k = 0; k < 3; ++k) b_.graph.outputs.push_back(Pick());
    b_.graph.outputs.push_back(int32_t(b_.graph.nodes.size()) - 1);
    return std::move(b_.graph);
  }

 private:
  void Note(int32_t id) {
    if (b_.graph.nodes[id].layout->rank <= 2) values_.push_back(id);
  }
  int32_t Pick() { return values_[rng_() % 3 == 0 ? values_.size() - 1 : rng_() % values_.size()]; }
  const Layout* LayoutOf(int32_t id) { return b_.graph.nodes[id].layout; }

  void Step() {
    const OpId unary[] = {OpId::k_negative, OpId::k_abs, OpId::k_sign, OpId::k_copy};
    const OpId binary[] = {OpId::k_add, OpId::k_subtract, OpId::k_multiply, OpId::k_maximum,
                           OpId::k_floor_divide};
    const OpId reduce[] = {OpId::k_sum, OpId::k_max, OpId::k_prod, OpId::k_min};
    const int32_t x = Pick();
    switch (rng_() % 8) {
      case 6: {
        const auto id = b_.graph.AddOp(rng_() % 2 ? OpId::k_argmax : OpId::k_argmin, {x},
                                       {int64_t(rng_() % (1u << LayoutOf(x)->rank)), 1});
        if (id.ok()) Note(*id);
        return;
      }
      case 7:
        return Note(b_.Op(OpId::k_astype, {x},
                          {int64_t(rng_() % 3 ? t_ : DType(rng_() % kNumRealDTypes))}));
      case 0: {
        const auto id = b_.graph.AddOp(unary[rng_() % 4], {x}, {});
        if (id.ok()) Note(*id);
        return;
      }
      case 1: {
        const auto id =
            b_.graph.AddOp(reduce[rng_() % 4], {x},
                           {int64_t(rng_() % (1u << LayoutOf(x)->rank)), int64_t(rng_() % 2)});
        if (id.ok()) Note(*id);
        return;
      }
      case 2:
        return View(x);
      case 3: {
        const int32_t y = Pick(), z = Pick();
        const auto less = b_.graph.AddOp(OpId::k_less, {x, y}, {});
        if (!less.ok()) return;
        const auto id = b_.graph.AddOp(OpId::k_where, {*less, x, z}, {});
        if (id.ok()) Note(*id);
        return;
      }
      default: {
        const auto id = b_.graph.AddOp(binary[rng_() % 5], {x, Pick()}, {});
        if (id.ok()) Note(*id);
      }
    }
  }

  void View(int32_t x) {
    const Layout* l = LayoutOf(x);
    if (l->rank == 2 && rng_() % 2) return Note(b_.Op(OpId::k_permute_dims, {x}, {1, 0}));
    if (l->rank == 1 && rng_() % 2) return Note(b_.Op(OpId::k_reshape, {x}, {l->extents[0], 1}));
    if (l->rank == 1) return Note(b_.Op(OpId::k_broadcast_to, {x}, {6, l->extents[0]}));
    if (l->rank == 2 && l->extents[1] == 1) Note(b_.Op(OpId::k_reshape, {x}, {l->extents[0]}));
  }

  DType t_;
  Rng& rng_;
  Builder b_;
  std::vector<int32_t> values_;
};

TEST_F(LowerTest, RandomGraphs) {
  int groups = 0, ops = 0;
  const char* seeds = std::getenv("FRAZIL_SEEDS");  // more of them, for hunting
  for (int seed = 0; seed < (seeds ? std::atoi(seeds) : 300); ++seed) {
    Rng rng(seed);
    const DType types[] = {DType::kF32, DType::kF16, DType::kI8,
                           DType::kU16, DType::kF64, DType::kI32};
    Graph graph = Generator(types[seed % 6], rng).Make(4 + seed % 14);
    groups += int(Fuse(graph).groups.size());
    ops += int(Fuse(graph, false).groups.size());
    Check(graph, rng, true);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_LT(groups * 3, ops * 2);  // it does fuse
}

// --- text ---

TEST_F(LowerTest, KernelsDoNotDependOnExtents) {
  const auto keys = [&](auto make) {
    Builder b;
    make(b);
    Rng rng(20);
    Run(b.graph, RandomInputs(b.graph, rng), true, interpreter_.get());
    return counts_.keys;
  };
  const auto bias = [](int64_t m, int64_t n) {
    return [=](Builder& b) {
      const int32_t x = b.In(DType::kF32, {m, n}), y = b.In(DType::kF32, {n});
      b.graph.outputs = {b.Op(OpId::k_add, {x, y})};
    };
  };
  EXPECT_EQ(keys(bias(64, 10)), keys(bias(128, 20)));
  const auto softmax = [](int64_t m, int64_t n) {
    return [=](Builder& b) { b.graph.outputs = {Softmax(b, b.In(DType::kF32, {m, n}), 1)}; };
  };
  EXPECT_EQ(keys(softmax(64, 30)), keys(softmax(3, 1000)));
  EXPECT_EQ(keys(softmax(64, 30)), keys(softmax(1, 10)));
  EXPECT_EQ(keys(softmax(64, 10)), keys(softmax(17, 10)));  // rows of ten, written out
  EXPECT_NE(keys(softmax(64, 10)), keys(softmax(64, 9)));
  const auto vector = [](DimsVector dims) {
    return [=](Builder& b) {
      b.graph.outputs = {b.Op(OpId::k_add, {b.In(DType::kF32, dims), b.In(DType::kF32, dims)})};
    };
  };
  EXPECT_EQ(keys(vector({16})), keys(vector({3, 5, 7})));
  EXPECT_EQ(keys(vector({16})), keys(vector({1})));
  const auto sum = [](int64_t m, int64_t n, int64_t mask) {
    return [=](Builder& b) {
      b.graph.outputs = {b.Op(OpId::k_sum, {b.In(DType::kF32, {m, n})}, {mask, 0})};
    };
  };
  EXPECT_EQ(keys(sum(300, 300, 3)), keys(sum(100, 500, 3)));
  EXPECT_EQ(keys(sum(300, 30, 1)), keys(sum(20, 500, 1)));
  EXPECT_EQ(keys(sum(10, 30, 1)), keys(sum(10, 500, 1)));
  const auto pad = [](int64_t n, int64_t by) {
    return [=](Builder& b) {
      const int32_t x = b.In(DType::kF32, {n, n}), fill = b.In(DType::kF32, Scalar0d(), true);
      b.graph.outputs = {b.Op(OpId::k_pad, {x, fill}, {by, by, by, by})};
    };
  };
  EXPECT_EQ(keys(pad(5, 1)), keys(pad(9, 3)));
}

// Goldens: tests/jit/goldens/lower/*.kir; FRAZIL_UPDATE_GOLDENS=1 writes them.
void ExpectGolden(const std::string& name, const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& t : texts) text += t;
  const std::string path = std::string(FRAZIL_JIT_GOLDENS) + "/lower/" + name + ".kir";
  if (std::getenv("FRAZIL_UPDATE_GOLDENS")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_EQ(text, want.str()) << name << ": FRAZIL_UPDATE_GOLDENS=1 rewrites it";
}

TEST_F(LowerTest, Goldens) {
  const auto texts = [&](auto make) {
    Builder b;
    make(b);
    RunCounts counts;
    Rng rng(21);
    EXPECT_TRUE(
        RunGraph(b.graph, RandomInputs(b.graph, rng), true, interpreter_.get(), &counts).ok());
    return counts.texts;
  };
  ExpectGolden("softmax_row", texts([](Builder& b) {
                 b.graph.outputs = {Softmax(b, b.In(DType::kF32, {8, 30}), 1)};
               }));
  ExpectGolden("column_sum", texts([](Builder& b) {
                 const int32_t x = b.In(DType::kF32, {80, 30}), y = b.In(DType::kF32, {80, 30});
                 b.graph.outputs = {b.Op(OpId::k_sum, {b.Op(OpId::k_multiply, {x, y})}, {1, 0})};
               }));
  // Sums over three coordinates inside a sum over 20 points.
  ExpectGolden("short_in_long", texts([](Builder& b) {
                 const int32_t x = b.In(DType::kF32, {40, 1, 3}), y = b.In(DType::kF32, {20, 3});
                 const int32_t d = b.Op(OpId::k_subtract, {x, y});
                 const int32_t r = b.Op(OpId::k_sum, {b.Op(OpId::k_multiply, {d, d})}, {4, 1});
                 b.graph.outputs = {b.Op(OpId::k_sum, {b.Op(OpId::k_divide, {d, r})}, {2, 0})};
               }));
  ExpectGolden("short_argmax", texts([](Builder& b) {
                 b.graph.outputs = {b.Op(OpId::k_argmax, {b.In(DType::kF32, {80, 3})}, {2, 0})};
               }));
  ExpectGolden("chain", texts([](Builder& b) {
                 const int32_t x = b.In(DType::kF16, {8, 30}), y = b.In(DType::kF16, {30}),
                               s = b.In(DType::kF16, Scalar0d(), true);
                 int32_t v = b.Op(OpId::k_add, {x, y});
                 for (OpId op : {OpId::k_multiply, OpId::k_subtract, OpId::k_maximum,
                                 OpId::k_divide, OpId::k_minimum})
                   v = b.Op(op, {v, s});
                 for (OpId op : {OpId::k_negative, OpId::k_abs, OpId::k_sqrt, OpId::k_tanh})
                   v = b.Op(op, {v});
                 b.graph.outputs = {v};
               }));
  ExpectGolden("argmax", texts([](Builder& b) {
                 b.graph.outputs = {b.Op(OpId::k_argmax, {b.In(DType::kF32, {8, 30})}, {2, 0})};
               }));
  ExpectGolden("long_sum", texts([](Builder& b) {
                 const int32_t x = b.In(DType::kBF16, {2, 5000});
                 b.graph.outputs = {b.Op(OpId::k_sum, {b.Op(OpId::k_abs, {x})}, {2, 0})};
               }));
}

}  // namespace
}  // namespace frazil::jit
