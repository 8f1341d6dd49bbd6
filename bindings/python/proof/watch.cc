#include "bindings/python/proof/watch.h"

#include <opcode.h>

#include <algorithm>
#include <utility>

#include "bindings/python/functions.h"
#include "bindings/python/proof/callables.h"
#include "bindings/python/proof/instructions.h"
#include "bindings/python/proof/members.h"
#include "bindings/python/proof/now.h"
#include "bindings/python/proof/prover.h"
#include "core/str.h"

namespace frazil::python {

Watch::Watch(Prover* prover, const Nest& nest, Asked* asked)
    : prover_(prover),
      world_(&prover->world),
      numbers_(&prover->numbers),
      nest_(nest),
      compared_(nest.containers.begin(), nest.containers.end()),
      asked_(asked) {}

void Watch::Begin(PyObject* function, PyObject* const* arguments, size_t count) {
  PauseCollector();
  running_ = started_ = StartInstructions(this);
  if (!running_) return ResumeCollector();
  // No instruction shows what C code makes of a number that it is given at once.
  if (!RunsPython(function)) PinAll();
  if (!tracked_.empty()) g_following = this;
  std::string why = WhyNotCall(function, arguments, static_cast<Py_ssize_t>(count));
  if (!why.empty()) Doubt(std::move(why));
}

void Watch::End() {
  if (g_following == this) g_following = nullptr;
#if FRAZIL_KNOWS_FRAMES
  if (running_ && doubt_.empty() && !std::exchange(open_, {}).empty())
    Doubt("leaves a generator open, in a try or with statement that ends later");
#endif
  if (running_) StopInstructions();
  running_ = false;
  ResumeCollector();
#if FRAZIL_KNOWS_FRAMES
  made_.clear();
#endif
}

void Watch::PauseCollector() {
  if (!PyGC_IsEnabled()) return;
  const Object collector = Object::Steal(PyImport_ImportModule("gc"));
  const Object callbacks =
      collector ? Object::Steal(PyObject_GetAttrString(collector.get(), "callbacks")) : Object();
  if (!callbacks) PyErr_Clear();
  collector_paused_ =
      callbacks && PyList_Check(callbacks.get()) && PyList_GET_SIZE(callbacks.get());
  if (collector_paused_) PyGC_Disable();
}

void Watch::ResumeCollector() {
  if (std::exchange(collector_paused_, false)) PyGC_Enable();
}

bool Watch::Doubt(std::string why) {
  ResumeCollector();
  if (doubt_.empty()) doubt_ = StrCat(Where(), " ", why);
  if (g_following == this) g_following = nullptr;
  if (tracked_.empty()) End();  // the rest runs at full speed
  return false;
}

std::string Watch::Where() const {
  if (!code_) return "the call";
  const char* file = PyUnicode_AsUTF8(code_->co_filename);
  if (!file) PyErr_Clear();
  const std::string_view path = file ? file : "?";
  return StrCat(path.substr(path.rfind('/') + 1), ":", PyCode_Addr2Line(code_, offset_));
}

#if FRAZIL_KNOWS_FRAMES

namespace {

// Whether a set's items come in an order that their values alone decide.
bool HasSteadyOrder(PyObject* o) {
  if (!PyAnySet_Check(o)) return true;
  const Object items = Object::Steal(PySequence_Tuple(o));
  if (!items) return PyErr_Clear(), false;
  return std::all_of(&PyTuple_GET_ITEM(items.get(), 0),
                     &PyTuple_GET_ITEM(items.get(), 0) + PyTuple_GET_SIZE(items.get()),
                     [](PyObject* item) { return IsPlainKey(item) && !IsNan(item); });
}

std::string Quoted(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  return StrCat("'", text ? text : "?", "'");
}

// Attributes through which names of modules are reached without being named.
bool LeadsOutside(PyObject* name) {
  static constexpr std::string_view kNames[] = {
      "__globals__", "__builtins__", "__closure__",   "__traceback__", "__context__", "__cause__",
      "gi_frame",    "gi_code",      "cr_frame",      "f_globals",     "f_locals",    "f_back",
      "tb_frame",    "__func__",     "cell_contents", "__weakref__"};
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return PyErr_Clear(), true;
  return std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
}

// Code that the interpreter runs between two instructions: __del__, and callbacks, which are given
// a weak reference (finalizers) or a frame (handlers of signals).
bool IsOfInterpreter(const Frame& frame) {
  const auto is_sign = [](PyObject* o) {
    if (o && PyCell_Check(o)) o = PyCell_GET(o);
    return o && (PyWeakref_Check(o) || PyFrame_Check(o));
  };
  if (PyUnicode_CompareWithASCIIString(frame.code->co_name, "__del__") == 0) return true;
  const int named = frame.code->co_argcount + frame.code->co_kwonlyargcount;
  if (std::any_of(frame.values, frame.values + named, is_sign)) return true;
  PyObject* more = frame.code->co_flags & CO_VARARGS ? frame.values[named] : nullptr;
  return more && PyTuple_Check(more) &&
         std::any_of(&PyTuple_GET_ITEM(more, 0), &PyTuple_GET_ITEM(more, 0) + Py_SIZE(more),
                     is_sign);
}

}  // namespace

bool Watch::IsMade(PyObject* function) const {
  const auto made = made_.find(function);
  if (made == made_.end() || !made->second) return false;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* alive = nullptr;
  PyWeakref_GetRef(made->second.get(), &alive);
  return Object::Steal(alive).get() == function;
#else
  return PyWeakref_GetObject(made->second.get()) == function;
#endif
}

const CodeView* Watch::ViewOf(PyCodeObject* code) {
  const auto [it, is_new] = views_.try_emplace(code);
  if (is_new) it->second = CodeView::Of(code);
  return it->second.get();
}

bool Watch::Enter(Frame* frame) {
  constexpr int kNever = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  if (code_->co_flags & kNever) return Doubt("runs a coroutine");
  PyObject* function = frame->function;
  if (!function || !PyFunction_Check(function)) return Doubt("runs code that is no function's");
  if (IsOfInterpreter(*frame))
    return Doubt(
        "is interrupted by the end of an object or by a signal, which may come at any time");
  if (IsMade(function) || compared_.contains(function)) return true;
  return world_->AddFunction(function, Where()) ||
         Doubt(StrCat("runs what cannot be compared: ", world_->refusal()));
}

void Watch::OnInstruction(Frame* frame, int offset) {
  if (!running_) return;
  if (doubt_.empty()) Look(frame, offset);
  if (running_ && !tracked_.empty()) ShowOriginals(frame, offset);
  PyErr_Clear();  // no exception is on its way between two instructions
}

void Watch::Look(Frame* frame, int offset) {
  if (frame != frame_ || !view_ || view_->code() != frame->code) {
    frame_ = frame;
    function_ = nullptr;
    view_ = ViewOf(frame->code);
  }
  if (!first_) first_ = frame;
  code_ = frame->code;
  offset_ = offset;
  if (!view_) {
    Doubt("runs code that is not understood");
    return;
  }
  if (frame->function != function_) {  // RESUME, the first instruction, is not always told of
    function_ = frame->function;
    if (!Enter(frame)) return;
  }
  const Now now{frame, view_->At(offset)};
  if (now.instruction.depth < 0) {
    Doubt("runs code that is not understood");
    return;
  }
  if (making_ == frame) {
    making_ = nullptr;
    PyObject* function = now.instruction.depth > 0 ? now.Peek(1) : nullptr;
    if (!function || !PyFunction_Check(function)) {
      Doubt("runs code that is not understood");
      return;
    }
    made_[function] = Object::Steal(PyWeakref_NewRef(function, nullptr));
  }
  if (now.instruction.op == YIELD_VALUE && view_->HasHandler(offset)) {
    open_.insert(frame);
  } else if (!open_.empty()) {
    open_.erase(frame);
  }
  if (pending_.frame) FinishPending(now);
  if (hidden_.value) numbers_->Pin(std::exchange(hidden_, {}).node, Where());  // nobody took it
  if (!prover_->unread()->empty()) CheckUnread(now);
  if (Judge(now) && Follows()) FollowNumbers(now);
}

// Calls apart.
bool Watch::TellsApart(const Now& now, const Tensors* among) {
  const int argument = now.instruction.argument;
  const auto holds = [&](int i) { return HoldsTensor(now.Peek(i), among); };
  const auto any_of = [&](int count, int step) {
    for (int i = 1; i <= count; ++i) {
      if (holds(i * step)) return true;
    }
    return false;
  };
  const auto is_key = [&](PyObject* key, PyObject* container) {
    return !IsTensor(container) && !PyList_Check(container) && !PyTuple_Check(container) &&
           HoldsTensor(key, among);
  };
  switch (now.instruction.op) {
    case IS_OP: {  // lists that are one hold the same
      PyObject *a = now.Peek(1), *b = now.Peek(2);
      const auto is_container = [](PyObject* o) {
        return PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o);
      };
      return IsTensor(a) == IsTensor(b) && IsTensor(a) != (is_container(a) && is_container(b)) &&
             holds(1) && holds(2);
    }
    case CONTAINS_OP:
      return holds(2);
    case COMPARE_OP:
      return ComparisonTellsApart(now.Peek(1), now.Peek(2), among);
    case BINARY_OP:
      return OperatorTellsApart(now.Peek(1), now.Peek(2), among);
    case BINARY_SUBSCR:
    case STORE_SUBSCR:
    case DELETE_SUBSCR:
      return is_key(now.Peek(1), now.Peek(2));
    case BUILD_SET:
      return any_of(argument, 1);
    case BUILD_MAP:  // [key, value, ...]
      return any_of(argument, 2);
    case SET_ADD:
    case SET_UPDATE:
      return holds(1);
    case MAP_ADD:
      return holds(2);
    default:
      return false;
  }
}

