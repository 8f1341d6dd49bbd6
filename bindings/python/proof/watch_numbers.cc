// Where the moving numbers of a call go: into other numbers, operands, results, or into what only
// their value can tell.
#include <opcode.h>

#include <algorithm>
#include <array>

#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/proof/callables.h"
#include "bindings/python/proof/now.h"
#include "bindings/python/proof/prover.h"
#include "bindings/python/proof/watch.h"

namespace frazil::python {

bool Watch::Plant(std::vector<PyObject*>* arguments) {
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
  const auto it = tracked_.find(number);
  if (it == tracked_.end()) return nullptr;
  const auto use = static_cast<size_t>(numbers_->Use(it->second, dtype));
  const bool known = use < nest_.operands.size() && nest_.operands[use].defined();
  return known ? &nest_.operands[use] : nullptr;
}

#if FRAZIL_KNOWS_FRAMES

namespace {

constexpr int kMaxNodes = 1 << 12, kMaxDepthOfPins = 16;

bool IsNumber(PyObject* o) {
  return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o);
}

// Instructions that only move values about.
const std::array<bool, 256>& Transparent() {
  static const std::array<bool, 256> table = [] {
    std::array<bool, 256> t = {};
    for (const int op : {
           NOP, CACHE, POP_TOP, PUSH_NULL, COPY, SWAP, RESUME, LOAD_CONST, LOAD_FAST, STORE_FAST,
               DELETE_FAST, LOAD_DEREF, STORE_DEREF, DELETE_DEREF, LOAD_CLOSURE, MAKE_CELL,
               COPY_FREE_VARS, LOAD_GLOBAL, STORE_GLOBAL, STORE_ATTR, DELETE_ATTR, BUILD_TUPLE,
               BUILD_LIST, BUILD_CONST_KEY_MAP, LIST_APPEND, LIST_EXTEND, DICT_MERGE, DICT_UPDATE,
               UNPACK_SEQUENCE, UNPACK_EX, RETURN_VALUE, RETURN_GENERATOR, SEND, JUMP_FORWARD,
               JUMP_BACKWARD, JUMP_BACKWARD_NO_INTERRUPT, GET_ITER, FOR_ITER, MAKE_FUNCTION,
               IMPORT_NAME, IMPORT_FROM, CALL_FUNCTION_EX, BEFORE_WITH, WITH_EXCEPT_START,
               PUSH_EXC_INFO, POP_EXCEPT, RERAISE, CHECK_EXC_MATCH, GET_YIELD_FROM_ITER,
               LOAD_ASSERTION_ERROR,
#if PY_VERSION_HEX < 0x030C0000
               PRECALL, CALL, KW_NAMES, LIST_TO_TUPLE, POP_JUMP_FORWARD_IF_NONE,
               POP_JUMP_FORWARD_IF_NOT_NONE, POP_JUMP_BACKWARD_IF_NONE,
               POP_JUMP_BACKWARD_IF_NOT_NONE,
#else
          CALL, POP_JUMP_IF_NONE, POP_JUMP_IF_NOT_NONE, END_FOR, END_SEND, RETURN_CONST,
          LOAD_FAST_CHECK, LOAD_FAST_AND_CLEAR, LOAD_SUPER_ATTR,
#endif
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
               KW_NAMES,
#endif
#if PY_VERSION_HEX >= 0x030D0000
               CALL_KW, LOAD_FAST_LOAD_FAST, STORE_FAST_STORE_FAST, STORE_FAST_LOAD_FAST,
               SET_FUNCTION_ATTRIBUTE, EXIT_INIT_CHECK,
#endif
         })
      if (op < 256) t[static_cast<size_t>(op)] = true;  // others are the compiler's own
    return t;
  }();
  return table;
}

// Functions of numbers to a number.
bool IsNumeric(PyObject* o) {
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type) ||
      o == reinterpret_cast<PyObject*>(&PyFloat_Type))
    return true;
  if (!PyCFunction_Check(o)) return false;
  const std::string_view module = ModuleOf(o);
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  if (module == "math")  // those of ints may take for ever
    return name != "factorial" && name != "comb" && name != "perm";
  return module == "builtins" &&
         (name == "abs" || name == "min" || name == "max" || name == "round");
}

