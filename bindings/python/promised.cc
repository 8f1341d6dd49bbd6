#include "bindings/python/promised.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "bindings/python/learnt_call.h"
#include "bindings/python/proof/body_state.h"
#include "bindings/python/proof/effects.h"
#include "bindings/python/proof/instructions.h"
#include "core/threads/long_work.h"
#include "tracer/recording.h"

namespace frazil::python {

FZ_HOT_TLS bool t_body_ran = false;

namespace {

size_t CountOf(size_t nargsf) { return static_cast<size_t>(PyVectorcall_NARGS(nargsf)); }

std::vector<PyObject*> AllOf(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  return {args, args + CountOf(nargsf) + named};
}

constexpr int64_t kStrangers = 16;  // calls of unknown kinds in a row that are worth a word

}  // namespace

PyObject* FinishCall(tracer::Call* call, PyObject* result) {
  if (result) {
    const Status status = call->Finish();
    if (status.ok()) return result;
    Py_DECREF(result);
    return Raise(status);
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool interrupted = PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt);
  const Status status = call->Finish(interrupted);
  if (!interrupted && IsInterrupted(status)) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return Raise(status);
  }
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

PromisedFunction::PromisedFunction(PyObject* function, std::shared_ptr<tracer::Trace> trace,
                                   tracer::Policy policy, bool by_proof, bool strict)
    : function_(function),
      state_(PyMethod_Check(function) ? PyMethod_GET_SELF(function) : function),
      trace_(std::move(trace)),
      promise_(&trace_->recording(), policy),
      quick_(&promise_),
      prover_(by_proof ? std::make_unique<Prover>(strict) : nullptr) {}

void PromisedFunction::Clear() {
  quick_.Settle();
  promise_.Clear();
  if (prover_) prover_->Clear();
}

std::string PromisedFunction::Explain() {
  return StrCat(promise().Explain(), prover_ ? prover_->Describe() : "");
}

int PromisedFunction::Traverse(visitproc visit, void* arg) const {
  return prover_ ? prover_->Traverse(visit, arg) : 0;
}

void PromisedFunction::LetGo() {
  if (prover_) prover_->Clear();
}

bool PromisedFunction::Guard(PyObject* const* args, size_t n, PyObject* kwnames, Nest* nest) {
  if (prover_) {
    nest->moves = prover_->moves();
    nest->unread = prover_->unread();
  }
  if (!(PyFunction_Check(state_) ? nest->AddDefaults(state_) : nest->Add(state_))) return false;
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  nest->words.push_back(static_cast<uint64_t>(n) << 32 | static_cast<uint64_t>(named));
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (!nest->Add(PyTuple_GET_ITEM(kwnames, i))) return false;
  }
  for (size_t i = 0; i < n + static_cast<size_t>(named); ++i) {
    nest->At(Py_Ellipsis, nullptr, static_cast<Py_ssize_t>(i));
    if (!nest->Add(args[i])) return false;
  }
  return !prover_ || prover_->Guard(nest);
}

PyObject* PromisedFunction::Run(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                tracer::ScriptBuilder* builder, Watch* watch) {
  const std::shared_ptr<tracer::Trace> held = trace_;
  t_body_ran = true;
  tracer::Call call(held.get(), builder);
  if (watch) watch->Begin(function_, args, CountOf(nargsf));
  PyObject* result = PyObject_Vectorcall(function_, args, nargsf, kwnames);
  if (watch) watch->End();
  return FinishCall(&call, result);
}

// What the call depends on cannot be compared.
PyObject* PromisedFunction::RunUnguarded(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                         const std::string& refusal) {
  if (refusal != refusal_) {
    refusal_ = refusal;
    trace_->recording().Note({tracer::Cause::kNotSkippable, {{"new", refusal_}}});
  }
  if (prover_ && !prover_->Doubt(refusal, trace_->name())) return nullptr;
  return Run(args, nargsf, kwnames, nullptr);
}

// What the watched call said. False if that is an error.
bool PromisedFunction::Conclude(const Watch& watch) {
  if (watch.doubt().empty()) return true;
  if (prover_->doubt() != watch.doubt())
    trace_->recording().Note({tracer::Cause::kNotSkippable, {{"new", watch.doubt()}}});
  return prover_->Doubt(watch.doubt(), trace_->name());
}

