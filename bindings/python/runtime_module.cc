// Settings and figures of the running library: mode, precision, threads, memory, switches,
// promotion.
#include <cstring>
#include <optional>

#include "autograd/grad.h"
#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/anomaly.h"
#include "core/config.h"
#include "core/cpu.h"
#include "core/default_dtype.h"
#include "core/files/new_file.h"
#include "core/files/tensor_file.h"
#include "core/functions/counting.h"
#include "core/memory/storage.h"
#include "core/settings.h"
#include "core/threads/parallel.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/kernel_cache.h"
#include "jit/cuda/device.h"
#include "jit/eager/eager.h"
#include "jit/run/counters.h"
#include "jit/switches.h"
#include "tracer/bounds.h"
#include "tracer/causes.h"
#include "tracer/trace.h"

namespace frazil::python {
namespace {

PyObject* Text(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

bool Put(PyObject* dict, const char* name, int64_t v) {
  Object number = Object::Steal(PyLong_FromLongLong(v));
  return number && PyDict_SetItemString(dict, name, number.get()) == 0;
}

FZ_FAST(MemoryStatistics) {
  FZ_ARGS(0, "memory.stats()");
  tracer::LetGoOfAbandoned();
  const MemoryStats s = GetMemoryStats();
  Object dict = Object::Steal(PyDict_New());
  if (!dict || !Put(dict.get(), "live_bytes", s.live_bytes) ||
      !Put(dict.get(), "peak_bytes", s.peak_bytes) ||
      !Put(dict.get(), "cached_bytes", s.cached_bytes) ||
      !Put(dict.get(), "allocations", s.allocations) ||
      !Put(dict.get(), "system_requests", s.system_requests)) {
    return nullptr;
  }
  return dict.release();
}
// [(bytes, live, cached)]
FZ_FAST(MemoryBlocks) {
  Object list = Object::Steal(PyList_New(0));
  for (const BlockCount& c : GetBlockCounts()) {
    Object row = Object::Steal(
        Py_BuildValue("(LLL)", (long long)c.bytes, (long long)c.live, (long long)c.cached));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}
FZ_FAST(ResetPeak) {
  FZ_ARGS(0, "memory.reset_peak()");
  ResetPeakMemory();
  Py_RETURN_NONE;
}
FZ_FAST(Trim) {
  FZ_ARGS(0, "memory.trim()");
  tracer::LetGoOfAbandoned();
  TrimMemory();
  Py_RETURN_NONE;
}

FZ_FAST(SetThreads) {
  FZ_ARGS(1, "set_num_threads(n, /)");
  int64_t n;
  if (!ToInt(a[0], "set_num_threads", "n", &n)) return nullptr;
  if (n < 1 || n > kMostThreads)
    return Raise(
        ValueError("[set_num_threads] needs 1 to ", kMostThreads, " threads, got ", n, "."));
  SetNumThreads(static_cast<int>(n));
  Py_RETURN_NONE;
}
FZ_FAST(CountInBins) {
  FZ_ARGS(2, "count_in_bins(x, edges, /)");
  Tensor own, own_edges;
  const Tensor* x = TensorOf(a[0], "histogram", &own);
  const Tensor* edges = x ? TensorOf(a[1], "histogram", &own_edges) : nullptr;
  return edges ? Wrap(ops::count_in_bins(*x, *edges)) : nullptr;
}

FZ_FAST(KernelCount) {
  FZ_ARGS(0, "kernels_run()");
  return PyLong_FromLongLong(jit::KernelsRun());
}

FZ_FAST(GetThreads) {
  FZ_ARGS(0, "get_num_threads()");
  return PyLong_FromLong(NumThreads());
}

// {name: {kind, sentence}}: the rows of causes.def.
FZ_FAST(Causes) {
  static constexpr const char* kKinds[] = {"change", "plan", "refusal", "eviction"};
  Object dict = Object::Steal(PyDict_New());
  for (int i = 0; dict && i < tracer::kNumCauses; ++i) {
    const tracer::CauseRow& row = tracer::Info(static_cast<tracer::Cause>(i));
    Object value =
        Object::Steal(Py_BuildValue("{s:s,s:s}", "kind", kKinds[static_cast<int>(row.kind)],
                                    "sentence", std::string(row.sentence).c_str()));
    if (!value || PyDict_SetItemString(dict.get(), std::string(row.name).c_str(), value.get()) < 0)
      return nullptr;
  }
  return dict.release();
}

FZ_FAST(ConfigDict) {
  Object dict = Object::Steal(PyDict_New());
  if (!dict) return nullptr;
  const auto add = [&](std::string_view name, std::string_view variable, std::string_view allowed,
                       std::string_view doc, PyObject* value, PyObject* fallback) {
    Object row = Object::Steal(Py_BuildValue(
        "{s:s#,s:s#,s:s#,s:N,s:N}", "variable", variable.data(), (Py_ssize_t)variable.size(),
        "allowed", allowed.data(), (Py_ssize_t)allowed.size(), "doc", doc.data(),
        (Py_ssize_t)doc.size(), "value", value, "default", fallback));
    return row && PyDict_SetItemString(dict.get(), std::string(name).c_str(), row.get()) == 0;
  };
  for (const SwitchRow& row : jit::SwitchRows()) {
    if (!add(row.name, row.variable, Allowed(row), row.doc, Text(row.value), Text(row.fallback)))
      return nullptr;
  }
  for (const SettingRow& row : SettingRows()) {
    if (!add(row.name, row.variable, StrCat("a whole number from ", row.least, " on"), row.doc,
             PyLong_FromLongLong(row.value), PyLong_FromLongLong(row.fallback)))
      return nullptr;
  }
  return dict.release();
}
// check_switches(): ValueError if a variable has a value that it cannot have.
FZ_FAST(CheckSwitches) {
  if (Status s = jit::CheckSwitches(); !s.ok()) return Raise(s);
  Py_RETURN_NONE;
}

// set_setting(name, value): evicts at once if a bound is passed.
FZ_FAST(SetSetting) {
  FZ_ARGS(2, "config(name, value, /)");  // errors carry the name of what users call
  const char* name = PyUnicode_Check(a[0]) ? PyUnicode_AsUTF8(a[0]) : nullptr;
  int64_t value;
  if (!name || !ToInt(a[1], "config", name, &value)) return nullptr;
  if (Status s = Set(name, value); !s.ok()) return Raise(s);
  tracer::Bounds::Enforce();
  jit::ShrinkEager(false);
  jit::ShrinkKernelCache();
  Py_RETURN_NONE;
}

// {cache: {entries, bytes}}, of some {hits, misses, evictions}, too
FZ_FAST(Caches) {
  FZ_ARGS(0, "memory.caches()");
  const tracer::Bounds::Totals t = tracer::Bounds::totals();
  const LayoutStats layouts = GetLayoutStats();
  const struct {
    const char* name;
    CacheStats stats;
    bool counted;
  } rows[] = {{"segments", {t.nodes, t.node_bytes}, false},
              {"plans", {t.plans, t.plan_bytes}, false},
              {"eager", jit::EagerStats(), true},
              {"kernels", jit::GetKernelCacheStats(), true},
              {"layouts", {layouts.entries, layouts.bytes}, false}};
  Object dict = Object::Steal(PyDict_New());
  for (const auto& [name, s, counted] : rows) {
    Object one = Object::Steal(PyDict_New());
    if (!dict || !one || !Put(one.get(), "entries", s.entries) ||
        !Put(one.get(), "bytes", s.bytes) ||
        (counted && (!Put(one.get(), "hits", s.hits) || !Put(one.get(), "misses", s.misses) ||
                     !Put(one.get(), "evictions", s.evictions))) ||
        PyDict_SetItemString(dict.get(), name, one.get()) < 0)
      return nullptr;
  }
  return dict.release();
}

// {file, bytes, code, plans, kept, refused, compiled}
FZ_FAST(Disk) {
  FZ_ARGS(0, "memory.disk()");
  const jit::DiskStats disk = jit::GetDiskStats();
  const jit::KernelCacheStats kernels = jit::GetKernelCacheStats();
  return Py_BuildValue("{s:s#,s:L,s:L,s:L,s:L,s:L,s:L}", "file", disk.file.data(),
                       (Py_ssize_t)disk.file.size(), "bytes", (long long)disk.bytes, "code",
                       (long long)disk.code, "plans", (long long)disk.decisions, "kept",
                       (long long)disk.kept, "refused", (long long)disk.refused, "compiled",
                       (long long)kernels.compiles);
}

// cpu() -> {name: whether it is there}
FZ_FAST(CpuDict) {
  const CpuFeatures& cpu = Cpu();
  return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "avx2", PyBool_FromLong(cpu.avx2), "avx512",
                       PyBool_FromLong(cpu.avx512), "avx2_vnni", PyBool_FromLong(cpu.avx2_vnni),
                       "avx512_vnni", PyBool_FromLong(cpu.avx512_vnni), "amx",
                       PyBool_FromLong(cpu.amx));
}

// set_process_mode(flags of core/config.h) -> what it was
FZ_FAST(SetProcessModeTo) {
  FZ_ARGS(1, "set_process_mode(mode, /)");
  int64_t mode;
  if (!ToInt(a[0], "mode", "mode", &mode)) return nullptr;
  const int8_t before = ProcessMode();
  SetProcessMode(static_cast<int8_t>(mode));
  return PyLong_FromLong(before);
}

// detect_anomaly(infinities=True) -> what end_anomaly takes, in the same thread
FZ_FAST(DetectAnomaly) {
  FZ_ARGS(1, "detect_anomaly(infinities=True, /)");
  bool infinities;
  if (!ToBool(a[0], "detect_anomaly", "infinities", true, &infinities)) return nullptr;
  if (tracer::Inside()) {
    return Raise(
        RuntimeError("[detect_anomaly] is entered within a traced function; enter it around the "
                     "call of that function."));
  }
  return PyCapsule_New(new AnomalyScope(infinities), nullptr, nullptr);
}
FZ_FAST(EndAnomaly) {
  FZ_ARGS(1, "end_anomaly(scope, /)");
  delete static_cast<AnomalyScope*>(PyCapsule_GetPointer(a[0], nullptr));
  Py_RETURN_NONE;
}

// set_thread_mode(flags of core/config.h; -1: the process's) -> what it was
FZ_FAST(SetThreadMode) {
  FZ_ARGS(1, "set_thread_mode(mode, /)");
  int64_t mode;
  if (!ToInt(a[0], "mode", "mode", &mode)) return nullptr;
  return PyLong_FromLong(std::exchange(State().mode, static_cast<int8_t>(mode)));
}

FZ_FAST(DefaultDType) { return DTypeObject(DefaultFloat()); }

FZ_FAST(SetProcessDType) {
  FZ_ARGS(1, "set_process_dtype(dtype, /)");
  DType dtype;
  return ToDType(a[0], "dtype", &dtype) ? DTypeObject(g_default_float.exchange(dtype)) : nullptr;
}

FZ_FAST(SetThreadDType) {
  FZ_ARGS(1, "set_thread_dtype(dtype, /)");
  DType dtype;
  if (a[0] != Py_None && !ToDType(a[0], "dtype", &dtype)) return nullptr;
  const int8_t before =
      std::exchange(t_default_float, a[0] == Py_None ? int8_t{-1} : static_cast<int8_t>(dtype));
  if (before < 0) Py_RETURN_NONE;
  return DTypeObject(static_cast<DType>(before));
}

FZ_FAST(SetPrecision) {
  FZ_ARGS(1, "precision(name, /)");
  const char* name = PyUnicode_Check(a[0]) ? PyUnicode_AsUTF8(a[0]) : "";
  if (!name) return nullptr;
  const std::optional<Precision> precision = PrecisionNamed(name);
  if (precision) return Text(Name(std::exchange(State().precision, *precision)));
  Object repr = Object::Steal(PyObject_Repr(a[0]));
  if (!repr) return nullptr;
  PyErr_Format(PyExc_ValueError, "[precision] must be %s, got %U.", PrecisionNames().c_str(),
               repr.get());
  return nullptr;
}

// {name: what it means}
FZ_FAST(Precisions) {
  Object dict = Object::Steal(PyDict_New());
  for (const PrecisionInfo& row : kPrecisions) {
    Object doc = Object::Steal(Text(row.doc));
    if (!dict || !doc || PyDict_SetItemString(dict.get(), row.name.data(), doc.get()) < 0)
      return nullptr;
  }
  return dict.release();
}

FZ_FAST(PromoteDTypes) {
  FZ_ARGS(2, "result_type(a, b, /)");
  DType x, y;
  if (!ToDType(a[0], "result_type", &x) || !ToDType(a[1], "result_type", &y)) return nullptr;
  return DTypeObject(Promote(x, y));
}

// The dtype of a beside a Python number like `scalar`.
FZ_FAST(PromoteScalar) {
  FZ_ARGS(2, "result_type(a, scalar, /)");
  DType x;
  Scalar s;
  if (!ToDType(a[0], "result_type", &x)) return nullptr;
  if (!TryScalar(a[1], &s)) {
    return Raise(TypeError("[result_type] takes tensors, dtypes and numbers, got ",
                           Py_TYPE(a[1])->tp_name, "."));
  }
  return DTypeObject(Promote(x, s.kind));
}

FZ_FAST(ParseDTypeObject) {
  FZ_ARGS(1, "dtype(obj, /)");
  DType t;
  return ToDType(a[0], "dtype", &t) ? DTypeObject(t) : nullptr;
}

// What unpickling calls.
FZ_FAST(Rebuild) {
  FZ_ARGS(7, "pickle(dtype, shape, data, requires_grad, grad=None, device=None, marks=0, /)");
  DType dtype;
  DimVec dims;
  bool requires_grad;
  Device device;
  int64_t marks = 0;
  if (!ToDType(a[0], "pickle", &dtype) || !ToDims(a[1], "pickle", &dims) ||
      !ToDevice(a[5], "pickle", &device) || (a[6] && !ToInt(a[6], "pickle", "marks", &marks)) ||
      !ToBool(a[3], "pickle", "requires_grad", false, &requires_grad)) {
    return nullptr;
  }
  if (Status s = CheckDims("pickle", dims, SizeOf(dtype)); !s.ok()) return Raise(s);
  auto value = Value::Allocate(dtype, Device(), Dense(dims));
  if (!value.ok()) return Raise(value.status());
  const int64_t bytes = (*value)->size() * SizeOf(dtype);
  if (!PyBytes_Check(a[2]) || PyBytes_GET_SIZE(a[2]) != bytes) {
    return Raise(
        ValueError("[pickle] the data of ", Describe(**value), " must be ", bytes, " bytes."));
  }
  std::memcpy((*value)->data, PyBytes_AS_STRING(a[2]), static_cast<size_t>(bytes));
  Tensor t = ops::to_device(Tensor(*std::move(value)), device);
  if (!t.ok()) return Raise(t.status());
  if (requires_grad) {
    if (Status s = autograd::SetRequiresGrad(&t, true); !s.ok()) return Raise(s);
    if (a[4] && IsTensor(a[4])) {
      if (Status s = autograd::SetGrad(&t, CellOf(a[4])); !s.ok()) return Raise(s);
    }
  }
  PyObject* made = Wrap(std::move(t));
  if (made) SetMarks(made, static_cast<uint8_t>(marks) & (kParameter | kFrozen));
  return made;
}

// FZ_ARGS for functions that are told under which name errors are: the first argument.
#define FZ_NAMED_ARGS(count, text)                               \
  static const Signature* const signature = new Signature(text); \
  PyObject* a[count] = {};                                       \
  if (!signature->Parse(args, nargs, kwnames, a)) return nullptr

// The bytes of a path, or an error that Python raises.
std::optional<std::string> PathOf(PyObject* x) {
  const Object path = Object::Steal(PyOS_FSPath(x));
  const Object bytes = !path ? Object()
                       : PyUnicode_Check(path.get())
                           ? Object::Steal(PyUnicode_EncodeFSDefault(path.get()))
                           : path;
  if (!bytes) return std::nullopt;
  char* text = nullptr;  // a path with a zero inside is a ValueError
  if (PyBytes_AsStringAndSize(bytes.get(), &text, nullptr) < 0) return std::nullopt;
  return std::string(text);
}

bool TextOf(PyObject* x, const char* op, std::string* out) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(x, &size);
  if (text) {
    out->assign(text, size_t(size));
  } else if (PyUnicode_Check(x)) {
    PyErr_Format(PyExc_ValueError, "[%s] %R is no text in UTF-8.", op, x);
  }
  return text != nullptr;
}

Object Text(const std::string& text) {
  return Object::Steal(PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size())));
}

