// Gradients: the scope that frazil.grad and value_and_grad are written over, and recording on or
// off.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
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

FZ_FAST(InGradScope) { return PyBool_FromLong(State().grad_depth > 0); }

// -- Optimizer updates. Cells change only if all went well.

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

// The cells in lists of equal length: the parameters, and their states.
class Cells {
 public:
  bool Init(const char* op, PyObject* const* lists, int n) {
    for (int i = 0; i < n; ++i) {
      // The tensors live as long as this does, whatever happens to the lists.
      lists_.push_back(Object::Steal(PySequence_Tuple(lists[i])));
      if (!lists_.back()) return false;
      if (PyTuple_GET_SIZE(lists_[i].get()) != PyTuple_GET_SIZE(lists_[0].get())) {
        Raise(ValueError("[", std::string(op),
                         "] takes a state for each parameter: ", PyTuple_GET_SIZE(lists_[i].get()),
                         " for ", PyTuple_GET_SIZE(lists_[0].get()), "."));
        return false;
      }
      for (Py_ssize_t k = 0; k < size(); ++k) {
        PyObject* object = PyTuple_GET_ITEM(lists_[i].get(), k);
        if (IsTensor(object)) continue;
        Raise(TypeError("[", std::string(op), "] takes tensors, got ", Py_TYPE(object)->tp_name,
                        "."));
        return false;
      }
    }
    return true;
  }
  Py_ssize_t size() const { return PyTuple_GET_SIZE(lists_[0].get()); }
  Tensor* at(int list, Py_ssize_t k) const {
    return &CellOf(PyTuple_GET_ITEM(lists_[list].get(), k));
  }

 private:
  std::vector<Object> lists_;
};

// Calls update(k, gradient, numbers) for every parameter that has a gradient, with the numbers of
// its dtype, which make(dtype) makes.
template <typename Numbers, typename Make, typename Update>
PyObject* ForGradients(const Cells& cells, int states, const Make& make, const Update& update) {
  std::vector<std::pair<DType, Numbers>> numbers;
  for (Py_ssize_t k = 0; k < cells.size(); ++k) {
    if (!cells.at(0, k)->ok()) return Raise(cells.at(0, k)->status());
    const Tensor gradient = autograd::Grad(*cells.at(0, k));
    if (!gradient.defined()) continue;
    const DType dtype = cells.at(0, k)->dtype();
    size_t n = 0;
    while (n < numbers.size() && numbers[n].first != dtype) ++n;
    if (n == numbers.size()) numbers.emplace_back(dtype, make(dtype));
    absl::InlinedVector<Tensor*, 3> written;
    std::vector<Tensor> before;
    for (int i = 0; i <= states; ++i) {
      written.push_back(cells.at(i, k));
      before.push_back(*written.back());
    }
    update(k, gradient, numbers[n].second);
    const Object done = Object::Steal(Check(written.data(), before));
    if (!done) return nullptr;
  }
  Py_RETURN_NONE;
}

FZ_FAST(SgdSteps) {
  FZ_ARGS(5, "sgd_steps(parameters, velocities, lr, momentum, weight_decay, /)");
  Cells cells;
  double c[2];
  if (!cells.Init("sgd_steps", a, 2) || !ToDoubles(a + 3, 2, "sgd_steps", c)) return nullptr;
  double number = 0;
  if (!IsTensor(a[2]) && !ToDouble(a[2], "sgd_steps", "lr", &number)) return nullptr;
  const Tensor lr = IsTensor(a[2]) ? CellOf(a[2]) : ops::scalar(Scalar::Float(number), DType::kF64);
  return ForGradients<ops::SgdNumbers>(
      cells, 1, [&](DType dtype) { return ops::SgdNumbers(dtype, lr, c[0], c[1]); },
      [&](Py_ssize_t k, const Tensor& gradient, const ops::SgdNumbers& numbers) {
        ops::sgd_step(cells.at(0, k), gradient, cells.at(1, k), numbers);
      });
}

FZ_FAST(AdamSteps) {
  FZ_ARGS(9, "adam_steps(parameters, ms, vs, rate, root, beta1, beta2, eps, weight_decay, /)");
  Cells cells;
  double c[4];
  if (!cells.Init("adam_steps", a, 3) || !ToDoubles(a + 5, 4, "adam_steps", c)) return nullptr;
  if (!IsTensor(a[3]) || !IsTensor(a[4]))
    return Raise(TypeError("[adam_steps] takes rate and root as tensors."));
  const Tensor rate = CellOf(a[3]), root = CellOf(a[4]);
  return ForGradients<ops::AdamNumbers>(
      cells, 2,
      [&](DType dtype) { return ops::AdamNumbers(dtype, rate, root, c[0], c[1], c[2], c[3]); },
      [&](Py_ssize_t k, const Tensor& gradient, const ops::AdamNumbers& numbers) {
        ops::adam_step(cells.at(0, k), gradient, cells.at(1, k), cells.at(2, k), numbers);
      });
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
      {"in_grad_scope()", "Whether a function-style gradient is being taken in this thread.",
       InGradScope},
      {"sgd_steps(parameters, velocities, lr, momentum, weight_decay, /)",
       "For each parameter that has a gradient: velocity = velocity * momentum + gradient + "
       "parameter * weight_decay; parameter -= lr * velocity. lr is a number or 0-d.",
       SgdSteps},
      {"adam_steps(parameters, ms, vs, rate, root, beta1, beta2, eps, weight_decay, /)",
       "One step of Adam (Kingma and Ba 2015) for each parameter that has a gradient; rate is lr / "
       "(1 - beta1 ** t), root is sqrt(1 - beta2 ** t), both 0-d.",
       AdamSteps},
  };
}

}  // namespace frazil::python
