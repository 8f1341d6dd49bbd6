// Functions of frazil._frazil.program, for frazil/_export.py and frazil/_program.py: what is known of
// a traced call, and programs of files.
#include <memory>

#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/host.h"
#include "bindings/python/item.h"
#include "bindings/python/movement.h"
#include "core/cpu.h"
#include "frozen/loaded.h"
#include "tracer/choices.h"

namespace frazil::python {
namespace {

constexpr char kCapsule[] = "frazil.program";

using Held = std::shared_ptr<frozen::Loaded>;

void FreeLoaded(PyObject* capsule) {
  delete static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule));
}

frozen::Loaded* LoadedOf(PyObject* o) {
  auto* held = static_cast<Held*>(PyCapsule_GetPointer(o, kCapsule));
  return held ? held->get() : nullptr;
}

// As it is: the message names the program.
PyObject* RaiseAs(const Status& status) {
  Raise(status);
  (void)KeepRaised();
  RaiseKept();
  return nullptr;
}

PyObject* Capsule(Held loaded) {
  auto held = std::make_unique<Held>(std::move(loaded));
  PyObject* capsule = PyCapsule_New(held.get(), kCapsule, FreeLoaded);
  if (capsule) held.release();
  return capsule;
}

FZ_FAST(Learnt) {
  FZ_ARGS(3, "learnt(traced, args, kwargs, /)");
  if (!PyTuple_Check(a[1]) || !PyDict_Check(a[2])) {
    PyErr_SetString(PyExc_TypeError, "[export] arguments are a tuple and a dict.");
    return nullptr;
  }
  std::vector<PyObject*> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a[1]); ++i)
    given.push_back(PyTuple_GET_ITEM(a[1], i));
  Object names = Object::Steal(PySequence_Tuple(a[2]));
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    given.push_back(PyDict_GetItemWithError(a[2], PyTuple_GET_ITEM(names.get(), i)));
  PyObject* kwnames_given = PyTuple_GET_SIZE(names.get()) > 0 ? names.get() : nullptr;
  return LearntOf(a[0], given.data(), static_cast<size_t>(PyTuple_GET_SIZE(a[1])), kwnames_given);
}

FZ_FAST(ValueOf) {
  FZ_ARGS(1, "value_of(tensor, /)");
  if (!IsTensor(a[0])) {
    PyErr_SetString(PyExc_TypeError, "[value_of] needs a tensor.");
    return nullptr;
  }
  return PyLong_FromVoidPtr(CellOf(a[0]).value());
}

// The cell holds what it held when `before` was made of it: what a call wrote is undone.
FZ_FAST(PutBack) {
  FZ_ARGS(2, "put_back(tensor, before, /)");
  if (!IsTensor(a[0]) || !IsTensor(a[1])) {
    PyErr_SetString(PyExc_TypeError, "[put_back] needs two tensors.");
    return nullptr;
  }
  NoteWrite(&CellOf(a[0]));
  CellOf(a[0]).SetValue(CellOf(a[1]).value_ref());
  Py_RETURN_NONE;
}

FZ_FAST(Choose) {
  FZ_ARGS(1, "choose(ways, /)");
  tracer::Choices choices;
  const Object ways = Object::Steal(PySequence_Tuple(a[0]));
  if (!ways) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ways.get()); ++i)
    choices.given.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(ways.get(), i)));
  if (PyErr_Occurred()) return nullptr;
  tracer::Choices::Current() = std::make_unique<tracer::Choices>(std::move(choices));
  Py_RETURN_NONE;
}

FZ_FAST(Chooses) {
  FZ_ARGS(0, "chooses()");
  return PyBool_FromLong(tracer::Choices::Current() != nullptr);
}

