#include "bindings/python/proof/instructions.h"

#include "bindings/python/proof/watch.h"

namespace frazil::python {

namespace {

#if PY_VERSION_HEX >= 0x030C0000

// Of sys.monitoring: the tools 0 to 2 are debuggers, coverage and profilers. Asked at every call
// under 3.12, so the C function is called as it is.
bool FindTool() {
  static PyObject* const get_tool = [] {
    PyObject* monitoring = PySys_GetObject("monitoring");  // borrowed
    return monitoring ? PyObject_GetAttrString(monitoring, "get_tool") : nullptr;
  }();
  static const PyCFunction ask =
      get_tool && PyCFunction_Check(get_tool) && PyCFunction_GetFlags(get_tool) == METH_O
          ? PyCFunction_GetFunction(get_tool)
          : nullptr;
  if (!ask) return true;
  for (long id = 0; id < 3; ++id) {
    const Object number = Object::Steal(PyLong_FromLong(id));
    const Object tool = Object::Steal(ask(PyCFunction_GET_SELF(get_tool), number.get()));
    if (!tool) return PyErr_Clear(), true;
    if (tool.get() != Py_None) return true;
  }
  return false;
}

#if PY_VERSION_HEX >= 0x030D0000
// The events that tools ask for have a version, which lies above the flags of eval_breaker.
bool HasTool() {
  constexpr uintptr_t kFlags = 0xFF;
  static uintptr_t seen = 0;
  static bool found = true;
  const uintptr_t now = PyThreadState_Get()->eval_breaker & ~kFlags;
  if (now == seen && !found) return false;
  seen = now;
  return found = FindTool();
}
#else
bool HasTool() { return FindTool(); }
#endif

#else

bool HasTool() { return false; }

#endif

}  // namespace

bool IsWatchedByOthers() {
  const PyThreadState* state = PyThreadState_Get();
  return state->c_tracefunc || state->c_profilefunc || HasTool();
}

#if !FRAZIL_KNOWS_FRAMES

bool StartInstructions(Watch*) { return false; }
void StopInstructions() {}

#else

namespace {

Watch* g_watch = nullptr;
PyThreadState* g_thread = nullptr;

#if PY_VERSION_HEX < 0x030C0000

// What follows the head of a frame object, as in Include/internal/pycore_frame.h.
struct FrameObject {
  PyObject base;
  PyFrameObject* back;
  Frame* frame;
  PyObject* trace;
  int line;
  char trace_lines, trace_opcodes;
};

int OnEvent(PyObject*, PyFrameObject* object, int what, PyObject*) {
  if (!g_watch || PyThreadState_Get() != g_thread) return 0;
  if (what == PyTrace_CALL) {
    auto* frame = reinterpret_cast<FrameObject*>(object);
    frame->trace_lines = 0;
    frame->trace_opcodes = 1;
  }
  if (what == PyTrace_CALL || what == PyTrace_OPCODE)
    g_watch->OnInstruction(FrameOf(object), PyFrame_GetLasti(object));
  return 0;
}

bool Begin() {
  PyEval_SetTrace(OnEvent, nullptr);
  return true;
}
void End() { PyEval_SetTrace(nullptr, nullptr); }

#else

int g_tool = -1;

PyObject* OnEvent(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (g_watch && PyThreadState_Get() == g_thread && n == 2) {
    Frame* frame = CurrentFrame();
    if (reinterpret_cast<PyObject*>(frame->code) == args[0])
      g_watch->OnInstruction(frame, static_cast<int>(PyLong_AsLong(args[1])));
  }
  Py_RETURN_NONE;
}

PyObject* Monitoring() { return PySys_GetObject("monitoring"); }

long InstructionEvent() {
  const Object events = Object::Steal(PyObject_GetAttrString(Monitoring(), "events"));
  const Object event =
      Object::Steal(events ? PyObject_GetAttrString(events.get(), "INSTRUCTION") : nullptr);
  return event ? PyLong_AsLong(event.get()) : 0;
}

bool Done(const Object& result) {
  if (!result) PyErr_Clear();
  return static_cast<bool>(result);
}

void Free(int tool) {
  static_cast<void>(
      Done(Object::Steal(PyObject_CallMethod(Monitoring(), "free_tool_id", "i", tool))));
}

bool Begin() {
  constexpr int kTools = 6;
  static PyMethodDef def = {"watch",
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OnEvent)),
                            METH_FASTCALL, nullptr};
  static PyObject* const callback = PyCFunction_New(&def, nullptr);
  static const long event = InstructionEvent();
  PyObject* monitoring = Monitoring();
  if (!monitoring || !callback || event == 0) return PyErr_Clear(), false;
  for (int i = 0; i < kTools; ++i) {
    const Object tool = Object::Steal(PyObject_CallMethod(monitoring, "get_tool", "i", i));
    if (!Done(tool) || tool.get() != Py_None) return false;
  }
  constexpr int kOurs = 4;
  if (!Done(Object::Steal(PyObject_CallMethod(monitoring, "use_tool_id", "is", kOurs, "frazil"))))
    return false;
  g_tool = kOurs;
  if (Done(Object::Steal(
          PyObject_CallMethod(monitoring, "register_callback", "ilO", kOurs, event, callback))) &&
      Done(Object::Steal(PyObject_CallMethod(monitoring, "set_events", "il", kOurs, event))))
    return true;
  Free(kOurs);
  return false;
}

void End() {
  static_cast<void>(
      Done(Object::Steal(PyObject_CallMethod(Monitoring(), "set_events", "ii", g_tool, 0))));
  static_cast<void>(Done(Object::Steal(PyObject_CallMethod(Monitoring(), "register_callback", "ilO",
                                                           g_tool, InstructionEvent(), Py_None))));
  Free(g_tool);
}

#endif

}  // namespace

bool StartInstructions(Watch* watch) {
  if (g_watch || IsWatchedByOthers()) return false;
  g_watch = watch;
  g_thread = PyThreadState_Get();
  if (Begin()) return true;
  g_watch = nullptr;
  return false;
}

void StopInstructions() {
  PyObject *type, *value, *traceback;  // of a body that raised
  PyErr_Fetch(&type, &value, &traceback);
  End();
  PyErr_Restore(type, value, traceback);
  g_watch = nullptr;
  g_thread = nullptr;
}

#endif

}  // namespace frazil::python