// Callables that hand on what they get, or are watched themselves.
bool HandsOn(PyObject* o) {
  if (PyFunction_Check(o) || FunctionOfTraced(o)) return true;
  if (PyMethod_Check(o)) return HandsOn(PyMethod_GET_FUNCTION(o));
  if (PyType_Check(o)) {
    const auto* type = reinterpret_cast<PyTypeObject*>(o);
    return type == &PyList_Type || type == &PyTuple_Type || type == &PyZip_Type ||
           type == &PyEnum_Type || type == &PySuper_Type ||
           (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type != Library().partial &&
            type->tp_new == PyBaseObject_Type.tp_new);
  }
  const bool method = Py_IS_TYPE(o, &PyMethodDescr_Type);
  if (!method && !PyCFunction_Check(o)) return false;
  const char* name = method ? PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(o)->d_name)
                            : reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  return name && std::string_view(name) == "append";
}

}  // namespace

// Before an instruction that asks which objects its operands are.
void Watch::ShowOriginals(Frame* frame, int offset) {
  const CodeView* view = view_ && view_->code() == frame->code ? view_ : ViewOf(frame->code);
  if (!view || view->At(offset).depth < 0) return;
  Now now{frame, view->At(offset)};
  const auto show = [&](PyObject* const* place) {
    PyObject* was = *place ? OriginalOf(*place) : nullptr;
    auto** slot = const_cast<PyObject**>(place);
    if (was) Py_SETREF(*slot, Py_NewRef(was));
  };
  const int argument = now.instruction.argument;
  if (now.instruction.op == IS_OP) {
    show(now.At(1));
    show(now.At(2));
  } else if (now.instruction.op == CALL) {
#if PY_VERSION_HEX < 0x030C0000
    now.instruction.depth = static_cast<int16_t>(now.instruction.depth + argument);
#endif
    const Called call = CalledBy(now, argument, false);
    if (!PyCFunction_Check(call.callable)) return;
    const std::string_view name =
        reinterpret_cast<PyCFunctionObject*>(call.callable)->m_ml->ml_name;
    if (name != "id" && name != "is_" && name != "is_not") return;
    for (int i = 0; i < call.count; ++i) show(&call.arguments[i]);
  }
}

int Watch::NodeOf(PyObject* number) {
  const auto it = tracked_.find(number);
  return it != tracked_.end() ? it->second : numbers_->Constant(number);
}

bool Watch::Follows() const { return !tracked_.empty() || !prover_->unread()->empty(); }

// Every value lies on top of the stack when it has come, but for those of instructions that load
// two.
void Watch::CheckUnread(const Now& now) {
  const auto unread = [&](PyObject* o) { return prover_->unread()->contains(o); };
  const int op = now.instruction.op;
#if PY_VERSION_HEX < 0x030C0000
  if (op == CALL) return;  // looked at as PRECALL: its own depth is the compiler's
#endif
#if PY_VERSION_HEX >= 0x030D0000
  if (op == LOAD_FAST_LOAD_FAST) {
    PyObject* first = now.frame->values[now.instruction.argument >> 4];
    if (unread(first)) prover_->IsRead(first);
  }
#endif
  PyObject* top = now.instruction.depth > 0 ? now.Peek(1) : nullptr;
  if (!top || !unread(top)) return;
  bool harmless = op == POP_TOP || op == STORE_FAST;
#if PY_VERSION_HEX < 0x030C0000
  const int attribute = op == LOAD_METHOD ? now.instruction.argument : -1;
#else
  const int attribute = op == LOAD_ATTR ? now.instruction.argument >> 1 : -1;
#endif
  if (attribute >= 0)
    harmless = PyUnicode_CompareWithASCIIString(now.Name(attribute), "append") == 0;
  // Behind its method `append`, waiting for what is to be appended.
  PyObject* below = now.instruction.depth > 1 ? now.Peek(2) : nullptr;
  if (below && Py_IS_TYPE(below, &PyMethodDescr_Type)) harmless |= HandsOn(below);
  if (!harmless) prover_->IsRead(top);
}

