// Gradients: the scope that frazil.grad and value_and_grad are written over, and recording on or
// off.
#include <memory>

#include "autograd/grad.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

struct PyScope {
  PyObject_HEAD std::unique_ptr<autograd::GradScope> scope;
};
extern PyTypeObject scope_type;

autograd::GradScope* ScopeOf(PyObject* self) {
  auto* scope = reinterpret_cast<PyScope*>(self)->scope.get();
  if (!scope) Raise(RuntimeError("[grad] the scope is closed."));
  return scope;
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
  if (!IsTensor(argument) || !IsFloat(CellOf(argument).dtype())) {
    const std::string what =
        IsTensor(argument) ? Describe(CellOf(argument)) : Py_TYPE(argument)->tp_name;
    return Raise(TypeError(
        "[grad] arguments to differentiate must hold floating-point tensors, got ", what, "."));
  }
  return Wrap(scope->Variable(CellOf(argument)));
}

PyObject* Gradients(PyObject* self, PyObject* root) {
  auto* scope = ScopeOf(self);
  if (!scope) return nullptr;
  if (!IsTensor(root)) {
    return Raise(TypeError("[grad] the function must return a 0-d floating-point tensor, got ",
                           Py_TYPE(root)->tp_name, "."));
  }
  auto gradients = scope->Gradients(CellOf(root));
  if (!gradients.ok()) return Raise(gradients.status());
  Object list = Object::Steal(PyList_New(static_cast<Py_ssize_t>(gradients->size())));
  for (size_t i = 0; list && i < gradients->size(); ++i) {
    PyObject* item = Wrap(std::move((*gradients)[i]));
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

PyObject* Outside(PyObject* self, PyObject* object) {
  auto* scope = ScopeOf(self);
  if (!scope) return nullptr;
  return IsTensor(object) ? Wrap(scope->Outside(CellOf(object))) : Py_NewRef(object);
}

PyObject* Close(PyObject* self, PyObject*) {
  reinterpret_cast<PyScope*>(self)->scope.reset();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"variable", Variable, METH_O, "A tensor as a variable of this scope."},
    {"gradients", Gradients, METH_O, "Gradients of a 0-d result for every variable, in order."},
    {"outside", Outside, METH_O, "A result as it is seen outside the scope."},
    {"close", Close, METH_NOARGS, "Leaves the scope."},
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
  if (!ToBool(a[0], true, &on)) return nullptr;
  return PyBool_FromLong(std::exchange(State().grad_enabled, on));
}

FZ_FAST(IsGradEnabled) { return PyBool_FromLong(State().grad_enabled); }

// -- Optimizer updates. Cells change only if all went well.

bool ToCells(PyObject* const* objects, int n, const char* op, Tensor** cells) {
  for (int i = 0; i < n; ++i) {
    if (!IsTensor(objects[i])) {
      Raise(TypeError("[", std::string(op), "] takes tensors, got ", Py_TYPE(objects[i])->tp_name,
                      "."));
      return false;
    }
    cells[i] = &CellOf(objects[i]);
  }
  return true;
}

bool ToDoubles(PyObject* const* objects, int n, const char* op, double* out) {
  for (int i = 0; i < n; ++i) {
    if (!ToDouble(objects[i], op, "a coefficient", &out[i])) return false;
  }
  return true;
}

// Raises, with the cells as they were, if an update left an error in one of them.
PyObject* Check(Tensor* const* cells, const std::vector<Tensor>& before) {
  for (size_t i = 0; i < before.size(); ++i) {
    NoteWrite(cells[i]);
    if (cells[i]->ok()) continue;
    const Status status = cells[i]->status();
    for (size_t k = 0; k < before.size(); ++k)
      cells[k]->Set(before[k].value_ref(), before[k].node_ref());
    return Raise(status);
  }
  Py_RETURN_NONE;
}

FZ_FAST(SgdStep) {
  FZ_ARGS(6, "sgd_step(parameter, gradient, velocity, lr, momentum, weight_decay, /)");
  Tensor* t[3];
  double c[3];
  if (!ToCells(a, 3, "sgd_step", t) || !ToDoubles(a + 3, 3, "sgd_step", c)) return nullptr;
  Tensor* cells[] = {t[0], t[2]};
  const std::vector<Tensor> before = {*t[0], *t[2]};
  ops::sgd_step(t[0], *t[1], t[2], c[0], c[1], c[2]);
  return Check(cells, before);
}

FZ_FAST(AdamStep) {
  FZ_ARGS(10,
          "adam_step(parameter, gradient, m, v, rate, root, beta1, beta2, eps, weight_decay, /)");
  Tensor* t[6];
  double c[4];
  if (!ToCells(a, 6, "adam_step", t) || !ToDoubles(a + 6, 4, "adam_step", c)) return nullptr;
  Tensor* cells[] = {t[0], t[2], t[3]};
  const std::vector<Tensor> before = {*t[0], *t[2], *t[3]};
  ops::adam_step(t[0], *t[1], t[2], t[3], *t[4], *t[5], c[0], c[1], c[2], c[3]);
  return Check(cells, before);
}

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
      {"sgd_step(parameter, gradient, velocity, lr, momentum, weight_decay, /)",
       "velocity = velocity * momentum + gradient + parameter * weight_decay; parameter -= lr * "
       "velocity.",
       SgdStep},
      {"adam_step(parameter, gradient, m, v, rate, root, beta1, beta2, eps, weight_decay, /)",
       "One step of Adam (Kingma and Ba 2015); rate is lr / (1 - beta1 ** t), root is sqrt(1 - "
       "beta2 ** t), both 0-d and of the parameter's dtype.",
       AdamStep},
  };
}

}  // namespace frazil::python
