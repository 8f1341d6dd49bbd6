// Gradients: the scope that frazil.grad and value_and_grad are written over, and recording on or
// off.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/grad.h"
#include "bindings/python/autocast.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"

namespace frazil::python {
namespace {

struct PyScope {
  PyObject_HEAD std::unique_ptr<autograd::GradScope> scope;
};
extern PyTypeObject scope_type;

autograd::GradScope* ScopeOf(PyObject* self) {
  auto* scope = reinterpret_cast<PyScope*>(self)->scope.get();
  if (scope->open()) return scope;
  Raise(RuntimeError("[grad] the scope is closed."));
  return nullptr;
}

PyObject* New(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<PyScope*>(type->tp_alloc(type, 0));
  if (self) new (&self->scope) std::unique_ptr<autograd::GradScope>(new autograd::GradScope);
  return reinterpret_cast<PyObject*>(self);
}
void Dealloc(PyObject* self) {
  reinterpret_cast<PyScope*>(self)->scope.~unique_ptr();
  Py_TYPE(self)->tp_free(self);
}

PyObject* Variable(PyObject* self, PyObject* argument) {
  auto* scope = ScopeOf(self);
  if (!scope) return nullptr;
  if (!IsTensor(argument) || !IsInexact(CellOf(argument).dtype())) {
    const std::string what =
        IsTensor(argument) ? Describe(CellOf(argument)) : Py_TYPE(argument)->tp_name;
    return Raise(TypeError(
        "[grad] arguments to differentiate must hold floating-point tensors, got ", what, "."));
  }
  return Wrap(scope->Variable(CellOf(argument)));
}

PyObject* ListOf(StatusOr<std::vector<Tensor>> gradients) {
  if (!gradients.ok()) return Raise(gradients.status());
  Object list = Object::Steal(PyList_New(static_cast<Py_ssize_t>(gradients->size())));
  for (size_t i = 0; list && i < gradients->size(); ++i) {
    PyObject* item = Wrap(std::move((*gradients)[i]));
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

PyObject* Gradients(PyObject* self, PyObject* root) {
  auto* scope = ScopeOf(self);
  if (!scope) return nullptr;
  if (!IsTensor(root)) {
    return Raise(TypeError("[grad] the function must return a 0-d floating-point tensor, got ",
                           Py_TYPE(root)->tp_name, "."));
  }
  return ListOf(scope->Gradients(&CellOf(root)));
}

PyObject* Outside(PyObject* self, PyObject* object) {
  auto* scope = ScopeOf(self);
  if (!scope) return nullptr;
  return IsTensor(object) ? Wrap(scope->Outside(CellOf(object))) : Py_NewRef(object);
}

PyObject* Close(PyObject* self, PyObject*) {
  reinterpret_cast<PyScope*>(self)->scope->Leave();
  Py_RETURN_NONE;
}

// Lists of results and their gradients; the scope may be closed.
PyObject* Pull(PyObject* self, PyObject* const* a, Py_ssize_t n) {
  std::vector<Tensor> lists[2];
  for (Py_ssize_t k = 0; k < n && k < 2; ++k) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a[k]); ++i) {
      PyObject* t = PyList_GET_ITEM(a[k], i);
      if (!IsTensor(t)) {
        return Raise(TypeError("[vjp] gradients must be tensors, got ", Py_TYPE(t)->tp_name, "."));
      }
      lists[k].push_back(CellOf(t));
    }
  }
  return ListOf(reinterpret_cast<PyScope*>(self)->scope->Pull(lists[0], lists[1]));
}

PyMethodDef methods[] = {
    {"variable", Variable, METH_O, "A tensor as a variable of this scope."},
    {"gradients", Gradients, METH_O, "Gradients of a 0-d result for every variable, in order."},
    {"outside", Outside, METH_O, "A result as it is seen outside the scope."},
    {"close", Close, METH_NOARGS, "Leaves the scope."},
    {"pull", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Pull)), METH_FASTCALL,
     "pull(results, gradients): those of every variable, in order, any number of times."},
    {nullptr, nullptr, 0, nullptr},
};

constinit PyTypeObject scope_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil._frazil.GradScope";
  t.tp_doc = "One level of function-style differentiation; close it in reverse order of opening.";
  t.tp_basicsize = sizeof(PyScope);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = New;
  t.tp_dealloc = Dealloc;
  t.tp_methods = methods;
  return t;
}();

FZ_FAST(SetGradEnabled) {
  FZ_ARGS(1, "set_grad_enabled(on, /)");
  bool on;
  if (!ToBool(a[0], "set_grad_enabled", "on", true, &on)) return nullptr;
  return PyBool_FromLong(std::exchange(State().grad_enabled, on));
}

FZ_FAST(IsGradEnabled) { return PyBool_FromLong(State().grad_enabled); }

// What set_autocast takes again: 0 if it is off, else 1, 2 more for the list of "cuda", 4 for float16.
FZ_FAST(SetAutocast) {
  FZ_ARGS(1, "set_autocast(word, /)");
  int64_t word;
  if (!ToInt(a[0], "set_autocast", "word", &word)) return nullptr;
  const uint64_t before = AutocastWord();
  t_autocast = {(word & 1) != 0, static_cast<CastList>(word >> 1 & 1),
                word & 4 ? DType::kF16 : DType::kBF16};
  return PyLong_FromUnsignedLongLong(before);
}

FZ_FAST(GetAutocast) { return PyLong_FromUnsignedLongLong(AutocastWord()); }

// All operands by a rule, None and what is no tensor as it is; the operands themselves if it is off.
template <CastRule rule>
PyObject* Converted(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (kwnames) return Raise(TypeError("[autocast] operands are given by position."));
  const Object tuple = Object::Steal(PyTuple_New(nargs));
  for (Py_ssize_t i = 0; tuple && i < nargs; ++i) {
    PyObject* const one = t_autocast.on ? CastOperand(rule, args[i]) : Py_NewRef(args[i]);
    if (!one) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, one);
  }
  return tuple ? Py_NewRef(tuple.get()) : nullptr;
}

FZ_FAST(InGradScope) { return PyBool_FromLong(State().grad_depth > 0); }

}  // namespace

bool AddGradScopeType(PyObject* module) {
  return PyType_Ready(&scope_type) >= 0 &&
         PyModule_AddObjectRef(module, "GradScope", reinterpret_cast<PyObject*>(&scope_type)) >= 0;
}

std::vector<FunctionRow> AutogradFunctions() {
  return {
      {"set_grad_enabled(on, /)",
       "Switches recording for gradients in this thread; returns what it was.", SetGradEnabled},
      {"is_grad_enabled()", "Whether this thread records for gradients.", IsGradEnabled},
      {"in_grad_scope()", "Whether a function-style gradient is being taken in this thread.",
       InGradScope},
      {"set_autocast(word, /)", "Sets this thread's autocast; returns what it was.", SetAutocast},
      {"get_autocast()", "This thread's autocast, 0 if it is off.", GetAutocast},
      {"lowered(*operands)", "Operands in the dtype of autocast, if it is on.",
       Converted<CastRule::kLower>},
      {"raised(*operands)", "Operands of at least float32, if autocast is on.",
       Converted<CastRule::kRaise>},
  };
}

}  // namespace frazil::python
