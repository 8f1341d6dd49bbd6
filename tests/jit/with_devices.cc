// For programs whose graphs name devices: registers those that frazil knows, as RegisterJit does,
// before the first test.
#include "core/backend.h"
#include "gtest/gtest.h"
#include "jit/run/cuda/backend.h"
#include "jit/run/npu/backend.h"

namespace frazil {
namespace {

class Devices final : public testing::Environment {
 public:
  void SetUp() override {
    RegisterBackend(DeviceKind::kNpu, jit::NpuBackend());
    RegisterBackend(DeviceKind::kCuda, jit::CudaBackend());
  }
};

[[maybe_unused]] const auto* const kDevices = testing::AddGlobalTestEnvironment(new Devices);

}  // namespace
}  // namespace frazil
