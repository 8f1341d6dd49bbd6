#include "bindings/python/host.h"

#include <pthread.h>

#include <utility>

#include "bindings/python/py.h"
#include "core/threads/long_work.h"

namespace frazil::python {
namespace {

// What a handler raised. Handlers run in the main thread only, which holds the GIL then.
struct Raised {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};
Raised raised;
thread_local Raised t_kept;
// The arguments of the exception that was raised again last: held, so that no other exception's lie
// in their place.
thread_local PyObject* t_raised_again = nullptr;

PyObject* ArgumentsOf(PyObject* exception) {
  return reinterpret_cast<PyBaseExceptionObject*>(exception)->args;
}
pthread_t main_thread;

void* Unlock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

void Lock(void* token) { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); }

bool IsInterrupted(void* token) {
  if (!pthread_equal(pthread_self(), main_thread)) return false;
  Lock(token);
  bool stop = raised.type != nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // the work may be part of unwinding
  if (!stop && PyErr_CheckSignals() < 0) {
    PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
    stop = true;
  }
  PyErr_Restore(type, value, trace);
  PyEval_SaveThread();
  return stop;
}

// The thread that forks is the child's main thread.
void InChild() { main_thread = pthread_self(); }

}  // namespace

void RegisterHost() {
  // The module may be imported by any thread.
  Object threading = Object::Steal(PyImport_ImportModule("threading"));
  Object thread =
      threading ? Object::Steal(PyObject_CallMethod(threading.get(), "main_thread", "")) : Object();
  Object ident = thread ? Object::Steal(PyObject_GetAttrString(thread.get(), "ident")) : Object();
  const unsigned long id = ident ? PyLong_AsUnsignedLong(ident.get()) : 0;
  if (PyErr_Occurred()) return PyErr_Clear();
  main_thread = static_cast<pthread_t>(id);
  pthread_atfork(nullptr, nullptr, InChild);
  SetHost({Unlock, Lock, IsInterrupted});
}

Status KeepRaised() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Object text = Object::Steal(value ? PyObject_Str(value) : nullptr);
  const char* said = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  Status status = MakeError(ErrorKind::kRaised, said ? said : "");
  const Raised before = std::exchange(t_kept, {type, value, trace});
  Py_XDECREF(before.type);
  Py_XDECREF(before.value);
  Py_XDECREF(before.trace);
  return status;
}

void RaiseKept() {
  const Raised r = std::exchange(t_kept, {});
  if (!r.type) return PyErr_SetString(PyExc_RuntimeError, "[custom] a rule failed before.");
  Py_XSETREF(t_raised_again, Py_XNewRef(ArgumentsOf(r.value)));
  PyErr_Restore(r.type, r.value, r.trace);
}

bool IsKept(PyObject* exception) {
  return t_raised_again && exception && ArgumentsOf(exception) == t_raised_again;
}

void RaiseInterrupt() {
  const Raised r = std::exchange(raised, {});
  if (!r.type) return PyErr_SetNone(PyExc_KeyboardInterrupt);
  PyErr_Restore(r.type, r.value, r.trace);
}

}  // namespace frazil::python
