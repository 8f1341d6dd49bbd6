// Layouts come and go: equal ones are one object, held ones stay, the rest is freed.
#include "core/layout.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/settings.h"
#include "core/value.h"

namespace frazil {
namespace {

class Layouts : public testing::Test {
 protected:
  void SetUp() override { Set(Setting::k_layout_entries, 0); }
  void TearDown() override { Set(Setting::k_layout_entries, 16384); }
};

// So many that nothing is kept for being recent.
void Churn(int64_t from) {
  for (int64_t i = 0; i < 20000; ++i) Dense({{from + i, 3}});
}

TEST_F(Layouts, EqualOnesAreOne) {
  const LayoutRef a = Dense({{123457, 2}}), b = Intern({{123457, 2}}, {{7, 3}});
  EXPECT_TRUE(a->counted && b->counted);
  Churn(1000000);
  EXPECT_EQ(a, Dense({{123457, 2}}));
  EXPECT_EQ(b, Intern({{123457, 2}}, {{7, 3}}));
  EXPECT_EQ(b->shape, a.get());
  EXPECT_EQ(ToString(b->dims()), "[123457,2]");
  EXPECT_EQ(ToString(b->strides()), "[7,3]");
  EXPECT_FALSE(Scalar0d()->counted);
}

TEST_F(Layouts, TheNumberIsBounded) {
  Churn(2000000);
  const LayoutStats before = GetLayoutStats();
  for (int k = 0; k < 10; ++k) Churn(3000000 + 20000 * k);
  const LayoutStats after = GetLayoutStats();
  EXPECT_LE(after.entries, before.entries + 100);
  EXPECT_LE(after.bytes, before.bytes + 10000);
}

TEST_F(Layouts, ValuesHoldTheirs) {
  auto value = Value::Allocate(DType::kF32, Device(), Dense({{777, 3}}));
  ASSERT_TRUE(value.ok());
  const uint64_t id = (*value)->layout->id;
  Churn(4000000);
  EXPECT_EQ(Dense({{777, 3}})->id, id);
  value = Value::Immediate(DType::kF32, 0);
  Churn(5000000);
  EXPECT_NE(Dense({{777, 3}})->id, id);  // made anew, and no id comes twice
}

// A view's layout keeps the shape that it points to.
TEST_F(Layouts, LayoutsHoldTheirShapes) {
  const LayoutRef strided = Intern({{555, 3}}, {{1, 555}});
  const uint64_t id = strided->shape->id;
  Churn(6000000);
  EXPECT_EQ(Dense({{555, 3}})->id, id);
}

TEST_F(Layouts, ManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      std::vector<LayoutRef> held(64);
      for (int64_t i = 0; i < 30000; ++i) {
        const int64_t n = 7000000 + (i * 7 + t) % 9000;
        const LayoutRef l = i % 2 ? Dense({{n, 2}}) : Intern({{n, 2}}, {{1, n}});
        wrong += l->extents[0] != n || l->shape->extents[0] != n;
        held[i % 64] = l;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace frazil