FZ_FAST(Chosen) {
  FZ_ARGS(0, "chosen()");
  Object list = Object::Steal(PyList_New(0));
  auto& choices = tracer::Choices::Current();
  for (const auto& [way, count] : choices ? choices->made : decltype(tracer::Choices::made)()) {
    const Object pair = Object::Steal(Py_BuildValue("(LL)", (long long)way, (long long)count));
    if (!list || !pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  choices.reset();
  return list.release();
}

FZ_FAST(Branch) {
  FZ_ARGS(2, "branch(number, count, /)");
  const int64_t count = PyLong_AsLongLong(a[1]);
  if (PyErr_Occurred()) return nullptr;
  if (!IsTensor(a[0]) || IsInexact(CellOf(a[0]).dtype())) {
    PyErr_SetString(PyExc_TypeError, "[branch] needs a tensor of one bool or integer.");
    return nullptr;
  }
  auto& choices = tracer::Choices::Current();
  const size_t at = choices ? choices->made.size() : 0;
  const bool chooses = choices && at < choices->given.size();
  if (chooses) choices->outcome = static_cast<uint64_t>(choices->given[at]);
  Object read = Object::Steal(Item(CellOf(a[0]), "branch"));
  if (choices) choices->outcome.reset();
  if (!read) return nullptr;
  if (chooses) read = Object::Steal(PyLong_FromLongLong(choices->given[at]));
  if (choices) choices->made.emplace_back(PyLong_AsLongLong(read.get()), count);
  return PyErr_Occurred() ? nullptr : read.release();
}

FZ_FAST(Load) {
  FZ_ARGS(2, "load_program(path, device, /)");
  Device device;
  if (Given(a[1]) && !ToDevice(a[1], "load_program", &device)) return nullptr;
  PyObject* encoded = nullptr;
  if (!PyUnicode_FSConverter(a[0], &encoded)) return nullptr;
  const Object path = Object::Steal(encoded);
  auto loaded = frozen::Loaded::Load(PyBytes_AS_STRING(path.get()), device);
  if (!loaded.ok()) return RaiseAs(loaded.status());
  return Capsule(*std::move(loaded));
}

// (name, version, structure, program): with its tensors all there is of it.
FZ_FAST(TextsOf) {
  FZ_ARGS(1, "texts_of(program, /)");
  frozen::Loaded* loaded = LoadedOf(a[0]);
  if (!loaded) return nullptr;
  const frozen::Loaded::Texts& texts = loaded->texts();
  return Py_BuildValue("(ssss)", texts.name.c_str(), texts.version.c_str(), texts.python.c_str(),
                       texts.program.c_str());
}

// The tensors become the program's own.
FZ_FAST(Make) {
  FZ_ARGS(2, "make_program(texts, tensors, /)");
  const char *name, *version, *python, *program;
  if (!PyArg_ParseTuple(a[0], "ssss", &name, &version, &python, &program)) return nullptr;
  frozen::Loaded::Tensors tensors;
  PyObject *key, *value;
  if (!PyDict_Check(a[1])) {
    PyErr_SetString(PyExc_TypeError, "[make_program] tensors are a dict.");
    return nullptr;
  }
  for (Py_ssize_t at = 0; PyDict_Next(a[1], &at, &key, &value);) {
    const char* text = PyUnicode_AsUTF8(key);
    if (!text) return nullptr;
    if (!IsTensor(value)) {
      PyErr_SetString(PyExc_TypeError, "[make_program] needs tensors.");
      return nullptr;
    }
    tensors.emplace(text, CellOf(value));
  }
  auto loaded = frozen::Loaded::Make({name, version, python, program}, tensors, name);
  if (!loaded.ok()) return RaiseAs(loaded.status());
  return Capsule(*std::move(loaded));
}

// {"name", "version", "python", "inputs": [(name, type)], "tensors": [(name, constant, tensor)],
// "results"}
FZ_FAST(About) {
  FZ_ARGS(1, "about(program, /)");
  frozen::Loaded* loaded = LoadedOf(a[0]);
  if (!loaded) return nullptr;
  Object inputs = Object::Steal(PyList_New(0)), tensors = Object::Steal(PyList_New(0));
  const std::vector<std::string> names = loaded->input_names(), types = loaded->input_types();
  for (size_t i = 0; i < names.size(); ++i) {
    Object pair = Object::Steal(Py_BuildValue("(ss)", names[i].c_str(), types[i].c_str()));
    if (!inputs || !pair || PyList_Append(inputs.get(), pair.get()) < 0) return nullptr;
  }
  for (const frozen::Loaded::Named& named : loaded->tensors()) {
    Object tensor = Object::Steal(Wrap(*named.cell));
    if (!tensors || !tensor) return nullptr;
    Object row = Object::Steal(Py_BuildValue("(sOO)", named.name.c_str(),
                                             named.constant ? Py_True : Py_False, tensor.get()));
    if (!row || PyList_Append(tensors.get(), row.get()) < 0) return nullptr;
  }
  if (!inputs || !tensors) return nullptr;
  return Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:i}", "name", loaded->name().c_str(), "version",
                       loaded->version().c_str(), "python", loaded->python().c_str(), "inputs",
                       inputs.get(), "tensors", tensors.get(), "results", loaded->results());
}

