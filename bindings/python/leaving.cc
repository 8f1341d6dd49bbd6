// Threads that the interpreter ends while frazil's frames are on their stack. Called by the
// unwinder.
//
// Once the interpreter is finalized, a daemon thread that wants the GIL, in a call of the C API or
// at its next Python statement, is ended by pthread_exit, which unwinds its stack. Frames of C++
// cannot bear that: a destructor would touch Python objects without the GIL, and one that may not
// throw (all of them) aborts the program. So such a thread stops for good at the first of them and
// goes with the process. From Python 3.14 on the interpreter itself does so.
//
// Invariant: every frame of the extension that has something to do when it is unwound names the
// personality routine that the linker puts here (--wrap in meson.build), so no other code needs to
// think of this.
#include <Python.h>
#include <unistd.h>
#include <unwind.h>

namespace {

bool IsFinalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names.
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  while ((actions & _UA_FORCE_UNWIND) && IsFinalizing()) pause();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
// NOLINTEND(bugprone-reserved-identifier)
}