// Only its value can tell what comes of it.
void Watch::Pin(PyObject* o, int depth) {
  const auto it = tracked_.find(o);
  if (it != tracked_.end()) return numbers_->Pin(it->second, Where());
  if (!o || IsNumber(o) || PyUnicode_Check(o) || IsTensor(o) || PyModule_Check(o) ||
      PyType_Check(o) || PyFunction_Check(o))
    return;
  if (depth == kMaxDepthOfPins) return PinAll();
  if (prover_->unread()->contains(o)) prover_->IsRead(o);
  if (PyList_Check(o) || PyTuple_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      Pin(PySequence_Fast_GET_ITEM(o, i), depth + 1);
  } else if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(o, &at, &key, &value)) Pin(key, depth + 1), Pin(value, depth + 1);
  } else if (PyGen_CheckExact(o)) {
    // What it yields is looked at then.
  } else if (Py_TYPE(o)->tp_iternext || PyDictViewSet_Check(o) ||
             Py_IS_TYPE(o, &PyDictValues_Type)) {
    PinAll();  // what it will give nobody sees
  } else if (PyMethod_Check(o)) {
    Pin(PyMethod_GET_SELF(o), depth + 1);
  } else if (Py_IS_TYPE(o, Library().partial)) {
    for (const char* part : {"func", "args", "keywords"}) {
      const Object held = Object::Steal(PyObject_GetAttrString(o, part));
      Pin(held.get(), depth + 1);
    }
  } else if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE && !IsModule(o)) {
    if (PyObject* attributes = AttributesOf(o)) Pin(attributes, depth + 1);
    const ClassInfo* info = InfoOf(Py_TYPE(o));
    for (size_t i = 0; info && i < info->slots.size(); ++i)
      Pin(SlotOf(o, info->slots[i]), depth + 1);
  }
}

void Watch::PinAll() {
  while (!prover_->unread()->empty()) prover_->IsRead(*prover_->unread()->begin());
  for (const auto& [object, node] : tracked_) numbers_->Pin(node, Where());
}

void Watch::Expect(Frame* frame, int node, std::vector<PyObject*> operands) {
  pending_ = {frame, node, {}};
  for (PyObject* o : operands) pending_.operands.push_back(Object::Share(o));
}

void Watch::FinishPending(const Now& now) {
  const Pending pending = std::exchange(pending_, {});
  PyObject* result =
      pending.frame == now.frame && now.instruction.depth > 0 ? now.Peek(1) : nullptr;
  const bool is_number = result && IsNumber(result);
  if (is_number && PyBool_Check(result)) return numbers_->Pin(pending.node, Where());
  Object own = is_number ? UniqueCopy(result) : Object();
  if (!own) {  // it raised or left 64 bits: for the operands to say
    for (const Object& o : pending.operands) Pin(o.get());
    return;
  }
  PyObject*& slot = now.frame->stack()[now.instruction.depth - 1];
  Track(own.get(), pending.node);
  Py_SETREF(slot, own.release());
}

bool Watch::FollowCall(const Now& now, const Called& call) {
  const auto [callable, arguments, count, keywords] = call;
  if (HandsOn(callable)) return true;
  if (Py_IS_TYPE(callable, Library().partial)) Pin(callable);  // it gives what it holds
  const bool numbers =
      count > 0 && !keywords && std::all_of(arguments, arguments + count, IsNumber);
  const bool some = numbers && std::any_of(arguments, arguments + count,
                                           [&](PyObject* o) { return IsTracked(o); });
  if (numbers && !some) return true;
  if (some && IsNumeric(callable)) {
    std::vector<int> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(NodeOf(arguments[i]));
    Expect(now.frame, numbers_->Call(callable, nodes), {arguments, arguments + count});
    return true;
  }
  std::for_each(arguments, arguments + count, [&](PyObject* o) { Pin(o); });
  return true;
}

