// Where a long segment ends: bodies of loops, and what is cut where.
#include "tracer/segment_end.h"

#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "tests/tracer/fakes.h"

namespace frazil::tracer {
namespace {

std::pair<int, int> Found(std::initializer_list<uint64_t> calls) {
  const Bodies found = FindBodies(calls);
  return {found.first, found.length};
}
constexpr std::pair<int, int> kNone{0, 0};

TEST(FindBodies, AreTheShortestThatRepeat) {
  EXPECT_EQ(Found({1, 1, 1, 1}), std::pair(0, 1));
  EXPECT_EQ(Found({1, 2, 1, 2, 1, 2, 1, 2}), std::pair(0, 2));
  EXPECT_EQ(Found({1, 1, 2, 1, 1, 2}), std::pair(0, 3));
}

TEST(FindBodies, BeginBehindWhatComesBeforeTheLoop) {
  EXPECT_EQ(Found({9, 1, 2, 1, 2}), std::pair(1, 2));
}

TEST(FindBodies, MayStopWithinABody) {
  EXPECT_EQ(Found({1, 2, 3, 1, 2, 3, 1, 2}), std::pair(0, 3));
}

TEST(FindBodies, CoverTheLatterHalf) {
  EXPECT_EQ(Found({6, 7, 8, 9, 1, 2, 1, 2}), std::pair(4, 2));
  EXPECT_EQ(Found({5, 6, 7, 8, 9, 1, 2, 1, 2}), kNone);
}

TEST(FindBodies, AreThoseOfATrial) {
  // As defined: the shortest length that the latter half repeats, twice at least.
  const auto by_trial = [](const std::vector<uint64_t>& calls) -> std::pair<int, int> {
    const int n = static_cast<int>(calls.size());
    for (int length = 1; length <= n / 2; ++length) {
      int first = n - length;
      while (first > 0 && calls[first - 1] == calls[first - 1 + length]) --first;
      if (first <= n / 2 && n - first >= 2 * length) return {first, length};
    }
    return {0, 0};
  };
  std::minstd_rand random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint64_t> calls(random() % 24);
    const uint64_t period = random() % 6 + 1, kinds = random() % 3 + 1;
    for (size_t i = 0; i < calls.size(); ++i)
      calls[i] = i >= period && random() % 8 != 0 ? calls[i - period] : random() % kinds;
    const Bodies found = FindBodies(calls);
    EXPECT_EQ(std::pair(found.first, found.length), by_trial(calls));
  }
}

TEST(FindBodies, AreThereTwiceAtLeast) {
  EXPECT_EQ(Found({}), kNone);
  EXPECT_EQ(Found({1}), kNone);
  EXPECT_EQ(Found({1, 2, 3, 4}), kNone);
  EXPECT_EQ(Found({9, 1, 2, 3, 1, 2}), kNone) << "one and two thirds";
}

// Nodes of a trie, each the only child of the one before.
class Path {
 public:
  Path() { nodes_.push_back(std::make_unique<Node>()); }

