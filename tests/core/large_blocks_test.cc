// Large blocks: free ranges are split and joined, and given back where that is asked.
#include "core/memory/large_blocks.h"

#include <random>
#include <vector>

#include "core/memory/storage.h"
#include "gtest/gtest.h"

namespace frazil {
namespace {

constexpr size_t kMib = size_t{1} << 20;

class LargeBlocksTest : public testing::Test {
 protected:
  ~LargeBlocksTest() override { blocks_.Trim(); }

  char* Take(size_t bytes) {
    char* at = blocks_.Take(bytes, &fresh_);
    if (!at && blocks_.Reserve(bytes)) at = blocks_.Take(bytes, &fresh_);
    EXPECT_NE(at, nullptr);
    at[0] = at[bytes - 1] = 1;
    return at;
  }

  LargeBlocks blocks_;
  size_t fresh_ = 0;
};

TEST_F(LargeBlocksTest, NeighboursThatAreFreeAreOneRange) {
  std::vector<char*> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(Take(4 * kMib));
  char* const other = Take(kMib);
  for (const int i : {2, 0, 3, 1}) blocks_.Give(taken[i], 4 * kMib);
  EXPECT_EQ(blocks_.kept(), 16 * kMib);
  EXPECT_EQ(Take(16 * kMib), taken[0]) << "an arena where eager calls left arrays";
  EXPECT_EQ(fresh_, 0u);
  EXPECT_EQ(blocks_.kept(), 0u);
  blocks_.Give(taken[0], 16 * kMib);
  blocks_.Give(other, kMib);
  EXPECT_EQ(blocks_.live(), 0u);
}

TEST_F(LargeBlocksTest, ALargerRangeIsSplit) {
  char* const whole = Take(8 * kMib);
  Take(kMib);
  blocks_.Give(whole, 8 * kMib);
  EXPECT_EQ(Take(3 * kMib), whole);
  EXPECT_EQ(Take(5 * kMib), whole + 3 * kMib);
  EXPECT_EQ(fresh_, 0u);
}

TEST_F(LargeBlocksTest, WhatIsGivenBackIsFreshAgain) {
  char* const whole = Take(8 * kMib);
  Take(kMib);
  blocks_.Give(whole, 8 * kMib);
  blocks_.Release(kMib);
  EXPECT_EQ(blocks_.kept(), 0u);
  EXPECT_EQ(Take(8 * kMib), whole);
  EXPECT_EQ(fresh_, 8 * kMib);
  EXPECT_EQ(whole[8 * kMib - 2], 0);
}

TEST_F(LargeBlocksTest, AsManyBytesAreKeptAsWereTakenAndGiven) {
  std::minstd_rand random(1);
  struct Block {
    char* at;
    size_t bytes;
  };
  std::vector<Block> taken;
  size_t live = 0;
  for (int i = 0; i < 4000; ++i) {
    if (taken.empty() || random() % 2 == 0) {
      const size_t bytes = (1 + random() % 64) * LargeBlocks::kPage;
      taken.push_back({Take(bytes), bytes});
      live += bytes;
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      blocks_.Give(taken.back().at, taken.back().bytes);
      live -= taken.back().bytes;
      taken.pop_back();
    }
    ASSERT_EQ(blocks_.live(), live);
    size_t kept = 0;
    blocks_.ForEachKept([&](size_t bytes) { kept += bytes; });
    ASSERT_EQ(blocks_.kept(), kept);
    ASSERT_LE(live + kept, 2 * blocks_.peak());
  }
  for (size_t a = 0; a < taken.size(); ++a) {
    for (size_t b = 0; b < a; ++b)
      ASSERT_TRUE(taken[a].at + taken[a].bytes <= taken[b].at ||
                  taken[b].at + taken[b].bytes <= taken[a].at);
  }
}

TEST(Allocate, RoundsLargeBlocksToAPage) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's blocks";
#endif
  const int64_t before = GetMemoryStats().live_bytes;
  const auto block = Allocate((size_t{128} << 20) + 80);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(GetMemoryStats().live_bytes - before, (int64_t{128} << 20) + 4096);
}

TEST(Allocate, OtherSizesTakeWhatIsKept) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's blocks";
#endif
  TrimMemory();
  {
    std::vector<StorageRef> parts;
    for (int i = 0; i < 24; ++i) parts.push_back(*Allocate(4 * kMib));
  }
  const int64_t requests = GetMemoryStats().system_requests;
  EXPECT_GE(GetMemoryStats().cached_bytes, int64_t(96 * kMib));
  const auto arena = Allocate(90 * kMib);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(GetMemoryStats().system_requests, requests);
}

// What lies between blocks in use fits nothing: it makes room for what does.
TEST(Allocate, WhatIsKeptAndInUseIsLittleMoreThanEverWasInUse) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's blocks";
#endif
  TrimMemory();
  std::vector<StorageRef> held;
  for (int i = 0; i < 64; ++i) held.push_back(*Allocate(4 * kMib));
  for (int i = 0; i < 64; i += 2) held[i] = StorageRef();
  const int64_t peak = GetMemoryStats().live_bytes + int64_t(128 * kMib);
  const auto large = Allocate(100 * kMib);
  ASSERT_TRUE(large.ok());
  const MemoryStats stats = GetMemoryStats();
  EXPECT_LE(stats.live_bytes + stats.cached_bytes, peak / 8 * 9 + int64_t(4 * kMib));
}

}  // namespace
}  // namespace frazil
