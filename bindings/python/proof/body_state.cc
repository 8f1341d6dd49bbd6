#include "bindings/python/proof/body_state.h"

#include <opcode.h>

#include "bindings/python/proof/python_slots.h"

namespace frazil::python {

#if !FRAZIL_KNOWS_FRAMES

BodyState::BodyState(const Nest&) {}
bool BodyState::Look(State*) { return false; }

#else

namespace {

constexpr int kMostFrames = 32;
constexpr size_t kMostContainers = 512;

// A frame with which C code begins to run Python.
bool IsEntry(const Frame* frame) {
#if PY_VERSION_HEX < 0x030C0000
  return frame->is_entry;
#else
  constexpr char kOfC = 3;
  return frame->previous && frame->previous->owner == kOfC;
#endif
}

const Frame* Before(const Frame* frame) {
#if PY_VERSION_HEX < 0x030C0000
  return frame->previous;
#else
  return IsEntry(frame) ? frame->previous->previous : frame->previous;
#endif
}

// Iterators that tell where they are: what they go through, and how far they are.
bool TellsWhere(PyObject* o) {
  return Py_IS_TYPE(o, &PyListIter_Type) || Py_IS_TYPE(o, &PyTupleIter_Type) ||
         Py_IS_TYPE(o, &PyRangeIter_Type);
}

}  // namespace

BodyState::BodyState(const Nest& nest)
    : outside_(CurrentFrame()),
      containers_(nest.containers.begin(), nest.containers.end()),
      places_(nest.places.begin(), nest.places.end()) {}

bool BodyState::Look(State* state) {
  if (containers_.size() > kMostContainers) return false;
  Pinned pins;
  Nest now(&pins);
  int frames = 0;
  bool through_c = false;
  for (const Frame* frame = CurrentFrame(); frame != outside_; frame = Before(frame)) {
    if (!frame || ++frames > kMostFrames || !AddFrame(frame, through_c, frames == 1, &now)) {
      PyErr_Clear();
      return false;
    }
    through_c = IsEntry(frame) && Before(frame) != outside_;
    if (through_c && !Calls(Before(frame), frame->function)) return false;
  }
  bool known = true;
  for (PyObject* container : containers_) known = known && AddValue(container, &now);
  for (const Nest::Place& place : places_)
    known = known && AddValue(PyDict_GetItemWithError(place.dict, place.name), &now);
  PyErr_Clear();
  if (!known) return false;
  for (Object& o : pins) known_by_address_.try_emplace(o.get(), std::move(o));
  state->words.assign(now.words.begin(), now.words.end());
  state->tensors.assign(now.cells.begin(), now.cells.end());
  return true;
}

BodyState::Code* BodyState::CodeOf(PyCodeObject* code) {
  Code& known = codes_[code];
  if (!known.view) {
    if (!(known.view = CodeView::Of(code))) return nullptr;
    known.lives = std::make_unique<Lives>(*known.view);
    for (int unit = 0; unit < known.view->units(); ++unit)
      known.writes_names |= known.view->At(2 * unit).op == STORE_GLOBAL;
  }
  return &known;
}

// Where a frame stands. A call that runs Python stands behind its caches.
int BodyState::OffsetIn(const CodeView& view, const Frame* frame) {
  int offset = OffsetOf(frame);
  while (offset > 0 && view.At(offset).depth < 0) offset -= 2;
  return offset;
}

// C code between the two has nothing to do but to hand on: the frame calls that function, or an
// object whose class has it for __call__.
bool BodyState::Calls(const Frame* frame, PyObject* function) {
  const Code* known = OffsetOf(frame) < 0 ? nullptr : CodeOf(frame->code);
  if (!known) return false;
  const CodeView::Instruction at = known->view->At(OffsetIn(*known->view, frame));
  if (at.depth < 0) return false;
  PyObject* const* top = &const_cast<Frame*>(frame)->stack()[at.depth];
  PyObject* callable = nullptr;
  if (at.op == CALL_FUNCTION_EX) {
    top -= at.argument & 1;
#if PY_VERSION_HEX < 0x030D0000
    callable = top[-2];
#else
    callable = top[-3];
  } else if (at.op == CALL || at.op == CALL_KW) {
    callable = top[-2 - at.argument - (at.op == CALL_KW)];
#endif
#if PY_VERSION_HEX < 0x030C0000
  } else if (at.op == CALL) {  // arguments count as gone behind PRECALL
    callable = top[-2] ? top[-2] : top[-1];
#elif PY_VERSION_HEX < 0x030D0000
  } else if (at.op == CALL) {
    callable = top[-2 - at.argument] ? top[-2 - at.argument] : top[-1 - at.argument];
#endif
  }
  if (!callable) return false;
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  if (PyFunction_Check(callable)) return callable == function;
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyTypeObject* const type = Py_TYPE(callable);
  return type->tp_call && type->tp_call == SlotsOfPython().call &&
         _PyType_Lookup(type, name) == function;
}

bool BodyState::AddFrame(const Frame* frame, bool through_c, bool innermost, Nest* now) {
  PyCodeObject* const code = frame->code;
  constexpr int kUnusual = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR;
  if (code->co_flags & kUnusual || OffsetOf(frame) < 0) return false;
  Code* const found = CodeOf(code);
  if (!found) return false;
  const Code& known = *found;
  if (known.writes_names && places_.empty()) return false;  // names that nobody compares
  const int offset = OffsetIn(*known.view, frame);
  const CodeView::Instruction at = known.view->At(offset);
  int depth = frame->stack_top - code->co_nlocalsplus;
  if (innermost || through_c) depth = at.depth;
  // f(*args, **named): the stack points at a list, or a mapping, that the call has let go.
  if ((innermost || through_c) && at.op == CALL_FUNCTION_EX) depth -= 1 + (at.argument & 1);
  if (depth < 0) return false;
  now->words.push_back(reinterpret_cast<uint64_t>(code));
  const auto [no, yes] = innermost ? known.view->Branches(offset) : std::pair(-1, -1);
  for (const int word : {yes < 0 ? offset : yes, no, depth})
    now->words.push_back(static_cast<uint64_t>(word));
  constexpr char kLocal = 0x20;  // CO_FAST_LOCAL alone: no cell
  const char* const kinds = PyBytes_AS_STRING(code->co_localspluskinds);
  for (int i = 0; i < code->co_nlocalsplus + depth; ++i) {
    if (i < code->co_nlocalsplus && kinds[i] == kLocal && !known.lives->IsLive(offset, i)) continue;
    if (!AddValue(frame->values[i], now)) return false;
  }
  return true;
}

// A value of a frame, which may be none, and a cell of a closure.
bool BodyState::AddValue(PyObject* value, Nest* now) {
  enum : uint64_t { kNothing, kCell, kIterator, kObject };
  if (!value) return now->words.push_back(kNothing), true;
  if (PyCell_Check(value)) return now->words.push_back(kCell), AddValue(PyCell_GET(value), now);
  if (PyModule_CheckExact(value)) return now->AddIdentity(value), true;
  if (!TellsWhere(value)) return now->words.push_back(kObject), now->Add(value);
  now->words.push_back(kIterator);
  // What makes it, of what, and how far it is.
  const Object where = Object::Steal(PyObject_CallMethod(value, "__reduce__", nullptr));
  if (!where || PyTuple_GET_SIZE(where.get()) < 2) return false;
  PyObject* const gone_through = PyTuple_GET_ITEM(PyTuple_GET_ITEM(where.get(), 1), 0);
  if (PyTuple_GET_SIZE(where.get()) > 2 && !now->Add(PyTuple_GET_ITEM(where.get(), 2)))
    return false;
  if (!Py_IS_TYPE(gone_through, &PyRange_Type)) return now->Add(gone_through);
  for (const char* name : {"start", "stop", "step"}) {
    const Object number = Object::Steal(PyObject_GetAttrString(gone_through, name));
    if (!number || !now->Add(number.get())) return false;
  }
  return true;
}

#endif

}  // namespace frazil::python
