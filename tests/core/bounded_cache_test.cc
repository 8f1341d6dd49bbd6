// The bounded cache: what is kept, what goes, what is told, and who may ask at one time.
#include "core/bounded_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace frazil {
namespace {

// What the bound of the test's cache is, and what it was told.
struct Told {
  CacheLimit most{16, 1 << 20};
  std::set<int> held;
  std::vector<Eviction> evictions;
  std::function<void()> listen = [] {};
};

struct TestBound {
  Told* told;
  CacheLimit Most() const { return told->most; }
  bool Held(const std::shared_ptr<const int>& object) const { return told->held.count(*object); }
  void Report(const Eviction& eviction) const {
    told->evictions.push_back(eviction);
    told->listen();
  }
};

class BoundedCacheTest : public testing::Test {
 protected:
  // Never destroyed, as those of the library.
  using Cache = BoundedCache<int, const int, TestBound>;
  Told told_;
  Cache& cache_ = *new Cache(TestBound{&told_});

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

TEST_F(BoundedCacheTest, WhatWasAddedIsFound) {
  EXPECT_EQ(cache_.Find(1), nullptr);
  const auto one = Add(1);
  EXPECT_EQ(cache_.Find(1), one);
  EXPECT_EQ(cache_.Find(2), nullptr);
  const CacheStats stats = cache_.stats();
  EXPECT_EQ(stats.hits, 1);
  EXPECT_EQ(stats.misses, 2);
  EXPECT_EQ(stats.entries, 1);
  EXPECT_EQ(stats.bytes, 1);
  EXPECT_EQ(stats.evictions, 0);
}

TEST_F(BoundedCacheTest, TheFirstOfAKeyStays) {
  const auto one = Add(1, 10);
  EXPECT_EQ(Add(1, 10), one);
  EXPECT_EQ(cache_.stats().entries, 1);
  EXPECT_EQ(cache_.stats().bytes, 10);
}

TEST_F(BoundedCacheTest, AtTheBoundNothingGoes) {
  for (int k = 0; k < 16; ++k) Add(k);
  EXPECT_EQ(cache_.stats().entries, 16);
  EXPECT_TRUE(told_.evictions.empty());
}

TEST_F(BoundedCacheTest, PastItTheLeastRecentlyUsedGoDownToSevenEighths) {
  for (int k = 0; k < 16; ++k) Add(k);
  cache_.Find(0);
  Add(16);
  EXPECT_EQ(cache_.stats().entries, 14);
  EXPECT_EQ(cache_.stats().evictions, 3);
  EXPECT_EQ(Kept(17), (std::vector<int>{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  ASSERT_EQ(told_.evictions.size(), 1u);
  EXPECT_EQ(told_.evictions[0].count, 3);
  EXPECT_FALSE(told_.evictions[0].by_bytes);
  EXPECT_FALSE(told_.evictions[0].thrashing);
}

TEST_F(BoundedCacheTest, BytesHaveABoundToo) {
  told_.most.bytes = 800;
  for (int k = 0; k < 8; ++k) Add(k, 100);
  EXPECT_EQ(cache_.stats().entries, 8);
  Add(8, 100);
  EXPECT_EQ(cache_.stats().entries, 7);
  EXPECT_EQ(cache_.stats().bytes, 700);
  ASSERT_EQ(told_.evictions.size(), 1u);
  EXPECT_TRUE(told_.evictions[0].by_bytes);
}

TEST_F(BoundedCacheTest, OneLargeThingIsKept) {
  Add(1);
  Add(2, 1 << 21);
  EXPECT_EQ(Kept(3), std::vector<int>({2}));
}

TEST_F(BoundedCacheTest, WhoHasWhatGoesKeepsIt) {
  const auto zero = Add(0);
  for (int k = 1; k < 17; ++k) Add(k);
  EXPECT_EQ(cache_.Find(0), nullptr);
  EXPECT_EQ(*zero, 0);
}

TEST_F(BoundedCacheTest, WhatIsHeldStaysThoughOthersGo) {
  told_.held = {0, 2};
  for (int k = 0; k < 17; ++k) Add(k);
  EXPECT_EQ(cache_.stats().entries, 14);
  EXPECT_EQ(Kept(17), (std::vector<int>{0, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(told_.evictions[0].count, 3);
}

TEST_F(BoundedCacheTest, WhereAllIsHeldTheBoundIsPassed) {
  told_.most = {16, 1000};
  for (int k = 0; k < 4; ++k) told_.held.insert(k);
  for (int k = 0; k < 4; ++k) {
    const auto object = std::make_shared<const int>(k);
    bool fresh;
    EXPECT_EQ(cache_.FindOrAdd(
                  k, [&] { return object; }, &fresh),
              object);
    EXPECT_TRUE(fresh);
    EXPECT_EQ(cache_.Weigh(k, object, 300), k < 3) << k;
  }
  EXPECT_EQ(cache_.stats().entries, 4);
  EXPECT_TRUE(told_.evictions.empty());
  told_.held = {1};
  EXPECT_TRUE(cache_.Shrink());
  EXPECT_EQ(Kept(4), std::vector<int>({1, 2})) << "what was held counts as used";
}

TEST_F(BoundedCacheTest, WhatIsWeighedTwiceWeighsWhatWasSaidLast) {
  const auto one = Add(1, 10);
  EXPECT_TRUE(cache_.Weigh(1, one, 30));
  EXPECT_EQ(cache_.stats().bytes, 30);
  EXPECT_TRUE(cache_.Weigh(1, std::make_shared<const int>(1), 99)) << "another object";
  EXPECT_TRUE(cache_.Weigh(2, one, 99)) << "gone";
  EXPECT_EQ(cache_.stats().bytes, 30);
}

TEST_F(BoundedCacheTest, OneIsMadeAndTheOthersFindIt) {
  bool fresh = false;
  const auto make = [] { return std::make_shared<const int>(7); };
  const auto one = cache_.FindOrAdd(1, make, &fresh);
  EXPECT_TRUE(fresh);
  EXPECT_EQ(cache_.FindOrAdd(1, make, &fresh), one);
  EXPECT_FALSE(fresh);
  EXPECT_EQ(cache_.stats().hits, 1);
  EXPECT_EQ(cache_.stats().misses, 1);
}

TEST_F(BoundedCacheTest, WhatIsErasedCountsNoMore) {
  const auto one = Add(1, 10);
  Add(2, 20);
  cache_.Erase(1, std::make_shared<const int>(1));
  EXPECT_EQ(cache_.stats().bytes, 30) << "another object";
  cache_.Erase(1, one);
  EXPECT_EQ(cache_.stats().bytes, 20);
  EXPECT_EQ(cache_.Find(1), nullptr);
  Add(3, 30);
  cache_.EraseIf([](const auto& object) { return *object == 2; });
  EXPECT_EQ(Kept(4), std::vector<int>({3}));
  EXPECT_EQ(cache_.stats().bytes, 30);
  EXPECT_EQ(cache_.stats().evictions, 0);
}

TEST_F(BoundedCacheTest, ShrinkingTakesAnEighthIfMoreIsAskedFor) {
  for (int k = 0; k < 8; ++k) Add(k);
  cache_.Shrink();
  EXPECT_EQ(cache_.stats().entries, 8) << "the bound is not passed";
  cache_.Shrink(/*an_eighth=*/true);
  EXPECT_EQ(cache_.stats().entries, 7);
  EXPECT_EQ(cache_.Find(0), nullptr);
}

TEST_F(BoundedCacheTest, WhatComesAgainAndAgainIsThrashingWhichIsSaidOnce) {
  for (int round = 0; round < 40; ++round) {
    for (int k = 0; k < 20; ++k) Add(k);
  }
  int thrashing = 0;
  for (const Eviction& eviction : told_.evictions) thrashing += eviction.thrashing;
  EXPECT_EQ(thrashing, 1);
}

// Who listens may ask the cache, and what is freed may, too: no lock is held.
TEST_F(BoundedCacheTest, WhoIsToldMayAsk) {
  int64_t entries = 0;
  told_.listen = [&] { entries = cache_.stats().entries; };
  for (int k = 0; k < 16; ++k) Add(k);
  int freed = 0;
  cache_.Add(16,
             std::shared_ptr<const int>(new int(16),
                                        [&](const int* p) {
                                          freed += int(cache_.stats().entries);
                                          delete p;
                                        }),
             1);
  EXPECT_EQ(entries, 14);
  told_.most.entries = 1;
  Add(17);
  EXPECT_EQ(freed, 1);
}

struct CountsBound : CountBound<32> {
  static CacheLimit Most() { return {32, 4000}; }
};

// Threads that add, find, weigh, erase and shrink: what one of them has is there and is what it
// asked for, and what nobody has keeps to the bound. A child that is forked meanwhile can go on.
TEST(BoundedCache, ManyThreadsAndForks) {
  auto& cache = *new BoundedCache<int, int, CountsBound>;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000 && (i < 10'000 || !stop); ++i) {
        const int key = (i * 7 + t * 13) % 100;
        bool fresh;
        const auto object = cache.FindOrAdd(
            key, [&] { return std::make_shared<int>(key); }, &fresh);
        if (*object != key) ++wrong;
        if (fresh) cache.Weigh(key, object, key);
        if (*cache.Add(key + 100, std::make_shared<int>(key), key) != key) ++wrong;
        if (i % 11 == 0) cache.Erase(key, object);
        if (i % 97 == 0) cache.Shrink(true);
        if (i % 501 == 0) cache.EraseIf([](const auto& o) { return *o % 2 == 0; });
      }
    });
  }
  for (int f = 0; f < 5; ++f) {
    const pid_t child = fork();
    if (child == 0) {
      bool fresh;
      const auto object = cache.FindOrAdd(
          1000, [] { return std::make_shared<int>(1000); }, &fresh);
      _exit(*object == 1000 && fresh ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0);
  cache.Shrink();
  const CacheStats stats = cache.stats();
  EXPECT_LE(stats.entries, 32);
  EXPECT_LE(stats.bytes, 4000);
  EXPECT_GT(stats.evictions, 0);
  int64_t bytes = 0, entries = 0;
  cache.EraseIf([&](const auto& o) {
    bytes += *o;
    ++entries;
    return true;
  });
  EXPECT_EQ(entries, stats.entries);
  EXPECT_EQ(bytes, stats.bytes) << "every byte that was counted is one of what is kept";
  EXPECT_EQ(cache.stats().bytes, 0);
}

// What a thread has is not evicted while others press on the bound.
TEST(BoundedCache, WhatAThreadHasIsFoundByOthers) {
  auto& cache = *new BoundedCache<int, int, CountsBound>;
  bool fresh;
  const auto held = cache.FindOrAdd(
      -1, [] { return std::make_shared<int>(-1); }, &fresh);
  cache.Weigh(-1, held, 1);
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        cache.Add(i * 3 + t, std::make_shared<int>(i), 10);
        if (i % 50 == 0 && cache.Find(-1) != held) ++lost;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(lost.load(), 0);
  EXPECT_EQ(cache.Find(-1), held);
}

}  // namespace
}  // namespace frazil