void Watch::NoteAsked(const Now& now) {
  if (!TellsApart(now, nullptr)) return;
  PyObject *a = now.Peek(1), *b = now.instruction.depth > 1 ? now.Peek(2) : nullptr;
  const bool by_is = now.instruction.op == IS_OP;
  tells_tensors_apart_ = tells_tensors_apart_ || !by_is || (IsTensor(a) && IsTensor(b));
  if (by_is && IsTensor(a) && IsTensor(b)) {
    const auto known = [&](PyObject* o) {
      return std::find(nest_.cells.begin(), nest_.cells.end(), &CellOf(o)) != nest_.cells.end();
    };
    const bool asks = (inputs_.contains(a) && known(b)) || (inputs_.contains(b) && known(a));
    const bool again = std::any_of(asked_->pairs.begin(), asked_->pairs.end(),
                                   [&](const auto& p) { return p.a.get() == a && p.b.get() == b; });
    if (asks && !again) asked_->pairs.push_back({Object::Share(a), Object::Share(b), Where()});
  } else if (asked_->otherwise.empty() && TellsApart(now, &inputs_)) {
    asked_->otherwise = Where();
  }
}

void Watch::NoteAsked(PyObject* callable, PyObject* const* arguments, int count) {
  tells_tensors_apart_ = tells_tensors_apart_ || CallTellsApart(callable, arguments, count);
  if (asked_->otherwise.empty() && CallTellsApart(callable, arguments, count, &inputs_))
    asked_->otherwise = Where();
}

