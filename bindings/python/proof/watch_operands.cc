// The moving numbers of a call as objects of their own, and as operands of ops: beside tensors, as
// elements of arrays, as indices.
#include <opcode.h>

#include "bindings/python/library_types.h"
#include "bindings/python/proof/prover.h"
#include "bindings/python/proof/watch.h"

namespace frazil::python {

bool Watch::Plant(std::vector<PyObject*>* arguments) {
  for (PyObject* argument : *arguments) {
    if (asked_) FindTensors(argument, &inputs_);
  }
  for (const Nest::Spot& spot : nest_.moving)  // two of them may be one place
    kept_.push_back(Object::Share(spot.object));
  for (size_t place = 0; place < nest_.moving.size(); ++place) {
    const Nest::Spot& spot = nest_.moving.span()[place];
    Object own = UniqueCopy(spot.object);
    if (!own) return false;
    int failed = 0;
    if (spot.owner == Py_Ellipsis) {
      (*arguments)[static_cast<size_t>(spot.index)] = own.get();
    } else if (PyList_Check(spot.owner)) {
      failed = PyList_SetItem(spot.owner, spot.index, Py_NewRef(own.get()));
    } else if (Py_IS_TYPE(spot.owner, Library().deque)) {
      failed = PySequence_SetItem(spot.owner, spot.index, own.get());
    } else if (PyTuple_Check(spot.owner)) {
      Py_DECREF(spot.object);  // kept_ holds it
      PyTuple_SET_ITEM(spot.owner, spot.index, Py_NewRef(own.get()));
    } else if (PyDict_Check(spot.owner)) {
      failed = PyDict_SetItem(spot.owner, spot.key, own.get());
    } else if (PyCell_Check(spot.owner)) {
      failed = PyCell_Set(spot.owner, own.get());
    } else {
      failed = PyObject_GenericSetAttr(spot.owner, spot.key, own.get());
    }
    if (failed) return PyErr_Clear(), false;
    Track(own.get(), numbers_->Leaf(place));
    originals_.emplace(own.get(), Object::Share(spot.object));
  }
  for (PyObject* o : nest_.containers) {
    if (!nest_.moving.empty()) planted_in_.push_back(Object::Share(o));
  }
  return true;
}

// What would be there if nothing had been planted.
PyObject* Watch::OriginalOf(PyObject* number) {
  if (!tracked_.contains(number)) return nullptr;
  const auto [it, fresh] = originals_.try_emplace(number);
  if (fresh) it->second = SharedNumber(number);
  return it->second.get();
}

void Watch::Unplant() {
  if (tracked_.empty()) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (const Object& held : planted_in_) {
    PyObject* o = held.get();
    if (PyList_Check(o)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) {
        if (PyObject* was = OriginalOf(PyList_GET_ITEM(o, i))) PyList_SetItem(o, i, Py_NewRef(was));
      }
    } else if (Py_IS_TYPE(o, Library().deque)) {
      for (Py_ssize_t i = 0; i < PySequence_Size(o); ++i) {
        const Object now = Object::Steal(PySequence_GetItem(o, i));
        if (PyObject* was = OriginalOf(now.get())) PySequence_SetItem(o, i, was);
      }
    } else if (PyTuple_Check(o)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
        PyObject* now = PyTuple_GET_ITEM(o, i);
        PyObject* was = OriginalOf(now);
        if (!was) continue;
        PyTuple_SET_ITEM(o, i, Py_NewRef(was));
        Py_DECREF(now);  // kept_ holds it
      }
    } else if (PyDict_Check(o)) {
      Py_ssize_t at = 0;
      PyObject *key, *item;
      while (PyDict_Next(o, &at, &key, &item)) {
        if (PyObject* was = OriginalOf(item)) PyDict_SetItem(o, key, was);
      }
    } else if (PyCell_Check(o) && PyCell_GET(o)) {
      if (PyObject* was = OriginalOf(PyCell_GET(o))) PyCell_Set(o, was);
    }
  }
  for (const Nest::Place& place : nest_.places) {
    PyObject* now = PyDict_GetItemWithError(place.dict, place.name);
    PyObject* was = now ? OriginalOf(now) : nullptr;
    if (was) PyDict_SetItem(place.dict, place.name, was);
  }
  for (const Nest::Spot& spot : nest_.moving) {  // of the slots, and of names that are only read
    const bool is_slot = spot.owner != Py_Ellipsis && spot.key && !PyDict_Check(spot.owner);
    if (is_slot) {
      const Object now = Object::Steal(PyObject_GenericGetAttr(spot.owner, spot.key));
      PyObject* was = now ? OriginalOf(now.get()) : nullptr;
      if (was) PyObject_GenericSetAttr(spot.owner, spot.key, was);
    } else if (spot.key && PyDict_Check(spot.owner)) {
      PyObject* now = PyDict_GetItemWithError(spot.owner, spot.key);
      PyObject* was = now ? OriginalOf(now) : nullptr;
      if (was) PyDict_SetItem(spot.owner, spot.key, was);
    }
  }
  PyErr_Restore(type, value, traceback);
}

void Watch::Track(PyObject* number, int node) {
  tracked_[number] = node;
  kept_.push_back(Object::Share(number));
}

const Tensor* Watch::Operand(PyObject* number, DType dtype) {
  if (hidden_.value && !tracked_.contains(number) &&
      Py_TYPE(number) == Py_TYPE(hidden_.value.get()) &&
      numbers_->Constant(number) == numbers_->Constant(hidden_.value.get()))
    return OperandOf(std::exchange(hidden_, {}).node, dtype);
  const auto it = tracked_.find(number);
  return it == tracked_.end() ? nullptr : OperandOf(it->second, dtype);
}

// Null as long as the call does not compare it.
const Tensor* Watch::OperandOf(int node, DType dtype) {
  const auto use = static_cast<size_t>(numbers_->Use(node, dtype));
  const bool known = use < nest_.operands.size() && nest_.operands[use].defined();
  return known ? &nest_.operands[use] : nullptr;
}

const Tensor* Watch::Element(PyObject* number, DType dtype) {
  if (!tracked_.contains(number)) return nullptr;
  if (IsFloat(dtype) || (dtype == DType::kI64 && PyLong_CheckExact(number)))
    return Operand(number, dtype);
  return Asks(number), nullptr;
}

const Tensor* Watch::Position(PyObject* number, int64_t extent) {
  const auto it = tracked_.find(number);
  if (it == tracked_.end() || !PyLong_CheckExact(number)) return nullptr;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow || value < -extent || value >= extent) return Asks(number), nullptr;
  const auto constant = [&](long long v) {
    const Object made = Object::Steal(PyLong_FromLongLong(v));
    return numbers_->Constant(made.get());
  };
  const int zero = constant(0), end = constant(extent);
  numbers_->Pin(numbers_->Compare(Py_LT, it->second, zero), Where());
  int position = it->second;
  if (value < 0) {
    position = numbers_->Binary(NB_ADD, position, end);
    numbers_->Pin(numbers_->Compare(Py_GE, position, zero), Where());
  } else {
    numbers_->Pin(numbers_->Compare(Py_LT, position, end), Where());
  }
  return OperandOf(position, DType::kI64);
}

#if !FRAZIL_KNOWS_FRAMES
void Watch::Asks(PyObject*) {}
#else
void Watch::Asks(PyObject* object) { Pin(object); }
#endif

}  // namespace frazil::python
