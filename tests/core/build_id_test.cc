// Ids of builds: files that were loaded have different ones, and code in no file has none.
#include "core/disk/build_id.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace frazil {
namespace {

TEST(BuildId, EveryFileHasItsOwn) {
  const std::string own = BuildIdOf(reinterpret_cast<const void*>(&BuildIdOf));
  EXPECT_EQ(own.size(), 20u);
  static const int here = 0;
  EXPECT_EQ(BuildIdOf(&here), own);
  const void* other = reinterpret_cast<const void*>(&std::abort);  // of the C library
  EXPECT_NE(BuildIdOf(other), own);
  const auto heap = std::make_unique<int>(0);
  EXPECT_EQ(BuildIdOf(heap.get()), "");
}

}  // namespace
}  // namespace frazil
