// The tensor's methods. Most are module functions with the tensor as first argument.
#include "autograd/grad.h"
#include "bindings/python/array_interop.h"
#include "bindings/python/bound.h"
#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/export.h"
#include "bindings/python/item.h"
#include "bindings/python/movement.h"
#include "bindings/python/other_names.h"

namespace frazil::python {
namespace {

// Calls a module function with self in front of the arguments.
template <FastFunction function>
PyObject* Method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  absl::InlinedVector<PyObject*, 8> all;
  all.reserve(static_cast<size_t>(n) + 1);
  all.push_back(self);
  all.insert(all.end(), args, args + n);
  return function(nullptr, all.data(), nargs + 1, kwnames);
}

// x.reshape(2, 3) is x.reshape((2, 3)).
template <FastFunction function>
PyObject* Variadic(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs == 1 || kwnames) return Method<function>(self, args, nargs, kwnames);
  Object tuple = Object::Steal(PyTuple_New(nargs));
  if (!tuple) return nullptr;
  for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  PyObject* one = tuple.get();
  return Method<function>(self, &one, 1, nullptr);
}

// PyTorch's view(shape) shares memory both ways, which no tensor does: that is reshape.
PyObject* View(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs != 1 || kwnames || IsOneInt(args[0]) || PyTuple_Check(args[0]) ||
      PyList_Check(args[0])) {
    return Raise(TypeError("[view] takes one dtype; for another shape use x.reshape(shape)."));
  }
  Object module = Object::Steal(PyImport_ImportModule("frazil._views"));
  return module ? PyObject_CallMethod(module.get(), "of_dtype", "OO", self, args[0]) : nullptr;
}

// permute(axes); without axes they are reversed.
FZ_FAST(Permute) {
  FZ_ARGS(2, "permute(self, axes=None)");
  if (!Given(a[1]) ||
      (PyTuple_Check(a[1]) && PyTuple_GET_SIZE(a[1]) == 0 && CellOf(a[0]).rank() > 0)) {
    return PyObject_GetAttrString(a[0], "T");
  }
  DimVec axes;
  if (!ToDims(a[1], "permute", &axes)) return nullptr;
  return Wrap(ops::permute_dims(CellOf(a[0]), axes));
}

template <OpName name, Tensor (*function)(const Tensor&, const Axes&, ops::Correction, bool)>
PyObject* SpreadMethod(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(7, std::string(name.text) +
                 "(self, axis=None, dtype=None, out=None, *, correction=0.0, ddof=0, "
                 "keepdims=False)");
  Axes axes;
  std::optional<DType> dtype;
  double correction;
  bool keepdims;
  if (!ToAxes(a[1], name.text, &axes) || !ToOptionalDType(a[2], name.text, &dtype) ||
      !NoOut(a[3], name.text) || !ToCorrection(a[4], a[5], name.text, &correction) ||
      !ToBool(a[6], name.text, "keepdims", false, &keepdims)) {
    return nullptr;
  }
  return Wrap(ReduceIn(dtype, function, CellOf(a[0]), axes, correction, keepdims));
}

FZ_FAST(RoundMethod) {
  FZ_ARGS(3, "round(self, decimals=0, out=None)");
  int64_t decimals = 0;
  if ((Given(a[1]) && !ToInt(a[1], "round", "decimals", &decimals)) || !NoOut(a[2], "round"))
    return nullptr;
  return Wrap(ops::round_to(CellOf(a[0]), decimals));
}

FZ_FAST(ClipMethod) {
  FZ_ARGS(4, "clip(self, min=None, max=None, out=None)");
  PyObject* bounds[] = {a[0], a[1] ? a[1] : Py_None, a[2] ? a[2] : Py_None};
  constexpr auto clip = Bound<"clip(x, /, min=None, max=None)", ops::clip>;
  return NoOut(a[3], "clip") ? clip(nullptr, bounds, 3, nullptr) : nullptr;
}

