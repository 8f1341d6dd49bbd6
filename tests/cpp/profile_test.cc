// frazil::profile: what ran, counted by kernel.
#include <gtest/gtest.h>

#include <algorithm>

#include "bindings/cpp/frazil.h"

namespace frazil {
namespace {

double RunsOf(profile* p, std::string_view kernel) {
  for (const profile::Row& row : p->by_kernel()) {
    if (row.kernel == kernel) return row.runs;
  }
  return 0;
}

TEST(Profile, CountsEagerAndTracedKernels) {
  const Tensor x = ones({64, 32});
  auto step = jit::trace([](const Tensor& a) { return exp(a) * 2.0; });
  for (int i = 0; i < 3; ++i) step(x);
  profile p;
  sqrt(x);
  for (int i = 0; i < 5; ++i) step(x);
  EXPECT_EQ(RunsOf(&p, "k_sqrt"), 1);
  EXPECT_EQ(RunsOf(&p, "k_exp_multiply"), 5);
  const auto& rows = p.by_kernel();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& r) { return r.kernel == "k_exp_multiply"; });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->flops, 5 * 2 * 64 * 32);
  EXPECT_EQ(row->bytes, 5 * 2 * 4 * 64 * 32);
  EXPECT_GT(row->seconds, 0);
  EXPECT_GE(p.seconds(), row->seconds);
  EXPECT_NE(p.text().find("k_exp_multiply"), std::string::npos);
}

TEST(Profile, OneAtATime) {
  {
    profile p;
    try {
      profile other;
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "[profile] another profile is being taken; it covers all threads.");
    }
  }
  profile again;
  EXPECT_TRUE(again.by_kernel().empty());
}

}  // namespace
}  // namespace frazil
