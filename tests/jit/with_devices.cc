// For programs whose graphs name devices: registers those that frazil knows before the first test.
#include "gtest/gtest.h"
#include "jit/register.h"

namespace frazil {
namespace {

class Devices final : public testing::Environment {
 public:
  void SetUp() override { jit::RegisterDevices(); }
};

[[maybe_unused]] const auto* const kDevices = testing::AddGlobalTestEnvironment(new Devices);

}  // namespace
}  // namespace frazil
