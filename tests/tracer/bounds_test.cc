// What recordings keep and what goes: the least recently used, down to seven eighths of a bound.
#include "tracer/bounds.h"

#include "core/eviction_history.h"
#include "gtest/gtest.h"
#include "tests/cpp/limit.h"
#include "tests/tracer/fakes.h"

namespace frazil::tracer {
namespace {

class BoundsTest : public testing::Test {
 protected:
  // The call numbered `n` behind `parent`, made or found.
  Node* Add(int64_t n, Node* parent = nullptr) {
    auto node = std::make_unique<Node>();
    static_cast<CallRecord&>(*node) = MadeCall(OpId::k_negative, {n});
    static_cast<NodeOperands&>(*node) = Taking({-1}, 1);
    node->parent = parent ? parent : recording_->root();
    node->depth = node->parent->depth + 1;
    node->hash = static_cast<uint64_t>(n) * 0x9E3779B97F4A7C15u;
    Node* place = node->parent;
    return recording_->AddChild(place, std::move(node));
  }
  void Store(Node* node, uint64_t live = 1, Precision precision = Precision::kDefault) {
    recording_->StorePlan(node, {live}, precision,
                          *fakes_.compiler.Compile({}, {live}, precision, {}, nullptr), 0);
  }
  bool HasPlan(Node* node, uint64_t live = 1, Precision precision = Precision::kDefault) {
    Pin pin;
    int64_t gain = 0;
    return recording_->FindPlan(node, {live}, precision, &pin, &gain) != nullptr;
  }
  int64_t Count(Cause cause) { return recording_->stats().causes[static_cast<int>(cause)]; }

