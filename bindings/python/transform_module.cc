// Transforms: the scopes that frazil.jvp and frazil.vmap are written over, and what structured ops
// ask of them.
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "autograd/forward.h"
#include "autograd/level.h"
#include "batch/batch.h"
#include "batch/taken.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/check.h"
#include "core/operand_scope.h"
#include "tracer/aside.h"

namespace frazil::python {

// A vmap's scope, with the cells that its function gave values of one example, and what they had.
// Those that outlive the function had them before it began, or were kept somewhere: what differs
// between examples would be lost there, so the old content comes back, and the call is an error.
struct ExampleWrites {
  ExampleWrites(int64_t size, int randomness)
      : scope(size, static_cast<batch::Randomness>(randomness)),
        outer(std::exchange(t_example_writes, this)) {}
  ~ExampleWrites() { t_example_writes = outer; }
  ExampleWrites(const ExampleWrites&) = delete;

  batch::BatchScope scope;
  std::vector<std::pair<Object, Tensor>> before;
  ExampleWrites* const outer;
};

// The scope whose examples differ is that of the value.
void NoteExampleWrite(Tensor* cell, const Tensor& next) {
  for (ExampleWrites* writes = t_example_writes; writes; writes = writes->outer) {
    if (!writes->scope.Has(next)) continue;
    PyObject* const object = ObjectOf(cell);
    const auto known = [&](const auto& entry) { return entry.first.get() == object; };
    if (!writes->scope.Has(*cell) && !absl::c_any_of(writes->before, known))
      writes->before.emplace_back(Object::Share(object), *cell);
    return;
  }
}

namespace {

// Without those of a call that is learnt from, which holds what is written until its end.
Py_ssize_t HoldersOf(const Object& object) {
  const auto is_it = [&](const Object& o) { return o.get() == object.get(); };
  const Py_ssize_t noted = t_written ? absl::c_count_if(*t_written, is_it) : 0;
  return Py_REFCNT(object.get()) - noted;
}

template <typename Scope>
struct PyScope {
  PyObject_HEAD std::unique_ptr<Scope> scope;
};

template <typename Scope>
Scope* ScopeOf(PyObject* self) {
  auto* scope = reinterpret_cast<PyScope<Scope>*>(self)->scope.get();
  if (!scope) Raise(RuntimeError("[transform] the scope is closed."));
  return scope;
}

template <typename Scope>
PyObject* Make(PyTypeObject* type, std::unique_ptr<Scope> scope) {
  auto* self = reinterpret_cast<PyScope<Scope>*>(type->tp_alloc(type, 0));
  if (self) new (&self->scope) std::unique_ptr<Scope>(std::move(scope));
  return reinterpret_cast<PyObject*>(self);
}

template <typename Scope>
void Dealloc(PyObject* self) {
  reinterpret_cast<PyScope<Scope>*>(self)->scope.~unique_ptr();
  Py_TYPE(self)->tp_free(self);
}

template <typename Scope>
PyObject* Close(PyObject* self, PyObject*) {
  reinterpret_cast<PyScope<Scope>*>(self)->scope.reset();
  Py_RETURN_NONE;
}

template <typename Scope>
PyTypeObject TypeOf(const char* name, const char* doc, newfunc make, PyMethodDef* methods) {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = name;
  t.tp_doc = doc;
  t.tp_basicsize = sizeof(PyScope<Scope>);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_new = make;
  t.tp_dealloc = Dealloc<Scope>;
  t.tp_methods = methods;
  return t;
}

PyObject* WrapOrRaise(StatusOr<Tensor> t) {
  return t.ok() ? Wrap(*std::move(t)) : Raise(t.status());
}

bool AllTensors(const char* op, PyObject* const* a, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (IsTensor(a[i])) continue;
    Raise(TypeError("[", op, "] takes tensors, got ", Py_TYPE(a[i])->tp_name, "."));
    return false;
  }
  return true;
}

// -- Forward mode

using autograd::ForwardScope;

PyObject* NewForward(PyTypeObject* type, PyObject*, PyObject*) {
  return Make(type, std::make_unique<ForwardScope>());
}
PyObject* Variable(PyObject* self, PyObject* const* a, Py_ssize_t n) {
  auto* scope = ScopeOf<ForwardScope>(self);
  if (!scope || !AllTensors("jvp", a, n)) return nullptr;
  FZ_CHECK(n == 2);
  return WrapOrRaise(scope->Variable(CellOf(a[0]), CellOf(a[1])));
}
PyObject* Tangent(PyObject* self, PyObject* t) {
  auto* scope = ScopeOf<ForwardScope>(self);
  if (!scope || !AllTensors("jvp", &t, 1)) return nullptr;
  Tensor tangent = scope->Tangent(CellOf(t));
  if (!tangent.defined()) Py_RETURN_NONE;
  return Wrap(std::move(tangent));
}
PyObject* Outside(PyObject* self, PyObject* object) {
  auto* scope = ScopeOf<ForwardScope>(self);
  if (!scope) return nullptr;
  return IsTensor(object) ? Wrap(scope->Outside(CellOf(object))) : Py_NewRef(object);
}

PyMethodDef forward_methods[] = {
    {"variable", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Variable)), METH_FASTCALL,
     "variable(primal, tangent): the primal with the tangent."},
    {"tangent", Tangent, METH_O, "The tangent of a result; None if it depends on no variable."},
    {"outside", Outside, METH_O, "A result as it is seen outside the scope."},
    {"close", Close<ForwardScope>, METH_NOARGS, "Leaves the scope."},
    {nullptr, nullptr, 0, nullptr},
};
constinit PyTypeObject forward_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// -- Batches

