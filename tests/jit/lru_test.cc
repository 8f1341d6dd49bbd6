// The bounded map: what is kept and what goes.
#include "jit/cache/lru.h"

#include "gtest/gtest.h"
#include "tests/cpp/limit.h"

namespace frazil::jit {
namespace {

constexpr Bound kBound{Setting::k_eager_entries, Setting::k_eager_bytes,
                       tracer::Cause::kEvictedEager, "things"};

class LruTest : public testing::Test {
 protected:
  // Never destroyed, as those of the library.
  using Cache = LruCache<int, int>;
  Cache& cache_ = *new Cache(kBound);
  const Limit entries_{Setting::k_eager_entries, 16};
  const Limit bytes_{Setting::k_eager_bytes, 1 << 20};

  std::shared_ptr<const int> Add(int key, int64_t bytes = 1) {
    return cache_.Add(key, std::make_shared<const int>(key), bytes);
  }
  std::vector<int> Kept(int keys) {
    std::vector<int> kept;
    for (int k = 0; k < keys; ++k) {
      if (cache_.Find(k)) kept.push_back(k);
    }
    return kept;
  }
};

TEST_F(LruTest, WhatWasAddedIsFound) {
  EXPECT_EQ(cache_.Find(1), nullptr);
  const auto one = Add(1);
  EXPECT_EQ(cache_.Find(1), one);
  EXPECT_EQ(cache_.Find(2), nullptr);
}

TEST_F(LruTest, TheFirstOfAKeyStays) {
  const auto one = Add(1, 10);
  EXPECT_EQ(Add(1, 10), one);
  EXPECT_EQ(cache_.kept().entries, 1);
  EXPECT_EQ(cache_.kept().bytes, 10);
}

TEST_F(LruTest, AtTheBoundNothingGoes) {
  for (int k = 0; k < 16; ++k) Add(k);
  EXPECT_EQ(cache_.kept().entries, 16);
}

TEST_F(LruTest, PastItTheLeastRecentlyUsedGoDownToSevenEighths) {
  for (int k = 0; k < 16; ++k) Add(k);
  cache_.Find(0);
  Add(16);
  EXPECT_EQ(cache_.kept().entries, 14);
  EXPECT_EQ(Kept(17), (std::vector<int>{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
}

TEST_F(LruTest, BytesHaveABoundToo) {
  const Limit bytes(Setting::k_eager_bytes, 800);
  for (int k = 0; k < 8; ++k) Add(k, 100);
  EXPECT_EQ(cache_.kept().entries, 8);
  Add(8, 100);
  EXPECT_EQ(cache_.kept().entries, 7);
  EXPECT_EQ(cache_.kept().bytes, 700);
}

TEST_F(LruTest, OneLargeThingIsKept) {
  Add(1);
  Add(2, 1 << 21);
  EXPECT_EQ(Kept(3), std::vector<int>({2}));
}

TEST_F(LruTest, WhoHoldsWhatGoesKeepsIt) {
  const auto zero = Add(0);
  for (int k = 1; k < 17; ++k) Add(k);
  EXPECT_EQ(cache_.Find(0), nullptr);
  EXPECT_EQ(*zero, 0);
}

TEST_F(LruTest, ShrinkingTakesAnEighthIfMoreIsAskedFor) {
  for (int k = 0; k < 8; ++k) Add(k);
  cache_.Shrink(false);
  EXPECT_EQ(cache_.kept().entries, 8) << "the bound is not passed";
  cache_.Shrink(true);
  EXPECT_EQ(cache_.kept().entries, 7);
  EXPECT_EQ(cache_.Find(0), nullptr);
}

}  // namespace
}  // namespace frazil::jit