bool Watch::FollowNumbers(const Now& now) {
  const int op = now.instruction.op, argument = now.instruction.argument;
  if (Transparent()[static_cast<size_t>(op)]) return true;
  if (kept_.size() > kMaxNodes) return Doubt("computes too much with numbers that change");
  const int depth = now.instruction.depth;
  const auto pin = [&](int count) {
    for (int i = 1; i <= std::min(count, depth); ++i) {
      // A loop's iterator lies there for the loop.
      if (now.Peek(i) && !Py_TYPE(now.Peek(i))->tp_iternext) Pin(now.Peek(i));
    }
  };
  switch (op) {
    case BINARY_OP: {
      PyObject *a = now.Peek(2), *b = now.Peek(1);
      if (IsNumber(a) && IsNumber(b)) {
        if (!IsTracked(a) && !IsTracked(b)) return true;
        if (argument % NB_INPLACE_ADD == NB_MATRIX_MULTIPLY) return pin(2), true;
        Expect(now.frame, numbers_->Binary(argument, NodeOf(a), NodeOf(b)), {a, b});
        return true;
      }
      const bool lists = (PyList_CheckExact(a) && PyList_CheckExact(b)) ||
                         (PyTuple_CheckExact(a) && PyTuple_CheckExact(b));
      if (lists || (IsTensor(a) && IsTensor(b))) return true;
      if (!TakesOperand(a, b, argument)) pin(2);
      return true;
    }
    case COMPARE_OP: {
      PyObject *a = now.Peek(2), *b = now.Peek(1);
      if (IsTensor(a) && IsTensor(b)) return true;
      if (TakesOperand(a, b, 0)) return true;
      if (!IsNumber(a) || !IsNumber(b) || (!IsTracked(a) && !IsTracked(b))) return pin(2), true;
#if PY_VERSION_HEX < 0x030C0000
      const int how = argument;
#elif PY_VERSION_HEX < 0x030D0000
      const int how = argument >> 4;
#else
      const int how = argument >> 5;
#endif
      numbers_->Pin(numbers_->Compare(how, NodeOf(a), NodeOf(b)), Where());
      return true;
    }
    case UNARY_NEGATIVE:
    case UNARY_INVERT:
      if (IsTracked(now.Peek(1)))
        Expect(now.frame, numbers_->Unary(op, NodeOf(now.Peek(1))), {now.Peek(1)});
      return true;
    case UNARY_NOT:
#if PY_VERSION_HEX < 0x030C0000
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
#else
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
#endif
#if PY_VERSION_HEX >= 0x030D0000
    case TO_BOOL:
#endif
      if (IsTracked(now.Peek(1))) numbers_->Pin(numbers_->Truth(NodeOf(now.Peek(1))), Where());
      return true;
    case LOAD_ATTR:
#if PY_VERSION_HEX < 0x030C0000
    case LOAD_METHOD:
#endif
      if (IsTracked(now.Peek(1))) pin(1);
      return true;
    case YIELD_VALUE:  // perhaps to a built-in function
    case BINARY_SUBSCR:
    case DELETE_SUBSCR:
      return Pin(now.Peek(1)), true;
    case STORE_SUBSCR:
      Pin(now.Peek(1));
      if (!PyList_Check(now.Peek(2)) && !PyDict_Check(now.Peek(2))) Pin(now.Peek(3));
      return true;
    case IS_OP:
      if (now.Peek(1) == Py_None || now.Peek(2) == Py_None) return true;
      return pin(2), true;
    case BUILD_MAP:
      for (int i = 0; i < argument; ++i) Pin(now.Peek(2 * i + 2));
      return true;
    case MAP_ADD:
      return Pin(now.Peek(2)), true;
    case BUILD_SET:
    case BUILD_STRING:
      return pin(argument), true;
#if PY_VERSION_HEX >= 0x030C0000
    case CALL_INTRINSIC_1: {
      constexpr int kListToTuple = 6;
      if (argument != kListToTuple) pin(1);
      return true;
    }
#endif
    default:
      return pin(4), true;
  }
}

// Whether number_protocol.cc makes an operand of a number beside a tensor. `how`: BINARY_OP's
// argument.
bool Watch::TakesOperand(PyObject* a, PyObject* b, int how) {
  const bool first = IsTensor(a);
  if (first == IsTensor(b) || !IsTracked(first ? b : a)) return false;
  if (!IsFloat(CellOf(first ? a : b).dtype()) || (first && how >= NB_INPLACE_ADD)) return false;
  const int op = how % NB_INPLACE_ADD;
  return op == NB_ADD || op == NB_SUBTRACT || op == NB_MULTIPLY || op == NB_TRUE_DIVIDE ||
         op == NB_FLOOR_DIVIDE || op == NB_REMAINDER;
}

#endif

}  // namespace frazil::python