using batch::BatchScope;

PyObject* NewBatch(PyTypeObject* type, PyObject* args, PyObject*) {
  long long size;
  int randomness;
  if (!PyArg_ParseTuple(args, "Li", &size, &randomness)) return nullptr;
  return Make(type, std::make_unique<ExampleWrites>(size, randomness));
}
// A tensor and an axis.
PyObject* Along(PyObject* self, PyObject* const* a, Py_ssize_t n,
                StatusOr<Tensor> (BatchScope::*method)(const Tensor&, int64_t)) {
  auto* scope = ScopeOf<ExampleWrites>(self);
  if (!scope || !AllTensors("vmap", a, 1)) return nullptr;
  FZ_CHECK(n == 2);
  const long long axis = PyLong_AsLongLong(a[1]);
  if (axis == -1 && PyErr_Occurred()) return nullptr;
  return WrapOrRaise((scope->scope.*method)(CellOf(a[0]), axis));
}
PyObject* OfExample(PyObject* self, PyObject* const* a, Py_ssize_t n) {
  return Along(self, a, n, &BatchScope::OfExample);
}
PyObject* Whole(PyObject* self, PyObject* const* a, Py_ssize_t n) {
  return Along(self, a, n, &BatchScope::Whole);
}

PyObject* Has(PyObject* self, PyObject* object) {
  auto* scope = ScopeOf<ExampleWrites>(self);
  if (!scope) return nullptr;
  return PyBool_FromLong(IsTensor(object) && scope->scope.Has(CellOf(object)));
}
// Gives cells that outlive the function, but `results`, a list, their content back: how many.
PyObject* Restore(PyObject* self, PyObject* results) {
  auto* scope = ScopeOf<ExampleWrites>(self);
  if (!scope) return nullptr;
  long restored = 0;
  for (const auto& [object, before] : scope->before) {
    if (HoldersOf(object) == 1) continue;
    bool returned = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results); ++i)
      returned |= PyList_GET_ITEM(results, i) == object.get();
    Tensor* const cell = &CellOf(object.get());
    if (returned || !scope->scope.Has(*cell)) continue;
    NoteWrite(cell);
    cell->Set(before.value_ref(), before.node_ref());
    ++restored;
  }
  return PyLong_FromLong(restored);
}

PyMethodDef batch_methods[] = {
    {"has", Has, METH_O, "has(tensor): whether it is batched in this scope."},
    {"restore", Restore, METH_O,
     "restore(results): gives tensors that outlive the function their content back."},
    {"of_example", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(OfExample)), METH_FASTCALL,
     "of_example(tensor, axis): the tensor of one example."},
    {"whole", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Whole)), METH_FASTCALL,
     "whole(tensor, axis): all examples' along an axis."},
    {"close", Close<ExampleWrites>, METH_NOARGS, "Leaves the scope."},
    {nullptr, nullptr, 0, nullptr},
};
constinit PyTypeObject batch_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// -- The way that some examples take

using batch::TakenScope;

PyObject* NewTaken(PyTypeObject* type, PyObject* args, PyObject*) {
  std::vector<Tensor> operands;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(args, i);
    if (IsTensor(item)) operands.push_back(CellOf(item));
  }
  FZ_CHECK(!operands.empty());
  return Make(type, std::make_unique<TakenScope>(operands[0], operands));
}

