#include <chrono>
#include <cmath>

#include "tests/npu/harness.h"

namespace frazil::npu {
namespace {

TEST(Machine, AddsTwoVectors) {
  Harness h;
  const std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  h.Input(x);
  h.Input(y);
  const int out = h.Output(12);
  h.Run(R"(
    SLDP s1, #0
    SLDP s2, #1
    SLDP s3, #2
    LA s4, ub:0x0
    LA s5, ub:0x100
    LD s4, s1, #1, #12, #0, #0, #0
    LD s5, s2, #1, #12, #0, #0, #0
    BAR all
    VBIN.add.f32 s4, s4, s5, #1, #3, #0, #0, #0
    BAR all
    ST s3, s4, #1, #12, #0, #0
  )");
  EXPECT_EQ(h.Get<float>(out), (std::vector<float>{11, 22, 33}));
}

TEST(Machine, MultipliesMatrices) {
  const int m = 33, k = 40, n = 50;
  std::vector<float> a(m * k), b(k * n), want(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3.5f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 11) / 3 - 1;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float acc = 0;
      for (int l = 0; l < k; ++l) acc = std::fma(a[i * k + l], b[l * n + j], acc);
      want[i * n + j] = acc;
    }
  Harness h;
  h.Input(a);
  h.Input(b);
  const int out = h.Output(want.size() * 4);
  h.Run(R"(
    SLDP s1, #0
    SLDP s2, #1
    SLDP s3, #2
    LA s4, l1:0x0
    LA s5, l1:0x10000
    SLI s10, 33
    SLI s11, 40
    SLI s12, 50
    SLI s13, 160
    SLI s14, 200
    SLI s15, 224
    LD s4, s1, s10, s13, #0, s13, #0
    LD s5, s2, s11, s14, s15, s14, #24
    BAR all
    LA s6, l0a:0x0
    LA s7, l0b:0x0
    LA s8, l0c:0x0
    LA s9, ub:0x0
    XA.f32 s6, s4, s10, s11, s13
    XB.f32 s7, s5, s11, s12, s15
    BAR all
    MMUL.f32 s8, s6, s7, s10, s11, s12
    BAR all
    DR.f32 s9, s8, s10, s12, #0, #0
    BAR all
    ST s3, s9, s10, s14, s14, s14
  )");
  EXPECT_EQ(h.Get<float>(out), want);
}

}  // namespace
}  // namespace frazil::npu
