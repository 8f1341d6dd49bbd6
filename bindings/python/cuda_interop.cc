#include "bindings/python/cuda_interop.h"

#include <array>
#include <cstdio>

#include "bindings/python/args.h"
#include "bindings/python/convert.h"
#include "core/apply.h"
#include "jit/cuda/device.h"

namespace frazil::python {
namespace {

namespace gpu = ::frazil::cuda;

// "<f4": NumPy's name of a dtype, which the interface speaks; null for bfloat16.
std::optional<std::string> TypeString(DType t) {
  if (t == DType::kBF16) return std::nullopt;
  const char kind = IsBool(t)       ? 'b'
                    : IsFloat(t)    ? 'f'
                    : IsComplex(t)  ? 'c'
                    : IsUnsigned(t) ? 'u'
                                    : 'i';
  return StrCat(SizeOf(t) == 1 ? "|" : "<", std::string(1, kind), SizeOf(t));
}

std::optional<DType> FromTypeString(std::string_view text) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    const auto name = TypeString(t);
    if (name && text.size() == name->size() &&
        text.substr(1) == std::string_view(*name).substr(1) && text[0] != '>')
      return t;
  }
  return std::nullopt;
}

void DropObject(void* context) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(context));
  PyGILState_Release(state);
}

// What a borrowed storage gives back, after the device is done with it.
struct Borrowed {
  Device device;
  void (*release)(void*);
  void* context;
};
void GiveBack(void* context) {
  auto* borrowed = static_cast<Borrowed*>(context);
  WaitBeforeReturn(borrowed->device);
  borrowed->release(borrowed->context);
  delete borrowed;
}

}  // namespace

StatusOr<int64_t> HandOver(PyObject* stream, Device device) {
  int64_t number = 1;  // None is the legacy default stream
  if (Given(stream)) {
    number = PyLong_Check(stream) ? PyLong_AsLongLong(stream) : 0;
    if (PyErr_Occurred()) {  // too large
      PyErr_Clear();
      number = 0;
    }
    if (number == -1) return number;
    if (number < 1)
      return ValueError("[__dlpack__] stream must be None, -1, 1, 2 or a stream's address.");
  }
  FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
  FZ_RETURN_IF_ERROR(gpu->LetNumberWait(number));
  return number;
}

void TakeBack(int64_t stream, Device device) {
  if (stream < 1) return;
  const auto gpu = gpu::Device::Get(device.index());
  // Without an order the memory may be given out too early: then everything is waited for.
  if (gpu.ok() && !(*gpu)->WaitForNumber(stream).ok()) WaitBeforeReturn(device);
}

StatusOr<int64_t> StreamNumber(Device device) {
  FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
  return gpu->stream_number();
}

void WaitBeforeReturn(Device device) {
  const auto gpu = gpu::Device::Get(device.index());
  if (gpu.ok()) (*gpu)->Synchronize().IgnoreError();  // the next op tells the same
}

Tensor OverForeign(const char* op, void* data, DType dtype, Dims dims, Dims strides, Device device,
                   void (*release)(void*), void* context, const ImportOptions& options) {
  const bool borrow = options.copy.has_value() && !*options.copy;
  if (borrow && options.dtype && *options.dtype != dtype) {
    release(context);
    return ValueError("[", op, "] copy=False, but the array must be converted: from ",
                      std::string(Name(dtype)), " to ", std::string(Name(*options.dtype)), ".");
  }
  int64_t low = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    low += std::min<int64_t>(strides[i], 0) * std::max<int64_t>(dims[i] - 1, 0);
  const int64_t size = SizeOf(dtype);
  char* first = static_cast<char*>(data);
  StorageRef storage =
      WrapForeign(first + low * size, GiveBack, new Borrowed{device, release, context});
  Tensor over(Value::Make(dtype, device, Intern(dims, strides), std::move(storage), first));
  if (borrow) return over;
  Tensor own = ops::copy(over);
  return own.ok() && options.dtype ? ops::astype(own, *options.dtype) : own;
}

bool HasCudaArrayInterface(PyObject* object) {
  return PyObject_HasAttrString(object, "__cuda_array_interface__");
}