PyMethodDef taken_methods[] = {
    {"close", Close<TakenScope>, METH_NOARGS, "Leaves the scope."},
    {nullptr, nullptr, 0, nullptr},
};
constinit PyTypeObject taken_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// Which tensors stand, for some examples, for which: (result, what was merged), while both live. A
// write in place to one of them would have to show in the other. Guarded by the GIL.
std::vector<std::pair<Object, Object>>& Merged() {
  static auto* const pairs = new std::vector<std::pair<Object, Object>>;
  return *pairs;
}

Object Alive(const Object& weak) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* o = nullptr;
  PyWeakref_GetRef(weak.get(), &o);
  return Object::Steal(o);
#else
  PyObject* o = PyWeakref_GetObject(weak.get());
  return o == Py_None ? Object() : Object::Share(o);
#endif
}

FZ_FAST(NoteMerged) {
  FZ_ARGS(2, "note_merged(result, part, /)");
  constexpr size_t kMany = 256;
  if (Merged().size() > kMany)
    std::erase_if(Merged(), [](const auto& p) { return !Alive(p.first) || !Alive(p.second); });
  Object result = Object::Steal(PyWeakref_NewRef(a[0], nullptr));
  Object part = Object::Steal(PyWeakref_NewRef(a[1], nullptr));
  if (!result || !part) return nullptr;
  Merged().emplace_back(std::move(result), std::move(part));
  Py_RETURN_NONE;
}

FZ_FAST(IsMerged) {
  FZ_ARGS(1, "is_merged(tensor, /)");
  const auto lives = [](const Object& o) { return o && HoldersOf(o) > 1; };  // `o` is one
  const bool found = absl::c_any_of(Merged(), [&](const auto& pair) {
    const Object result = Alive(pair.first), part = Alive(pair.second);
    return (result.get() == a[0] && lives(part)) || (part.get() == a[0] && lives(result));
  });
  return PyBool_FromLong(found);
}

FZ_FAST(ForAll) {
  FZ_CHECK(nargs > 0);
  const OperandScope::Pause pause;
  return PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(nargs - 1), kwnames);
}

FZ_FAST(AnyExample) {
  FZ_ARGS(1, "any_example(condition, /)");
  if (!AllTensors("while_loop", a, 1)) return nullptr;
  return WrapOrRaise(batch::AnyExample(CellOf(a[0])));
}

FZ_FAST(IsBatched) {
  FZ_ARGS(1, "is_batched(x, /)");
  return PyBool_FromLong(IsTensor(a[0]) && batch::IsBatched(CellOf(a[0])));
}

FZ_FAST(InVmap) { return PyBool_FromLong(t_example_writes != nullptr); }

// The innermost call of a converted function in this thread (frazil/_convert_runtime.py), or None.
// Lent: whoever puts one there holds it until it has put back what was there before.
FZ_HOT_TLS PyObject* t_converted_frame = nullptr;

FZ_FAST(ExchangeFrame) {
  FZ_ARGS(1, "exchange_frame(frame, /)");
  PyObject* const before = std::exchange(t_converted_frame, Py_IsNone(a[0]) ? nullptr : a[0]);
  return Py_NewRef(before ? before : Py_None);
}

// What became of a function's code lies with the code: in C, so that proofs need not follow how it was
// found (proof/callables.h).
#if PY_VERSION_HEX >= 0x030C0000
constexpr auto kRequestSlot = PyUnstable_Eval_RequestCodeExtraIndex;
constexpr auto kGetExtra = PyUnstable_Code_GetExtra;
constexpr auto kSetExtra = PyUnstable_Code_SetExtra;
#else
constexpr auto kRequestSlot = _PyEval_RequestCodeExtraIndex;
constexpr auto kGetExtra = _PyCode_GetExtra;
constexpr auto kSetExtra = _PyCode_SetExtra;
#endif

