// Which steps touch the same memory, and which wait for which.
#include "jit/run/touch.h"

#include <random>

#include "gtest/gtest.h"

namespace frazil::jit {
namespace {

using Numbers = std::vector<int32_t>;
using Edges = std::vector<Numbers>;
using Step = std::vector<Touch>;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Touch Read(int32_t block, int64_t begin = 0, int64_t end = kMost) {
  return {block, false, begin, end};
}
Touch Write(int32_t block, int64_t begin = 0, int64_t end = kMost) {
  return {block, true, begin, end};
}

// Both ways, since neither comes first.
bool Meet(const Touch& a, const Touch& b) {
  EXPECT_EQ(Conflict(a, b), Conflict(b, a));
  return Conflict(a, b);
}

TEST(Conflict, OneOfThemWrites) {
  EXPECT_TRUE(Meet(Write(0, 0, 8), Read(0, 0, 8)));
  EXPECT_TRUE(Meet(Write(0, 0, 8), Write(0, 0, 8)));
  EXPECT_FALSE(Meet(Read(0, 0, 8), Read(0, 0, 8)));
}

TEST(Conflict, WithinOneBlock) { EXPECT_FALSE(Meet(Write(0, 0, 8), Write(1, 0, 8))); }

TEST(Conflict, BytesThatBothTouch) {
  EXPECT_TRUE(Meet(Write(0, 0, 8), Write(0, 7, 16))) << "one byte";
  EXPECT_TRUE(Meet(Write(0, 0, 8), Write(0, 2, 3))) << "inside";
  EXPECT_FALSE(Meet(Write(0, 0, 8), Write(0, 8, 16))) << "neighbours";
  EXPECT_FALSE(Meet(Write(0, 0, 8), Write(0, 9, 16))) << "apart";
}

TEST(Conflict, NoBytesMeetNothing) {
  EXPECT_FALSE(Meet(Write(0, 4, 4), Write(0, 0, 8)));
  EXPECT_FALSE(Meet(Write(0, 0, 0), Write(0, 0, 8)));
  EXPECT_FALSE(Meet(Write(0, 4, 4), Write(0, 4, 4)));
  EXPECT_FALSE(Meet(Write(0, 4, 4), Write(0)));
}

TEST(Conflict, AWholeBlockHasAllBytes) {
  EXPECT_TRUE(Meet(Touch{0, true}, Read(0, 0, 1)));
  EXPECT_TRUE(Meet(Touch{0, true}, Read(0, int64_t{1} << 40, kMost)));
  EXPECT_TRUE(Meet(Touch{0, true}, Touch{0, false}));
}

TEST(Touched, NothingWaitsForNothing) {
  Touched touched;
  EXPECT_EQ(touched.Before(Step{Write(0)}), Numbers());
  touched.Add(0, {});
  touched.Add(1, Step{Write(0)});
  EXPECT_EQ(touched.Before({}), Numbers());
}

TEST(Touched, ReadersWaitForWritersAndWritersForBoth) {
  Touched touched;
  touched.Add(0, Step{Write(0)});
  touched.Add(1, Step{Read(0)});
  touched.Add(2, Step{Read(0)});
  EXPECT_EQ(touched.Before(Step{Read(0)}), Numbers({0}));
  EXPECT_EQ(touched.Before(Step{Write(0)}), Numbers({2, 1, 0}));
}

TEST(Touched, EachOnceTheLastFirst) {
  Touched touched;
  touched.Add(3, Step{Write(0, 0, 8), Write(1), Read(2)});
  touched.Add(7, Step{Write(0, 8, 16)});
  EXPECT_EQ(touched.Before(Step{Write(2), Read(1), Read(0)}), Numbers({7, 3}));
}

TEST(Touched, WhatIsOverwrittenIsWaitedForByWayOfTheOverwriter) {
  Touched touched;
  touched.Add(0, Step{Write(0, 0, 8)});
  touched.Add(1, Step{Read(0, 0, 8)});
  touched.Add(2, Step{Write(0, 0, 8)});
  EXPECT_EQ(touched.Before(Step{Write(0, 0, 8)}), Numbers({2}));
}

TEST(Touched, WhatIsOverwrittenInPartStays) {
  for (const Touch& overwrite : {Write(0, 0, 7), Write(0, 1, 8)}) {
    Touched touched;
    touched.Add(0, Step{Write(0, 0, 8)});
    touched.Add(1, Step{overwrite});
    EXPECT_EQ(touched.Before(Step{Read(0, 0, 8)}), Numbers({1, 0})) << overwrite.begin;
    touched.Add(2, Step{Read(0, 0, 8)});
    touched.Add(3, Step{overwrite});
    EXPECT_EQ(touched.Before(Step{Write(0, 0, 8)}), Numbers({3, 2, 0})) << overwrite.begin;
  }
}

TEST(Touched, AReaderHidesNobody) {
  Touched touched;
  touched.Add(0, Step{Write(0, 0, 8)});
  touched.Add(1, Step{Read(0, 0, 8)});
  EXPECT_EQ(touched.Before(Step{Read(0, 0, 8)}), Numbers({0}));
}

TEST(Touched, AStepThatReadsWhatItWrites) {
  Touched touched;
  touched.Add(0, Step{Read(0), Write(0)});
  EXPECT_EQ(touched.Before(Step{Read(0), Write(0)}), Numbers({0}));
  touched.Add(1, Step{Write(0, 0, 8), Read(0, 0, 8)});
  EXPECT_EQ(touched.Before(Step{Write(0, 0, 8)}), Numbers({1, 0}));
}

TEST(DependenciesOf, OfNoSteps) { EXPECT_EQ(DependenciesOf({}), Edges()); }

TEST(DependenciesOf, ReadersDoNotWaitForReaders) {
  EXPECT_EQ(DependenciesOf(std::vector<Step>{
                {Read(0, 0, 8), Write(1, 0, 8)},
                {Read(0, 0, 8), Write(1, 8, 16)},
                {Read(1, 0, 16), Write(2, 0, 8)},
                {Read(2, 0, 8), Read(1, 0, 8), Write(3, 0, 8)},
            }),
            (Edges{{}, {}, {1, 0}, {2}}));
}

TEST(DependenciesOf, MemoryThatIsUsedAgain) {
  EXPECT_EQ(DependenciesOf(std::vector<Step>{
                {Write(0, 0, 8)}, {Read(0, 4, 8), Write(1, 0, 8)}, {Write(0, 0, 8)}}),
            (Edges{{}, {0}, {1}}));
}

TEST(DependenciesOf, AreThoseThatNoOtherWaitsFor) {
  EXPECT_EQ(DependenciesOf(std::vector<Step>{{Write(0, 0, 8)},
                                             {Read(0, 0, 8), Write(1, 0, 8)},
                                             {Read(0, 0, 4)},
                                             {Read(0, 0, 8), Read(1, 0, 8)},
                                             {Write(0, 8, 16)}}),
            (Edges{{}, {0}, {0}, {1}, {}}));
}

// By the definition: every pair is compared, and what is reached by way of another is left out.
Edges Reference(const std::vector<Step>& steps) {
  const size_t n = steps.size();
  std::vector<std::vector<bool>> reached(n, std::vector<bool>(n));
  Edges edges(n);
  for (size_t b = 0; b < n; ++b) {
    for (size_t a = b; a-- > 0;) {
      bool meet = false;
      for (const Touch& x : steps[a]) {
        for (const Touch& y : steps[b]) {
          for (int64_t byte = 0; byte < 16; ++byte) {
            const auto has = [&](const Touch& t) { return t.begin <= byte && byte < t.end; };
            meet |= x.block == y.block && (x.write || y.write) && has(x) && has(y);
          }
        }
      }
      if (!meet || reached[b][a]) continue;
      edges[b].push_back(int32_t(a));
      reached[b][a] = true;
      for (size_t i = 0; i < a; ++i) reached[b][i] = reached[b][i] || reached[a][i];
    }
  }
  return edges;
}

TEST(DependenciesOf, AnySteps) {
  std::mt19937 random(5);
  const auto draw = [&](int n) { return int64_t(random() % unsigned(n)); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<Step> steps(size_t(draw(9)));
    for (Step& step : steps) {
      for (int64_t i = draw(4); i > 0; --i) {
        const int64_t begin = draw(13);
        step.push_back({int32_t(draw(3)), draw(2) == 0, begin, begin + draw(5)});
      }
    }
    ASSERT_EQ(DependenciesOf(steps), Reference(steps)) << "round " << round;
  }
}

}  // namespace
}  // namespace frazil::jit
