// DLPack, in and out. The structures are those of the DLPack ABI (dlpack.h, versions 0.8 and 1.0).
#include <array>
#include <cstring>

#include "bindings/python/args.h"
#include "bindings/python/convert.h"
#include "bindings/python/cuda_interop.h"
#include "bindings/python/export.h"
#include "bindings/python/import.h"
#include "core/apply.h"
#include "core/backend.h"
#include "tracer/trace.h"

namespace frazil::python {
namespace {

struct DLTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;  // in elements, null: row-major
  uint64_t byte_offset;
};
struct Managed {
  DLTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr int kDLCpu = 1, kDLCuda = 2, kDLCudaManaged = 13;
constexpr uint64_t kIsCopied = 2;  // of flags: the consumer's own
enum : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
};

uint8_t CodeOf(DType t) {
  switch (KindOf(t)) {
    case DTypeKind::kBool:
      return kDLBool;
    case DTypeKind::kSigned:
      return kDLInt;
    case DTypeKind::kUnsigned:
      return kDLUInt;
    case DTypeKind::kFloat:
      return t == DType::kBF16 ? kDLBfloat : kDLFloat;
    case DTypeKind::kComplex:
      return kDLComplex;
  }
  return kDLFloat;
}

// One exported value and the memory of its description. M is Managed or ManagedVersioned.
template <typename M>
struct Export {
  M managed{};
  ValueRef value;
  StorageRef storage;
  std::array<int64_t, kMaxRank> shape, strides;
  int64_t stream = -1;  // of a GPU, that the consumer works on
  bool lent;            // the consumer may write what the program sees

  ~Export() {
    if (lent) storage->foreign = false;  // our own again
    TakeBack(stream, value->device);
  }
};

template <typename M>
M* MakeExport(ValueRef value, int64_t stream, bool lent) {
  auto* e = new Export<M>;
  e->value = std::move(value);
  e->stream = stream;
  e->storage = StorageRef::Share(e->value->storage);
  e->lent = lent;
  if (lent) e->storage->foreign = true;
  const Layout& layout = *e->value->layout;
  std::copy_n(layout.extents, layout.rank, e->shape.begin());
  std::copy_n(layout.strides_, layout.rank, e->strides.begin());
  const DType t = e->value->dtype;
  const Device device = e->value->device;
  e->managed.tensor = {e->value->data,
                       CpuAddresses(device) ? kDLCpu : kDLCuda,
                       device.index(),
                       layout.rank,
                       CodeOf(t),
                       static_cast<uint8_t>(SizeOf(t) * 8),
                       1,
                       e->shape.data(),
                       e->strides.data(),
                       0};
  e->managed.context = e;
  e->managed.deleter = [](M* m) { delete static_cast<Export<M>*>(m->context); };
  return &e->managed;
}

// Capsules nobody consumed are freed by their destructor.
template <typename M>
PyObject* Capsule(M* managed, const char* name) {
  return PyCapsule_New(managed, name, [](PyObject* capsule) {
    const char* current = PyCapsule_GetName(capsule);
    if (std::strncmp(current, "used_", 5) == 0) return;
    auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, current));
    m->deleter(m);
  });
}

std::optional<DType> DTypeOf(const DLTensor& t) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto d = static_cast<DType>(i);
    if (t.lanes == 1 && CodeOf(d) == t.code && SizeOf(d) * 8 == t.bits) return d;
  }
  return std::nullopt;
}

template <typename M>
void ReleaseManaged(void* context) {
  if (!Py_IsInitialized()) return;  // its memory goes with the process
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* m = static_cast<M*>(context);
  if (m->deleter) m->deleter(m);
  PyGILState_Release(state);
}

