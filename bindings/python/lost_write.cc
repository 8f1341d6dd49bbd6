#include "bindings/python/lost_write.h"

#include <opcode.h>

namespace frazil::python {
namespace {

bool Assigns(int opcode) {
#ifdef STORE_SLICE
  if (opcode == STORE_SLICE) return true;
#endif
  return opcode == STORE_SUBSCR;
}

// Whether the innermost Python frame is at such an instruction. At a call it is not: functions in C
// may hold what they assign to in ways that are not counted.
bool AtAssignment() {
  PyFrameObject* running = PyThreadState_GetFrame(PyThreadState_Get());
  const Object frame = Object::Steal(reinterpret_cast<PyObject*>(running));
  if (!frame) return false;
  const Object code = Object::Steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(running)));
  const Object bytes = Object::Steal(PyCode_GetCode(reinterpret_cast<PyCodeObject*>(code.get())));
  if (!bytes) {
    PyErr_Clear();
    return false;
  }
  const int at = PyFrame_GetLasti(running);
  if (at < 0 || at >= PyBytes_GET_SIZE(bytes.get())) return false;
  return Assigns(static_cast<uint8_t>(PyBytes_AS_STRING(bytes.get())[at]));
}

// Whether the one reference is the stack's, and not that of an object whose own assignment, made in
// C, hands the write on (a proxy, an extension class with a tensor in it).
bool OnStack(PyObject* self) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(self) != 0;
#else
  const Object collector = Object::Steal(PyImport_ImportModule("gc"));
  const Object holders =
      collector ? Object::Steal(PyObject_CallMethod(collector.get(), "get_referrers", "O", self))
                : Object();
  if (!holders) PyErr_Clear();
  return holders && PyList_Check(holders.get()) && PyList_GET_SIZE(holders.get()) == 0;
#endif
}

}  // namespace

bool IsLostWriteSlow(PyObject* self) { return AtAssignment() && OnStack(self); }

}  // namespace frazil::python