  Fakes fakes_;
  std::shared_ptr<Recording> recording_ = std::make_shared<Recording>("f");
};

TEST_F(BoundsTest, VictimsAreWhatIsOlderAndSomeOfWhatIsAsOld) {
  Victims victims{.until = 5, .ties = 2};
  EXPECT_TRUE(victims.Take(4));
  EXPECT_FALSE(victims.Take(6));
  EXPECT_TRUE(victims.Take(5));
  EXPECT_TRUE(victims.Take(5));
  EXPECT_FALSE(victims.Take(5));
  EXPECT_TRUE(victims.Take(4));
}

TEST_F(BoundsTest, EqualCallsAreOne) {
  Node* const first = Add(1);
  EXPECT_EQ(Add(1), first);
  EXPECT_NE(Add(2), first);
  EXPECT_EQ(Bounds::totals().nodes, 2);
}

TEST_F(BoundsTest, EqualCallsAreOneAlsoAmongMany) {
  std::vector<Node*> nodes;
  for (int n = 0; n < 40; ++n) nodes.push_back(Add(n));
  for (int n = 0; n < 40; ++n) EXPECT_EQ(Add(n), nodes[n]);
}

TEST_F(BoundsTest, NothingGoesAtTheBound) {
  const Limit limit(Setting::k_segment_entries, 16);
  for (int n = 0; n < 16; ++n) Add(n);
  EXPECT_EQ(Bounds::totals().nodes, 16);
  EXPECT_EQ(Count(Cause::kEvictedSegments), 0);
}

TEST_F(BoundsTest, PastItTheOldestGoDownToSevenEighths) {
  const Limit limit(Setting::k_segment_entries, 16);
  std::vector<Node*> nodes;
  for (int n = 0; n < 16; ++n) nodes.push_back(Add(n));
  HasPlan(nodes[0]);  // is a use
  Add(16);
  EXPECT_EQ(Bounds::totals().nodes, 14);
  EXPECT_EQ(Count(Cause::kEvictedSegments), 1);
  EXPECT_EQ(Add(0), nodes[0]);
  EXPECT_EQ(Add(4), nodes[4]);
  EXPECT_EQ(Bounds::totals().nodes, 14);
  for (const int n : {1, 2, 3}) Add(n);  // are made again
  EXPECT_EQ(Bounds::totals().nodes, 14 + 3 - 3) << "which passed the bound again";
}

TEST_F(BoundsTest, OfWhatWasUsedAtOneTimeSoManyGoAsHaveTo) {
  const Limit limit(Setting::k_segment_entries, 16);
  std::vector<Node*> nodes;
  for (int n = 0; n < 16; ++n) nodes.push_back(Add(n));
  for (Node* node : nodes) HasPlan(node);
  Add(16);
  EXPECT_EQ(Bounds::totals().nodes, 14);
}

TEST_F(BoundsTest, WhatWasUsedLateKeepsItsParents) {
  const Limit limit(Setting::k_segment_entries, 8);
  Node* const parent = Add(1);
  Node* const child = Add(2, parent);
  for (int n = 3; n <= 8; ++n) Add(n);
  HasPlan(child);
  Add(9);
  EXPECT_EQ(Add(1), parent);
  EXPECT_EQ(Add(2, parent), child);
}

TEST_F(BoundsTest, ThereIsABoundOfBytesToo) {
  const int64_t each = Add(0)->bytes;
  const Limit limit(Setting::k_segment_bytes, 16 * each);
  for (int n = 1; n < 16; ++n) Add(n);
  EXPECT_EQ(Bounds::totals().nodes, 16);
  Add(16);
  EXPECT_EQ(Bounds::totals().nodes, 14);
  EXPECT_EQ(Bounds::totals().node_bytes, 14 * each);
}

TEST_F(BoundsTest, OtherFunctionsCallsGoAsWell) {
  const Limit limit(Setting::k_segment_entries, 8);
  const auto mine = recording_;
  for (int n = 0; n < 8; ++n) Add(n);
  recording_ = std::make_shared<Recording>("g");
  Add(1);
  EXPECT_EQ(Bounds::totals().nodes, 7);
  EXPECT_EQ(mine->root()->child_count, 6);
}

TEST_F(BoundsTest, PlansHaveBoundsOfTheirOwn) {
  const Limit limit(Setting::k_plan_entries, 8), calls(Setting::k_segment_entries, 9);
  std::vector<Node*> nodes;
  for (int n = 0; n < 8; ++n) Store(nodes.emplace_back(Add(n)));
  EXPECT_TRUE(HasPlan(nodes[0]));
  Store(Add(8));
  EXPECT_EQ(Bounds::totals().plans, 7);
  EXPECT_EQ(Bounds::totals().nodes, 9);
  EXPECT_TRUE(HasPlan(nodes[0])) << "used lately";
  EXPECT_FALSE(HasPlan(nodes[1]));
  EXPECT_FALSE(HasPlan(nodes[2]));
  EXPECT_TRUE(HasPlan(nodes[3]));
  EXPECT_EQ(Count(Cause::kEvictedPlans), 1);
}

TEST_F(BoundsTest, AndOfBytes) {
  const Limit limit(Setting::k_plan_bytes, 8 * fakes_.compiler.bytes);
  for (int n = 0; n < 9; ++n) Store(Add(n));
  EXPECT_EQ(Bounds::totals().plans, 7);
  EXPECT_EQ(Bounds::totals().plan_bytes, 7 * fakes_.compiler.bytes);
}

TEST_F(BoundsTest, APlanIsForResultsAndAPrecision) {
  Node* const node = Add(1);
  Store(node, 1);
  Store(node, 2, Precision::kBlas);
  EXPECT_TRUE(HasPlan(node, 1));
  EXPECT_TRUE(HasPlan(node, 2, Precision::kBlas));
  EXPECT_TRUE(HasPlan(node, 1)) << "also when it was not the latest";
  EXPECT_FALSE(HasPlan(node, 2));
  EXPECT_FALSE(HasPlan(node, 1, Precision::kBlas));
}

TEST_F(BoundsTest, WhyAPlanWasMissing) {
  Node* const node = Add(1);
  const auto store = [&](uint64_t live, Precision precision) {
    return recording_
        ->StorePlan(node, {live}, precision,
                    *fakes_.compiler.Compile({}, {live}, precision, {}, nullptr), 0)
        .cause;
  };
  EXPECT_EQ(store(1, Precision::kDefault), Cause::kPlan);
  EXPECT_EQ(store(2, Precision::kDefault), Cause::kWanted);
  EXPECT_EQ(store(2, Precision::kBlas), Cause::kPrecision);
  EXPECT_EQ(store(1, Precision::kDefault), Cause::kReplanned);
}

TEST_F(BoundsTest, ShrinkingTakesAnEighthOfThePlans) {
  std::vector<Node*> nodes;
  for (int n = 0; n < 9; ++n) Store(nodes.emplace_back(Add(n)));
  Bounds::ShrinkPlans("memory");
  EXPECT_EQ(Bounds::totals().plans, 7) << "an eighth of nine, rounded up";
  EXPECT_FALSE(HasPlan(nodes[1]));
  EXPECT_TRUE(HasPlan(nodes[2]));
}

TEST_F(BoundsTest, ClearingForgetsAll) {
  Store(Add(2, Add(1)));
  recording_->Clear();
  EXPECT_EQ(Bounds::totals().nodes, 0);
  EXPECT_EQ(Bounds::totals().plans, 0);
  EXPECT_EQ(Bounds::totals().node_bytes, 0);
  EXPECT_EQ(Bounds::totals().plan_bytes, 0);
}

TEST_F(BoundsTest, FailuresToCompileAreTriedAgainMoreAndMoreRarely) {
  Node* const node = Add(1);
  const auto refused = [&] {
    int times = 0;
    while (!recording_->MayCompile(node, {1}, Precision::kDefault)) ++times;
    return times;
  };
  EXPECT_EQ(refused(), 0);
  for (const int times : {1, 2, 4, 8}) {
    recording_->CompileFailed(node, {1}, Precision::kDefault);
    EXPECT_EQ(refused(), times);
  }
  EXPECT_TRUE(recording_->MayCompile(node, {2}, Precision::kDefault)) << "other results";
  Store(node);
  recording_->CompileFailed(node, {1}, Precision::kDefault);
  EXPECT_EQ(refused(), 1) << "after a success it begins anew";
}

// Evicts and makes again `again` of 256 things; whether it is said then.
bool Thrashes(int again, EvictionHistory* history) {
  static uint64_t number = 0;
  bool said = false;
  for (int i = 0; i < 256; ++i) {
    const uint64_t hash = ++number * 0x9E3779B97F4A7C15u;
    if (i < again) history->Evicted(hash);
    said |= history->Made(hash);
  }
  return said;
}

TEST(EvictionHistory, AQuarterThatComesAgainIsThrashing) {
  EvictionHistory few;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Thrashes(63, &few));
  EXPECT_TRUE(Thrashes(65, &few));
  EXPECT_FALSE(Thrashes(256, &few)) << "it is said once";
}

TEST(EvictionHistory, WhatNeverWentDoesNotCount) {
  EvictionHistory history;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Thrashes(0, &history));
  EXPECT_EQ(history.evictions(), 0);
  EXPECT_EQ(history.remade(), 0);
}

TEST(EvictionHistory, WhatCameBackOnceCountsOnce) {
  EvictionHistory history;
  history.Evicted(uint64_t{7} << 32);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(history.Made(uint64_t{7} << 32));
  EXPECT_EQ(history.remade(), 1);
}

}  // namespace
}  // namespace frazil::tracer
