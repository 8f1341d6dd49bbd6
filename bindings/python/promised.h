// Calls whose body may be skipped: those of fz.trace(fn, pure=True), where the user promises that
// they depend on their arguments only, and those of fz.trace(fn), where it is proved that they
// depend on these and on a World (proof/world.h). Called by trace_module.cc. Invariant: a call that
// is not skipped is an ordinary traced call.
#pragma once

#include <memory>
#include <string>

#include "bindings/python/proof/prover.h"
#include "bindings/python/result.h"
#include "tracer/quick_skip.h"
#include "tracer/trace.h"

namespace frazil::python {

// A traced call of this thread ran its body; false is for who asks to set.
extern FZ_HOT_TLS bool t_body_ran;

// Ends the call while the body's exception, if any, is put aside. Steals `result`.
PyObject* FinishCall(tracer::Call* call, PyObject* result);

class PromisedFunction {
 public:
  // `function` is the owner's and outlives this.
  // `strict`: what cannot be proved is an error.
  PromisedFunction(PyObject* function, std::shared_ptr<tracer::Trace> trace, tracer::Policy policy,
                   bool by_proof, bool strict);

  PyObject* Call(PyObject* const* args, size_t nargsf, PyObject* kwnames);
  // What is known of such a call (learnt_call.h), None if that is nothing, or null with an error.
  PyObject* Learnt(PyObject* const* args, size_t nargsf, PyObject* kwnames);
  tracer::Promise& promise() { return quick_.Settle(), promise_; }
  void Clear();
  std::string Explain();
  // For the garbage collector.
  int Traverse(visitproc visit, void* arg) const;
  void LetGo();

 private:
  PyObject* CallQuick(PyObject* const* args);
  bool Guard(PyObject* const* args, size_t n, PyObject* kwnames, Nest* nest);
  PyObject* Run(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                tracer::ScriptBuilder* builder, Watch* watch = nullptr);
  PyObject* RunUnguarded(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                         const std::string& refusal);
  PyObject* RunToKnow(PyObject* const* args, size_t nargsf, PyObject* kwnames, const Nest& nest);
  PyObject* RunNew(PyObject* const* args, size_t nargsf, PyObject* kwnames, const Nest& nest,
                   tracer::PromisedCall* promised);
  bool Conclude(const Watch& watch);
  void NoteDifference(PyObject* const* args, size_t n, PyObject* kwnames);
  void NoteStranger(PyObject* const* args, size_t n, PyObject* kwnames, int64_t strangers);
  PyObject* RunAndLearn(PyObject* const* args, size_t nargsf, PyObject* kwnames, const Nest& nest,
                        tracer::PromisedCall* promised);

  static bool WritesOutside(const Pinned& written, const Nest& nest, const Result& form);

  PyObject* function_;
  PyObject* state_;  // the function, its defaults, or a method's object: it counts as an argument
  std::shared_ptr<tracer::Trace> trace_;
  tracer::Promise promise_;
  tracer::QuickSkip quick_;
  int64_t quick_changes_ = 0;       // what prover_->changes() was
  std::unique_ptr<Prover> prover_;  // null: pure=True
  std::string refusal_;             // of the last call that could not be guarded
  Asked asked_;                     // of calls that are to be saved
  Object strange_;  // what the last call of many unknown kinds in a row was compared by
};

}  // namespace frazil::python
