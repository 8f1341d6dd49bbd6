// Custom derivatives: Python functions as rules (autograd/custom.h), and calls through a vmap.
#include <memory>
#include <vector>

#include "autograd/custom.h"
#include "batch/batch.h"
#include "batch/checkpoint.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/host.h"
#include "bindings/python/movement.h"
#include "core/check.h"

namespace frazil::python {
namespace {

Object ListFrom(absl::Span<const Tensor> tensors) {
  Object list = Object::Steal(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; list && i < tensors.size(); ++i) {
    PyObject* item = tensors[i].defined() ? Wrap(tensors[i]) : Py_NewRef(Py_None);
    if (!item) return Object();
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list;
}

// Tensors and Nones; the functions here are called by frazil's own Python code.
StatusOr<std::vector<Tensor>> TensorsOf(PyObject* list) {
  if (!list) return KeepRaised();
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    out.push_back(IsTensor(item) ? CellOf(item) : Tensor());
  }
  return out;
}

// A Python function as one of tensors, whose last holder may be any thread.
class PythonFunction {
 public:
  explicit PythonFunction(PyObject* f) : f_(Object::Share(f)) {}
  PythonFunction(const PythonFunction&) = delete;
  ~PythonFunction() {
    if (!Py_IsInitialized()) {
      f_.release();
    } else {
      const Gil gil;
      f_ = Object();
    }
  }

  // f(list, ...)
  template <typename... T>
  StatusOr<std::vector<Tensor>> operator()(const T&... lists) const {
    const Gil gil;
    const Object arguments[] = {ListFrom(lists)...};
    PyObject* given[sizeof...(T)];
    for (size_t i = 0; i < sizeof...(T); ++i) {
      given[i] = arguments[i].get();
      if (!given[i]) return KeepRaised();
    }
    const Object made = Object::Steal(PyObject_Vectorcall(f_.get(), given, sizeof...(T), nullptr));
    return TensorsOf(made.get());
  }

 private:
  struct Gil {
    PyGILState_STATE state = PyGILState_Ensure();
    Gil() = default;
    Gil(const Gil&) = delete;
    ~Gil() { PyGILState_Release(state); }
  };
  Object f_;
};

class PythonRule final : public autograd::CustomRule {
 public:
  PythonRule(PyObject* backward, PyObject* forward) : backward_(backward), forward_(forward) {}

  StatusOr<std::vector<Tensor>> Gradients(absl::Span<const Tensor> operands,
                                          absl::Span<const Tensor> gradients) override {
    const autograd::UnlimitedScope unlimited;
    return backward_(operands, gradients);
  }
  StatusOr<std::vector<Tensor>> Tangents(absl::Span<const Tensor> operands,
                                         absl::Span<const Tensor> tangents) override {
    const autograd::UnlimitedScope unlimited;
    return forward_(operands, tangents);
  }

 private:
  const PythonFunction backward_, forward_;
};

FZ_FAST(Attach) {
  FZ_ARGS(4, "attach(results, operands, backward, forward, /)");
  auto results = TensorsOf(a[0]), operands = TensorsOf(a[1]);
  const auto rule = Ref<autograd::CustomRule>::Adopt(new PythonRule(a[2], a[3]));
  std::vector<Tensor> made;
  for (const Tensor& t : *results) made.push_back(t.Detach());
  if (Status s = autograd::AttachCustom(rule, *operands, absl::MakeSpan(made)); !s.ok())
    return Raise(s);
  return ListFrom(made).release();
}

void DestroyWithin(PyObject* capsule) {
  delete static_cast<batch::Within*>(PyCapsule_GetPointer(capsule, "within"));
}

// call(wholes, batched, scope) at the door outside of the innermost vmap, whose results are wholes;
// None if none of the operands is batched there.
FZ_FAST(ThroughBatch) {
  FZ_ARGS(2, "through_batch(call, operands, /)");
  auto operands = TensorsOf(a[1]);
  bool any = false;
  auto made = batch::ThroughBatch(
      *operands, &any,
      [&](absl::Span<const Tensor> wholes, const std::vector<bool>& batched,
          const batch::Within& within) -> StatusOr<std::vector<Tensor>> {
        const Object list = ListFrom(wholes);
        const Object flags = Object::Steal(PyList_New(static_cast<Py_ssize_t>(batched.size())));
        const Object scope =
            Object::Steal(PyCapsule_New(new batch::Within(within), "within", DestroyWithin));
        if (!list || !flags || !scope) return KeepRaised();
        for (size_t i = 0; i < batched.size(); ++i)
          PyList_SET_ITEM(flags.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(batched[i]));
        const Object results = Object::Steal(
            PyObject_CallFunctionObjArgs(a[0], list.get(), flags.get(), scope.get(), nullptr));
        return TensorsOf(results.get());
      });
  if (!any) Py_RETURN_NONE;
  if (!made.ok()) return Raise(made.status());
  return ListFrom(*made).release();
}

// f(examples) inside of the scope that through_batch gave.
FZ_FAST(Inside) {
  FZ_ARGS(4, "within(scope, function, operands, batched, /)");
  const auto* within = static_cast<batch::Within*>(PyCapsule_GetPointer(a[0], "within"));
  if (!within) return nullptr;
  auto operands = TensorsOf(a[2]);
  std::vector<bool> batched;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a[3]); ++i)
    batched.push_back(PyList_GET_ITEM(a[3], i) == Py_True);
  const PythonFunction f(a[1]);
  const auto made = within->Run(*operands, batched,
                                [&](absl::Span<const Tensor> examples) { return f(examples); });
  if (!made.ok()) return Raise(made.status());
  return ListFrom(*made).release();
}