// A call of an unknown kind: nothing can be learnt from it yet, but what its body reads.
PyObject* PromisedFunction::RunToKnow(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                      const Nest& nest) {
  const int64_t before = prover_->changes(), world = prover_->world.changes();
  Watch watch(prover_.get(), nest);
  std::vector<PyObject*> planted = AllOf(args, nargsf, kwnames);
  if (!watch.Plant(&planted)) return Run(args, nargsf, kwnames, nullptr);
  // Nothing is learnt, but views are recorded as they will be.
  tracer::ScriptBuilder builder(nest.cells.span());
  Object result = Object::Steal(Run(planted.data(), CountOf(nargsf), kwnames, &builder, &watch));
  if (!result || !Conclude(watch)) return nullptr;
  if (!watch.started()) prover_->Tire();
  if (watch.started() && watch.doubt().empty()) prover_->Know();
  if (prover_->changes() == before) return result.release();
  promise_.Forget();
  if (prover_->world.changes() != world) prover_->ForgetNumbers();
  if (!watch.doubt().empty()) return result.release();
  // The kind of this call, as it is known now.
  Nest after;
  if (Guard(args, CountOf(nargsf), kwnames, &after)) {
    prover_->Remember(after);
    const size_t unguarded = after.AddHidden();
    tracer::PromisedCall(&promise_, &after.words, after.cells.span(), unguarded).Skip();
  }
  PyErr_Clear();
  return result.release();
}

// Where every call is of a kind of its own, says what tells the last two apart.
void PromisedFunction::NoteStranger(PyObject* const* args, size_t n, PyObject* kwnames,
                                    int64_t strangers) {
  Object module = Object::Steal(PyImport_ImportModule("frazil._compared"));
  const size_t all = n + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  Object given = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(all)));
  if (!module || !given) return;
  for (size_t i = 0; i < all; ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  Object compared = Object::Steal(PyObject_CallMethod(module.get(), "compared", "OOO", function_,
                                                      given.get(), kwnames ? kwnames : Py_None));
  if (!compared) return;
  const Object before = std::exchange(strange_, compared);
  if (strangers < kStrangers || !before) return;
  strange_ = Object();
  Object text = Object::Steal(
      PyObject_CallMethod(module.get(), "difference", "OO", before.get(), compared.get()));
  const char* what = text && text.get() != Py_None ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (what) trace_->recording().Note({tracer::Cause::kStrangers, {{"new", what}}});
}

// A call of the same few tensors as the one before. Null: it goes the long way.
PyObject* PromisedFunction::CallQuick(PyObject* const* args) {
  Tensor* cells[tracer::QuickSkip::kMost];
  for (size_t i = 0; i < quick_.count(); ++i) {
    if (!IsTensor(args[i]) || MarksOf(args[i]) != 0) return nullptr;
    cells[i] = &CellOf(args[i]);
  }
  if (PyFunction_GET_DEFAULTS(state_) || PyFunction_GET_KW_DEFAULTS(state_)) return nullptr;
  if (prover_ && (!prover_->Compare() || prover_->changes() != quick_changes_)) return nullptr;
  Value* const made = quick_.Run(cells);
  if (!made) return nullptr;
  if (prover_) prover_->Skipped();
  return Wrap(made);
}

// What tells a call of an unknown kind from the one before it, by file and line.
void PromisedFunction::NoteDifference(PyObject* const* args, size_t n, PyObject* kwnames) {
  if (prover_->differs_at() < 0) return;
  const auto at = static_cast<size_t>(prover_->differs_at());
  std::vector<std::pair<size_t, std::string>> notes;
  Nest named;
  named.notes = &notes;
  if (!Guard(args, n, kwnames, &named)) return PyErr_Clear();
  std::string what = "an argument";
  for (const auto& [begin, name] : notes) {
    if (begin <= at) what = name;
  }
  prover_->Differs(std::move(what));
}

