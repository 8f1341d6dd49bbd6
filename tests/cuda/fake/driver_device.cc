// The fake driver: start, errors, devices, contexts.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/fake/driver.h"
#include "tests/cuda/fake/stream.h"

FAKE_EXPORT_RECORDER(fake_cuda)

namespace fake {
namespace {

thread_local Context* current_context = nullptr;

long long FromEnvironment(const char* name, long long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == 0 ? otherwise : std::strtoll(text, nullptr, 10);
}

// Names and texts as the real driver has them, for the errors that the fake gives or a test may
// ask for.
struct ErrorText {
  CUresult error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not initiated in this stream"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {kGraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* Find(CUresult error) {
  for (const ErrorText& row : kErrors) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

bool IsDevice(CUdevice device) {
  return device >= 0 && size_t(device) < Driver::Get().contexts.size();
}

}  // namespace

Driver& Driver::Get() {
  static Driver* const driver = new Driver;
  return *driver;
}

Driver::Driver() {
  arch = int(FromEnvironment("FAKE_CUDA_ARCH", 90));
  version = int(FromEnvironment("FAKE_CUDA_DRIVER", 12090));
  const auto count = FromEnvironment("FAKE_CUDA_DEVICES", 1);
  const auto bytes = FromEnvironment("FAKE_CUDA_MEMORY", 2ll << 30);
  for (int device = 0; device < count; ++device) {
    contexts.push_back(std::make_unique<Context>(device, size_t(bytes)));
    Context* const context = contexts.back().get();
    context->legacy = std::make_shared<Stream>(context, true);
    context->per_thread = std::make_shared<Stream>(context, true);
  }
}

CUresult Driver::Enter(Needs needs, const char* name, const std::string& arguments) {
  if (const int error = Recorder::Get().Call(name, arguments)) return error;
  if (needs == Needs::kNothing) return kSuccess;
  // A child of fork() has no device, and cannot get one.
  if (process_ != 0 && process_ != getpid()) return kNotInitialized;
  if (needs == Needs::kStart) return kSuccess;
  if (!initialized) return kNotInitialized;
  if (needs == Needs::kInit) return kSuccess;
  return current() == nullptr ? kInvalidContext : current()->error;
}

CUresult Driver::Start() {
  if (contexts.empty()) return kNoDevice;
  initialized = true;
  process_ = getpid();
  return kSuccess;
}

Context* Driver::current() const { return current_context; }
void SetCurrent(Context* context) { current_context = context; }

Context* Driver::OwnerOf(CUdeviceptr address) const {
  for (const auto& context : contexts) {
    if (context->memory.Owns(address)) return context.get();
  }
  return nullptr;
}

CUcontext HandleOf(Context* context) { return reinterpret_cast<CUcontext>(context); }

Context* FromHandle(CUcontext handle) {
  for (const auto& context : Driver::Get().contexts) {
    if (HandleOf(context.get()) == handle) return context.get();
  }
  return nullptr;
}

CUresult cuInit(unsigned flags) {
  FAKE_CALL(kStart, cuInit, flags);
  if (flags != 0) return kInvalidValue;
  return Driver::Get().Start();
}

CUresult cuDriverGetVersion(int* version) {
  FAKE_CALL(kNothing, cuDriverGetVersion);
  *version = Driver::Get().version;
  return kSuccess;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  FAKE_CALL(kNothing, cuGetErrorName, error);
  const ErrorText* row = Find(error);
  *text = row == nullptr ? nullptr : row->name;
  return row == nullptr ? kInvalidValue : kSuccess;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  FAKE_CALL(kNothing, cuGetErrorString, error);
  const ErrorText* row = Find(error);
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? kInvalidValue : kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  FAKE_CALL(kInit, cuDeviceGetCount);
  *count = int(Driver::Get().contexts.size());
  return kSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_CALL(kInit, cuDeviceGet, ordinal);
  if (!IsDevice(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  FAKE_CALL(kInit, cuDeviceGetName, device);
  if (!IsDevice(device)) return kInvalidDevice;
  std::snprintf(name, size_t(length), "Fake GPU %d", device);
  return kSuccess;
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  FAKE_CALL(kInit, cuDeviceGetAttribute, attribute, device);
  if (!IsDevice(device)) return kInvalidDevice;
  const int arch = Driver::Get().arch;
  const std::pair<int, int> rows[] = {
      {kMaxThreadsPerBlock, 1024},
      {kMaxSharedMemoryPerBlock, 48 << 10},
      {kClockRate, 1980000},
      {kMultiprocessorCount, 132},
      {kMemoryClockRate, 2619000},
      {kMemoryBusWidth, 5120},
      {kL2CacheSize, 50 << 20},
      {kMaxThreadsPerMultiprocessor, arch == 75 ? 1024 : 2048},
      {kComputeCapabilityMajor, arch / 10},
      {kComputeCapabilityMinor, arch % 10},
      {kMaxSharedMemoryPerBlockOptin, MaxSharedBytes()},
  };
  for (const auto& [row, result] : rows) {
    if (row != attribute) continue;
    *value = result;
    return kSuccess;
  }
  return kInvalidValue;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  FAKE_CALL(kInit, cuDeviceTotalMem_v2, device);
  if (!IsDevice(device)) return kInvalidDevice;
  *bytes = Driver::Get().contexts[size_t(device)]->memory.total();
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  FAKE_CALL(kInit, cuDevicePrimaryCtxRetain, device);
  if (!IsDevice(device)) return kInvalidDevice;
  *context = HandleOf(Driver::Get().contexts[size_t(device)].get());
  return kSuccess;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_CALL(kInit, cuCtxSetCurrent, context);
  Context* const real = FromHandle(context);
  if (context != nullptr && real == nullptr) return kInvalidContext;
  SetCurrent(real);
  return kSuccess;
}

// A function that a table names and nothing here defines does not link.
[[gnu::used]] const void* const kAllFunctions[] = {
#define FZ_CUDA(symbol, name, parameters) reinterpret_cast<const void*>(&symbol),
#include "jit/cuda/driver.def"
#undef FZ_CUDA
};

}  // namespace fake