Tensor FromCudaArrayInterface(PyObject* object, const ImportOptions& options) {
  Object interface = Object::Steal(PyObject_GetAttrString(object, "__cuda_array_interface__"));
  if (!interface) return Tensor();
  const auto item = [&](const char* name) {
    return PyMapping_Check(interface.get())
               ? Object::Steal(PyMapping_GetItemString(interface.get(), name))
               : Object();
  };
  Object shape = item("shape"), data = item("data"), type = item("typestr");
  const char* text = type ? PyUnicode_AsUTF8(type.get()) : nullptr;
  DimVec dims, strides;
  if (!shape || !text || !ToDims(shape.get(), "asarray", &dims)) return Tensor();
  const auto dtype = FromTypeString(text);
  if (!dtype) return TypeError("[asarray] dtype ", text, " has no counterpart in frazil.");
  Object address = data ? Object::Steal(PySequence_GetItem(data.get(), 0)) : Object();
  const uint64_t pointer = address ? PyLong_AsUnsignedLongLong(address.get()) : 0;
  if (PyErr_Occurred()) return Tensor();
  Object step = item("strides"), stream = item("stream");
  PyErr_Clear();  // both may be missing
  if (Given(step.get())) {
    if (!ToDims(step.get(), "asarray", &strides)) return Tensor();
    for (int64_t& s : strides) {
      if (s % SizeOf(*dtype) != 0)
        return ValueError("[asarray] strides of __cuda_array_interface__ must be whole elements.");
      s /= SizeOf(*dtype);
    }
  } else {
    strides.resize(dims.size());
    int64_t n = 1;
    for (size_t i = dims.size(); i-- > 0; n *= dims[i]) strides[i] = n;
  }
  if (strides.size() != dims.size())
    return ValueError("[asarray] __cuda_array_interface__ has ", dims.size(), " extents and ",
                      strides.size(), " strides.");
  if (Status s = CheckDims("asarray", dims, SizeOf(*dtype)); !s.ok()) return Tensor(std::move(s));
  const auto gpu = pointer ? gpu::Device::Holding(pointer) : gpu::Device::Get(0);
  if (!gpu.ok()) return Tensor(gpu.status());
  if (Given(stream.get())) {
    const int64_t number = PyLong_Check(stream.get()) ? PyLong_AsLongLong(stream.get()) : 0;
    PyErr_Clear();  // too large: -1
    if (number < 1)
      return ValueError("[asarray] the stream of __cuda_array_interface__ must be 1 or more.");
    if (Status s = (*gpu)->WaitForNumber(number); !s.ok()) return Tensor(std::move(s));
  }
  return OverForeign("asarray", reinterpret_cast<void*>(pointer), *dtype, dims, strides,
                     Device(DeviceKind::kCuda, (*gpu)->index()), DropObject, Py_NewRef(object),
                     options);
}

PyObject* CudaArrayInterface(PyObject* self, void*) {
  const ValueRef value = CellOf(self).value_ref();
  const auto type = TypeString(value->dtype);
  if (value->device.kind() != DeviceKind::kCuda || !type) {
    PyErr_Format(PyExc_AttributeError, "a tensor of %s on \"%s\" has no __cuda_array_interface__",
                 std::string(Name(value->dtype)).c_str(), Name(value->device).c_str());
    return nullptr;
  }
  if (Status s = Read(*value); !s.ok()) return Raise(s);
  const auto stream = StreamNumber(value->device);
  if (!stream.ok()) return Raise(stream.status());
  const Layout& layout = *value->layout;
  Object shape = Object::Steal(PyTuple_New(layout.rank)),
         strides = Object::Steal(PyTuple_New(layout.rank));
  if (!shape || !strides) return nullptr;
  int64_t dense = SizeOf(value->dtype);
  for (int i = layout.rank; i-- > 0;) {
    const int64_t step = layout.extents[i] == 1 ? dense : layout.strides_[i] * SizeOf(value->dtype);
    PyTuple_SET_ITEM(shape.get(), i, PyLong_FromLongLong(layout.extents[i]));
    PyTuple_SET_ITEM(strides.get(), i, PyLong_FromLongLong(step));
    dense *= std::max<int64_t>(layout.extents[i], 1);
  }
  const auto address = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(value->data));
  return Py_BuildValue("{s:O,s:O,s:s,s:(KO),s:i,s:L}", "shape", shape.get(), "strides",
                       strides.get(), "typestr", type->c_str(), "data",
                       layout.size ? address : 0ull, Py_True, "version", 3, "stream",
                       static_cast<long long>(*stream));
}

}  // namespace frazil::python