bool Watch::Judge(const Now& now) {
  const int argument = now.instruction.argument;
  if (asked_) NoteAsked(now);
  switch (now.instruction.op) {
    case MAKE_FUNCTION:
      making_ = now.frame;
      return true;

    case LOAD_GLOBAL:
      return world_->AddName(now.frame->globals, now.frame->builtins, now.Name(argument >> 1),
                             Where()) ||
             Doubt(StrCat("reads what cannot be compared: ", world_->refusal()));
    case LOAD_ATTR:
#if PY_VERSION_HEX < 0x030C0000
    case LOAD_METHOD:
      return JudgeAttribute(now, now.Peek(1), now.Name(argument));
#else
      return JudgeAttribute(now, now.Peek(1), now.Name(argument >> 1));
#endif
    case IMPORT_FROM:
      return JudgeAttribute(now, now.Peek(1), now.Name(argument));
    case IMPORT_NAME:
      return JudgeImport(now);

    case STORE_ATTR:
    case DELETE_ATTR:
      return JudgeStore(now.Peek(1), now.Name(argument));
    case STORE_GLOBAL:
      return world_->AddWritten(now.frame->globals, now.Name(argument), Where()) ||
             Doubt(StrCat("writes to the global name ", Quoted(now.Name(argument)), ": ",
                          world_->refusal()));
    case DELETE_GLOBAL:
      return Doubt(StrCat("deletes the global name ", Quoted(now.Name(argument))));

#if PY_VERSION_HEX < 0x030C0000
    case PRECALL:
      return JudgeCall(now, argument, false);
    case CALL: {
      // The compiler counts the arguments as gone behind PRECALL.
      Now call = now;
      call.instruction.depth = static_cast<int16_t>(call.instruction.depth + argument);
      return !Follows() || FollowCall(call, CalledBy(call, argument, false));
    }
#else
    case CALL:
      return JudgeCall(now, argument, false);
#endif
#if PY_VERSION_HEX >= 0x030D0000
    case CALL_KW:
      return JudgeCall(now, argument, true);
#endif
    case CALL_FUNCTION_EX:
      return JudgeCallOfLists(now);

    case GET_ITER:
    case GET_YIELD_FROM_ITER:
    case UNPACK_SEQUENCE:
    case UNPACK_EX:
    case LIST_EXTEND:
      return JudgeOrder(now.Peek(1));
    case IS_OP: {
      PyObject *a = now.Peek(1), *b = now.Peek(2);
      // One of them is compared by what it is made of, the other perhaps by its address.
      const bool functions = a == b && PyFunction_Check(a) && compared_.contains(a);
      std::string why = functions ? "asks with 'is' for a function" : WhyNotIs(a, b);
      return why.empty() || Doubt(std::move(why));
    }
    case LOAD_CONST:  // the nest says of the others which are one object
      return !IsNan(PyTuple_GET_ITEM(now.frame->code->co_consts, argument)) ||
             Doubt("has a nan among its constants, which is found by its address");
    case MATCH_CLASS:
      return JudgeMatch(now);
#if PY_VERSION_HEX >= 0x030C0000
    case LOAD_SUPER_ATTR:
      return AddSuperMembers(world_, now.Peek(1), now.Name(argument >> 2), Where()) ||
             Doubt(StrCat("reads what cannot be compared: ", world_->refusal()));
#endif
    case BINARY_OP:
      return (!PyList_Check(now.Peek(2)) || JudgeOrder(now.Peek(1))) && JudgeText(now);
#if PY_VERSION_HEX < 0x030D0000
    case FORMAT_VALUE:
#else
    case FORMAT_SIMPLE:
    case CONVERT_VALUE:
    case FORMAT_WITH_SPEC:
#endif
      return JudgeText(now);

    case LOAD_BUILD_CLASS:
      return Doubt("makes a class");
    case LOAD_NAME:
    case STORE_NAME:
    case DELETE_NAME:
#if PY_VERSION_HEX < 0x030C0000
    case LOAD_CLASSDEREF:
    case IMPORT_STAR:
    case PRINT_EXPR:
#else
    case LOAD_FROM_DICT_OR_DEREF:
    case LOAD_FROM_DICT_OR_GLOBALS:
    case LOAD_LOCALS:
#endif
      return Doubt("runs code that is no function's");
    case GET_AWAITABLE:
    case GET_AITER:
    case GET_ANEXT:
      return Doubt("runs a coroutine");
    default:
      return true;
  }
}