// Takes over `managed`.
template <typename M>
Tensor Consume(M* managed, const ImportOptions& options) {
  const DLTensor& t = managed->tensor;
  struct Guard {
    M* m;
    ~Guard() {
      if (m) ReleaseManaged<M>(m);
    }
  } guard{managed};
  const auto dtype = DTypeOf(t);
  if (!dtype) {
    return TypeError("[from_dlpack] no dtype of frazil has DLPack code ", int{t.code}, " with ",
                     int{t.bits}, " bits.");
  }
  const bool on_gpu = t.device_type == kDLCuda || t.device_type == kDLCudaManaged;
  if (t.device_type != kDLCpu && !on_gpu) {
    return NotImplementedError("[from_dlpack] the array is on DLPack device ", t.device_type,
                               "; move it to the CPU.");
  }
  const Dims dims(t.shape, static_cast<size_t>(t.ndim));
  if (Status s = CheckDims("from_dlpack", dims, SizeOf(*dtype)); !s.ok())
    return Tensor(std::move(s));
  DimVec strides(dims.size());
  int64_t step = 1, low = 0;
  for (size_t i = dims.size(); i-- > 0; step *= dims[i]) {
    strides[i] = t.strides ? t.strides[i] : step;
    low += std::min<int64_t>(strides[i], 0) * std::max<int64_t>(dims[i] - 1, 0);
  }
  char* first = static_cast<char*>(t.data) + t.byte_offset;
  if (on_gpu) {
    return OverForeign("from_dlpack", first, *dtype, dims, strides,
                       Device(DeviceKind::kCuda, t.device_id), ReleaseManaged<M>,
                       std::exchange(guard.m, nullptr), options);
  }
  const int size = SizeOf(*dtype);
  if (options.copy.has_value() && !*options.copy) {
    if (options.dtype && *options.dtype != *dtype) {
      return ValueError("[asarray] copy=False, but the array must be converted: from ",
                        std::string(Name(*dtype)), " to ", std::string(Name(*options.dtype)), ".");
    }
    StorageRef storage =
        WrapForeign(first + low * size, ReleaseManaged<M>, std::exchange(guard.m, nullptr));
    return Tensor(Value::Make(*dtype, Device(), Intern(dims, strides), std::move(storage), first));
  }
  auto value = Value::Allocate(*dtype, Device(), Dense(dims));
  if (!value.ok()) return Tensor(std::move(value).status());
  for (int64_t& s : strides) s *= size;
  CopyStrided((*value)->data, first, dims, strides, size, false);
  Tensor out(*std::move(value));
  return options.dtype ? ops::astype(out, *options.dtype) : out;
}

template <typename M>
Tensor ConsumeCapsule(PyObject* capsule, const char* name, const char* used,
                      const ImportOptions& options) {
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (!managed || PyCapsule_SetName(capsule, used) < 0) return Tensor();
  return Consume(managed, options);
}

// Of (device type, device id). False with an exception set.
bool ToPair(PyObject* pair, const char* op, int64_t* kind, int64_t* index) {
  Object kind_of = Object::Steal(PySequence_GetItem(pair, 0));
  Object index_of = kind_of ? Object::Steal(PySequence_GetItem(pair, 1)) : Object();
  return index_of && ToInt(kind_of.get(), op, "the device", kind) &&
         ToInt(index_of.get(), op, "the device", index);
}

}  // namespace

StatusOr<Device> ForeignDevice(PyObject* object) {
  Object pair = Object::Steal(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (!pair) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
      return RuntimeError("[from_dlpack] no device.");
    PyErr_Clear();  // a producer older than this method
    return Device();
  }
  int64_t kind = 0, index = 0;
  if (!ToPair(pair.get(), "from_dlpack", &kind, &index))
    return RuntimeError("[from_dlpack] no device.");
  if (kind != kDLCuda && kind != kDLCudaManaged) return Device();
  return ParseDevice(StrCat("cuda:", index));
}

Tensor FromDLPack(PyObject* object, const ImportOptions& options) {
  Object method = Object::Steal(PyObject_GetAttrString(object, "__dlpack__"));
  Object empty = Object::Steal(PyTuple_New(0));
  Object keywords = Object::Steal(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
  if (!method || !empty || !keywords) return Tensor();
  const auto device = ForeignDevice(object);
  if (!device.ok()) return PyErr_Occurred() ? Tensor() : Tensor(device.status());
  // Not asked to, some producers copy.
  const bool borrow = options.copy.has_value() && !*options.copy;
  if (borrow && PyDict_SetItemString(keywords.get(), "copy", Py_False) < 0) return Tensor();
  Object stream;  // on which the producer makes the array ready
  if (device->kind() == DeviceKind::kCuda) {
    const auto number = StreamNumber(*device);
    if (!number.ok()) return Tensor(number.status());
    stream = Object::Steal(PyLong_FromLongLong(*number));
    if (!stream || PyDict_SetItemString(keywords.get(), "stream", stream.get()) < 0)
      return Tensor();
  }
  Object capsule = Object::Steal(PyObject_Call(method.get(), empty.get(), keywords.get()));
  for (const char* newer : {"copy", "max_version"}) {  // made before there were such keywords
    if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) break;
    if (!PyDict_GetItemString(keywords.get(), newer)) continue;
    PyErr_Clear();
    if (PyDict_DelItemString(keywords.get(), newer) < 0) return Tensor();
    capsule = Object::Steal(PyObject_Call(method.get(), empty.get(), keywords.get()));
  }
  if (!capsule) return Tensor();
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    return ConsumeCapsule<ManagedVersioned>(capsule.get(), "dltensor_versioned",
                                            "used_dltensor_versioned", options);
  }
  return ConsumeCapsule<Managed>(capsule.get(), "dltensor", "used_dltensor", options);
}

