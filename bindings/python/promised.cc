#include "bindings/python/promised.h"

#include "bindings/python/module_type.h"
#include "tracer/recording.h"

namespace frazil::python {

PyObject* FinishCall(tracer::Call* call, PyObject* result) {
  if (result) {
    const Status status = call->Finish();
    if (status.ok()) return result;
    Py_DECREF(result);
    return Raise(status);
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  call->Finish().IgnoreError();
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

// The callable's own state (a module, a bound method's object) counts as an argument.
bool PromisedFunction::Guard(PyObject* function, PyObject* const* args, size_t n, PyObject* kwnames,
                             Nest* nest) {
  if (PyMethod_Check(function) || IsModule(function)) {
    if (!nest->Add(function)) return false;
  }
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  nest->words.push_back(static_cast<uint64_t>(n) << 32 | static_cast<uint64_t>(named));
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (!nest->Add(PyTuple_GET_ITEM(kwnames, i))) return false;
  }
  for (size_t i = 0; i < n + static_cast<size_t>(named); ++i) {
    if (!nest->Add(args[i])) return false;
  }
  return true;
}

PyObject* PromisedFunction::Call(PyObject* function, PyObject* const* args, size_t nargsf,
                                 PyObject* kwnames) {
  const auto run = [&] { return PyObject_Vectorcall(function, args, nargsf, kwnames); };
  if (tracer::Inside()) {
    tracer::Call call(trace_.get());
    return FinishCall(&call, run());
  }
  const auto n = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  Nest nest;
  if (!Guard(function, args, n, kwnames, &nest)) {
    if (PyErr_Occurred()) return nullptr;
    if (nest.refusal() != refusal_) {
      refusal_ = nest.refusal();
      trace_->recording().Note({tracer::Cause::kNotSkippable, {{"new", refusal_}}});
    }
    tracer::Call call(trace_.get());
    return FinishCall(&call, run());
  }
  const std::vector<uint64_t> structure(nest.words.begin(), nest.words.end());
  nest.AddHidden();
  tracer::PromisedCall promised(&promise_, &nest.words, nest.cells);
  if (promised.Skip()) return MakeResult(promised.path().shape, nest, promised.outputs());

  // The body may drop what it was given.
  Pinned owners;
  for (PyObject* o : nest.owners) owners.push_back(Object::Share(o));
  tracer::ScriptBuilder* builder = promised.Observe();
  PyObject* result;
  {
    tracer::Call call(trace_.get(), builder);
    result = FinishCall(&call, run());
  }
  if (!result || !builder) return result;
  auto pins = std::make_shared<Pinned>(), argument_pins = std::make_shared<Pinned>();
  Result form(nest, pins.get());
  Nest after(argument_pins.get());
  if (!form.Add(result)) {
    builder->Refuse(form.refusal());
  } else if (!Guard(function, args, n, kwnames, &after) ||
             absl::Span<const uint64_t>(after.words) != absl::Span<const uint64_t>(structure) ||
             after.owners != nest.owners || after.containers != nest.containers) {
    builder->Refuse("the body changed the structure of its arguments");
  }
  PyErr_Clear();
  std::vector<const Tensor*> outputs;
  for (PyObject* t : form.tensors) outputs.push_back(&CellOf(t));
  const Status learnt = promised.Learn(outputs, std::move(form.words), pins, argument_pins);
  if (learnt.ok()) return result;
  Py_DECREF(result);
  return Raise(learnt);
}

}  // namespace frazil::python