// A function like this one with other code; `helpers` by name, of which it has no cells.
Object WithCode(PyObject* function, PyObject* code, PyObject* helpers) {
  const Object had =
      Object::Steal(PyObject_GetAttrString(PyFunction_GET_CODE(function), "co_freevars"));
  const Object wants = Object::Steal(PyObject_GetAttrString(code, "co_freevars"));
  const Object name = Object::Steal(PyObject_GetAttrString(function, "__qualname__"));
  if (!had || !wants || !name) return {};
  Object closure = Object::Steal(PyTuple_New(PyTuple_GET_SIZE(wants.get())));
  if (!closure) return {};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(wants.get()); ++i) {
    PyObject* const variable = PyTuple_GET_ITEM(wants.get(), i);
    const Py_ssize_t at = PySequence_Index(had.get(), variable);
    if (at < 0) PyErr_Clear();
    PyObject* const cell = at >= 0
                               ? Py_NewRef(PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(function), at))
                               : PyCell_New(PyDict_GetItemWithError(helpers, variable));
    if (!cell) return {};
    PyTuple_SET_ITEM(closure.get(), i, cell);
  }
  Object made =
      Object::Steal(PyFunction_NewWithQualName(code, PyFunction_GET_GLOBALS(function), name.get()));
  const auto given = [](PyObject* o) { return o ? o : Py_None; };
  if (!made || PyFunction_SetClosure(made.get(), closure.get()) < 0 ||
      PyFunction_SetDefaults(made.get(), given(PyFunction_GET_DEFAULTS(function))) < 0 ||
      PyFunction_SetKwDefaults(made.get(), given(PyFunction_GET_KW_DEFAULTS(function))) < 0)
    return {};
  for (const char* attribute : {"__module__", "__name__", "__doc__", "__annotations__"}) {
    const Object value = Object::Steal(PyObject_GetAttrString(function, attribute));
    if (!value || PyObject_SetAttrString(made.get(), attribute, value.get()) < 0) return {};
  }
  const Object own = Object::Steal(PyObject_GetAttrString(made.get(), "__dict__"));
  const Object others = Object::Steal(PyObject_GetAttrString(function, "__dict__"));
  if (!own || !others || PyDict_Update(own.get(), others.get()) < 0 ||
      PyDict_SetItemString(own.get(), "__wrapped__", function) < 0)
    return {};
  return made;
}

// What proofs let nobody ask of a function (__code__) or a method (__func__), as it may be replaced:
// they look at functions that run themselves.
FZ_FAST(CodeOf) {
  FZ_CHECK(nargs == 1 && PyFunction_Check(args[0]));
  return Py_NewRef(PyFunction_GET_CODE(args[0]));
}
FZ_FAST(FunctionOf) {
  FZ_CHECK(nargs == 1 && PyMethod_Check(args[0]));
  return Py_NewRef(PyMethod_GET_FUNCTION(args[0]));
}

FZ_FAST(Converted) {
  FZ_CHECK(nargs == 3 && PyFunction_Check(args[0]));
  static const Py_ssize_t slot =
      kRequestSlot([](void* kept) { Py_XDECREF(static_cast<PyObject*>(kept)); });
  PyObject* const code = PyFunction_GET_CODE(args[0]);
  void* kept = nullptr;
  if (kGetExtra(code, slot, &kept) < 0) return nullptr;
  // [what make returned, a function of this code without cells, what it became]
  Object known = Object::Share(static_cast<PyObject*>(kept));
  if (!known) {
    Object made = Object::Steal(PyObject_CallOneArg(args[1], args[0]));
    known = made ? Object::Steal(PyList_New(0)) : Object();
    if (!known || PyList_Append(known.get(), made.get()) < 0 ||
        kSetExtra(code, slot, Py_NewRef(known.get())) < 0)
      return nullptr;
  }
  PyObject* const made = PyList_GET_ITEM(known.get(), 0);
  if (!PyCode_Check(made)) return Py_NewRef(made);
  const bool whole = !PyFunction_GET_CLOSURE(args[0]);
  if (whole && PyList_GET_SIZE(known.get()) == 3 && PyList_GET_ITEM(known.get(), 1) == args[0]) {
    PyObject* const last = PyList_GET_ITEM(known.get(), 2);
    if (PyFunction_GET_DEFAULTS(last) == PyFunction_GET_DEFAULTS(args[0]) &&
        PyFunction_GET_KW_DEFAULTS(last) == PyFunction_GET_KW_DEFAULTS(args[0]))
      return Py_NewRef(last);
  }
  Object built = WithCode(args[0], made, args[2]);
  if (!built || !whole) return built.release();
  if (PyList_SetSlice(known.get(), 1, 3, nullptr) < 0 || PyList_Append(known.get(), args[0]) < 0 ||
      PyList_Append(known.get(), built.get()) < 0)
    return nullptr;
  return built.release();
}

// [tensor or None, ...]
bool Take(PyObject* list, std::vector<Tensor>* out) {
  const Object items = Object::Steal(PySequence_Fast(list, "a list of tensors"));
  for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    out->push_back(Py_IsNone(item) ? Tensor() : CellOf(item));
  }
  return bool(items);
}
Object ListOf(const std::vector<Tensor>& tensors) {
  Object list = Object::Steal(PyList_New(0));
  for (const Tensor& t : tensors) {
    const Object item = Object::Steal(t.defined() ? Wrap(t) : Py_NewRef(Py_None));
    if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return {};
  }
  return list;
}