PyObject* ReprHtml(PyObject* self, PyObject*) { return TextOf(self, "tensor_html"); }
PyObject* ConjMethod(PyObject* self, PyObject*) { return Wrap(ops::conj(CellOf(self))); }
PyObject* ComplexMethod(PyObject* self, PyObject*) {
  Object item = Object::Steal(Item(CellOf(self), "complex"));
  if (!item || PyComplex_Check(item.get())) return item.release();
  const double number = PyFloat_AsDouble(item.get());
  return number == -1 && PyErr_Occurred() ? nullptr : PyComplex_FromDoubles(number, 0);
}
PyObject* ItemMethod(PyObject* self, PyObject*) { return Item(CellOf(self), "item"); }
PyObject* ToListMethod(PyObject* self, PyObject*) { return ToList(CellOf(self)); }
PyObject* NumPyMethod(PyObject* self, PyObject*) { return ToNumPy(self); }
PyObject* DetachMethod(PyObject* self, PyObject*) { return Wrap(CellOf(self).Detach()); }

// A leaf's collected gradient, if there is one.
Tensor GradientOf(const Tensor& x) {
  return x.node() && x.node()->leaf() ? autograd::Grad(x) : Tensor();
}

// A new cell; a leaf's copy is a leaf of its own, anything else keeps its history. A parameter's is
// a parameter.
PyObject* CopyCell(PyObject* self, PyObject*) {
  const Tensor& x = CellOf(self);
  const bool leaf = x.node() && x.node()->leaf();
  Tensor copy = leaf ? x.Detach() : x;
  if (copy.defined() && copy.value()->storage && copy.value()->storage->foreign) {
    copy = ops::copy(copy);  // values are immutable, but what is borrowed may change
    if (!copy.ok()) return Raise(copy.status());
  }
  if (leaf) {
    if (Status s = autograd::SetRequiresGrad(&copy, true); !s.ok()) return Raise(s);
  }
  PyObject* made = Wrap(std::move(copy));
  if (made) SetMarks(made, MarksOf(self) & (kParameter | kFrozen));
  return made;
}
// The same, with the gradient.
PyObject* DeepCopy(PyObject* self, PyObject*) {
  Object copy = Object::Steal(CopyCell(self, nullptr));
  if (!copy) return nullptr;
  const Tensor gradient = GradientOf(CellOf(self));
  if (gradient.defined()) {
    if (Status s = autograd::SetGrad(&CellOf(copy.get()), gradient.Detach()); !s.ok())
      return Raise(s);
  }
  return copy.release();
}
PyObject* CopyMethod(PyObject* self, PyObject*) { return Wrap(ops::copy(CellOf(self))); }

// (_rebuild, (dtype name, shape, bytes, requires_grad, gradient or None, device, marks))
PyObject* Reduce(PyObject* self, PyObject*) {
  const Tensor& x = CellOf(self);
  if (x.node() && !x.node()->leaf()) {
    return Raise(RuntimeError("[pickle] a tensor with history cannot be pickled: use detach()."));
  }
  const auto dense = DenseBytes(x);
  if (!dense.ok()) return Raise(dense.status());
  Object module = Object::Steal(PyImport_ImportModule("frazil._frazil.runtime"));
  Object rebuild =
      module ? Object::Steal(PyObject_GetAttrString(module.get(), "_rebuild")) : Object();
  Object shape = Object::Steal(PyObject_GetAttrString(self, "shape"));
  if (!rebuild || !shape) return nullptr;
  const Tensor gradient = GradientOf(x);
  Object grad =
      gradient.defined() ? Object::Steal(Wrap(gradient.Detach())) : Object::Share(Py_None);
  if (!grad) return nullptr;
  return Py_BuildValue("O(sOy#OOsi)", rebuild.get(), std::string(Name(x.dtype())).c_str(),
                       shape.get(), (*dense)->data,
                       static_cast<Py_ssize_t>((*dense)->size() * SizeOf(x.dtype())),
                       x.node() ? Py_True : Py_False, grad.get(), Name(x.device()).c_str(),
                       MarksOf(self) & (kParameter | kFrozen));
}

FZ_FAST(BackwardMethod) {
  FZ_ARGS(3, "backward(self, gradient=None, *, retain_graph=True)");
  Tensor own;
  const Tensor* seed = nullptr;
  if (Given(a[1])) {
    seed = TensorOf(a[1], "backward", &own);
    if (!seed) return nullptr;
  }
  bool retain;
  if (!ToBool(a[2], "backward", "retain_graph", true, &retain)) return nullptr;
  if (Status s = autograd::Backward(&CellOf(a[0]), seed, retain); !s.ok()) return Raise(s);
  Py_RETURN_NONE;
}

FZ_FAST(RequiresGradMethod) {
  FZ_ARGS(2, "requires_grad_(self, requires_grad=True)");
  bool on;
  if (!ToBool(a[1], "requires_grad_", "requires_grad", true, &on)) return nullptr;
  if (Status s = SwitchGradient(a[0], on); !s.ok()) return Raise(s);
  return Py_NewRef(a[0]);
}

