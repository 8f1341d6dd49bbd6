// The eager door: ops through Apply, views, reuse of memory, the cache shared by threads.
#include "jit/eager/eager.h"

#include <cstring>
#include <thread>

#include "core/apply.h"
#include "gtest/gtest.h"
#include "jit/register.h"

namespace frazil::jit {
namespace {

ValueRef Floats(std::initializer_list<float> data, std::initializer_list<int64_t> dims) {
  ValueRef v = *Value::Allocate(DType::kF32, Device(), Dense(dims));
  std::memcpy(v->data, data.begin(), data.size() * 4);
  return v;
}

std::vector<float> Elements(const Value& v) {
  EXPECT_TRUE(v.layout->dense);
  const float* p = reinterpret_cast<const float*>(v.data);
  return {p, p + v.size()};
}

uint64_t Bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

class EagerTest : public testing::Test {
 protected:
  void SetUp() override { RegisterJit(); }
};
using Vec = std::vector<float>;

TEST_F(EagerTest, OpsThroughApply) {
  const Tensor x(Floats({1, 2, 3, 4, 5, 6}, {2, 3})), y(Floats({10, 20, 30}, {3}));
  EXPECT_EQ(Elements(*Apply(OpId::k_add, {&x, &y}).value()), (Vec{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(Elements(*Apply(OpId::k_add, {&x, &y}).value()), (Vec{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(Elements(*Apply(OpId::k_sum, {&x}, {2, 0}).value()), (Vec{6, 15}));
  const Tensor two(Value::Immediate(DType::kF32, Bits(2)));
  EXPECT_EQ(Elements(*Apply(OpId::k_multiply, {&x, &two}).value()), (Vec{2, 4, 6, 8, 10, 12}));
  const Tensor three(Value::Immediate(DType::kF32, Bits(3)));
  EXPECT_EQ(Elements(*Apply(OpId::k_multiply, {&x, &three}).value()), (Vec{3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(Elements(*Apply(OpId::k_multiply, {&two, &three}).value()), (Vec{6}));
}

// The quick way takes what has been met, and only that; its results are those of Apply.
TEST_F(EagerTest, QuickWay) {
  const Tensor x(Floats({1, 2, 3, 4, 5}, {5})), y(Floats({10, 20, 30, 40, 50}, {5}));
  const auto adopt = [](Value* v) { return Tensor(ValueRef::Adopt(v)); };
  EXPECT_EQ(TryApply(OpId::k_subtract, x, y), nullptr);
  Apply(OpId::k_subtract, {&x, &y});
  EXPECT_EQ(Elements(*adopt(TryApply(OpId::k_subtract, x, y)).value()),
            (Vec{-9, -18, -27, -36, -45}));
  EXPECT_EQ(Elements(*adopt(TryApply(OpId::k_subtract, y, x)).value()), (Vec{9, 18, 27, 36, 45}));
  EXPECT_EQ(TryApply(OpId::k_negative, x), nullptr);
  Apply(OpId::k_negative, {&x});
  EXPECT_EQ(Elements(*adopt(TryApply(OpId::k_negative, x)).value()), (Vec{-1, -2, -3, -4, -5}));
  // Numbers on either side: one does not stand for the other.
  const Tensor two(Value::Immediate(DType::kF32, Bits(2)));
  EXPECT_EQ(TryApplyNumber(OpId::k_subtract, x, Bits(3), false), nullptr);
  Apply(OpId::k_subtract, {&x, &two});
  EXPECT_EQ(Elements(*adopt(TryApplyNumber(OpId::k_subtract, x, Bits(3), false)).value()),
            (Vec{-2, -1, 0, 1, 2}));
  EXPECT_EQ(TryApplyNumber(OpId::k_subtract, x, Bits(3), true), nullptr);
  Apply(OpId::k_subtract, {&two, &x});
  EXPECT_EQ(Elements(*adopt(TryApplyNumber(OpId::k_subtract, x, Bits(3), true)).value()),
            (Vec{2, 1, 0, -1, -2}));
  // What is larger than a small block, and products, which are no kernels.
  const Tensor large(*Value::Allocate(DType::kF32, Device(), Dense({4000})));
  std::memset(large.value()->data, 0, 16000);
  Apply(OpId::k_add, {&large, &large});
  EXPECT_EQ(Elements(*adopt(TryApply(OpId::k_add, large, large)).value()), Vec(4000, 0));
  const Tensor m(Floats({1, 2, 3, 4}, {2, 2}));
  Apply(OpId::k_matmul, {&m, &m});
  EXPECT_EQ(Elements(*adopt(TryApply(OpId::k_matmul, m, m)).value()), (Vec{7, 10, 15, 22}));
  // Another dtype, layout or precision, an error.
  const Tensor row(Floats({1, 2, 3, 4, 5}, {1, 5}));
  EXPECT_EQ(TryApply(OpId::k_subtract, x, row), nullptr);
  EXPECT_EQ(TryApply(OpId::k_subtract, x, Tensor(ValueError("[test] no."))), nullptr);
  EXPECT_EQ(TryApply(OpId::k_subtract, x, Tensor()), nullptr);
  State().precision = Precision::kBlas;
  EXPECT_EQ(TryApply(OpId::k_subtract, x, y), nullptr);
  State().precision = Precision::kDefault;
}

TEST_F(EagerTest, ViewsShareMemory) {
  const Tensor x(Floats({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Tensor t = Apply(OpId::k_permute_dims, {&x}, {1, 0});
  EXPECT_EQ(t.value()->storage, x.value()->storage);
  const Tensor part = Apply(OpId::k_slice, {&t}, {1, 1, 2, 0, 1, 2});
  EXPECT_EQ(part.value()->data, x.value()->data + 4);
  EXPECT_EQ(Elements(*Apply(OpId::k_copy, {&part}).value()), (Vec{2, 5, 3, 6}));
  const Tensor flat = Apply(OpId::k_reshape, {&t}, {6});  // no strides say it: copied
  EXPECT_NE(flat.value()->storage, x.value()->storage);
  EXPECT_EQ(Elements(*flat.value()), (Vec{1, 4, 2, 5, 3, 6}));
  const Tensor scalar(Value::Immediate(DType::kF32, Bits(7)));
  const Tensor one = Apply(OpId::k_reshape, {&scalar}, {1, 1});
  EXPECT_EQ(Elements(*one.value()), (Vec{7}));
}

TEST_F(EagerTest, MatmulOfStridedOperands) {
  const Tensor x(Floats({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Tensor t = Apply(OpId::k_permute_dims, {&x}, {1, 0});
  EXPECT_EQ(Elements(*Apply(OpId::k_matmul, {&x, &t}).value()), (Vec{14, 32, 32, 77}));
  EXPECT_EQ(Elements(*Apply(OpId::k_matmul, {&t, &x}).value()),
            (Vec{17, 22, 27, 22, 29, 36, 27, 36, 45}));
}

TEST_F(EagerTest, ErrorsComeBackAsTensors) {
  const Tensor x(Floats({1, 2}, {2})), y(Floats({1, 2, 3}, {3}));
  const Tensor bad = Apply(OpId::k_add, {&x, &y});
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(KindOf(bad.status()), ErrorKind::kValue);
  EXPECT_FALSE(Apply(OpId::k_exp, {&bad}).ok());
}

TEST_F(EagerTest, ReuseOnlyWhatNothingElseHolds) {
  ValueRef x = Floats({1, 2, 3, 4}, {2, 2});
  const ValueRef y = Floats({10, 20, 30, 40}, {2, 2});
  const char* memory = x->data;
  const auto run = [&](Value* b) { return *RunOp(OpId::k_add, {x.get(), b}, {}, 1); };

  ValueRef z = run(y.get());
  EXPECT_EQ(z->data, memory);
  EXPECT_EQ(Elements(*z), (Vec{11, 22, 33, 44}));
  x = std::move(z);

  z = run(x.get());  // x += x
  EXPECT_EQ(z->data, memory);
  EXPECT_EQ(Elements(*z), (Vec{22, 44, 66, 88}));
  x = std::move(z);

  {
    const ValueRef t = *RunOp(OpId::k_permute_dims, {x.get()}, {1, 0});
    z = run(t.get());  // x += x.T: elements are read after their place is written
    EXPECT_NE(z->data, memory);
    EXPECT_EQ(Elements(*z), (Vec{44, 110, 110, 176}));
  }
  {
    const ValueRef other = x;
    EXPECT_NE(run(y.get())->data, memory);
  }
  {
    const StorageRef exported = StorageRef::Share(x->storage);
    EXPECT_NE(run(y.get())->data, memory);
  }
  EXPECT_EQ(Elements(*x), (Vec{22, 44, 66, 88}));
  x->storage->foreign = true;
  EXPECT_NE(run(y.get())->data, memory);
  x->storage->foreign = false;
  EXPECT_NE((*RunOp(OpId::k_add, {x.get(), y.get()}, {}))->data, memory);
  EXPECT_EQ(run(y.get())->data, memory);
}

// As x += y runs: only the op that has the cell's content as operand writes over it.
TEST_F(EagerTest, OverwritableContentOfACell) {
  Tensor x(Floats({1, 2, 3, 4}, {4}));
  const Tensor y(Floats({10, 20, 30, 40}, {4})), row(Floats({1, 1, 1, 1}, {1, 4}));
  const char* memory = x.value()->data;
  const auto run = [&](OpId op, const Tensor& a, const Tensor& b) {
    const OverwriteScope scope(x.value());
    return Apply(op, {&a, &b});
  };
  EXPECT_NE(run(OpId::k_add, y, y).value()->data, memory);
  EXPECT_NE(run(OpId::k_less, x, y).value()->data, memory);
  EXPECT_NE(run(OpId::k_add, x, row).value()->data, memory);  // another shape
  {
    const Tensor other = x;
    EXPECT_NE(run(OpId::k_add, x, y).value()->data, memory);
  }
  EXPECT_NE(Apply(OpId::k_add, {&x, &y}).value()->data, memory);  // no scope
  EXPECT_EQ(Elements(*x.value()), (Vec{1, 2, 3, 4}));
  const Tensor z = run(OpId::k_subtract, y, x);
  EXPECT_EQ(z.value()->data, memory);
  EXPECT_EQ(Elements(*z.value()), (Vec{9, 18, 27, 36}));
}

TEST_F(EagerTest, PutInPlace) {
  ValueRef x = Floats({1, 2, 3, 4}, {4});
  const char* memory = x->data;
  ValueRef index = *Value::Allocate(DType::kI64, Device(), Dense({3}));
  const int64_t at[] = {1, 3, 1};
  std::memcpy(index->data, at, sizeof(at));
  const ValueRef updates = Floats({10, 20, 30}, {3});
  ValueRef set = *RunOp(OpId::k_put, {x.get(), index.get(), updates.get()}, {0, 0, 1});
  EXPECT_EQ(Elements(*set), (Vec{1, 30, 3, 20}));
  EXPECT_EQ(Elements(*x), (Vec{1, 2, 3, 4}));
  ValueRef add = *RunOp(OpId::k_put, {x.get(), index.get(), updates.get()}, {0, 1, 1}, 1);
  EXPECT_EQ(add->data, memory);
  EXPECT_EQ(Elements(*add), (Vec{1, 42, 3, 24}));
}

TEST_F(EagerTest, Threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 200; ++i) {
        const int64_t n = 1 + (i * 7 + t) % 23;
        const Tensor x(*Value::Allocate(DType::kF32, Device(), Dense({n})));
        for (int64_t k = 0; k < n; ++k) reinterpret_cast<float*>(x.value()->data)[k] = float(k);
        const Tensor y = Apply(OpId::k_add, {&x, &x});
        for (int64_t k = 0; k < n; ++k)
          wrong += reinterpret_cast<float*>(y.value()->data)[k] != float(2 * k);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace frazil::jit
