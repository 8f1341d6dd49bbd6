// attend and attend_grad against their definition, bit for bit: shapes around the blocks, strided
// and repeated operands, special values, numbers of threads; and what they refuse.
#include <cstring>

#include "core/apply.h"
#include "core/threads/parallel.h"
#include "gtest/gtest.h"
#include "jit/register.h"
#include "tests/jit/attention_reference.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

const AttentionShape kShapes[] = {
    {1, 1, 1, 1, 1, false},      {3, 5, 7, 4, 2, false},      {2, 64, 64, 64, 64, false},
    {1, 65, 129, 16, 24, false}, {1, 200, 70, 3, 33, false},  {2, 130, 130, 8, 8, true},
    {1, 100, 190, 5, 6, true},   {1, 190, 100, 6, 5, true},   {5, 64, 128, 7, 9, true},
    {2, 1, 150, 16, 16, true},   {1, 70, 3, 4, 4, true},      {2, 3, 0, 4, 4, false},
    {0, 3, 4, 4, 4, false},      {2, 0, 4, 4, 4, true},       {2, 3, 4, 0, 5, false},
    {2, 3, 4, 5, 0, false},      {1, 66, 66, 4100, 3, false}, {1, 300, 300, 20, 70, true},
};

template <typename T>
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : rng_(seed) {}

  // One of `special_of` elements is an infinity, NaN, zero or a large number; 0: none.
  std::vector<T> Some(int64_t n, int64_t special_of) {
    const T special[] = {T(INFINITY), T(-INFINITY), T(NAN), T(0), T(-0.0), T(1e30), T(-1e-30)};
    std::vector<T> x(n);
    for (T& e : x) {
      e = T((double(rng_() >> 11) / double(1ull << 53) - 0.5) * 6);
      if (special_of && Below(rng_, special_of) == 0) e = special[Below(rng_, std::size(special))];
    }
    return x;
  }

 private:
  Rng rng_;
};

template <typename T>
Tensor Filled(const std::vector<T>& x, std::initializer_list<int64_t> dims) {
  ValueRef v = *Value::Allocate(DTypeOf<T>::value, Device(), Dense(dims));
  if (!x.empty()) std::memcpy(v->data, x.data(), x.size() * sizeof(T));
  return Tensor(std::move(v));
}

// The same elements, columns apart.
Tensor Transposed(const Tensor& t) {
  const Tensor there = Apply(OpId::k_permute_dims, {&t}, {0, 2, 1});
  const Tensor dense = Apply(OpId::k_copy, {&there});
  return Apply(OpId::k_permute_dims, {&dense}, {0, 2, 1});
}

template <typename T>
void ExpectSame(const Tensor& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_TRUE(got.ok()) << what << ": " << got.status();
  const Tensor wanted = Filled(want, {int64_t(want.size())});
  EXPECT_EQ(Differences(*got.value(), *wanted.value()), "") << what;
}

template <typename T>
void Check(const AttentionShape& s, int threads, int64_t special_of, bool transposed) {
  SetNumThreads(threads);
  const std::string what = testing::PrintToString(std::vector<int64_t>{
      s.batches, s.queries, s.keys, s.depth, s.width, s.causal, threads, special_of, transposed});
  Numbers<T> numbers(7 * s.queries + s.keys);
  const auto q = numbers.Some(s.batches * s.queries * s.depth, special_of);
  const auto k = numbers.Some(s.batches * s.keys * s.depth, special_of);
  const auto v = numbers.Some(s.batches * s.keys * s.width, special_of);
  const auto g = numbers.Some(s.batches * s.queries * s.width, special_of);
  const auto delta = numbers.Some(s.batches * s.queries, special_of);
  Tensor in[] = {Filled(q, {s.batches, s.queries, s.depth}),
                 Filled(k, {s.batches, s.keys, s.depth}), Filled(v, {s.batches, s.keys, s.width}),
                 Filled(g, {s.batches, s.queries, s.width})};
  for (Tensor& t : in) t = transposed ? Transposed(t) : t;
  const AttentionReference<T> reference(s);
  const auto want = reference.Forward(q, k, v);
  const int64_t causal = s.causal;
  const Tensor got = Apply(OpId::k_attend, {&in[0], &in[1], &in[2]}, {&causal, 1});
  ExpectSame(got, want, "attend " + what);
  const std::vector<T> logs(want.begin() + s.batches * s.queries * s.width, want.end());
  const Tensor rows = Filled(logs, {s.batches, s.queries});
  const Tensor deltas = Filled(delta, {s.batches, s.queries});
  const Tensor gradients =
      Apply(OpId::k_attend_grad, {&in[0], &in[1], &in[2], &in[3], &rows, &deltas}, {&causal, 1});
  ExpectSame(gradients, reference.Gradient(q, k, v, g, logs, delta), "attend_grad " + what);
}