// What is written as text by %, or in a literal with braces.
bool Watch::JudgeText(const Now& now) {
  const int op = now.instruction.op, argument = now.instruction.argument;
  bool has_spec = false;
  if (op == BINARY_OP) {
    if ((argument != NB_REMAINDER && argument != NB_INPLACE_REMAINDER) ||
        !PyUnicode_Check(now.Peek(2)))
      return true;
#if PY_VERSION_HEX < 0x030D0000
  } else {
    has_spec = argument & 4;
#else
  } else {
    has_spec = op == FORMAT_WITH_SPEC;
#endif
  }
  if (has_spec && AsksLocale(now.Peek(1))) return Doubt("writes a number as the locale wants it");
  std::string why = WhyNotFormat(now.Peek(has_spec ? 2 : 1));
  return why.empty() || Doubt(std::move(why));
}

// f(*arguments, **keywords): a tuple or list, and a dict, lie on the stack.
bool Watch::JudgeCallOfLists(const Now& now) {
  const int keywords = now.instruction.argument & 1;
  PyObject* given = now.Peek(1 + keywords);
  PyObject* callable = now.CalledWithLists();
  if (!PyTuple_CheckExact(given) && !PyList_CheckExact(given)) {
    // What comes out of it only code that is watched gets to see.
    if (keywords || !RunsPython(callable))
      return Doubt("calls with arguments out of something that is no list");
    std::string why = WhyNotCall(callable, nullptr, 0);
    return (why.empty() || Doubt(std::move(why))) && JudgeOrder(given);
  }
  std::vector<PyObject*> all(PySequence_Fast_ITEMS(given),
                             PySequence_Fast_ITEMS(given) + PySequence_Fast_GET_SIZE(given));
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (keywords && PyDict_Check(now.Peek(1)) && PyDict_Next(now.Peek(1), &at, &name, &value))
    all.push_back(value);
  if (asked_) NoteAsked(callable, all.data(), static_cast<int>(all.size()));
  std::string why = WhyNotCall(callable, all.data(), static_cast<Py_ssize_t>(all.size()));
  if (!why.empty()) return Doubt(std::move(why));
  if (Follows() && !RunsPython(callable)) {
    Pin(given);
    Pin(callable);
    if (keywords) Pin(now.Peek(1));
  }
  return PyFunction_Check(callable) ||
         std::all_of(all.begin(), all.end(), [&](PyObject* o) { return JudgeOrder(o); });
}