  // A call that is known among others by `hash`, and by what it is.
  Node* Add(uint64_t hash, OpId op = OpId::k_add, const Attrs& attrs = {}) {
    return Add(hash, Operands{depth() - 1, depth() - 1}, attrs, op);
  }
  // One that takes a new array of so many elements.
  Node* AddTaking(uint64_t hash, int64_t elements = 1, bool number = false) {
    Node* const node = Add(hash, Operands{~num_slots_, depth() - 1});
    node->slots.push_back(Parameter{DType::kF32, Device(), number, false, Dense({elements})});
    ++num_slots_;
    return node;
  }
  // One that takes these results.
  Node* Add(uint64_t hash, Operands operands, const Attrs& attrs = {}, OpId op = OpId::k_add) {
    auto node = std::make_unique<Node>();
    static_cast<CallRecord&>(*node) = MadeCall(op, attrs);
    node->operands = std::move(operands);
    node->hash = hash;
    node->parent = nodes_.back().get();
    node->depth = depth() + 1;
    node->first_result = depth();
    node->first_slot = num_slots_;
    nodes_.push_back(std::move(node));
    return nodes_.back().get();
  }
  int depth() const { return static_cast<int>(nodes_.size()) - 1; }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  int num_slots_ = 0;
};

// Calls are added by `add`, told how many there are, until the segment ends, or there are `most`.
template <typename F>
int EndOf(const F& add, int most = 2 * kMaxSegment) {
  Path path;
  while (path.depth() < most && !EndsSegment(add(&path, path.depth()))) {
  }
  return path.depth();
}

Node* Other(Path* path, int i) { return path->Add(1'000'000 + uint64_t(i), OpId::k_add, {i}); }

// `length` calls again and again behind `before` others.
auto Loop(int length, int before = 0) {
  return [=](Path* path, int i) {
    return i < before ? Other(path, i) : path->Add(uint64_t((i - before) % length));
  };
}

TEST(EndsSegment, NotBeforeItIsLong) {
  EXPECT_EQ(EndOf(Loop(1)), kLoopSegment);
  EXPECT_EQ(EndOf(Loop(4)), kLoopSegment);
}

TEST(EndsSegment, BehindAWholeNumberOfBodies) {
  EXPECT_EQ(EndOf(Loop(3)), 1026);
  EXPECT_EQ(EndOf(Loop(7, 10)), 10 + 7 * 145);
  EXPECT_EQ(EndOf(Loop(128)), kLoopSegment);
}

TEST(EndsSegment, FewBodiesMayBeLayersOfANetwork) {
  EXPECT_EQ(EndOf(Loop(129)), 129 * 16) << "eight of them at the next look, at 2048 calls";
  EXPECT_EQ(EndOf(Loop(200)), 2200);
  EXPECT_EQ(EndOf(Loop(600)), 4200) << "fewer than eight, but no layers are as long";
  EXPECT_EQ(EndOf(Loop(5000)), 20000) << "two of them at the look at 16384 calls";
}

TEST(EndsSegment, WhatRepeatsNothingIsLongest) { EXPECT_EQ(EndOf(Other), kMaxSegment); }

TEST(EndsSegment, TheAnswerDoesNotDependOnWhatWasAskedBefore) {
  Path path;
  Node* last = nullptr;
  for (int i = 0; i < 1026; ++i) last = Loop(3)(&path, i);
  EXPECT_TRUE(EndsSegment(last));
  EXPECT_TRUE(EndsSegment(last)) << "asked again";
  EXPECT_FALSE(EndsSegment(last->parent));
  EXPECT_FALSE(EndsSegment(last->parent->parent));
}

TEST(EndsSegment, TheLoopThatWasFoundIsKeptWhileItGoesOn) {
  // Behind 1024 calls of one body another begins; the cut is still where the first one's end is.
  EXPECT_EQ(EndOf([](Path* path, int i) { return path->Add(uint64_t(i < 1024 ? i % 5 : 77)); }),
            1025);
}

TEST(EndsSegment, LayersWithWeightsOfTheirOwnAreNoLoop) {
  const auto layers = [](int length, bool number = false) {
    return [=](Path* path, int i) {
      return i % length == 0 ? path->AddTaking(0, 1, number) : path->Add(uint64_t(i % length));
    };
  };
  EXPECT_EQ(EndOf(layers(600)), kMaxSegment);
  EXPECT_EQ(EndOf(layers(20)), 8200) << "as many as no network has, at the look at 8192 calls";
  EXPECT_EQ(EndOf(layers(3)), 1026);
  EXPECT_EQ(EndOf(layers(20, true)), 1040) << "a number is another one in each iteration of a loop";
}

TEST(EndsSegment, LayersThatReadWhatTheForwardPassLeftAreNoLoop) {
  // Behind 600 others, bodies of 50 calls; the first call of each takes a result from `from`.
  const auto backward = [](const auto& from) {
    return [=](Path* path, int i) {
      if (i < 600) return Other(path, i);
      const int body = (i - 600) / 50;
      if ((i - 600) % 50 == 0) return path->Add(0, Operands{from(body), i - 1});
      return path->Add(uint64_t((i - 600) % 50));
    };
  };
  EXPECT_EQ(EndOf(backward([](int body) { return 599 - body; })), 600 + 50 * 316);
  EXPECT_EQ(EndOf(backward([](int) { return 599; })), 600 + 50 * 29) << "the same for all";
  EXPECT_EQ(EndOf(backward([](int body) { return 600 + 50 * std::max(0, body - 3); })),
            600 + 50 * 29)
      << "what an iteration shortly before made";
}

TEST(EndsSegment, WhatHoldsMuchIsNoLongerThanItHasToBe) {
  const auto taking = [](int64_t elements) {
    return [=](Path* path, int i) {
      return i < 16 ? path->AddTaking(uint64_t(i), elements) : Other(path, i);
    };
  };
  EXPECT_EQ(EndOf(taking(kMostHeld / 64)), kMaxSegment);
  EXPECT_EQ(EndOf(taking(kMostHeld / 64 + 1)), kLongSegment);
}

// A body of `length` calls that takes another slice each time.
TEST(EndsSegment, ABodyWithOtherSlicesGoesOn) {
  EXPECT_EQ(EndOf([](Path* path, int i) {
              if (i % 4 == 0) return path->Add(2'000'000 + uint64_t(i), OpId::k_slice, {i});
              return path->Add(uint64_t(i % 4), OpId::k_add, {i % 4});
            }),
            kMaxSegment);
}

TEST(AttrsInBody, LeaveOutWhichSliceItIs) {
  EXPECT_TRUE(AttrsInBody(MadeCall(OpId::k_slice, {0, 1, 1})).empty());
  EXPECT_EQ(AttrsInBody(MadeCall(OpId::k_add, {7})), Attrs({7}));
  CallRecord composite = MadeCall(OpId::k_slice, {7});
  composite.composite = true;  // the number is of a composite then
  EXPECT_EQ(AttrsInBody(composite), Attrs({7}));
}

}  // namespace
}  // namespace frazil::tracer