class AttentionTest : public testing::Test {
 protected:
  void SetUp() override { RegisterJit(); }
  void TearDown() override { SetNumThreads(2); }
};

TEST_F(AttentionTest, EqualsTheDefinition) {
  for (const AttentionShape& s : kShapes) {
    Check<float>(s, 1, 0, false);
    Check<float>(s, 2, 0, false);
    Check<double>(s, 2, 0, false);
  }
}

TEST_F(AttentionTest, StridesChangeNothing) {
  for (const AttentionShape& s : kShapes) {
    Check<float>(s, 2, 0, true);
    Check<double>(s, 1, 0, true);
  }
}

TEST_F(AttentionTest, SpecialValues) {
  for (const AttentionShape& s : kShapes) {
    Check<float>(s, 2, 300, false);
    Check<double>(s, 2, 40, true);
  }
}

TEST_F(AttentionTest, MoreThreadsThanBatches) { Check<float>(kShapes[17], 5, 0, false); }

// A batch axis of stride 0.
TEST_F(AttentionTest, RepeatedOperands) {
  const AttentionShape s{3, 70, 80, 8, 8, true};
  Numbers<float> numbers(1);
  const auto q = numbers.Some(3 * 70 * 8, 0), k = numbers.Some(80 * 8, 0);
  std::vector<float> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), k.begin(), k.end());
  const Tensor one = Filled(k, {1, 80, 8}), queries = Filled(q, {3, 70, 8});
  const Tensor keys = Apply(OpId::k_broadcast_to, {&one}, {3, 80, 8});
  const int64_t causal = 1;
  ExpectSame(Apply(OpId::k_attend, {&queries, &keys, &keys}, {&causal, 1}),
             AttentionReference<float>(s).Forward(q, all, all), "repeated");
}

TEST_F(AttentionTest, RowsThatSeeNothingAreZero) {
  const std::vector<float> q(3 * 2, 1), k(2, 1), v = {5, 7};
  const Tensor a = Filled(q, {3, 2}), b = Filled(k, {1, 2}), c = Filled(v, {1, 2});
  const int64_t causal = 1;
  const float low = -INFINITY;
  ExpectSame(Apply(OpId::k_attend, {&a, &b, &c}, {&causal, 1}),
             std::vector<float>{0, 0, 0, 0, 5, 7, low, low, 2}, "rows without keys");
}

TEST_F(AttentionTest, Refuses) {
  const auto zeros = [](std::initializer_list<int64_t> dims, DType dtype = DType::kF32) {
    return Tensor(*Value::Allocate(dtype, Device(), Dense(dims)));
  };
  const auto message = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    const int64_t causal = 0;
    const Tensor out = Apply(OpId::k_attend, {&q, &k, &v}, {&causal, 1});
    return std::string(out.status().message());
  };
  const Tensor q = zeros({2, 3, 4});
  EXPECT_EQ(message(q, zeros({2, 5, 3}), zeros({2, 5, 6})),
            "[attend] shapes do not match: f32[2,3,4], f32[2,5,3], f32[2,5,6].");
  EXPECT_EQ(message(q, zeros({2, 5, 4}), zeros({2, 6, 6})),
            "[attend] shapes do not match: f32[2,3,4], f32[2,5,4], f32[2,6,6].");
  EXPECT_EQ(message(q, zeros({1, 5, 4}), zeros({2, 5, 6})),
            "[attend] batch axes differ: f32[2,3,4], f32[1,5,4], f32[2,5,6].");
  EXPECT_EQ(message(zeros({4}), zeros({4}), zeros({4})),
            "[attend] batch axes differ: f32[4], f32[4], f32[4].");
  const Tensor half = zeros({3, 4}, DType::kF16);
  EXPECT_EQ(message(half, half, half), "[attend] computes in float32 or float64, got f16[3,4].");
}

}  // namespace
}  // namespace frazil::jit