// Nothing is differentiated but in forward mode, and no vmap, session that learns or scope that looks
// at ops is around.
bool CanGoAside(const std::vector<Tensor>& state) {
  if (!tracer::Aside::Possible() || !autograd::InOneForward()) return false;
  return absl::c_all_of(state, [](const Tensor& t) {
    return !t.node() ||
           (autograd::InnermostTangent(t).defined() && !autograd::ReverseOf(t.node_ref()));
  });
}

FZ_FAST(RunAside) {
  FZ_CHECK(nargs == 2);  // no FZ_ARGS: errors of the loop bear the names that they have
  std::vector<Tensor> state, values, tangents;
  if (!Take(args[1], &state)) return nullptr;
  if (!CanGoAside(state)) Py_RETURN_NONE;
  for (const Tensor& t : state) {
    if (Status s = Read(*t.value(), Reading::kInside); !s.ok()) return Raise(s);
    values.push_back(t.Detach());
    tangents.push_back(autograd::InnermostTangent(t));
    if (!tangents.back().defined()) continue;
    if (Status s = Read(*tangents.back().value(), Reading::kInside); !s.ok()) return Raise(s);
  }
  const Object given = ListOf(values), moved = ListOf(tangents);
  if (!given || !moved) return nullptr;
  Object result;
  {
    const tracer::Aside aside;
    PyObject* const both[] = {given.get(), moved.get()};
    result = Object::Steal(PyObject_Vectorcall(args[0], both, 2, nullptr));
  }
  if (!result) return nullptr;
  PyObject *done, *new_values, *new_tangents;
  if (!PyArg_ParseTuple(result.get(), "OOO", &done, &new_values, &new_tangents)) return nullptr;
  values.clear();
  tangents.clear();
  if (!Take(new_values, &values) || !Take(new_tangents, &tangents)) return nullptr;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = autograd::WithTangent(values[i], tangents[i]);
  const Object dressed = ListOf(values);
  return dressed ? Py_BuildValue("(OO)", done, dressed.get()) : nullptr;
}

FZ_FAST(InnermostIsReverse) { return PyBool_FromLong(autograd::InnermostIsReverse()); }

bool Add(PyObject* module, const char* name, PyTypeObject* type) {
  return PyType_Ready(type) >= 0 &&
         PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) >= 0;
}

}  // namespace

bool AddTransformTypes(PyObject* module) {
  forward_type = TypeOf<ForwardScope>("frazil._frazil.ForwardScope",
                                      "One level of forward mode; close it in reverse order.",
                                      NewForward, forward_methods);
  batch_type = TypeOf<ExampleWrites>("frazil._frazil.BatchScope",
                                     "One level of vmap; close it in reverse order.", NewBatch,
                                     batch_methods);
  taken_type = TypeOf<TakenScope>(
      "frazil._frazil.TakenScope",
      "The way that examples take for which its first argument, a bool, is true.", NewTaken,
      taken_methods);
  return Add(module, "ForwardScope", &forward_type) && Add(module, "BatchScope", &batch_type) &&
         Add(module, "TakenScope", &taken_type);
}

std::vector<FunctionRow> TransformFunctions() {
  return {
      {"note_merged(result, part, /)",
       "Notes that one tensor stands for another, for some examples of a vmap.", NoteMerged},
      {"is_merged(tensor, /)", "Whether it stands for another that lives, or the other way round.",
       IsMerged},
      {"for_all(function, /, *args)",
       "function(*args), whichever examples of a vmap the line is for.", ForAll},
      {"any_example(condition, /)",
       "Whether a bool is true for any example of the vmaps that it is batched in.", AnyExample},
      {"in_vmap()", "Whether this thread is inside of a vmap.", InVmap},
      {"exchange_frame(frame, /)",
       "Makes this the innermost call of a converted function; returns the one before, or None.",
       ExchangeFrame},
      {"code_of(function, /)", "Its code.", CodeOf},
      {"function_of(method, /)", "Its function.", FunctionOf},
      {"converted(function, make, helpers, /)",
       "The function with the code that make(function) made of its own, once and for all; or what "
       "make returned in its place.",
       Converted},
      {"run_aside(loop, state, /)",
       "(steps done, the state behind them), of a loop(state, tangents) that runs outside of the "
       "traced "
       "call and jvp around it and returns (steps done, state, tangents). None: it cannot.",
       RunAside},
      {"is_batched(x, /)", "Whether x is a tensor that is batched in a vmap of this thread.",
       IsBatched},
      {"innermost_is_reverse()",
       "Whether no forward mode lies inside of the gradients being taken.", InnermostIsReverse},
  };
}

}  // namespace frazil::python
