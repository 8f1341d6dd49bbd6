// Functions of frazil.cuda: the machine's GPUs, their memory, what was compiled for them.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "jit/cuda/compiler.h"
#include "jit/cuda/device.h"
#include "jit/run/cuda/generic.h"

namespace frazil::python {
namespace {

namespace gpu = ::frazil::cuda;

// The GPU that an argument names: "cuda:1", 1, or None for the first.
gpu::Device* ToGpu(PyObject* object, const char* op) {
  Device device(DeviceKind::kCuda, 0);
  int64_t index = 0;
  if (object && PyLong_Check(object)) {
    if (!ToInt(object, op, "device", &index)) return nullptr;
  } else if (Given(object)) {
    if (!ToDevice(object, op, &device)) return nullptr;
    if (device.kind() != DeviceKind::kCuda) {
      Raise(ValueError("[", std::string(op), "] needs a GPU such as \"cuda:0\", got \"",
                       Name(device), "\"."));
      return nullptr;
    }
    index = device.index();
  }
  const auto found = gpu::Device::Get(static_cast<int>(index));
  if (found.ok()) return *found;
  Raise(found.status());
  return nullptr;
}

FZ_FAST(Count) {
  FZ_ARGS(0, "device_count()");
  const auto count = gpu::Device::Count();
  return PyLong_FromLong(count.ok() ? *count : 0);
}

FZ_FAST(Versions) {
  FZ_ARGS(0, "versions()");
  Object out = Object::Steal(PyDict_New());
  for (const gpu::LibraryRow& row : gpu::LibraryRows()) {
    const bool found = row.error.empty();
    Object text = Object::Steal(PyUnicode_FromString((found ? row.version : row.error).c_str()));
    Object pair = text ? Object::Steal(Py_BuildValue("(OO)", found ? text.get() : Py_None,
                                                     found ? Py_None : text.get()))
                       : Object();
    if (!pair || PyDict_SetItemString(out.get(), row.name.c_str(), pair.get()) < 0) return nullptr;
  }
  return out.release();
}

FZ_FAST(Properties) {
  FZ_ARGS(1, "properties(device=None, /)");
  gpu::Device* device = ToGpu(a[0], "cuda.properties");
  if (!device) return nullptr;
  const gpu::DeviceInfo& info = device->info();
  return Py_BuildValue("{s:s,s:(ii),s:i,s:L,s:L,s:i}", "name", info.name.c_str(),
                       "compute_capability", info.arch / 10, info.arch % 10, "multiprocessors",
                       info.multiprocessors, "memory_bytes",
                       static_cast<long long>(info.memory_bytes), "l2_bytes",
                       static_cast<long long>(info.l2_bytes), "shared_bytes", info.shared_bytes);
}

FZ_FAST(MemoryStatistics) {
  FZ_ARGS(1, "memory_stats(device=None, /)");
  gpu::Device* device = ToGpu(a[0], "cuda.memory_stats");
  if (!device) return nullptr;
  const gpu::AllocatorStats s = device->allocator().stats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "live_bytes",
                       static_cast<long long>(s.live_bytes), "peak_bytes",
                       static_cast<long long>(s.peak_bytes), "reserved_bytes",
                       static_cast<long long>(s.reserved_bytes), "allocations",
                       static_cast<long long>(s.allocations), "driver_requests",
                       static_cast<long long>(s.driver_requests), "retries",
                       static_cast<long long>(s.retries), "limit", static_cast<long long>(s.limit));
}

FZ_FAST(ResetPeak) {
  FZ_ARGS(1, "reset_peak_memory(device=None, /)");
  gpu::Device* device = ToGpu(a[0], "cuda.reset_peak_memory");
  if (!device) return nullptr;
  device->allocator().ResetPeak();
  Py_RETURN_NONE;
}

FZ_FAST(SetLimit) {
  FZ_ARGS(2, "set_memory_limit(bytes, device=None, /)");
  int64_t bytes = 0;
  if (Given(a[0]) && !ToInt(a[0], "cuda.set_memory_limit", "bytes", &bytes)) return nullptr;
  if (bytes < 0)
    return Raise(ValueError("[cuda.set_memory_limit] bytes must be at least 0, got ", bytes, "."));
  gpu::Device* device = ToGpu(a[1], "cuda.set_memory_limit");
  if (!device) return nullptr;
  device->allocator().SetLimit(bytes);
  Py_RETURN_NONE;
}

FZ_FAST(Trim) {
  FZ_ARGS(1, "trim(device=None, /)");
  gpu::Device* device = ToGpu(a[0], "cuda.trim");
  if (!device) return nullptr;
  device->allocator().Trim();
  Py_RETURN_NONE;
}

FZ_FAST(CompileStatistics) {
  FZ_ARGS(0, "compile_stats()");
  const gpu::CompilerStats s = gpu::GetCompilerStats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "compiled", static_cast<long long>(s.compiled),
                       "from_disk", static_cast<long long>(s.from_disk), "from_memory",
                       static_cast<long long>(s.hits), "rejected_files",
                       static_cast<long long>(s.rejected), "compile_us",
                       static_cast<long long>(s.compile_us), "generic_launches",
                       static_cast<long long>(jit::GenericLaunches()));
}

// Where pip puts NVIDIA's wheels.
FZ_FAST(SetWheels) {
  FZ_ARGS(1, "set_wheel_folder(path, /)");
  const char* path = PyUnicode_AsUTF8(a[0]);
  if (!path) return nullptr;
  gpu::SetWheelFolder(path);
  Py_RETURN_NONE;
}

}  // namespace

std::vector<FunctionRow> CudaFunctions() {
  return {
      {"device_count()", "How many GPUs the driver offers; 0 without a driver.", Count},
      {"versions()", "{library: (version, why it is missing)}", Versions},
      {"properties(device=None, /)", "What a GPU is, as a dict.", Properties},
      {"memory_stats(device=None, /)", "Bytes and counts of one GPU's memory.", MemoryStatistics},
      {"reset_peak_memory(device=None, /)", "peak_bytes starts again at live_bytes.", ResetPeak},
      {"set_memory_limit(bytes, device=None, /)",
       "Arrays on the device may take so many bytes together; 0 or None: what it has.", SetLimit},
      {"trim(device=None, /)", "Gives memory that is kept and free back to the driver.", Trim},
      {"compile_stats()",
       "Kernels compiled, found on disk and found in memory, and launches that did not wait.",
       CompileStatistics},
      {"set_wheel_folder(path, /)", "Where to look for NVIDIA's wheels.", SetWheels},
  };
}

}  // namespace frazil::python