bool Watch::JudgeOrder(PyObject* gone_through) {
  return HasSteadyOrder(gone_through) ||
         Doubt("goes through a set whose order depends on addresses");
}

// [subject, class, names of attributes] lie on the stack; the class may name more of them.
bool Watch::JudgeMatch(const Now& now) {
  static PyObject* const match_args = PyUnicode_InternFromString("__match_args__");
  PyObject *subject = now.Peek(3), *type = now.Peek(2);
  PyObject* more = PyType_Check(type)
                       ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), match_args)
                       : nullptr;
  for (PyObject* names : {now.Peek(1), more}) {
    for (Py_ssize_t i = 0; names && PyTuple_Check(names) && i < PyTuple_GET_SIZE(names); ++i) {
      if (!JudgeAttribute(now, subject, PyTuple_GET_ITEM(names, i))) return false;
    }
  }
  return true;
}

bool Watch::JudgeAttribute(const Now& now, PyObject* owner, PyObject* name) {
  if (LeadsOutside(name)) return Doubt(StrCat("reads the attribute ", Quoted(name)));
  if (PyMethod_Check(owner)) {
    const bool own = PyUnicode_CompareWithASCIIString(name, "__self__") == 0;
    return own || JudgeAttribute(now, PyMethod_GET_FUNCTION(owner), name);
  }
  if (FunctionOfTraced(owner))
    return Doubt(StrCat("reads the attribute ", Quoted(name), " of a traced function"));
  const bool function = PyFunction_Check(owner) && !IsMade(owner);
  if (!PyModule_Check(owner) && !function) {
    return AddMembers(world_, owner, name, Where()) ||
           Doubt(StrCat("reads what cannot be compared, the attribute ", Quoted(name), " of a ",
                        Py_TYPE(owner)->tp_name, ": ", world_->refusal()));
  }
  if (function && (compared_.contains(owner) || world_->AddMetadata(owner, name))) return true;
  const bool known = PyFunction_Check(owner) || Py_IS_TYPE(owner, &PyModule_Type);
  return (known && world_->AddAttribute(owner, name, Where())) ||
         Doubt(StrCat("reads what cannot be compared, the attribute ", Quoted(name), " of a ",
                      Py_TYPE(owner)->tp_name, ": ", world_->refusal()));
}

