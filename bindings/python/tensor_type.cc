#include "bindings/python/tensor_type.h"

#include <structmember.h>

#include <array>
#include <bit>
#include <new>

#include "autograd/grad.h"
#include "bindings/python/convert.h"
#include "bindings/python/cuda_interop.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/module_type.h"
#include "bindings/python/other_names.h"
#include "core/functions/composites.h"

namespace frazil::python {

FZ_HOT_TLS std::vector<Object>* t_written = nullptr;
FZ_HOT_TLS ExampleWrites* t_example_writes = nullptr;
namespace {

constexpr size_t kFreeListSize = 256;
struct FreeList {
  std::array<void*, kFreeListSize> blocks;
  size_t count = 0;
};
FreeList free_list;

void Dealloc(PyObject* self) {
  auto* t = reinterpret_cast<PyTensor*>(self);
  if (t->weak_references) PyObject_ClearWeakRefs(self);
  t->cell.~Tensor();
  if (free_list.count < kFreeListSize) {
    free_list.blocks[free_list.count++] = t;
  } else {
    PyObject_Free(t);
  }
}

PyObject* New(PyTypeObject*, PyObject*, PyObject*) {
  return Raise(
      TypeError("[Tensor] tensors are made by frazil.asarray(data), zeros, ones, full, arange and "
                "the like."));
}

Py_hash_t Hash(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(std::rotr(reinterpret_cast<uintptr_t>(self), 4));
  return hash == -1 ? -2 : hash;
}

PyObject* Repr(PyObject* self) { return TextOf(self, "tensor_repr"); }
PyObject* Str(PyObject* self) { return TextOf(self, "tensor_str"); }

PyObject* GetShape(PyObject* self, void*) {
  const Dims dims = CellOf(self).dims();
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
  for (size_t i = 0; tuple && i < dims.size(); ++i) {
    PyObject* n = PyLong_FromLongLong(dims[i]);
    if (!n) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, n);
  }
  return tuple;
}
PyObject* GetDType(PyObject* self, void*) { return DTypeObject(CellOf(self).dtype()); }
PyObject* GetDevice(PyObject* self, void*) {
  return PyUnicode_FromString(Name(CellOf(self).device()).c_str());
}
PyObject* GetNdim(PyObject* self, void*) { return PyLong_FromLong(CellOf(self).rank()); }
PyObject* GetSize(PyObject* self, void*) { return PyLong_FromLongLong(CellOf(self).size()); }
PyObject* GetItemSize(PyObject* self, void*) {
  return PyLong_FromLong(SizeOf(CellOf(self).dtype()));
}
PyObject* GetNbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(CellOf(self).size() * SizeOf(CellOf(self).dtype()));
}
template <Tensor (*part)(const Tensor&)>
PyObject* GetPart(PyObject* self, void*) {
  return Wrap(part(CellOf(self)));
}
PyObject* GetT(PyObject* self, void*) {
  const Tensor& x = CellOf(self);
  std::array<int64_t, kMaxRank> axes;
  for (int i = 0; i < x.rank(); ++i) axes[i] = x.rank() - 1 - i;
  return Wrap(ops::permute_dims(x, {axes.data(), static_cast<size_t>(x.rank())}));
}
PyObject* GetMT(PyObject* self, void*) { return Wrap(ops::matrix_transpose(CellOf(self))); }

PyObject* GetRequiresGrad(PyObject* self, void*) {
  return PyBool_FromLong(autograd::RequiresGrad(CellOf(self)));
}
int SetRequiresGrad(PyObject* self, PyObject* value, void*) {
  bool on;
  if (!ToBool(value, "requires_grad", "the value", false, &on)) return -1;
  const Status s = SwitchGradient(self, on);
  return s.ok() ? 0 : RaiseInt(s);
}
PyObject* GetParameter(PyObject* self, void*) {
  return PyBool_FromLong(MarksOf(self) & kParameter);
}
int SetParameter(PyObject* self, PyObject*, void*) {
  SetMarks(self, (MarksOf(self) & ~kFrozen) | kParameter);
  return 0;
}
PyObject* GetFrozen(PyObject* self, void*) { return PyBool_FromLong(MarksOf(self) & kFrozen); }
PyObject* GetIsLeaf(PyObject* self, void*) {
  return PyBool_FromLong(autograd::IsLeaf(CellOf(self)));
}
PyObject* GetGrad(PyObject* self, void*) {
  Tensor grad = autograd::Grad(CellOf(self));
  if (!grad.defined()) Py_RETURN_NONE;
  return Wrap(std::move(grad));
}
int SetGrad(PyObject* self, PyObject* value, void*) {
  if (value && value != Py_None && !IsTensor(value)) {
    return RaiseInt(
        TypeError("[grad] must be a tensor or None, got ", Py_TYPE(value)->tp_name, "."));
  }
  const Status s =
      autograd::SetGrad(&CellOf(self), value && value != Py_None ? CellOf(value) : Tensor());
  return s.ok() ? 0 : RaiseInt(s);
}

