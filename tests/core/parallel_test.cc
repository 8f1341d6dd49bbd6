// The worker pool: coverage of ranges, nesting, changing its size, many callers, fork.
#include "core/threads/parallel.h"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/threads/asymmetric_fence.h"

namespace frazil {
namespace {

// Every element once, parts a multiple of the grain except the last.
void ExpectCovers(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> seen(n);
  std::atomic<int> odd{0};
  ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
    if (begin % grain != 0 || (end % grain != 0 && end != n)) ++odd;
    for (int64_t i = begin; i < end; ++i) ++seen[i];
  });
  EXPECT_EQ(odd.load(), 0);
  for (auto& s : seen) ASSERT_EQ(s.load(), 1);
}

// Later it would take milliseconds.
TEST(Fences, ArePreparedBeforeThereAreThreads) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0) GTEST_SKIP() << "no such call";
  SetNumThreads(2);
  ParallelFor(1 << 10, 1, [](int64_t, int64_t) {});
  EXPECT_TRUE(g_light_fences.load());
}

TEST(Parallel, CoversEveryRange) {
  for (int threads : {1, 2, 3, 5}) {
    SetNumThreads(threads);
    EXPECT_EQ(NumThreads(), threads);
    for (int64_t n : {0, 1, 2, 63, 64, 65, 1000}) {
      for (int64_t grain : {1, 7, 64, 5000}) ExpectCovers(n, grain);
    }
  }
}

TEST(Parallel, OtherThreadsTakePart) {
  SetNumThreads(2);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  // Each part waits for another to have begun: with one thread this would run out of patience.
  ParallelFor(2, 1, [&](int64_t, int64_t) {
    ++inside;
    for (int i = 0; i < 10000 && inside < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (inside >= 2) met = true;
  });
  EXPECT_TRUE(met);
}

TEST(Parallel, NestedCallsRunInTheCallingThread) {
  SetNumThreads(3);
  std::atomic<int> bad{0}, sum{0};
  ParallelFor(8, 1, [&](int64_t, int64_t) {
    const auto self = std::this_thread::get_id();
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() != self) ++bad;
      sum += int(end - begin);
    });
  });
  EXPECT_EQ(bad.load(), 0);
  EXPECT_EQ(sum.load() % 100, 0);
  EXPECT_GE(sum.load(), 100);
}

TEST(Parallel, ManyCallersAndChangingSizes) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 50; ++i) {
        if (c == 0 && i % 10 == 0) SetNumThreads(1 + i / 10);
        ParallelFor(100, 3, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total.load(), 4 * 50 * 100);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a process with threads
TEST(Parallel, TheChildOfAForkHasAPoolOfItsOwn) {
  SetNumThreads(3);
  ExpectCovers(100, 1);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int64_t> n{0};
    for (int i = 0; i < 20; ++i)
      ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { n += end - begin; });
    SetNumThreads(2);
    ParallelFor(1000, 1, [&](int64_t begin, int64_t end) { n += end - begin; });
    _exit(n == 21000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ExpectCovers(100, 1);
}
#endif

}  // namespace
}  // namespace frazil