bool CellsOf(PyObject* list, std::vector<Tensor*>* cells) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "[program] needs a list of tensors.");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!IsTensor(item)) {
      PyErr_Format(PyExc_TypeError, "[program] an input must be a tensor, got %s.",
                   Py_TYPE(item)->tp_name);
      return false;
    }
    cells->push_back(&CellOf(item));
  }
  return true;
}

FZ_FAST(Call) {
  FZ_ARGS(3, "call(program, inputs, tensors, /)");
  frozen::Loaded* loaded = LoadedOf(a[0]);
  if (!loaded) return nullptr;
  const Held held = *static_cast<Held*>(PyCapsule_GetPointer(a[0], kCapsule));
  std::vector<Tensor*> inputs, tensors;
  if (!CellsOf(a[1], &inputs) || !CellsOf(a[2], &tensors)) return nullptr;
  std::vector<Tensor> outputs;
  if (const Status s = loaded->Call(inputs, &outputs, tensors); !s.ok()) return RaiseAs(s);
  Object list = Object::Steal(PyList_New(0));
  for (Tensor& t : outputs) {
    Object o = list ? Object::Steal(Wrap(std::move(t))) : Object();
    if (!o || PyList_Append(list.get(), o.get()) < 0) return nullptr;
  }
  return list.release();
}

FZ_FAST(Stats) {
  FZ_ARGS(1, "stats(program, /)");
  frozen::Loaded* loaded = LoadedOf(a[0]);
  if (!loaded) return nullptr;
  const tracer::TraceStats s = loaded->stats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "calls", (long long)s.calls, "skipped",
                       (long long)s.skipped, "plans", (long long)s.plans, "last_kernels",
                       (long long)s.last_kernels);
}

FZ_FAST(Explain) {
  FZ_ARGS(1, "explain(program, /)");
  frozen::Loaded* loaded = LoadedOf(a[0]);
  if (!loaded) return nullptr;
  const std::string text = loaded->Explain();
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

}  // namespace

std::vector<FunctionRow> ProgramFunctions() {
  return {
      {"learnt(traced, args, kwargs, /)", "What is known of a call: learnt_call.h.", Learnt},
      {"value_of(tensor, /)", "A number that tells contents of tensors apart while they live.",
       ValueOf},
      {"put_back(tensor, before, /)", "Undoes what was written to a tensor since `before`.",
       PutBack},
      {"choose(ways, /)", "From now on branches take these ways: tracer/choices.h.", Choose},
      {"chooses()", "Whether this thread's branches are written down.", Chooses},
      {"chosen()", "The ways since choose(), each of how many; data decide again.", Chosen},
      {"branch(number, count, /)", "Which of so many ways, by a number or as it was chosen.",
       Branch},
      {"load_program(path, device, /)", "The program of a .frz file.", Load},
      {"texts_of(program, /)", "Its name, version, structure and text.", TextsOf},
      {"make_program(texts, tensors, /)", "A program of these and of its tensors by name.", Make},
      {"about(program, /)", "What a program says of itself, and its tensors.", About},
      {"call(program, inputs, tensors, /)", "One call, over lists of tensors.", Call},
      {"stats(program, /)", "Counts of calls and plans.", Stats},
      {"explain(program, /)", "Every recording and plan, a line each.", Explain},
  };
}

}  // namespace frazil::python
