// The instruction at hand, as the parts of Watch look at it. Included by watch.cc and
// watch_numbers.cc alone.
#pragma once

#include "bindings/python/proof/watch.h"

#if FRAZIL_KNOWS_FRAMES

namespace frazil::python {

// With what lies on the stack before it runs.
struct Watch::Now {
  Frame* frame;
  CodeView::Instruction instruction;

  // Counted from the top, 1 is the topmost.
  PyObject* Peek(int i) const { return frame->stack()[instruction.depth - i]; }
  PyObject* const* At(int i) const { return &frame->stack()[instruction.depth - i]; }
  // What CALL_FUNCTION_EX calls, below its arguments.
  PyObject* CalledWithLists() const {
#if PY_VERSION_HEX < 0x030D0000
    return Peek(2 + (instruction.argument & 1));
#else
    return Peek(3 + (instruction.argument & 1));
#endif
  }
  PyObject* Name(int i) const { return PyTuple_GET_ITEM(frame->code->co_names, i); }
};

}  // namespace frazil::python

#endif
