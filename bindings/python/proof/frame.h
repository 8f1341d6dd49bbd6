// Frames of CPython as they run: which function, which code, what lies on the stack of values.
// Python's interface shows all of it but the stack, so the layout of a frame is repeated here for
// the versions that are known. Called by watch.cc. Invariant: nothing here changes a frame; under a
// version whose frames are not known, FRAZIL_KNOWS_FRAMES is 0 and nobody watches.
#pragma once

#include "bindings/python/py.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
#define FRAZIL_KNOWS_FRAMES 1
#else
#define FRAZIL_KNOWS_FRAMES 0
#endif

namespace frazil::python {

#if FRAZIL_KNOWS_FRAMES

// As in Include/internal/pycore_frame.h of each version.
struct Frame {
#if PY_VERSION_HEX < 0x030C0000
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* names;  // of a module's or class's body
  PyCodeObject* code;
  PyFrameObject* object;
  Frame* previous;
  void* at;
  int stack_top;
  bool is_entry;
  char owner;
#else
  PyCodeObject* code;  // from 3.13 on any object
  Frame* previous;
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* names;
  PyFrameObject* object;
  void* at;
  int stack_top;
  uint16_t return_offset;
  char owner;
#endif
  PyObject* values[1];  // locals, cells, free variables; then the stack

  PyObject** stack() { return values + code->co_nlocalsplus; }
};

// The frame behind Python's object.
inline Frame* FrameOf(PyFrameObject* object) {
  struct Head {
    PyObject base;
    PyFrameObject* back;
    Frame* frame;
  };
  return reinterpret_cast<Head*>(object)->frame;
}

// In bytes, of the instruction that a frame stands at.
inline int OffsetOf(const Frame* frame) {
  return static_cast<int>(static_cast<const char*>(frame->at) - frame->code->co_code_adaptive);
}

// The frame that has called C code which runs this one; null if Python code runs it.
inline Frame* CalledFromC(Frame* frame) {
#if PY_VERSION_HEX < 0x030C0000
  return frame->is_entry ? frame->previous : nullptr;
#else
  constexpr char kOnStackOfC = 3;
  Frame* entry = frame->previous;
  return entry && entry->owner == kOnStackOfC ? entry->previous : nullptr;
#endif
}

// The innermost frame of this thread.
inline Frame* CurrentFrame() {
#if PY_VERSION_HEX < 0x030D0000
  return reinterpret_cast<Frame*>(PyThreadState_Get()->cframe->current_frame);
#else
  return reinterpret_cast<Frame*>(PyThreadState_Get()->current_frame);
#endif
}

#endif

}  // namespace frazil::python
