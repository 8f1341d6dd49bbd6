// What fz.trace(fn, pure=True) adds to a traced callable: a call whose body may be skipped. Called
// by trace_module.cc. Invariant: a call that is not skipped is an ordinary traced call.
#pragma once

#include <memory>
#include <string>

#include "bindings/python/nest.h"
#include "tracer/trace.h"

namespace frazil::python {

// Ends the call while the body's exception, if any, is put aside. Steals `result`.
PyObject* FinishCall(tracer::Call* call, PyObject* result);

class PromisedFunction {
 public:
  PromisedFunction(std::shared_ptr<tracer::Trace> trace, tracer::Policy policy)
      : trace_(std::move(trace)), promise_(&trace_->recording(), policy) {}

  PyObject* Call(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames);
  const tracer::Promise& promise() const { return promise_; }
  void Clear() { promise_.Clear(); }

 private:
  bool Guard(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames, Nest* nest);

  std::shared_ptr<tracer::Trace> trace_;
  tracer::Promise promise_;
  std::string refusal_;  // of the last call that could not be guarded
};

}  // namespace frazil::python
