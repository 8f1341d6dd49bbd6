// Where a long segment ends: bodies of loops, and what is cut where.
#include "tracer/segment_end.h"

#include <numeric>

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
  Node* Add(uint64_t hash, OpId op = OpId::k_add, Attrs attrs = {}) {
    auto node = std::make_unique<Node>();
    static_cast<CallRecord&>(*node) = MadeCall(op, std::move(attrs));
    node->operands = {-1, -1};
    node->hash = hash;
    node->parent = nodes_.back().get();
    node->depth = depth() + 1;
    nodes_.push_back(std::move(node));
    return nodes_.back().get();
  }
  int depth() const { return static_cast<int>(nodes_.size()) - 1; }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

// Calls are added by `add`, told how many there are, until the segment ends, or there are `most`.
template <typename F>
int EndOf(const F& add, int most = 2 * kMaxSliced) {
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
  EXPECT_EQ(EndOf(Loop(600)), 4200) << "fewer than eight, where others end anyhow";
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

// A body of `length` calls that takes another slice each time, `calls` of them; then others.
auto Slices(int length, int calls) {
  return [=](Path* path, int i) {
    if (i >= calls) return Other(path, i);
    if (i % length == 0) return path->Add(2'000'000 + uint64_t(i), OpId::k_slice, {i});
    return path->Add(uint64_t(i % length), OpId::k_add, {i % length});
  };
}

TEST(EndsSegment, ABodyWithOtherSlicesGoesOnToItsOwnLimit) {
  EXPECT_EQ(EndOf(Slices(4, 2 * kMaxSliced)), kMaxSliced);
}

TEST(EndsSegment, OnlyManyBodiesWithSlicesGoOn) {
  EXPECT_EQ(EndOf(Slices(200, 2 * kMaxSliced)), kMaxSegment);
  EXPECT_EQ(EndOf(Slices(100, 2 * kMaxSliced)), kMaxSliced);
}

TEST(EndsSegment, BehindALoopOfSlicesThereIsRoomForAsMuchAsOthersHave) {
  EXPECT_EQ(EndOf(Slices(4, 2 * kMaxSegment)), 3 * kMaxSegment + kLoopSegment);
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
