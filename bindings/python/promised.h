// What fz.trace(fn, pure=True) adds to a traced callable: a call whose body may be skipped. Called
// by trace_module.cc. Invariant: a call that is not skipped is an ordinary traced call.
#pragma once

#include <memory>
#include <string>

#include "bindings/python/result.h"
#include "tracer/trace.h"

namespace frazil::python {

// Ends the call while the body's exception, if any, is put aside. Steals `result`.
PyObject* FinishCall(tracer::Call* call, PyObject* result);

class PromisedFunction {
 public:
  // `function` is the owner's and outlives this.
  PromisedFunction(PyObject* function, std::shared_ptr<tracer::Trace> trace, tracer::Policy policy);

  PyObject* Call(PyObject* const* args, size_t nargsf, PyObject* kwnames);
  tracer::Promise& promise() { return promise_; }
  void Clear() { promise_.Clear(); }

 private:
  bool Guard(PyObject* const* args, size_t n, PyObject* kwnames, Nest* nest);
  PyObject* Run(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                tracer::ScriptBuilder* builder);
  void NoteStranger(PyObject* const* args, size_t n, PyObject* kwnames, int64_t strangers);
  PyObject* RunAndLearn(PyObject* const* args, size_t nargsf, PyObject* kwnames, const Nest& nest,
                        size_t structure, tracer::PromisedCall* promised);

  static bool WritesOutside(const Pinned& written, const Nest& nest, const Result& form);

  PyObject* function_;
  PyObject* state_;  // the function, its defaults, or a method's object: it counts as an argument
  std::shared_ptr<tracer::Trace> trace_;
  tracer::Promise promise_;
  std::string refusal_;  // of the last call that could not be guarded
  Object strange_;       // what the last call of many unknown kinds in a row was compared by
};

}  // namespace frazil::python
