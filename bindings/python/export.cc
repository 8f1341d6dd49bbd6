#include "bindings/python/export.h"

#include <array>

#include "bindings/python/args.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/import.h"
#include "core/apply.h"
#include "core/backend.h"
#include "core/threads/long_work.h"

namespace frazil::python {
namespace {

// What an exported buffer keeps alive.
struct Held {
  ValueRef value;
  StorageRef storage;
  std::array<Py_ssize_t, kMaxRank> shape, strides;
};

int Refuse(const char* message) {
  PyErr_SetString(PyExc_BufferError, message);
  return -1;
}

// The value whose export was interrupted last. NumPy takes the exception for "no buffer" and asks
// for __array__ next, which must not compute it again as if nothing had happened.
const Value* g_interrupted = nullptr;

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  ValueRef value = CellOf(self).value_ref();
  const char* format = FormatCode(value->dtype);
  if (!format) return Refuse("[buffer] bfloat16 has no buffer format.");
  if (flags & PyBUF_WRITABLE) return Refuse("[buffer] tensors are read-only from outside.");
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if ((!wants_strides || flags & (PyBUF_C_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES) &&
      !value->layout->dense) {
    return Refuse("[buffer] the tensor is not contiguous: use copy().");
  }
  g_interrupted = nullptr;
  if (Status s = Read(*value); !s.ok()) {
    if (IsInterrupted(s)) g_interrupted = value.get();
    return RaiseInt(s);
  }
  auto host = OnHost(*value);
  if (!host.ok()) return RaiseInt(host.status());
  value = *std::move(host);
  const Layout& layout = *value->layout;
  auto* held = new Held{value, StorageRef::Share(value->storage), {}, {}};
  const int size = SizeOf(value->dtype);
  int64_t dense = size;
  for (int i = layout.rank; i-- > 0;) {
    held->shape[i] = layout.extents[i];
    // Axes of extent 1 have stride 0 here; others expect the row-major one.
    held->strides[i] = layout.extents[i] == 1 ? dense : layout.strides_[i] * size;
    dense *= std::max<int64_t>(layout.extents[i], 1);
  }
  view->obj = Py_NewRef(self);
  view->buf = value->data;
  view->len = layout.size * size;
  view->readonly = 1;
  view->itemsize = size;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  view->ndim = layout.rank;
  view->shape = flags & PyBUF_ND ? held->shape.data() : nullptr;
  view->strides = wants_strides ? held->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = held;
  return 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* view) { delete static_cast<Held*>(view->internal); }

// A tensor over the same 16-bit elements read as uint16.
Tensor AsBits(const Value& value) {
  if (value.immediate) return Tensor(Value::Immediate(DType::kU16, value.imm));
  return Tensor(Value::Make(DType::kU16, value.device, value.layout,
                            StorageRef::Share(value.storage), value.data));
}

}  // namespace

PyBufferProcs buffer_protocol = {GetBuffer, ReleaseBuffer};

PyObject* ToNumPy(PyObject* self) {
  Object numpy = Object::Steal(PyImport_ImportModule("numpy"));
  if (!numpy) return nullptr;
  const ValueRef value = CellOf(self).value_ref();
  if (value->dtype != DType::kBF16) {
    Object view = Object::Steal(PyMemoryView_FromObject(self));
    return view ? PyObject_CallMethod(numpy.get(), "asarray", "O", view.get()) : nullptr;
  }
  Object dtype_object = Object::Steal(DTypeObject(DType::kBF16));
  Object dtype = Object::Steal(PyObject_GetAttrString(dtype_object.get(), "dtype"));
  if (!dtype) return nullptr;
  if (Status s = Read(*value); !s.ok()) return Raise(s);
  const auto host = OnHost(*value);
  if (!host.ok()) return Raise(host.status());
  Object bits = Object::Steal(Wrap(AsBits(**host)));
  Object array = bits ? Object::Steal(ToNumPy(bits.get())) : Object();
  return array ? PyObject_CallMethod(array.get(), "view", "O", dtype.get()) : nullptr;
}

StatusOr<ValueRef> DenseBytes(const Tensor& x) {
  const ValueRef read = x.value_ref();
  FZ_RETURN_IF_ERROR(Read(*read));
  FZ_ASSIGN_OR_RETURN(const ValueRef value, OnHost(*read));
  if (value->layout->dense) return value;
  FZ_ASSIGN_OR_RETURN(ValueRef out,
                      Value::Allocate(value->dtype, value->device, value->layout->shape));
  const int size = SizeOf(value->dtype);
  std::array<int64_t, kMaxRank> strides{};
  for (int i = 0; i < value->layout->rank; ++i) strides[i] = value->layout->strides_[i] * size;
  CopyStrided(out->data, value->data, value->dims(), {strides.data(), value->dims().size()}, size,
              false);
  return out;
}

PyObject* ExportArray(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(3, "__array__(self, dtype=None, copy=None)");
  if (std::exchange(g_interrupted, nullptr) == CellOf(a[0]).value()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return nullptr;
  }
  Object array = Object::Steal(ToNumPy(a[0]));
  if (array && Given(a[1])) {
    // NumPy passes np.dtype objects; astype copies only if it must.
    Object keywords = Object::Steal(Py_BuildValue("{s:O}", "copy", Py_False));
    Object method = Object::Steal(PyObject_GetAttrString(array.get(), "astype"));
    Object positional = Object::Steal(PyTuple_Pack(1, a[1]));
    if (!keywords || !method || !positional) return nullptr;
    array = Object::Steal(PyObject_Call(method.get(), positional.get(), keywords.get()));
  }
  if (array && Given(a[2]) && PyObject_IsTrue(a[2])) {
    array = Object::Steal(PyObject_CallMethod(array.get(), "copy", nullptr));
  }
  return array.release();
}

}  // namespace frazil::python
