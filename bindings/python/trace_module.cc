// fz.trace: the callable that records and replays. A C type, so that a call costs little beyond the
// body's own. Invariants: the body's result or exception reaches the caller as it is, after the call
// has finished; what a traced function is asked for that is not its own is its function's.
#include <algorithm>
#include <cstddef>
#include <memory>

#include "bindings/python/errors.h"
#include "bindings/python/functions.h"
#include "bindings/python/plan_parts.h"
#include "bindings/python/promised.h"
#include "core/config.h"
#include "core/profile.h"
#include "core/str.h"
#include "tracer/trace.h"

namespace frazil::python {
namespace {

struct PyTrace {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  std::shared_ptr<tracer::Trace> trace;
  std::unique_ptr<PromisedFunction> promised;  // if its body may be skipped
  bool pure;                                   // pure=True
};
extern PyTypeObject trace_type;
PyTrace* Self(PyObject* o) { return reinterpret_cast<PyTrace*>(o); }

inline __attribute__((always_inline)) PyObject* CallTraced(PyObject* self, PyObject* const* args,
                                                           size_t nargsf, PyObject* kwnames) {
  PyTrace* t = Self(self);
  if (t->promised) return t->promised->Call(args, nargsf, kwnames);
  t_body_ran = true;
  const Object held = Object::Share(self);  // the body may let go of it
  tracer::Call call(t->trace.get());
  return FinishCall(&call, PyObject_Vectorcall(t->function, args, nargsf, kwnames));
}

// An outermost call, as a span of the profile that is being taken.
__attribute__((noinline, cold)) PyObject* CallProfiled(PyObject* self, PyObject* const* args,
                                                       size_t nargsf, PyObject* kwnames) {
  const std::shared_ptr<tracer::Trace> trace = Self(self)->trace;
  const std::string line = ProfileLine();
  const int64_t begin = ProfileClock();
  t_body_ran = false;
  PyObject* const result = CallTraced(self, args, nargsf, kwnames);
  ProfileSpan(t_body_ran ? ProfileEvent::Kind::kBody : ProfileEvent::Kind::kCall, trace->name(),
              line, begin);
  return result;
}

PyObject* Call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (!tracer::Enabled()) return PyObject_Vectorcall(Self(self)->function, args, nargsf, kwnames);
  if (Profiling() && !tracer::Inside()) return CallProfiled(self, args, nargsf, kwnames);
  return CallTraced(self, args, nargsf, kwnames);
}

std::string NameOf(PyObject* function) {
  for (const char* attribute : {"__qualname__", "__name__"}) {
    Object name = Object::Steal(PyObject_GetAttrString(function, attribute));
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    PyErr_Clear();
    if (text) return text;
  }
  return Py_TYPE(function)->tp_name;
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject *function, *name = nullptr;
  int pure = 0, proof = 1, strict = 0, saved = 0;
  tracer::Policy policy;
  static const char* names[] = {"function", "name",   "pure",  "check_first", "check_every",
                                "proof",    "strict", "saved", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|Opiippp", const_cast<char**>(names),
                                   &function, &name, &pure, &policy.first, &policy.every, &proof,
                                   &strict, &saved))
    return nullptr;
  policy.saved = saved;
  auto* self = Self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  new (&self->trace) std::shared_ptr<tracer::Trace>();
  new (&self->promised) std::unique_ptr<PromisedFunction>();
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  self->trace = std::make_shared<tracer::Trace>(text ? text : NameOf(function), pure);
  self->pure = pure;
  policy.proved = !pure;
  if (pure || (proof && GetConfig().proof != "off"))
    self->promised =
        std::make_unique<PromisedFunction>(function, self->trace, policy, !pure, strict);
  self->call = Call;
  self->function = Py_NewRef(function);
  return reinterpret_cast<PyObject*>(self);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Self(self)->function);
  Py_VISIT(Self(self)->dict);
  return Self(self)->promised ? Self(self)->promised->Traverse(visit, arg) : 0;
}
int Clear(PyObject* self) {
  Py_CLEAR(Self(self)->function);
  Py_CLEAR(Self(self)->dict);
  if (Self(self)->promised) Self(self)->promised->LetGo();
  return 0;
}
void Dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (Self(self)->weak_references) PyObject_ClearWeakRefs(self);
  Clear(self);
  Self(self)->promised.~unique_ptr();
  Self(self)->trace.~shared_ptr();
  Py_TYPE(self)->tp_free(self);
}

