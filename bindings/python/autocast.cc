#include "bindings/python/autocast.h"

#include <array>

#include "absl/container/inlined_vector.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::python {
namespace {

struct CastRow {
  FastFunction function;
  std::string_view name;
};
constexpr size_t kMostRows = 96;  // a compiled function for each
std::array<CastRow, kMostRows> g_rows;
size_t g_count = 0;

PyObject* CallConverted(const CastRow& row, CastRule rule, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  const WithoutAutocast off;
  const Py_ssize_t count = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  absl::InlinedVector<Object, 8> held;
  absl::InlinedVector<PyObject*, 8> all;
  for (Py_ssize_t i = 0; i < count; ++i) {
    held.push_back(Object::Steal(CastOperand(rule, args[i])));
    if (!held.back()) return nullptr;
    all.push_back(held.back().get());
  }
  Object result = Object::Steal(row.function(nullptr, all.data(), nargs, kwnames));
  if (!result || rule != CastRule::kKeep || count == 0 || !IsTensor(args[0]) ||
      !IsTensor(result.get()) || !IsHalf(CellOf(args[0]).dtype()))
    return result.release();
  return Wrap(ops::astype(CellOf(result.get()), CellOf(args[0]).dtype()));
}

template <size_t i>
PyObject* Call(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const CastRow& row = g_rows[i];
  const CastRule rule = RuleNow(row.name);
  if (__builtin_expect(rule == CastRule::kNone, 1))
    return row.function(nullptr, args, nargs, kwnames);
  return CallConverted(row, rule, args, nargs, kwnames);
}

template <size_t... i>
constexpr std::array<FastFunction, sizeof...(i)> Calls(std::index_sequence<i...>) {
  return {Call<i>...};
}
constexpr auto kCalls = Calls(std::make_index_sequence<kMostRows>());

}  // namespace

PyObject* CastOperand(CastRule rule, PyObject* object) {
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return CastObject(rule, object);
  Object items = Object::Steal(PySequence_Tuple(object));
  if (!items) return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  bool tensors = false, others = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
    (IsTensor(item) ? tensors : others) |= item != Py_None;
  }
  if (!tensors || others) return Py_NewRef(object);
  Object made = Object::Steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    PyObject* const one = CastObject(rule, PyTuple_GET_ITEM(items.get(), i));
    if (!one) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, one);
  }
  return made.release();
}

FastFunction WithAutocast(std::string_view name, FastFunction function) {
  if (CastRuleOf(name, CastList::kCpu) == CastRule::kNone &&
      CastRuleOf(name, CastList::kCuda) == CastRule::kNone)
    return function;
  FZ_CHECK(g_count < kMostRows);
  g_rows[g_count] = {function, *new std::string(name)};  // for the life of the process
  return kCalls[g_count++];
}

}  // namespace frazil::python