PyGetSetDef getset[] = {
    {"shape", GetShape, nullptr, "Extents of the axes, a tuple.", nullptr},
    {"dtype", GetDType, nullptr, "Element type.", nullptr},
    {"device", GetDevice, nullptr, "Name of the device that holds the elements.", nullptr},
    {"__cuda_array_interface__", CudaArrayInterface, nullptr,
     "Where the elements lie on a GPU, for Numba, CuPy and others.", nullptr},
    {"ndim", GetNdim, nullptr, "Number of axes.", nullptr},
    {"size", GetSize, nullptr, "Number of elements.", nullptr},
    {"itemsize", GetItemSize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", GetNbytes, nullptr, "Bytes of all elements.", nullptr},
    {"T", GetT, nullptr, "The axes in reverse order, without copying.", nullptr},
    {"real", GetPart<ops::real>, nullptr, "The real part, without copying.", nullptr},
    {"imag", GetPart<ops::imag>, nullptr,
     "The imaginary part, without copying; zeros for real numbers.", nullptr},
    {"mT", GetMT, nullptr, "The last two axes swapped, without copying.", nullptr},
    {"requires_grad", GetRequiresGrad, SetRequiresGrad,
     "Whether gradients flow to or through this tensor.", nullptr},
    {"is_leaf", GetIsLeaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"grad", GetGrad, SetGrad, "Gradient collected by backward(), or None.", nullptr},
    {"_parameter", GetParameter, SetParameter, "Whether it is a parameter; setting makes it one.",
     nullptr},
    {"_frozen", GetFrozen, nullptr, "Whether it was a leaf that required a gradient.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

constinit PyTypeObject tensor_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil.Tensor";
  t.tp_doc =
      "An array of one dtype on one device. Made by asarray, zeros and the other creation "
      "functions, and by ops.\n\n"
      "A tensor is a cell that holds an immutable value: `x += y` and `x[i] = v` replace the "
      "cell's content, and "
      "no other tensor changes with it, slices of x included. So `x[0][1] = v` would change "
      "nothing "
      "and raises TypeError; it is written `x[0, 1] = v`.";
  t.tp_basicsize = sizeof(PyTensor);
  t.tp_dealloc = Dealloc;
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = New;
  t.tp_hash = Hash;
  t.tp_repr = Repr;
  t.tp_str = Str;
  t.tp_iter = IterateTensor;
  t.tp_richcompare = CompareTensors;
  t.tp_as_number = &number_protocol;
  t.tp_as_sequence = &sequence_protocol;
  t.tp_as_mapping = &mapping_protocol;
  t.tp_as_buffer = &buffer_protocol;
  t.tp_getset = getset;
  t.tp_methods = tensor_methods;
  t.tp_weaklistoffset = offsetof(PyTensor, weak_references);
  return t;
}();

namespace {

// An object without a cell, null if there is no memory.
inline PyTensor* NewObject() {
  PyTensor* t;
  if (__builtin_expect(free_list.count > 0, 1)) {
    t = static_cast<PyTensor*>(free_list.blocks[--free_list.count]);
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(t), 1);  // its type is still there
  } else {
    t = static_cast<PyTensor*>(PyObject_Malloc(sizeof(PyTensor)));
    if (!t) return nullptr;
    PyObject_Init(reinterpret_cast<PyObject*>(t), &tensor_type);
  }
  t->weak_references = nullptr;
  t->marks = 0;
  return t;
}

}  // namespace

void SetMarks(PyObject* tensor, uint8_t marks) {
  uint8_t& now = reinterpret_cast<PyTensor*>(tensor)->marks;
  if (now == marks) return;
  now = marks;
  NoteAttributeChange();  // modules that hold it are compared by it, too
}

Status SwitchGradient(PyObject* tensor, bool on) {
  Tensor& cell = CellOf(tensor);
  const bool freezes = !on && cell.node() && cell.node()->leaf();
  const Status s = autograd::SetRequiresGrad(&cell, on);
  if (s.ok() && freezes && !(MarksOf(tensor) & kParameter))
    SetMarks(tensor, MarksOf(tensor) | kFrozen);
  return s;
}

PyObject* Wrap(Tensor&& tensor) {
  if (__builtin_expect(!tensor.ok(), 0)) return Raise(tensor.status());
  PyTensor* t = NewObject();
  if (!t) return PyErr_NoMemory();
  new (&t->cell) Tensor(std::move(tensor));
  return reinterpret_cast<PyObject*>(t);
}

PyObject* TextOf(PyObject* tensor, const char* function) {
  Object module = Object::Steal(PyImport_ImportModule("frazil._format"));
  return module ? PyObject_CallMethod(module.get(), function, "O", tensor) : nullptr;
}

PyObject* Wrap(Value* value) {
  PyTensor* t;
  if (__builtin_expect(value->is_error(), 0) || !(t = NewObject()))
    return Wrap(Tensor(ValueRef::Adopt(value)));
  new (&t->cell) Tensor(ValueRef::Adopt(value));
  return reinterpret_cast<PyObject*>(t);
}

bool AddTensorType(PyObject* module) {
  tensor_type.tp_base = OtherNamesType();
  if (PyType_Ready(OtherNamesType()) < 0 || PyType_Ready(&tensor_type) < 0) return false;
  // For libraries that know no __array_ufunc__.
  Object priority = Object::Steal(PyFloat_FromDouble(1000));
  if (!priority ||
      PyDict_SetItemString(tensor_type.tp_dict, "__array_priority__", priority.get()) < 0) {
    return false;
  }
  PyType_Modified(&tensor_type);
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(&tensor_type)) >= 0;
}

}  // namespace frazil::python
