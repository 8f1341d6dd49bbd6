// Where the moving numbers of a call go: into other numbers, operands, results, or into what only
// their value can tell.
#include <opcode.h>

#include <algorithm>
#include <array>

#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/proof/asks.h"
#include "bindings/python/proof/callables.h"
#include "bindings/python/proof/now.h"
#include "bindings/python/proof/prover.h"
#include "bindings/python/proof/watch.h"

namespace frazil::python {

#if FRAZIL_KNOWS_FRAMES

namespace {

constexpr int kMaxNodes = 1 << 12;

// Instructions that only move values about.
const std::array<bool, 256>& Transparent() {
  static const std::array<bool, 256> table = [] {
    std::array<bool, 256> t = {};
    for (const int op : {
           NOP, CACHE, POP_TOP, PUSH_NULL, COPY, SWAP, RESUME, LOAD_CONST, LOAD_FAST, STORE_FAST,
               DELETE_FAST, LOAD_DEREF, STORE_DEREF, DELETE_DEREF, LOAD_CLOSURE, MAKE_CELL,
               COPY_FREE_VARS, LOAD_GLOBAL, STORE_GLOBAL, STORE_ATTR, DELETE_ATTR, BUILD_TUPLE,
               BUILD_SLICE, BUILD_LIST, BUILD_CONST_KEY_MAP, LIST_APPEND, LIST_EXTEND, DICT_MERGE,
               DICT_UPDATE, UNPACK_SEQUENCE, UNPACK_EX, RETURN_GENERATOR, SEND, JUMP_FORWARD,
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
  if (below && Py_IS_TYPE(below, &PyMethodDescr_Type)) harmless |= NameOfMethod(below) == "append";
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
  } else if (PySlice_Check(o)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(o);
    for (PyObject* bound : {slice->start, slice->stop, slice->step}) Pin(bound, depth + 1);
  } else if (PyCFunction_Check(o)) {
    Pin(PyCFunction_GET_SELF(o), depth + 1);
  } else if (Py_IS_TYPE(o, Library().partial)) {
    for (const char* part : {"func", "args", "keywords"}) {
      const Object held = Object::Steal(PyObject_GetAttrString(o, part));
      Pin(held.get(), depth + 1);
    }
  } else if (Py_IS_TYPE(o, Library().deque)) {
    const Object items = Object::Steal(PySequence_Tuple(o));
    Pin(items.get(), depth + 1);
  } else if (PyGen_CheckExact(o)) {
    // What it yields is looked at then.
  } else if (PyDictViewSet_Check(o) || Py_IS_TYPE(o, &PyDictValues_Type)) {
    const Object items = Object::Steal(PySequence_Tuple(o));
    Pin(items.get(), depth + 1);
  } else if (IsIterator(o)) {
    PinAll();  // what it will give nobody sees
  } else if (PyMethod_Check(o)) {
    Pin(PyMethod_GET_SELF(o), depth + 1);
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

// sum() of a list: the numbers that it begins with are added up first, then, as an operand, to the
// tensor behind them.
bool Watch::FollowSum(const Now& now, const Called& call) {
  PyObject* list = call.count == 1 ? call.arguments[0] : nullptr;
  if (!list || !(PyList_CheckExact(list) || PyTuple_CheckExact(list))) return false;
  const absl::Span<PyObject*> items(PySequence_Fast_ITEMS(list),
                                    static_cast<size_t>(PySequence_Fast_GET_SIZE(list)));
  const size_t first =
      static_cast<size_t>(std::find_if_not(items.begin(), items.end(), IsNumber) - items.begin());
  std::vector<int> nodes;
  bool some = false;
  for (PyObject* o : items.first(first)) {
    nodes.push_back(NodeOf(o));
    some |= IsTracked(o);
  }
  for (PyObject* o : items.subspan(first)) Pin(o);
  if (!some) return true;
  const int node = numbers_->Sum(call.callable, nodes);
  if (first == items.size()) {
    Expect(now.frame, node, {items.begin(), items.end()});
    return true;
  }
  const bool followed = IsTensor(items[first]) && IsFloat(CellOf(items[first]).dtype());
  const Object numbers =
      Object::Steal(PySequence_GetSlice(list, 0, static_cast<Py_ssize_t>(first)));
  Object value =
      Object::Steal(numbers ? PyObject_CallOneArg(call.callable, numbers.get()) : nullptr);
  if (!followed || !value) return PyErr_Clear(), Pin(list), true;
  hidden_ = {std::move(value), node};
  return true;
}

bool Watch::FollowCall(const Now& now, const Called& call) {
  const auto [callable, arguments, count, keywords] = call;
  if (BuiltinName(callable) == "sum" && !keywords && FollowSum(now, call)) return true;
  if (IsAsArray(callable) && count > 0) {  // says itself what it asks of numbers (Element)
    std::for_each(arguments + 1, arguments + count, [&](PyObject* o) { Pin(o); });
    if (!IsNumber(arguments[0]) && !IsNestOfNumbers(arguments[0])) Pin(arguments[0]);
    return true;
  }
  if (HandsOn(callable) || AsksNoNumber(callable, arguments, count)) return true;
  if (const int keys = KeysOf(callable); keys > 0) {
    const int first = PyCFunction_Check(callable) ? 0 : 1;  // behind the container itself
    for (int i = first; i < std::min(count, first + keys); ++i) Pin(arguments[i]);
    return true;
  }
  if (callable == reinterpret_cast<PyObject*>(&PyMap_Type) && count > 1) {
    // What it calls is seen, or looks at what comes out of the first iterable.
    if (RunsPython(arguments[0])) return true;
    if (KeysOf(arguments[0]) == 1 && !IsIterator(arguments[1])) return Pin(arguments[1]), true;
  }
  Pin(callable);
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

// A function that C code has called returns: whether that code may look at what it gets. It stands
// at an instruction of a function that is watched as well.
bool Watch::IsAskedByC(Frame* frame) {
  Frame* caller = frame == first_ ? nullptr : CalledFromC(frame);
  if (!caller) return false;
  const CodeView* view = ViewOf(caller->code);
  if (!view) return true;
  Now now{caller, view->At(OffsetOf(caller))};
  const int argument = now.instruction.argument;
  switch (now.instruction.op) {
    case LOAD_ATTR:
    case STORE_ATTR:
    case DELETE_ATTR:
    case BINARY_SUBSCR:
    case STORE_SUBSCR:
    case DELETE_SUBSCR:
    case BINARY_OP:
    case UNARY_NEGATIVE:
    case UNARY_INVERT:
    case FOR_ITER:
    case BEFORE_WITH:
#if PY_VERSION_HEX < 0x030C0000
    case LOAD_METHOD:
    case UNARY_POSITIVE:
#else
    case LOAD_SUPER_ATTR:
#endif
      return false;
    case CALL:
#if PY_VERSION_HEX < 0x030C0000
      now.instruction.depth = static_cast<int16_t>(now.instruction.depth + argument);
#endif
      return !GivesBack(CalledBy(now, argument, false).callable);
    case CALL_FUNCTION_EX:
      return !GivesBack(now.CalledWithLists());
#if PY_VERSION_HEX >= 0x030D0000
    case CALL_KW:
      return !GivesBack(CalledBy(now, argument, true).callable);
#endif
    default:
      return true;
  }
}

bool Watch::FollowNumbers(const Now& now) {
  const int op = now.instruction.op, argument = now.instruction.argument;
  if (Transparent()[static_cast<size_t>(op)]) return true;
  if (kept_.size() > kMaxNodes) return Doubt("computes too much with numbers that change");
  const int depth = now.instruction.depth;
  const auto pin = [&](int count) {
    for (int i = 1; i <= std::min(count, depth); ++i) {
      // A loop's iterator lies there for the loop.
      if (now.Peek(i) && !IsIterator(now.Peek(i))) Pin(now.Peek(i));
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
    case RETURN_VALUE:
      if (IsTracked(now.Peek(1)) && IsAskedByC(now.frame)) Pin(now.Peek(1));
      return true;
    case YIELD_VALUE:  // perhaps to a built-in function
    case DELETE_SUBSCR:
      return Pin(now.Peek(1)), true;
    case BINARY_SUBSCR:
      // A tensor says itself what it asks of its index (indexing.cc).
      if (!IndexedByPython(now.Peek(2)) && !IsTensor(now.Peek(2))) Pin(now.Peek(1));
      return true;
    case CONTAINS_OP: {
      PyObject* container = now.Peek(1);
      if (SearchedByPython(container)) return true;
      const bool by_key = PyDict_CheckExact(container) || PyAnySet_CheckExact(container);
      return by_key ? Pin(now.Peek(2)) : pin(2), true;
    }
#if PY_VERSION_HEX >= 0x030C0000
    case BINARY_SLICE:
      return Pin(now.Peek(1)), Pin(now.Peek(2)), true;
#endif
    case STORE_SUBSCR:
      if (!IsTensor(now.Peek(2))) Pin(now.Peek(1));
      if (!PyList_Check(now.Peek(2)) && !PyDict_Check(now.Peek(2)) &&
          !Py_IS_TYPE(now.Peek(2), Library().deque))
        Pin(now.Peek(3));
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
