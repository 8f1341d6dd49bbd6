// Python functions as ops with rules of their own (batch/custom_op.h), and checkpoint.
#include <memory>
#include <vector>

#include "batch/batch.h"
#include "batch/checkpoint.h"
#include "batch/custom_op.h"
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

Object FlagsFrom(const std::vector<bool>& flags) {
  Object list = Object::Steal(PyList_New(static_cast<Py_ssize_t>(flags.size())));
  for (size_t i = 0; list && i < flags.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(flags[i]));
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

// A Python function that C++ calls, whose last holder may be any thread.
class PythonFunction {
 public:
  struct Gil {
    PyGILState_STATE state = PyGILState_Ensure();
    Gil() = default;
    Gil(const Gil&) = delete;
    ~Gil() { PyGILState_Release(state); }
  };

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

  bool given() const { return f_.get() != Py_None; }

  // f(list, ...)
  template <typename... T>
  StatusOr<std::vector<Tensor>> operator()(const T&... lists) const {
    const Gil gil;
    return TensorsOf(Call({ListFrom(lists)...}).get());
  }
  // f(argument, ...), for who has the GIL; null if it raised, or an argument is null.
  Object Call(std::initializer_list<Object> arguments) const {
    absl::InlinedVector<PyObject*, 3> given;
    for (const Object& argument : arguments) {
      if (!argument) return Object();
      given.push_back(argument.get());
    }
    return Object::Steal(PyObject_Vectorcall(f_.get(), given.data(), given.size(), nullptr));
  }

 private:
  Object f_;
};

// (results, what is kept), two lists.
StatusOr<batch::CustomOp::Made> MadeFrom(const Object& pair) {
  if (!pair) return KeepRaised();
  FZ_ASSIGN_OR_RETURN(std::vector<Tensor> results, TensorsOf(PyTuple_GET_ITEM(pair.get(), 0)));
  FZ_ASSIGN_OR_RETURN(std::vector<Tensor> kept, TensorsOf(PyTuple_GET_ITEM(pair.get(), 1)));
  return batch::CustomOp::Made{std::move(results), std::move(kept)};
}

// An op of functions of lists; None where one is not given.
class PythonOp final : public batch::CustomOp {
 public:
  PythonOp(std::string name, PyObject* const* functions)
      : CustomOp(std::move(name)),
        compute_(functions[0]),
        keep_(functions[1]),
        pull_(functions[2]),
        push_(functions[3]),
        for_all_(functions[4]) {}

  StatusOr<Made> Compute(TensorSpan operands) override {
    const PythonFunction::Gil gil;
    return MadeFrom(compute_.Call({ListFrom(operands)}));
  }
  StatusOr<Tensors> Keep(TensorSpan operands) override {
    return keep_.given() ? keep_(operands) : Tensors();
  }
  StatusOr<Tensors> Pull(TensorSpan operands, TensorSpan kept, TensorSpan gradients) override {
    if (pull_.given()) return pull_(operands, kept, gradients);
    return push_.given() ? CustomOp::Pull(operands, kept, gradients) : batch::NoGradient(name);
  }
  StatusOr<Tensors> Push(TensorSpan operands, TensorSpan tangents) override {
    return push_.given() ? push_(operands, tangents) : batch::NoTangent(name);
  }
  bool batches() const override { return for_all_.given(); }
  StatusOr<Made> ForAll(int64_t size, TensorSpan operands,
                        const std::vector<bool>& batched) override {
    const PythonFunction::Gil gil;
    return MadeFrom(for_all_.Call(
        {Object::Steal(PyLong_FromLongLong(size)), ListFrom(operands), FlagsFrom(batched)}));
  }

 private:
  const PythonFunction compute_, keep_, pull_, push_, for_all_;
};

// As it is: the message names the user's op.
PyObject* RaiseWhole(const Status& status) {
  Raise(status);
  (void)KeepRaised();
  RaiseKept();
  return nullptr;
}

FZ_FAST(Call) {
  FZ_ARGS(3, "call(name, functions, operands, /)");
  const auto op =
      Ref<batch::CustomOp>::Adopt(new PythonOp(PyUnicode_AsUTF8(a[0]), &PyTuple_GET_ITEM(a[1], 0)));
  const auto made = batch::Call(op, *TensorsOf(a[2]));
  if (!made.ok()) return RaiseWhole(made.status());
  return ListFrom(*made).release();
}

// What the names that a function shares with the code around it hold at a time.
class Closure {
 public:
  explicit Closure(PyObject* function) {
    PyObject* cells = PyFunction_Check(function) ? PyFunction_GET_CLOSURE(function) : nullptr;
    for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); ++i) {
      PyObject* cell = PyTuple_GET_ITEM(cells, i);
      cells_.push_back({Object::Share(cell), Object::Share(PyCell_GET(cell))});
    }
  }
  Closure(const Closure&) = delete;
  ~Closure() {
    if (!Py_IsInitialized()) {
      for (auto& [cell, content] : cells_) {
        cell.release();
        content.release();
      }
    } else {
      const PythonFunction::Gil gil;
      cells_.clear();
    }
  }
  // Puts it there again, and returns what was there; what has been bound since then stays.
  std::vector<Object> PutBack() const {
    std::vector<Object> before;
    for (const auto& [cell, content] : cells_) {
      before.push_back(Object::Share(PyCell_GET(cell.get())));
      PyCell_Set(cell.get(), content.get());
    }
    return before;
  }
  void Undo(const std::vector<Object>& before) const {
    for (size_t i = 0; i < cells_.size(); ++i) {
      const auto& [cell, content] = cells_[i];
      if (PyCell_GET(cell.get()) == content.get()) PyCell_Set(cell.get(), before[i].get());
    }
  }

 private:
  std::vector<std::pair<Object, Object>> cells_;
};

