// Where autocast (core/autocast.h) meets Python: functions of the module that have a rule convert
// their operands while it is on. Called by args.cc for each function that is added, by
// number_protocol.cc for operators and by reduce.h for methods. Invariant: inside of such a call it
// is off.
#pragma once

#include <utility>

#include "bindings/python/args.h"
#include "bindings/python/tensor_type.h"
#include "core/autocast.h"

namespace frazil::python {

// Off while this lives.
class WithoutAutocast {
 public:
  WithoutAutocast() : before_(std::exchange(t_autocast.on, false)) {}
  ~WithoutAutocast() { t_autocast.on = before_; }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  const bool before_;
};

// The function, or one that asks its rule first.
FastFunction WithAutocast(std::string_view name, FastFunction function);

// An object that is a tensor as a rule wants it, the object itself if it is so already: what it is
// given may be written to. Null with an error set.
inline PyObject* CastObject(CastRule rule, PyObject* object) {
  if (!IsTensor(object) || !Converts(rule, CellOf(object))) return Py_NewRef(object);
  return Wrap(Cast(rule, CellOf(object)));
}

// The same of an operand or of those in a list or tuple of tensors and None.
PyObject* CastOperand(CastRule rule, PyObject* object);

// The rule by which operands of `name` are converted now.
inline CastRule RuleNow(std::string_view name) {
  return __builtin_expect(t_autocast.on, 0) ? CastRuleOf(name, t_autocast.list) : CastRule::kNone;
}

}  // namespace frazil::python
