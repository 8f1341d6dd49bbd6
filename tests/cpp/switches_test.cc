// A process of its own: what a wrong environment variable does to the first call.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bindings/cpp/frazil.h"

namespace fz = frazil;

TEST(Switches, WrongValuesAreRefusedByEveryCall) {
  setenv("FRAZIL_ISA", "bogus", 1);
  for (int i = 0; i < 2; ++i) {
    try {
      fz::full({2}, fz::Scalar::Float(1), fz::DType::kF32);
      FAIL();
    } catch (const fz::Error& error) {
      EXPECT_EQ(error.kind(), fz::ErrorKind::kValue);
      EXPECT_STREQ(error.what(), "[config] FRAZIL_ISA must be best, avx512 or avx2, got 'bogus'.");
    }
  }
}