namespace {

// A value of its own for the consumer.
StatusOr<ValueRef> CopyOut(const Tensor& cell) {
  const Tensor x = cell;  // another thread may replace the cell's content
  if (!CpuAddresses(x.device())) {
    const Tensor own = ops::copy(x.Detach());
    if (!own.ok()) return own.status();
    FZ_RETURN_IF_ERROR(Read(*own.value()));
    return own.value_ref();
  }
  FZ_ASSIGN_OR_RETURN(const ValueRef dense, DenseBytes(x));
  FZ_ASSIGN_OR_RETURN(ValueRef fresh, Value::Allocate(x.dtype(), x.device(), x.shape()));
  std::memcpy(fresh->data, dense->data, static_cast<size_t>(x.size() * SizeOf(x.dtype())));
  return fresh;
}

// The value of `x` itself, borrowed memory from now on; null, with BufferError set, if somebody
// else would see what the consumer writes.
ValueRef Lend(const Tensor& x) {
  Value* value = x.value();
  const char* why = !value->ready()                  ? "another thread has just replaced it"
                    : value->immediate               ? "it is a number, which has no memory"
                    : value->holders() != 1          ? "something else holds its value"
                    : value->storage->holders() != 1 ? "something else holds its memory"
                    : value->storage->foreign        ? "its memory is borrowed itself"
                                                     : nullptr;
  if (!why) return x.value_ref();
  const std::string what = Describe(x);
  PyErr_Format(
      PyExc_BufferError,
      "[__dlpack__] copy=False, but %s cannot be lent: %s (a view, detach(), a NumPy array, "
      "what a gradient needs), which must not change when the consumer writes; let it copy, "
      "or lend x.copy().",
      what.c_str(), why);
  return ValueRef();
}

// `moved` if the consumer does not want it where it is, but on the CPU. False with an exception set.
bool MoveFor(PyObject* wanted, bool copy, const Tensor& x, Tensor* moved) {
  int64_t kind = 0, index = 0;
  if (!ToPair(wanted, "__dlpack__", &kind, &index)) return false;
  const Device device = x.device();
  const int64_t here = CpuAddresses(device) ? kDLCpu : kDLCuda;
  if (device.kind() != DeviceKind::kNpu && kind == here && index == device.index()) return true;
  if (kind != kDLCpu || index != 0 || !copy) {
    PyErr_Format(PyExc_BufferError,
                 "[__dlpack__] dl_device=(%lld, %lld), but the tensor is on \"%s\": use "
                 "x.to_device(...)%s.",
                 static_cast<long long>(kind), static_cast<long long>(index), Name(device).c_str(),
                 copy ? "" : " or let it copy");
    return false;
  }
  *moved = ops::to_device(x.Detach(), Device());
  return moved->ok() || (Raise(moved->status()), false);
}

}  // namespace

PyObject* ExportDLPack(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(5, "__dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None)");
  int64_t major = 0;
  if (Given(a[2])) {
    Object first = Object::Steal(PySequence_GetItem(a[2], 0));
    if (!first || !ToInt(first.get(), "__dlpack__", "max_version", &major)) return nullptr;
  }
  bool copy;
  if (!ToBool(Given(a[4]) ? a[4] : nullptr, "__dlpack__", "copy", true, &copy)) return nullptr;
  Tensor moved;
  if (Given(a[3]) && !MoveFor(a[3], copy, CellOf(a[0]), &moved)) return nullptr;
  const Tensor& x = moved.defined() ? moved : CellOf(a[0]);
  const Device device = x.device();
  if (!HasDLPackDevice(device)) return nullptr;
  if (!copy) tracer::BeforeLending();
  if (Status s = Read(*x.value_ref()); !s.ok()) return Raise(s);
  ValueRef value;
  if (copy) {
    auto own = CopyOut(x);
    if (!own.ok()) return Raise(own.status());
    value = *std::move(own);
  } else {
    value = Lend(x);
    if (!value) return nullptr;
  }
  if (!(value->device == device))
    return Raise(RuntimeError("[__dlpack__] another thread has just moved it to another device."));
  const auto stream = CpuAddresses(device) ? StatusOr<int64_t>(-1) : HandOver(a[1], device);
  if (!stream.ok()) return Raise(stream.status());
  if (major < 1) return Capsule(MakeExport<Managed>(std::move(value), *stream, !copy), "dltensor");
  auto* managed = MakeExport<ManagedVersioned>(std::move(value), *stream, !copy);
  managed->major = 1;
  managed->flags = copy ? kIsCopied : 0;
  return Capsule(managed, "dltensor_versioned");
}

}  // namespace frazil::python