bool Watch::JudgeStore(PyObject* owner, PyObject* name) {
  if (PyFunction_Check(owner) && !IsMade(owner))
    return compared_.contains(owner) || world_->MakeGiven(owner, Where()) ||
           Doubt("writes to an attribute of a function");
  const bool shared = IsShared(owner) && !IsMade(owner);
  if (shared) return Doubt(StrCat("writes to an attribute of a ", Py_TYPE(owner)->tp_name));
  return AddMembers(world_, owner, name, Where()) ||
         Doubt(StrCat("writes through what cannot be compared: ", world_->refusal()));
}

// [level, names] lie on the stack.
bool Watch::JudgeImport(const Now& now) {
  static PyObject* const import = PyUnicode_InternFromString("__import__");
  PyObject* name = now.Name(now.instruction.argument);
  const bool plain = PyLong_CheckExact(now.Peek(2)) && PyLong_AsLong(now.Peek(2)) == 0;
  PyObject* modules = PyImport_GetModuleDict();
  if (!plain || !PyDict_GetItemWithError(modules, name))
    return Doubt(StrCat("imports ", Quoted(name)));
  const Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1);
  const Object top = Object::Steal(dot > 0 ? PyUnicode_Substring(name, 0, dot) : Py_NewRef(name));
  return (top && world_->AddEntry(now.frame->builtins, import, Where()) &&
          world_->AddEntry(modules, name, Where()) &&
          world_->AddEntry(modules, top.get(), Where())) ||
         Doubt(StrCat("imports ", Quoted(name)));
}

Watch::Called Watch::CalledBy(const Now& now, int argument, bool keywords) {
  const int above = argument + (keywords ? 1 : 0);
  PyObject *low = now.Peek(above + 2), *high = now.Peek(above + 1);
#if PY_VERSION_HEX < 0x030D0000
  // [method, self, ...] or [null, callable, ...]
  const bool with_self = low != nullptr;
  PyObject* callable = low ? low : high;
#else
  // [callable, self or null, ...]
  const bool with_self = high != nullptr;
  PyObject* callable = low;
#endif
  return {callable, now.At(above + (with_self ? 1 : 0)), argument + (with_self ? 1 : 0), keywords};
}

bool Watch::JudgeCall(const Now& now, int argument, bool keywords) {
  const Called call = CalledBy(now, argument, keywords);
  if (asked_) NoteAsked(call.callable, call.arguments, call.count);
  const std::string_view builtin = BuiltinName(call.callable);
  const bool named = call.count > 1 && PyUnicode_CheckExact(call.arguments[1]);
  if (named && (builtin == "getattr" || builtin == "hasattr")) {
    if (!JudgeAttribute(now, call.arguments[0], call.arguments[1])) return false;
  } else if (builtin == "vars" && call.count == 1 && !PyModule_Check(call.arguments[0])) {
    static PyObject* const dict = PyUnicode_InternFromString("__dict__");
    if (!JudgeAttribute(now, call.arguments[0], dict)) return false;
  } else if (builtin == "id" && IsOfPackage(now.frame->globals)) {
    // As a key only.
  } else if (named && (builtin == "setattr" || builtin == "delattr")) {
    if (!JudgeStore(call.arguments[0], call.arguments[1])) return false;
  } else {
    std::string why = WhyNotCall(call.callable, call.arguments, call.count);
    if (!why.empty()) return Doubt(std::move(why));
  }
  if (PyFunction_Check(call.callable)) return true;
  if (PyCFunction_Check(call.callable) && PyCFunction_GET_SELF(call.callable) &&
      !JudgeOrder(PyCFunction_GET_SELF(call.callable)))
    return false;
#if PY_VERSION_HEX >= 0x030C0000
  if (Follows()) FollowCall(now, call);
#endif
  return std::all_of(call.arguments, call.arguments + call.count, HasSteadyOrder) ||
         Doubt("gives a set whose order depends on addresses to a function");
}

#endif

}  // namespace frazil::python