// Tells a callable, or None, how many bytes are written. Holds the GIL.
Status Tell(PyObject* told, uint64_t bytes) {
  if (told == Py_None) return absl::OkStatus();
  const Object done = Object::Steal(PyObject_CallFunction(told, "K", bytes));
  return done ? absl::OkStatus() : ValueError("interrupted");  // by an exception, which is raised
}

// save_tensors(op, path, {name: tensor}, {key: text}, told)
FZ_FAST(Save) {
  FZ_NAMED_ARGS(5, "save_tensors(op, path, tensors, metadata, told, /)");
  const char* op = PyUnicode_AsUTF8(a[0]);
  const std::optional<std::string> path = op ? PathOf(a[1]) : std::nullopt;
  if (!path || !PyDict_Check(a[2]) || !PyDict_Check(a[3]))
    return PyErr_Occurred() ? nullptr : Raise(TypeError("[", op, "] dicts are needed."));
  NamedTensors tensors;
  Remarks metadata;
  PyObject *key, *value;
  std::string name, text;
  for (Py_ssize_t at = 0; PyDict_Next(a[2], &at, &key, &value);) {
    if (!TextOf(key, op, &name)) return nullptr;
    if (!IsTensor(value)) return Raise(TypeError("[", op, "] '", name, "' must be a tensor."));
    tensors.emplace_back(name, CellOf(value));
  }
  for (Py_ssize_t at = 0; PyDict_Next(a[3], &at, &key, &value);) {
    if (!TextOf(key, op, &name) || !TextOf(value, op, &text)) return nullptr;
    metadata.emplace_back(name, text);
  }
  const Status status =
      SaveTensors(op, *path, tensors, metadata, [&](uint64_t bytes) { return Tell(a[4], bytes); });
  if (PyErr_Occurred()) return nullptr;
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

// load_tensors(op, path) -> ({name: tensor}, {key: text})
FZ_FAST(Load) {
  FZ_NAMED_ARGS(2, "load_tensors(op, path, /)");
  const char* op = PyUnicode_AsUTF8(a[0]);
  const std::optional<std::string> path = op ? PathOf(a[1]) : std::nullopt;
  if (!path) return nullptr;
  auto file = LoadTensors(op, *path);
  if (!file.ok()) return Raise(file.status());
  const Object tensors = Object::Steal(PyDict_New()), metadata = Object::Steal(PyDict_New());
  if (!tensors || !metadata) return nullptr;
  for (auto& [name, tensor] : file->tensors) {
    const Object key = Text(name), value = Object::Steal(Wrap(std::move(tensor)));
    if (!key || !value || PyDict_SetItem(tensors.get(), key.get(), value.get()) < 0) return nullptr;
  }
  for (const auto& [name, text] : file->metadata) {
    const Object key = Text(name), value = Text(text);
    if (!key || !value || PyDict_SetItem(metadata.get(), key.get(), value.get()) < 0)
      return nullptr;
  }
  return PyTuple_Pack(2, tensors.get(), metadata.get());
}

// write_file(op, path, bytes, told): there whole or not at all
FZ_FAST(WriteFile) {
  FZ_NAMED_ARGS(4, "write_file(op, path, data, told, /)");
  const char* op = PyUnicode_AsUTF8(a[0]);
  const std::optional<std::string> path = op ? PathOf(a[1]) : std::nullopt;
  Py_buffer data;
  if (!path || PyObject_GetBuffer(a[2], &data, PyBUF_SIMPLE) < 0) return nullptr;
  Status status;
  Py_BEGIN_ALLOW_THREADS;
  if (auto file = NewFile::Create(op, *path); file.ok()) {
    status = file->Write({static_cast<const char*>(data.buf), size_t(data.len)}, [&](uint64_t n) {
      Py_BLOCK_THREADS;
      Status so = Tell(a[3], n);
      Py_UNBLOCK_THREADS;
      return so;
    });
    if (status.ok()) status = file->Commit();
  } else {
    status = file.status();
  }
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&data);
  if (PyErr_Occurred()) return nullptr;
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

// Nothing runs in the background on the CPU: results are ready when an op returns or a traced call
// ends. GPUs that are in use are waited for.
FZ_FAST(Synchronize) {
  FZ_ARGS(1, "synchronize(device=None)");
  Device device;
  if (!ToDevice(a[0], "synchronize", &device)) return nullptr;
  Status status;
  Py_BEGIN_ALLOW_THREADS;
  for (cuda::Device* gpu : cuda::Device::Opened()) {
    if (status.ok() && (!Given(a[0]) || device == Device(DeviceKind::kCuda, gpu->index())))
      status = gpu->Synchronize();
  }
  Py_END_ALLOW_THREADS;
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

}  // namespace

std::vector<FunctionRow> RuntimeFunctions() {
  return {
      {"memory_stats()", "Bytes and counts of CPU storages.", MemoryStatistics},
      {"memory_blocks()", "Blocks of over 4 KiB as (bytes, live, cached), what takes most first.",
       MemoryBlocks},
      {"memory_reset_peak()", "peak_bytes starts again at live_bytes.", ResetPeak},
      {"memory_trim()", "Gives cached blocks back to the operating system.", Trim},
      {"set_num_threads(n, /)", "How many threads kernels use; results do not depend on it.",
       SetThreads},
      {"get_num_threads()", "How many threads kernels use.", GetThreads},
      {"count_in_bins(x, edges, /)",
       "How many elements of floats lie in each of the bins of equal width between edges of their "
       "dtype, int64.",
       CountInBins},
      {"kernels_run()", "Kernel launches and library calls of this thread so far.", KernelCount},
      {"config()", "Every switch: its value, environment variable and meaning.", ConfigDict},
      {"check_switches()", "Refuses environment variables that switches cannot have.",
       CheckSwitches},
      {"causes()", "The table of causes that explain() and stats() name: kind and sentence.",
       Causes},
      {"set_setting(name, value, /)", "Sets a number of config().", SetSetting},
      {"caches()",
       "What the bounded caches keep: entries and bytes of each; of eager and kernels also hits, "
       "misses and evictions.",
       Caches},
      {"disk()",
       "Plans and machine code on disk: the file and its bytes; what this process found there "
       "(code, plans), left there (kept), refused; kernels that it compiled.",
       Disk},
      {"cpu()", "Instruction sets of core/cpu.h: whether this processor has each.", CpuDict},
      {"detect_anomaly(infinities=True, /)",
       "Looks at the results of this thread's calls from now on.", DetectAnomaly},
      {"end_anomaly(scope, /)", "Ends what detect_anomaly() began.", EndAnomaly},
      {"set_process_mode(mode, /)", "The process's mode; returns what it was.", SetProcessModeTo},
      {"set_thread_mode(mode, /)", "This thread's mode; returns what it was.", SetThreadMode},
      {"default_dtype()", "The dtype of Python floats on their own in this thread.", DefaultDType},
      {"set_process_dtype(dtype, /)", "The process's default dtype; returns what it was.",
       SetProcessDType},
      {"set_thread_dtype(dtype, /)",
       "This thread's default dtype, None: the process's; returns what it was.", SetThreadDType},
      {"precision(name, /)", "precision(name) in this thread; returns what it was.", SetPrecision},
      {"precisions()", "What precision() takes, and what it means.", Precisions},
      {"promote(a, b, /)", "The common dtype of two dtypes.", PromoteDTypes},
      {"promote_scalar(a, scalar, /)", "The dtype of an array beside a Python number.",
       PromoteScalar},
      {"dtype(obj, /)", "The dtype that an object names.", ParseDTypeObject},
      {"_rebuild(dtype, shape, data, requires_grad, grad=None, device=None, marks=0, /)",
       "A pickled tensor.", Rebuild},
      {"save_tensors(op, path, tensors, metadata, told, /)", "Writes a safetensors file.", Save},
      {"load_tensors(op, path, /)", "The tensors by name of a safetensors file, and its metadata.",
       Load},
      {"write_file(op, path, data, told, /)", "Writes a file whole or not at all.", WriteFile},
      {"synchronize(device=None)", "Blocks until all results are ready.", Synchronize},
  };
}

}  // namespace frazil::python