// checkpoint(function, operands, ops, of): `of` is what function calls; where it is called once more
// its names hold what they hold now.
FZ_FAST(Checkpoint) {
  FZ_ARGS(4, "checkpoint(function, operands, ops, of, /)");
  batch::KeptOps kept;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a[2]); ++i) {
    const auto op = OpNamed(PyUnicode_AsUTF8(PyTuple_GET_ITEM(a[2], i)));
    FZ_CHECK(op.has_value());
    kept.set(static_cast<size_t>(*op));
  }
  const auto f = std::make_shared<const PythonFunction>(a[0]);
  const auto closure = std::make_shared<const Closure>(a[3]);
  const auto again = std::make_shared<bool>(false);
  const auto run = [f, closure, again](absl::Span<const Tensor> own) {
    if (!std::exchange(*again, true)) return (*f)(own);
    const PythonFunction::Gil gil;
    const std::vector<Object> before = closure->PutBack();
    auto results = (*f)(own);
    closure->Undo(before);
    return results;
  };
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

FZ_FAST(WithoutHistory) {
  FZ_ARGS(2, "without_history(name, results, /)");
  const Status s = batch::WithoutHistory(PyUnicode_AsUTF8(a[0]), *TensorsOf(a[1]));
  if (!s.ok()) return RaiseWhole(s);
  Py_RETURN_NONE;
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
      {"call(name, functions, operands, /)",
       "The results of an op of the program's (batch/custom_op.h), of compute, keep, pull, push "
       "and "
       "for_all.",
       Call},
      {"call_host(name, functions, operands, /)",
       "The same of an op whose compute is host code, so that it has to run each time.", Call},
      {"checkpoint(function, operands, ops, of, /)",
       "function(operands), a list, computed again for gradients but for results of these ops.",
       Checkpoint},
      {"ops()", "The names of all ops, and of those that are products.", Ops},
      {"without_history(name, results, /)",
       "Refuses results of a function with a rule that a gradient is wanted of.", WithoutHistory},
      {"has_history(tensors, /)",
       "Whether a gradient is wanted of any of them, or of what is batched behind it.", HasHistory},
  };
}

}  // namespace frazil::python