FZ_FAST(Checkpoint) {
  FZ_ARGS(3, "checkpoint(function, operands, ops, /)");
  batch::KeptOps kept;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a[2]); ++i) {
    const auto op = OpNamed(PyUnicode_AsUTF8(PyTuple_GET_ITEM(a[2], i)));
    FZ_CHECK(op.has_value());
    kept.set(static_cast<size_t>(*op));
  }
  const auto f = std::make_shared<const PythonFunction>(a[0]);
  const auto run = [f](absl::Span<const Tensor> own) { return (*f)(own); };
  const auto made = batch::Checkpoint(run, *TensorsOf(a[1]), kept);
  if (!made.ok()) return Raise(made.status());
  return ListFrom(*made).release();
}

// The names of all ops, and of those that are products.
FZ_FAST(Ops) {
  FZ_ARGS(0, "ops()");
  Object all = Object::Steal(PyTuple_New(kNumOps)), products = Object::Steal(PyList_New(0));
  for (int i = 0; all && products && i < kNumOps; ++i) {
    const OpInfo& info = kOps[i];
    PyObject* name = PyUnicode_FromString(std::string(info.name).c_str());
    if (!name) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, name);
    const bool product = info.klass == OpClass::kMatmul || info.klass == OpClass::kConv ||
                         info.klass == OpClass::kConvWeights || info.klass == OpClass::kAttention ||
                         info.klass == OpClass::kSparse;
    if (product && PyList_Append(products.get(), name) < 0) return nullptr;
  }
  if (!all || !products) return nullptr;
  Object chosen = Object::Steal(PyList_AsTuple(products.get()));
  return chosen ? PyTuple_Pack(2, all.get(), chosen.get()) : nullptr;
}

FZ_FAST(HasHistory) {
  FZ_ARGS(1, "has_history(tensors, /)");
  const auto tensors = TensorsOf(a[0]);
  for (const Tensor& t : *tensors)
    if (t.defined() && batch::HasHistory(t)) Py_RETURN_TRUE;
  Py_RETURN_FALSE;
}

}  // namespace

std::vector<FunctionRow> CustomFunctions() {
  return {
      {"attach(results, operands, backward, forward, /)",
       "The results with derivatives: backward(operands, gradients) of the operands, "
       "forward(operands, tangents) of the results.",
       Attach},
      {"through_batch(call, operands, /)",
       "call(wholes, batched, scope) outside of the innermost vmap; None if nothing is batched.",
       ThroughBatch},
      {"within(scope, function, operands, batched, /)",
       "function(operands of one example), and its results for all, in a scope that through_batch "
       "gave.",
       Inside},
      {"checkpoint(function, operands, ops, /)",
       "function(operands), a list, computed again for gradients but for results of these ops.",
       Checkpoint},
      {"ops()", "The names of all ops, and of those that are products.", Ops},
      {"has_history(tensors, /)",
       "Whether a gradient is wanted of any of them, or of what is batched behind it.", HasHistory},
  };
}

}  // namespace frazil::python
