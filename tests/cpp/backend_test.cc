// A device that frazil knows nothing of: what one registration makes of it.
#include "core/backend.h"

#include <cstring>

#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"
#include "jit/cache/kernel_cache.h"
#include "jit/run/device_backend.h"

namespace fz = frazil;

namespace {

using fz::Device;
using fz::DeviceKind;
using fz::jit::Launch;

// Runs a kernel as the CPU would, over memory that only this device may touch.
class FakeKernel final : public fz::jit::DeviceKernel {
 public:
  FakeKernel(const Launch& launch, std::shared_ptr<const fz::jit::Compiled> code, int* runs)
      : rows_(launch.rows), cols_(launch.cols), code_(std::move(code)), runs_(runs) {}
  fz::Status Run(const fz::kir::KernelArgs& args) const override {
    ++*runs_;
    code_->Run(args, 0, rows_, 0, cols_);
    return absl::OkStatus();
  }
  std::string text() const override { return "fake kernel"; }
  int64_t bytes() const override { return sizeof(*this); }
  std::string refusal() const override { return ""; }

 private:
  const int64_t rows_, cols_;
  const std::shared_ptr<const fz::jit::Compiled> code_;
  int* const runs_;
};

class Fake final : public fz::jit::DeviceBackend {
 public:
  std::string_view name() const override { return "fake"; }
  int most() const override { return 2; }
  fz::Status Check(Device device) const override {
    return device.index() == 0 ? absl::OkStatus() : fz::ValueError("[fake] there is only one.");
  }
  fz::StatusOr<fz::StorageRef> Allocate(Device, size_t bytes) const override {
    return fz::Allocate(bytes);
  }
  fz::Status Copy(Device, char* to, Device, const char* from, size_t bytes) const override {
    ++copies;
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  fz::StatusOr<std::unique_ptr<const fz::jit::DeviceKernel>> MakeKernel(
      Device, const Launch& launch, const std::string&) const override {
    FZ_ASSIGN_OR_RETURN(auto code, fz::jit::GetKernel(launch.kernel));
    return std::make_unique<const FakeKernel>(launch, std::move(code), &kernels);
  }
  fz::StatusOr<std::unique_ptr<const fz::jit::LibraryCall>> MakeCall(
      const fz::jit::Graph&, int32_t, const std::string&, fz::Precision,
      std::unique_ptr<const fz::jit::LibraryCall> cpu) const override {
    ++calls;
    return cpu;
  }
  mutable int copies = 0, kernels = 0, calls = 0;
};

fz::Tensor Program(const fz::Tensor& x, const fz::Tensor& w) {
  return fz::softmax(fz::matmul(x, w) * 2.0 + 1.0);
}

// The test is the only one of its process: a registration lasts.
TEST(Backend, OneRegistrationMakesADevice) {
  EXPECT_FALSE(fz::ParseDevice("fake").ok());
  static const auto* const fake = new Fake;
  fz::RegisterBackend(DeviceKind::kOther, fake);
  const auto device = fz::ParseDevice("fake");
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ(fz::Name(*device), "fake");
  EXPECT_EQ(fz::ParseDevice("fake:1").status().message(), "[fake] there is only one.");
  EXPECT_NE(fz::ParseDevice("tpu").status().message().find("'fake', 'fake:N'"), std::string::npos);

  const fz::Tensor x = fz::sin(fz::arange(12.0)), w = fz::cos(fz::arange(20.0));
  const fz::Tensor a = fz::reshape(x, {3, 4}), b = fz::reshape(w, {4, 5});
  const fz::Tensor want = Program(a, b);
  auto traced = fz::jit::trace(Program);
  for (int i = 0; i < 3; ++i) {
    const fz::Tensor there = traced(fz::ops::to_device(a, *device), fz::ops::to_device(b, *device));
    EXPECT_EQ(there.device(), *device);
    const fz::Tensor back = fz::ops::to_device(there, Device());
    EXPECT_TRUE(fz::item(fz::all(fz::equal(back, want))));
  }
  EXPECT_GE(fake->copies, 9);
  EXPECT_GE(fake->kernels, 3);
  EXPECT_GE(fake->calls, 1);

  // Operands of two devices are refused, and the data stays.
  try {
    (void)(fz::ops::to_device(a, *device) + a);
    FAIL() << "operands of two devices";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string_view(error.what()).find("fake and cpu"), std::string::npos);
  }
}

}  // namespace