// A call of an unknown kind. Where it is known what bodies read it is learnt from at once.
PyObject* PromisedFunction::RunNew(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                   const Nest& nest, tracer::PromisedCall* promised) {
  constexpr int64_t kFew = 6;  // in a row
  if (promised->strangers() > kFew || !prover_->LearnsAtOnce())
    return RunToKnow(args, nargsf, kwnames, nest);
  promised->LearnAtOnce();
  return RunAndLearn(args, nargsf, kwnames, nest, promised);
}

PyObject* PromisedFunction::Call(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (tracer::Inside()) return Run(args, nargsf, kwnames, nullptr);
  // In strict mode what a learning call records anew would be an error.
  if (prover_ && (tracer::Strict() || !prover_->Tries() || IsWatchedByOthers()))
    return Run(args, nargsf, kwnames, nullptr);
  const int64_t world = prover_ ? prover_->changes() : 0;
  const size_t n = CountOf(nargsf);
  if (n == quick_.count() && n > 0 && !kwnames) {
    if (PyObject* result = CallQuick(args)) return result;
  }
  quick_.Settle();
  if (prover_ && prover_->changes() != world) {
    promise_.Forget();
    return Run(args, nargsf, kwnames, nullptr);
  }
  Nest nest;
  if (!Guard(args, CountOf(nargsf), kwnames, &nest)) {
    if (PyErr_Occurred()) return nullptr;
    if (prover_ && prover_->changes() != world) {
      promise_.Forget();
      return Run(args, nargsf, kwnames, nullptr);
    }
    return RunUnguarded(args, nargsf, kwnames, nest.refusal());
  }
  const size_t structure = nest.words.size();
  const size_t unguarded = nest.AddHidden();
  tracer::PromisedCall promised(&promise_, &nest.words, nest.cells.span(), unguarded);
  if (promised.Skip()) {
    if (prover_) prover_->Skipped();
    // Of plain tensors alone, without defaults and names.
    const bool plain = PyFunction_Check(state_) && !kwnames && structure == n + 1 &&
                       nest.cells.size() - unguarded == n && IsOneTensor(promised.learnt().shape);
    quick_.Note(promised, plain, n);
    quick_changes_ = world;
    return MakeResult(promised.learnt().shape, nest, promised.outputs());
  }
  if (!promised.status().ok()) return Raise(promised.status());
  if (promised.strangers() == kStrangers - 1 || promised.strangers() == kStrangers) {
    NoteStranger(args, CountOf(nargsf), kwnames, promised.strangers());
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
    PyErr_Clear();  // no word about it is no reason to fail
    if (prover_) prover_->Tire();
  }
  if (prover_) prover_->Observed();
  if (!prover_ || !promised.is_new()) {
    return RunAndLearn(args, nargsf, kwnames, nest, &promised);
  }
  const bool moving_found = prover_->FindMoving(nest);
  if (promised.strangers() > 1 && !moving_found) NoteDifference(args, CountOf(nargsf), kwnames);
  if (prover_->FindGrowing(nest) || moving_found) {
    promise_.Forget();
    Nest moving;
    if (!Guard(args, CountOf(nargsf), kwnames, &moving)) {
      PyErr_Clear();
      return Run(args, nargsf, kwnames, nullptr);
    }
    const size_t hidden = moving.AddHidden();
    tracer::PromisedCall again(&promise_, &moving.words, moving.cells.span(), hidden);
    again.Skip();  // not a bit: all is forgotten
    return RunNew(args, nargsf, kwnames, moving, &again);
  }
  return RunNew(args, nargsf, kwnames, nest, &promised);
}

// What the body made itself nobody holds by now, but the result.
bool PromisedFunction::WritesOutside(const Pinned& written, const Nest& nest, const Result& form) {
  absl::flat_hash_map<PyObject*, Py_ssize_t> held;
  for (const Object& o : written) ++held[o.get()];
  return absl::c_any_of(held, [&](const auto& entry) {
    const auto [o, count] = entry;
    return Py_REFCNT(o) > count && absl::c_count(nest.cells, &CellOf(o)) == 0 &&
           absl::c_count(form.tensors, o) == 0;
  });
}

