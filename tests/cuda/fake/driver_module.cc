// The fake driver: modules, functions, launches.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/fake/image.h"
#include "tests/cuda/fake/launch.h"
#include "tests/cuda/fake/stream.h"

namespace fake {
namespace {

// Every load is a library of its own: its kernels' static memory is not shared. The loader knows a
// library by its name, so each has another.
void* OpenLibrary(const std::string& bytes) {
  std::string path = "/tmp/fake-cuda-module-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  void* library = nullptr;
  if (write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size()))
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "fake cuda: an image: %s\n", dlerror());
  unlink(path.c_str());
  close(file);
  return library;
}

// Whether the device runs an image of that kind: a CUBIN is for its architecture's major version
// and a minor one not above; PTX is for any device not older and a driver not older.
CUresult CheckImage(const Image& image) {
  const int arch = Driver::Get().arch;
  if (image.ptx) {
    if (image.version / 10 > Driver::Get().version / 10) return kUnsupportedPtxVersion;
    return image.arch > arch ? kNoBinaryForGpu : kSuccess;
  }
  return image.arch / 10 != arch / 10 || image.arch > arch ? kNoBinaryForGpu : kSuccess;
}

void WriteJitLog(unsigned options, const int* names, void** values, const char* text) {
  char* buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < options; ++i) {
    if (names[i] == kJitErrorLogBuffer) buffer = static_cast<char*>(values[i]);
    if (names[i] == kJitErrorLogBufferSizeBytes) bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (buffer != nullptr && bytes > 0) std::snprintf(buffer, bytes, "%s", text);
}

// Of all kernels' parameters.
constexpr unsigned kMostParameterBytes = 4096;

}  // namespace

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned options, int* names,
                            void** values) {
  FAKE_CALL(kContext, cuModuleLoadDataEx, image, options);
  WriteJitLog(options, names, values, "");
  Image read;
  if (!ReadImage(image, &read)) {
    WriteJitLog(options, names, values, "fake cuda: neither a CUBIN nor PTX of the fake NVRTC");
    return kInvalidImage;
  }
  if (const CUresult error = CheckImage(read)) {
    WriteJitLog(options, names, values,
                ("fake cuda: an image for sm_" + std::to_string(read.arch)).c_str());
    return error;
  }
  void* const library = OpenLibrary(read.library);
  const auto* table =
      library == nullptr ? nullptr : static_cast<const FzImage*>(dlsym(library, "fz_image"));
  if (table == nullptr) return kInvalidImage;
  for (unsigned i = 0; i < table->count; ++i) {
    unsigned bytes = 0;
    for (unsigned j = 0; j < table->entries[i].params; ++j) bytes += table->entries[i].sizes[j];
    if (bytes > kMostParameterBytes) {
      WriteJitLog(options, names, values, "fake cuda: too many bytes of parameters");
      dlclose(library);
      return kInvalidImage;
    }
  }
  *module =
      Driver::Get().modules.Add(std::make_shared<Module>(Driver::Get().current(), library, table));
  return kSuccess;
}

CUresult cuModuleUnload(CUmodule module) {
  FAKE_CALL(kContext, cuModuleUnload, module);
  const auto real = Driver::Get().modules.Get(module);
  if (real == nullptr) return kInvalidHandle;
  Driver::Get().work.FinishAll();
  Driver::Get().functions.RemoveIf([&](const Function& f) { return f.module == real; });
  Driver::Get().modules.Remove(module);
  return Driver::Get().current()->error;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_CALL(kContext, cuModuleGetFunction, module, name);
  const auto real = Driver::Get().modules.Get(module);
  if (real == nullptr) return kInvalidHandle;
  const FzEntry* const entry = FindEntry(*real->image, name);
  if (entry == nullptr) return kNotFound;
  const auto [it, fresh] = real->functions.try_emplace(name);
  if (fresh) {
    auto made = std::make_shared<Function>();
    made->module = real;
    made->entry = entry;
    made->static_shared = int(real->image->shared_end - real->image->shared_begin);
    made->max_dynamic_shared = (48 << 10) - made->static_shared;
    it->second = Driver::Get().functions.Add(std::move(made));
  }
  *function = it->second;
  return kSuccess;
}

CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  FAKE_CALL(kContext, cuFuncGetAttribute, attribute, function);
  const auto real = Driver::Get().functions.Get(function);
  if (real == nullptr) return kInvalidHandle;
  switch (attribute) {
    case kFuncLocalSizeBytes:
      *value = 0;
      return kSuccess;
    case kFuncNumRegs:
      *value = 32;
      return kSuccess;
    case kFuncMaxDynamicSharedSize:
      *value = real->max_dynamic_shared;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  FAKE_CALL(kContext, cuFuncSetAttribute, function, attribute, value);
  const auto real = Driver::Get().functions.Get(function);
  if (real == nullptr) return kInvalidHandle;
  if (attribute != kFuncMaxDynamicSharedSize || value < 0 ||
      value + real->static_shared > MaxSharedBytes())
    return kInvalidValue;
  real->max_dynamic_shared = value;
  return kSuccess;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** params, void** extra) {
  const auto name = [&]() -> std::string {
    std::lock_guard lock(Driver::Get().mutex);
    const auto real = Driver::Get().functions.Get(function);
    return real == nullptr ? "no function" : real->entry->name;
  };
  FAKE_CALL(kContext, cuLaunchKernel, name(), grid_x, grid_y, grid_z, block_x, block_y, block_z,
            shared_bytes, stream);
  const auto on = FindStream(stream);
  if (on == nullptr || on->context != Driver::Get().current()) return kInvalidHandle;
  std::shared_ptr<Launch> launch;
  if (const CUresult error = MakeLaunch({.func = function,
                                         .grid_x = grid_x,
                                         .grid_y = grid_y,
                                         .grid_z = grid_z,
                                         .block_x = block_x,
                                         .block_y = block_y,
                                         .block_z = block_z,
                                         .shared_bytes = shared_bytes,
                                         .params = params,
                                         .extra = extra},
                                        &launch))
    return error;
  if (launch->function->module->context != on->context) return kInvalidHandle;
  if (on->capture == nullptr) return Enqueue(stream, [launch] { return launch->Run(); });
  if (on->capture->invalid) return kCaptureInvalidated;
  Node node;
  node.launch = std::move(launch);
  AppendNode(on.get(), std::move(node));
  return kSuccess;
}

}  // namespace fake