FZ_FAST(ToDeviceMethod) {
  FZ_ARGS(3, "to_device(self, /, device, *, stream=None)");
  Device device;
  if (!NamesDevice(a[1], "to_device", &device)) return nullptr;
  if (device == CellOf(a[0]).device()) return Py_NewRef(a[0]);
  return Wrap(ops::to_device(CellOf(a[0]), device));
}

// The cell's content and gradient on another device, in another dtype: what Module.to does with
// parameters.
FZ_FAST(MoveInPlace) {
  FZ_ARGS(3, "to(self, device, dtype, /)");
  Tensor* cell = &CellOf(a[0]);
  Device device = cell->device();
  std::optional<DType> dtype;
  if ((Given(a[1]) && !ToDevice(a[1], "to", &device)) || !ToOptionalDType(a[2], "to", &dtype))
    return nullptr;
  const auto move = [&](const Tensor& x) {
    return ops::to_device(dtype ? ops::astype(x, *dtype) : x, device);
  };
  const Tensor moved = move(cell->Detach());
  if (!moved.ok()) return Raise(moved.status());
  const Tensor grad = autograd::Grad(*cell);
  const Tensor moved_grad = grad.defined() ? move(grad) : grad;
  if (grad.defined() && !moved_grad.ok()) return Raise(moved_grad.status());
  NoteWrite(cell);
  cell->SetValue(moved.value_ref());
  if (grad.defined()) {
    if (Status s = autograd::SetGrad(cell, moved_grad); !s.ok()) return Raise(s);
  }
  return Py_NewRef(a[0]);
}

PyObject* Namespace(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) {
  return PyImport_ImportModule("frazil");
}
PyObject* DLPackDevice(PyObject* self, PyObject*) {
  if (!HasDLPackDevice(CellOf(self).device())) return nullptr;
  const Device device = CellOf(self).device();
  return Py_BuildValue("(ii)", device == Device() ? 1 : 2, device.index());
}

PyObject* FormatMethod(PyObject* self, PyObject* spec) {
  if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return PyObject_Str(self);
  Object item = Object::Steal(Item(CellOf(self), "format"));
  return item ? PyObject_Format(item.get(), spec) : nullptr;
}