PyObject* PromisedFunction::RunAndLearn(PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                        const Nest& nest, tracer::PromisedCall* promised) {
  tracer::ScriptBuilder* builder = promised->Observe();
  if (!builder) return Run(args, nargsf, kwnames, nullptr);  // nothing is to be learnt
  const size_t n = CountOf(nargsf);
  // The body may drop what it was given.
  auto pins = std::make_shared<Pinned>(), argument_pins = std::make_shared<Pinned>();
  Nest before(argument_pins.get());
  if (!Guard(args, n, kwnames, &before)) return nullptr;
  Pinned owners;
  for (PyObject* o : before.owners) owners.push_back(Object::Share(o));
  const int64_t changes = prover_ ? prover_->changes() : 0;
  const int64_t world = prover_ ? prover_->world.changes() : 0;
  std::optional<Watch> watch;
  if (prover_ && (!promised->is_check() || !prover_->numbers.empty()))
    watch.emplace(prover_.get(), nest, promised->is_saved() ? &asked_ : nullptr);
  std::vector<PyObject*> planted = AllOf(args, nargsf, kwnames);
  if (watch && !watch->Plant(&planted)) return Run(args, nargsf, kwnames, nullptr);
  Effects effects(before);
  BodyState state(before);
  if (!promised->is_check()) builder->Observe(&state, promised->is_saved());
  Pinned written;
  Pinned* const outer = std::exchange(t_written, &written);
  PyObject* result = Run(planted.data(), n, kwnames, builder, watch ? &*watch : nullptr);
  t_written = outer;
  if (!result) return nullptr;
  if (watch && !Conclude(*watch)) return Py_DECREF(result), nullptr;
  if (watch && !watch->doubt().empty()) builder->Refuse(watch->doubt());
  if (watch && !watch->started()) {
    builder->Postpone();
    prover_->Tire();
  }
  Nest scratch;  // what is fixed must have stayed
  if (prover_ && (prover_->changes() != changes || !prover_->world.Guard(&scratch))) {
    PyErr_Clear();
    if (prover_->world.changes() != world) prover_->ForgetNumbers();
    builder->Postpone();  // what it read was not compared
    promise_.Forget();
  }
  Result form(nest, pins.get(), watch ? &watch->tracked() : nullptr);
  if (!form.Add(result)) {
    builder->Refuse(form.refusal());
  } else if (!effects.Find(&form)) {
    builder->Refuse(effects.refusal());
  } else if (!form.IsOwn()) {
    builder->Refuse(form.refusal());
  } else if (WritesOutside(written, nest, form)) {
    builder->Refuse("the body writes to a tensor outside of its arguments");
  }
  if (prover_ && !builder->refusal().empty() && (!watch || watch->doubt().empty()) &&
      !prover_->Doubt(builder->refusal(), trace_->name()))
    return Py_DECREF(result), nullptr;
  PyErr_Clear();
  const bool tells_apart = !written.empty() || (watch && watch->tells_tensors_apart());
  if (promised->is_saved() && !tells_apart) builder->UseAlikeStates();
  std::vector<const Tensor*> outputs;
  for (PyObject* t : form.tensors) outputs.push_back(&CellOf(t));
  const Status learnt =
      promised->Learn(outputs, std::move(form.words), pins, argument_pins, !prover_ || watch);
  if (learnt.ok()) return result;
  Py_DECREF(result);
  return Raise(learnt);
}

PyObject* PromisedFunction::Learnt(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  quick_.Settle();
  Pinned pins;
  Nest nest(&pins);
  if (!Guard(args, CountOf(nargsf), kwnames, &nest)) {
    if (PyErr_Occurred()) return nullptr;
    PyErr_Format(PyExc_TypeError, "[export] %s", nest.refusal().c_str());
    return nullptr;
  }
  const size_t visible = nest.cells.size();
  const size_t unguarded = nest.AddHidden();
  const LearntPaths paths =
      tracer::PromisedCall(&promise_, &nest.words, nest.cells.span(), unguarded).Paths();
  if (paths.empty()) Py_RETURN_NONE;
  return DescribeLearnt(nest, visible, unguarded > 0, paths, asked_);
}

}  // namespace frazil::python