PyObject* Bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* Repr(PyObject* self) {
  return PyUnicode_FromFormat("<frazil.trace of %R>", Self(self)->function);
}

PyObject* Explain(PyObject* self, PyObject*) {
  PyTrace* t = Self(self);
  std::string text = t->promised ? t->promised->Explain() : t->trace->Explain();
  // What frazil/_convert.py has to say of the function: lines.
  PyObject* notes = t->dict ? PyDict_GetItemString(t->dict, "_notes") : nullptr;
  for (Py_ssize_t i = 0; notes && PyList_Check(notes) && i < PyList_GET_SIZE(notes); ++i) {
    const char* note = PyUnicode_Check(PyList_GET_ITEM(notes, i))
                           ? PyUnicode_AsUTF8(PyList_GET_ITEM(notes, i))
                           : nullptr;
    PyErr_Clear();
    if (note) text += StrCat(note, "\n");
  }
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// {cause: how often}, every row of the table.
Object CauseCounts(const tracer::TraceStats& stats) {
  Object dict = Object::Steal(PyDict_New());
  for (int i = 0; dict && i < tracer::kNumCauses; ++i) {
    const std::string name(tracer::Info(static_cast<tracer::Cause>(i)).name);
    Object count = Object::Steal(PyLong_FromLongLong(stats.causes[i]));
    if (!count || PyDict_SetItemString(dict.get(), name.c_str(), count.get()) < 0) return Object();
  }
  return dict;
}

Object EventList(const std::vector<tracer::TraceEvent>& events) {
  Object list = Object::Steal(PyList_New(0));
  for (const tracer::TraceEvent& e : events) {
    const std::string cause(tracer::Info(e.cause).name);
    Object event = Object::Steal(Py_BuildValue("{s:s,s:s,s:s,s:L}", "cause", cause.c_str(), "where",
                                               e.where.c_str(), "text", e.text.c_str(), "times",
                                               (long long)e.times));
    if (!list || !event || PyList_Append(list.get(), event.get()) < 0) return Object();
  }
  return list;
}

PyObject* Stats(PyObject* self, PyObject*) {
  PyTrace* t = Self(self);
  const tracer::TraceStats s = t->promised ? t->promised->promise().stats() : t->trace->stats();
  Object causes = CauseCounts(s), events = EventList(Self(self)->trace->Events());
  if (!causes || !events) return nullptr;
  return Py_BuildValue(
      "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O,s:O}", "calls", (long long)s.calls,
      "recorded", (long long)s.recorded, "replayed", (long long)s.replayed, "skipped",
      (long long)s.skipped, "untraced", (long long)s.untraced, "fallbacks", (long long)s.fallbacks,
      "segments", (long long)s.segments, "plans", (long long)s.plans, "kernels_compiled",
      (long long)s.kernels_compiled, "last_kernels", (long long)s.last_kernels, "matched_ops",
      (long long)s.matched_ops, "causes", causes.get(), "events", events.get());
}

// One plan as a dict of numbers and lists.
Object MemoryDict(const tracer::MemoryReport& r) {
  static constexpr const char* kKinds[] = {"arena", "result", "donated"};
  Object steps = Object::Steal(PyList_New(0)), blocks = Object::Steal(PyList_New(0));
  if (!steps || !blocks) return Object();
  for (const std::string& step : r.steps) {
    Object text = Object::Steal(PyUnicode_FromString(step.c_str()));
    if (!text || PyList_Append(steps.get(), text.get()) < 0) return Object();
  }
  for (const tracer::PlannedBlock& b : r.blocks) {
    Object block = Object::Steal(Py_BuildValue("{s:s,s:s,s:L,s:L,s:i,s:i}", "what", b.what.c_str(),
                                               "kind", kKinds[static_cast<int>(b.kind)], "bytes",
                                               (long long)b.bytes, "offset", (long long)b.offset,
                                               "first", int(b.first), "last", int(b.last)));
    if (!block || PyList_Append(blocks.get(), block.get()) < 0) return Object();
  }
  return Object::Steal(Py_BuildValue(
      "{s:O,s:O,s:L,s:L,s:L,s:L}", "steps", steps.get(), "blocks", blocks.get(), "arena_bytes",
      (long long)r.arena_bytes, "arena_bound", (long long)r.arena_bound, "result_bytes",
      (long long)r.result_bytes, "peak_bound", (long long)r.peak_bound));
}

std::vector<tracer::PlanReport> PlansOf(PyTrace* t) {
  return t->promised ? t->promised->promise().Plans() : t->trace->Plans();
}

PyObject* MemoryPlans(PyObject* self, PyObject*) {
  Object list = Object::Steal(PyList_New(0));
  for (const tracer::PlanReport& report : PlansOf(Self(self))) {
    Object dict = list ? MemoryDict(report.memory) : Object();
    if (!dict || PyList_Append(list.get(), dict.get()) < 0) return nullptr;
  }
  Object module = Object::Steal(PyImport_ImportModule("frazil.memory"));
  if (!list || !module) return nullptr;
  return PyObject_CallMethod(module.get(), "_plans", "O", list.get());
}

// What frazil/_show.py draws: a dict of each plan.
PyObject* PlanReports(PyObject* self, PyObject*) {
  Object list = Object::Steal(PyList_New(0));
  for (const tracer::PlanReport& report : PlansOf(Self(self))) {
    Object memory = MemoryDict(report.memory), steps = StepList(report.steps);
    if (!list || !memory || !steps) return nullptr;
    Object dict = Object::Steal(Py_BuildValue(
        "{s:s#,s:s#,s:s#,s:O,s:O}", "program", report.program.data(),
        (Py_ssize_t)report.program.size(), "where", report.where.data(),
        (Py_ssize_t)report.where.size(), "text", report.text.data(), (Py_ssize_t)report.text.size(),
        "steps", steps.get(), "memory", memory.get()));
    if (!dict || PyList_Append(list.get(), dict.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* CallShow(const char* name, PyObject* self, PyObject* path) {
  Object module = Object::Steal(PyImport_ImportModule("frazil._show"));
  return module ? PyObject_CallMethod(module.get(), name, "OO", self, path) : nullptr;
}

PyObject* Show(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"path", nullptr};
  PyObject* path = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:show", const_cast<char**>(names), &path))
    return nullptr;
  return CallShow("show", self, path);
}

PyObject* ReprHtml(PyObject* self, PyObject*) { return CallShow("repr_html", self, Py_None); }

PyObject* Forget(PyObject* self, PyObject*) {
  Self(self)->trace->Clear();
  if (Self(self)->promised) Self(self)->promised->Clear();
  Py_RETURN_NONE;
}

PyObject* Reduce(PyObject* self, PyObject*) {
  Object module = Object::Steal(PyImport_ImportModule("frazil._trace"));
  return module ? PyObject_CallMethod(module.get(), "reduced", "O", self) : nullptr;
}

// Methods whose kind Python tells by their names, where they are functions.
PyObject* SetName(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyType_Check(args[0]) || !PyUnicode_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "__set_name__ takes a class and a name.");
    return nullptr;
  }
  const auto is = [&](const char* name) {
    return PyUnicode_CompareWithASCIIString(args[1], name) == 0;
  };
  const bool of_class = is("__init_subclass__") || is("__class_getitem__");
  if (!of_class && !is("__new__")) Py_RETURN_NONE;
  Object method = Object::Steal(of_class ? PyClassMethod_New(self) : PyStaticMethod_New(self));
  if (!method || PyObject_SetAttr(args[0], args[1], method.get()) < 0) return nullptr;
  Py_RETURN_NONE;
}

// Whether it is an attribute of the function: all but special names that copy, pickle and protocols
// look up, and what this type has itself.
bool IsOfFunction(PyObject* self, PyObject* name) {
  static constexpr const char* kSpecial[] = {
      "__defaults__", "__kwdefaults__",      "__code__", "__globals__", "__closure__",
      "__builtins__", "__isabstractmethod__"};
  const auto is = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
  };
  if (_PyType_Lookup(Py_TYPE(self), name)) return false;
  return !IsSpecial(name) || std::any_of(std::begin(kSpecial), std::end(kSpecial), is);
}

PyObject* GetAttribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) || !IsOfFunction(self, name))
    return found;
  PyErr_Clear();
  return PyObject_GetAttr(Self(self)->function, name);
}