PyCFunction Fast(FastFunction f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
#define FZ_SIGNATURE(name, parameters, doc) name "($self" parameters ")\n--\n\n" doc
// The function comes last: its template arguments hold commas.
#define FZ_METHOD(name, parameters, doc, ...) \
  { name, Fast(Method<__VA_ARGS__>), kFast, FZ_SIGNATURE(name, parameters, doc) }
#define FZ_REDUCTION(name)                                                              \
  FZ_METHOD(#name, ", axis=None, out=None, *, keepdims=False", "See frazil." #name ".", \
            ReductionMethod<#name, ops::name>)
#define FZ_REDUCTION_TO(name)                                              \
  FZ_METHOD(#name, ", axis=None, dtype=None, out=None, *, keepdims=False", \
            "See frazil." #name ".", ReductionToMethod<#name, ops::name>)
#define FZ_SPREAD(name)                                                                            \
  FZ_METHOD(#name, ", axis=None, dtype=None, out=None, *, correction=0.0, ddof=0, keepdims=False", \
            "See frazil." #name "; ddof is NumPy's name of correction.",                           \
            SpreadMethod<#name, ops::name>)

}  // namespace

PyMethodDef tensor_methods[] = {
    FZ_REDUCTION_TO(sum),
    FZ_REDUCTION_TO(prod),
    FZ_REDUCTION(max),
    FZ_REDUCTION(min),
    FZ_REDUCTION(any),
    FZ_REDUCTION(all),
    FZ_REDUCTION(argmax),
    FZ_REDUCTION(argmin),
    FZ_REDUCTION_TO(mean),
    FZ_SPREAD(var),
    FZ_SPREAD(std),
    FZ_METHOD("round", ", decimals=0, out=None", "The nearest multiple of 10**-decimals.",
              RoundMethod),
    FZ_METHOD("clip", ", min=None, max=None, out=None", "See frazil.clip.", ClipMethod),
    FZ_METHOD("nonzero", "", "See frazil.nonzero.", MoveNonzero),
    FZ_METHOD("astype", ", dtype, *, copy=True, device=None", "See frazil.astype.", MoveAstype),
    {"reshape", Fast(Variadic<MoveReshape>), kFast,
     FZ_SIGNATURE("reshape", ", *shape", "See frazil.reshape.")},
    {"view", Fast(View), kFast,
     FZ_SIGNATURE("view", ", dtype, /",
                  "The same bytes as another dtype, in memory of their own.")},
    {"permute", Fast(Variadic<Permute>), kFast,
     FZ_SIGNATURE("permute", ", *axes", "The axes in another order.")},
    {"permute_dims", Fast(Variadic<Permute>), kFast,
     FZ_SIGNATURE("permute_dims", ", *axes", "The same as permute.")},
    {"transpose", Fast(Variadic<Permute>), kFast,
     FZ_SIGNATURE("transpose", ", *axes", "The axes in another order, reversed if none is given.")},
    FZ_METHOD("flatten", "", "See frazil.flatten.", MoveFlatten),
    FZ_METHOD("ravel", "", "See frazil.flatten.", MoveFlatten),
    FZ_METHOD("squeeze", ", axis=None", "See frazil.squeeze.", MoveSqueeze),
    FZ_METHOD("swapaxes", ", axis1, axis2", "See frazil.swapaxes.", MoveSwapaxes),
    FZ_METHOD("take", ", indices, axis=None", "See frazil.take.", MoveTake),
    {"copy", CopyMethod, METH_NOARGS, FZ_SIGNATURE("copy", "", "The same elements in new memory.")},
    {"conj", ConjMethod, METH_NOARGS, FZ_SIGNATURE("conj", "", "See frazil.conj.")},
    {"__complex__", ComplexMethod, METH_NOARGS, nullptr},
    {"item", ItemMethod, METH_NOARGS,
     FZ_SIGNATURE("item", "", "The only element as a Python number.")},
    {"tolist", ToListMethod, METH_NOARGS,
     FZ_SIGNATURE("tolist", "", "The elements as nested lists.")},
    {"numpy", NumPyMethod, METH_NOARGS,
     FZ_SIGNATURE("numpy", "", "A read-only NumPy array over the same memory, as np.asarray(t).")},
    {"detach", DetachMethod, METH_NOARGS,
     FZ_SIGNATURE("detach", "", "The same value without history.")},
    FZ_METHOD("backward", ", gradient=None, *, retain_graph=True",
              "Adds the gradients of this tensor (times `gradient`) to .grad of every leaf it "
              "depends on.",
              BackwardMethod),
    FZ_METHOD("requires_grad_", ", requires_grad=True", "Sets requires_grad and returns self.",
              RequiresGradMethod),
    FZ_METHOD("to_device", ", device, *, stream=None", "The tensor on another device.",
              ToDeviceMethod),
    FZ_METHOD("_to_", ", device, dtype, /", "Moves or converts the content of this cell.",
              MoveInPlace),
    FZ_METHOD("__array__", ", dtype=None, copy=None", "For NumPy.", ExportArray),
    FZ_METHOD(
        "__dlpack__", ", *, stream=None, max_version=None, dl_device=None, copy=None",
        "A capsule for consumers of DLPack: a copy, or with copy=False the memory itself, which "
        "they may write to (BufferError if something else holds the value).",
        ExportDLPack),
    {"__array_function__", Fast(ArrayFunction), kFast, nullptr},
    {"__array_ufunc__", Fast(ArrayUfunc), kFast, nullptr},
    {"__jax_array__", JaxArray, METH_NOARGS, nullptr},
    {"__dir__", DirWithoutOtherNames, METH_NOARGS, nullptr},
    {"__dlpack_device__", DLPackDevice, METH_NOARGS, nullptr},
    {"__array_namespace__", Fast(Namespace), kFast,
     FZ_SIGNATURE("__array_namespace__", ", /, *, api_version=None", "The module frazil.")},
    {"_repr_html_", ReprHtml, METH_NOARGS, FZ_SIGNATURE("_repr_html_", "", "For notebooks.")},
    {"__copy__", CopyCell, METH_NOARGS, nullptr},
    {"__deepcopy__", DeepCopy, METH_O, nullptr},
    {"__reduce__", Reduce, METH_NOARGS, nullptr},
    {"__format__", FormatMethod, METH_O, nullptr},
    FZ_METHOD("__round__", ", ndigits=None, /", "See round.", RoundMethod),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace frazil::python
