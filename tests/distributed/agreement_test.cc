// Rank 0's list of calls: distributed/agreement.h.
#include "distributed/agreement.h"

#include <gtest/gtest.h>

#include "core/layout.h"

namespace frazil::distributed {
namespace {

CollectiveCall CallOf(Collective kind, int64_t extent) {
  CollectiveCall call;
  call.kind = kind;
  const int64_t dims[] = {extent};
  call.shape = Dense(dims);
  return call;
}
std::string Told(const std::string& name, Collective kind, int64_t extent) {
  return Word(name, {{0, 1, 2}}, Header::Of(CallOf(kind, extent), 0, 7));
}

TEST(Ledger, EqualCallsAreForgotten) {
  Ledger ledger;
  for (int rank = 0; rank < 3; ++rank) {
    const auto verdict = ledger.Add(rank, Told("7 0", Collective::kAllReduce, 3), 1);
    EXPECT_EQ(verdict.rank, -1);
    EXPECT_EQ(verdict.done, "");
    EXPECT_EQ(ledger.open(), rank < 2 ? 1u : 0u);
  }
}

TEST(Ledger, BarriersEndWhenAllAreThere) {
  Ledger ledger;
  EXPECT_EQ(ledger.Add(2, Told("7 1", Collective::kBarrier, 0), 1).done, "");
  EXPECT_EQ(ledger.Add(0, Told("7 1", Collective::kBarrier, 0), 1).done, "");
  EXPECT_EQ(ledger.Add(1, Told("7 1", Collective::kBarrier, 0), 1).done, "7 1");
}

TEST(Ledger, CallsThatDifferAreBothNamed) {
  Ledger ledger;
  ledger.Add(2, Told("7 0", Collective::kAllReduce, 3), 1);
  const auto verdict = ledger.Add(1, Told("7 0", Collective::kAllGather, 3), 1);
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_EQ(verdict.why,
            "the ranks do not agree: rank 1 calls all_gather of float32[3] where rank 2 calls "
            "all_reduce(sum) of float32[3]");
}

TEST(Ledger, ARankThatLeftIsMissed) {
  Ledger ledger;
  ledger.Add(0, Told("7 0", Collective::kAllReduce, 3), 10);
  ledger.Add(2, Told("7 0", Collective::kAllReduce, 3), 10);
  const auto left = [](int rank) { return rank == 1; };
  EXPECT_EQ(ledger.Overdue(left, 60, 10.5).rank, -1) << "its word may be under way";
  const auto verdict = ledger.Overdue(left, 60, 12);
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_EQ(verdict.why,
            "rank 0 waits in all_reduce(sum) of float32[3] for rank 1, whose program has ended "
            "without it");
  EXPECT_EQ(ledger.Overdue([](int rank) { return rank == 2; }, 60, 12).rank, -1) << "it has called";
}

TEST(Ledger, ARankThatDoesNotComeIsNamed) {
  Ledger ledger;
  ledger.Add(0, Told("7 0", Collective::kAllReduce, 3), 10);
  ledger.Add(1, Told("7 0", Collective::kAllReduce, 3), 10);
  const auto nobody = [](int) { return false; };
  EXPECT_EQ(ledger.Overdue(nobody, 60, 69).rank, -1);
  const auto verdict = ledger.Overdue(nobody, 60, 71);
  EXPECT_EQ(verdict.rank, 2);
  EXPECT_NE(verdict.why.find("rank 0 has waited 60 s in all_reduce(sum) of float32[3] for rank 2"),
            std::string::npos)
      << verdict.why;
}

TEST(Ledger, WordsThatAreNoneAreIgnored) {
  Ledger ledger;
  const std::string whole = Told("7 0", Collective::kAllReduce, 3);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(ledger.Add(1, std::string_view(whole).substr(0, size), 1).rank, -1);
  EXPECT_EQ(ledger.open(), 0u);
}

}  // namespace
}  // namespace frazil::distributed