int SetAttribute(PyObject* self, PyObject* name, PyObject* value) {
  return IsOfFunction(self, name) ? PyObject_SetAttr(Self(self)->function, name, value)
                                  : PyObject_GenericSetAttr(self, name, value);
}

PyMethodDef methods[] = {
    {"explain", Explain, METH_NOARGS,
     "explain($self)\n--\n\nEvery recording, plan and fallback: where, what changed, old -> new."},
    {"stats", Stats, METH_NOARGS,
     "stats($self)\n--\n\nCounts of calls, recordings, plans and kernels, of every cause of a "
     "recording, plan, fallback, refusal or eviction, and the latest events."},
    {"memory_plan", MemoryPlans, METH_NOARGS,
     "memory_plan($self)\n--\n\nHow each plan uses memory, the largest first: "
     "frazil.memory.Plan objects with bytes, the lower bound and a drawing."},
    {"show", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Show)),
     METH_VARARGS | METH_KEYWORDS,
     "show($self, path=None)\n--\n\nWrites what was recorded and what became of it as one HTML "
     "page "
     "and opens it, or returns its path: the program, the graph, kernels, steps and memory of each "
     "plan, linked by the lines they come from. With a path the page is written there and not "
     "opened."},
    {"_plans", PlanReports, METH_NOARGS, nullptr},
    {"_repr_html_", ReprHtml, METH_NOARGS,
     "_repr_html_($self)\n--\n\nWhat a notebook shows: counts and what explain() tells."},
    {"clear", Forget, METH_NOARGS, "clear($self)\n--\n\nForgets everything recorded."},
    {"__reduce__", Reduce, METH_NOARGS, nullptr},
    {"__set_name__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(SetName)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyObject* GetWrapped(PyObject* self, void*) { return Py_NewRef(Self(self)->function); }

PyObject* GetPure(PyObject* self, void*) { return PyBool_FromLong(Self(self)->pure); }

PyGetSetDef getset[] = {
    {"pure", GetPure, nullptr, "Whether pure=True was promised.", nullptr},
    {"__wrapped__", GetWrapped, nullptr, "The function as it was written.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constinit PyTypeObject trace_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil.Traced";
  t.tp_doc = "A traced callable: made by frazil.trace.";
  t.tp_basicsize = sizeof(PyTrace);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
               Py_TPFLAGS_METHOD_DESCRIPTOR;
  t.tp_new = New;
  t.tp_dealloc = Dealloc;
  t.tp_traverse = Traverse;
  t.tp_clear = Clear;
  t.tp_call = PyVectorcall_Call;
  t.tp_vectorcall_offset = offsetof(PyTrace, call);
  t.tp_dictoffset = offsetof(PyTrace, dict);
  t.tp_weaklistoffset = offsetof(PyTrace, weak_references);
  t.tp_descr_get = Bind;
  t.tp_getattro = GetAttribute;
  t.tp_setattro = SetAttribute;
  t.tp_repr = Repr;
  t.tp_methods = methods;
  t.tp_getset = getset;
  return t;
}();

// "train.py:12": the innermost Python frame outside the package. Called while the interpreter holds
// the GIL; without Python frames (a C++ thread) there is nothing to say.
std::string Locate() {
  if (!PyGILState_Check()) return "";
  Object frame = Object::Share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const Object globals = Object::Steal(PyFrame_GetGlobals(f));
    if (!IsOfPackage(globals.get())) {
      Object code = Object::Steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
      PyObject* file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
      const char* text = PyUnicode_AsUTF8(file);
      const std::string path = text ? text : "";
      PyErr_Clear();
      return StrCat(path.substr(path.rfind('/') + 1), ":", PyFrame_GetLineNumber(f));
    }
    frame = Object::Steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  PyErr_Clear();
  return "";
}

}  // namespace

bool IsOfPackage(PyObject* globals) {
  PyObject* name = PyDict_GetItemString(globals, "__name__");
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  const std::string_view module = text ? text : "";
  return module == "frazil" || module.starts_with("frazil.");
}

PyObject* FunctionOfTraced(PyObject* object) {
  return Py_IS_TYPE(object, &trace_type) ? Self(object)->function : nullptr;
}

PyObject* LearntOf(PyObject* traced, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PromisedFunction* promised =
      Py_IS_TYPE(traced, &trace_type) ? Self(traced)->promised.get() : nullptr;
  if (!promised) {
    PyErr_SetString(PyExc_TypeError, "[export] needs a traced function whose body may be skipped.");
    return nullptr;
  }
  return promised->Learnt(args, nargsf, kwnames);
}

bool AddTraceType(PyObject* module) {
  GlobalRuntime().locate = Locate;
  return PyType_Ready(&trace_type) >= 0 &&
         PyModule_AddObjectRef(module, "Traced", reinterpret_cast<PyObject*>(&trace_type)) >= 0;
}

}  // namespace frazil::python
