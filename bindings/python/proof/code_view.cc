#include "bindings/python/proof/code_view.h"

#include <opcode.h>

#include <algorithm>

namespace frazil::python {
namespace {

constexpr int kMaxDepth = 1 << 12;

// How a jump goes: forwards or backwards from the instruction behind it. 0: no jump.
int Direction(int op) {
  switch (op) {
    case JUMP_FORWARD:
    case FOR_ITER:
    case SEND:
#if PY_VERSION_HEX < 0x030C0000
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
#else
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
#endif
      return 1;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
#if PY_VERSION_HEX < 0x030C0000
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
      return -1;
    default:
      return 0;
  }
}

bool EndsFlow(int op) {
  switch (op) {
    case RETURN_VALUE:
    case RAISE_VARARGS:
    case RERAISE:
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
#if PY_VERSION_HEX >= 0x030C0000
    case RETURN_CONST:
#endif
      return true;
    default:
      return false;
  }
}

// A handler that the compiler adds: of generators, which may not raise StopIteration, and behind
// the end of other handlers.
bool IsOfInterpreter(int op) {
#if PY_VERSION_HEX >= 0x030C0000
  if (op == CALL_INTRINSIC_1 || op == CLEANUP_THROW) return true;
#endif
  return op == COPY;
}

// Entries of co_exceptiontable: numbers of 6 bits a byte, the highest first (Objects/
// exception_handling_notes.txt of CPython).
class TableReader {
 public:
  explicit TableReader(PyObject* table)
      : at_(reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(table))),
        end_(at_ + PyBytes_GET_SIZE(table)) {}
  bool done() const { return at_ >= end_; }
  int Next() {
    int value = at_ < end_ ? *at_ & 63 : 0;
    while (at_ < end_ && *at_++ & 64) value = value << 6 | (at_ < end_ ? *at_ & 63 : 0);
    return value;
  }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace

std::unique_ptr<CodeView> CodeView::Of(PyCodeObject* code) {
  const Object bytes = Object::Steal(PyCode_GetCode(code));  // as compiled, nothing specialised
  if (!bytes) return PyErr_Clear(), nullptr;
  auto view = std::make_unique<CodeView>();
  view->code_ = Object::Share(reinterpret_cast<PyObject*>(code));
  const auto* first = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
  view->bytes_.assign(first, first + PyBytes_GET_SIZE(bytes.get()));
  if (!view->Decode() || !view->Flow()) return nullptr;
  return view;
}

bool CodeView::Decode() {
  const size_t n = bytes_.size() / 2;
  instructions_.resize(n);
  next_.resize(n);
  jumps_.assign(n, -1);
  ends_.assign(n, false);
  size_t first = 0;  // of an instruction with its extensions
  int32_t argument = 0;
  for (size_t i = 0; i < n;) {
    const uint8_t op = bytes_[2 * i];
    argument = argument << 8 | bytes_[2 * i + 1];
    size_t next = i + 1;
    if (op == EXTENDED_ARG) {
      i = next;
      continue;
    }
    while (next < n && bytes_[2 * next] == CACHE) ++next;
    for (size_t k = first; k <= i; ++k) {
      instructions_[k] = {op, -1, argument};
      next_[k] = static_cast<int32_t>(next);
      if (const int way = Direction(op)) jumps_[k] = next_[k] + way * argument;
      ends_[k] = EndsFlow(op);
    }
    argument = 0;
    first = i = next;
  }
  return true;
}

// A generator is sent a value when it starts: some versions of the compiler count it from the
// beginning.
bool CodeView::Flow() {
  for (const int depth : {0, 1}) {
    if (FlowFrom(0, depth) && FlowIntoHandlers()) return true;
    if (!(code()->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return false;
    for (Instruction& i : instructions_) i.depth = -1;
    handled_.clear();
  }
  return false;
}

bool CodeView::FlowFrom(size_t start, int start_depth) {
  std::vector<std::pair<size_t, int>> todo = {{start, start_depth}};
  while (!todo.empty()) {
    auto [i, depth] = todo.back();
    todo.pop_back();
    while (true) {
      if (i >= instructions_.size() || depth < 0 || depth > kMaxDepth) return false;
      Instruction& now = instructions_[i];
      if (now.depth >= 0) {
        if (now.depth != depth) return false;
        break;
      }
      now.depth = static_cast<int16_t>(depth);
      const auto next = static_cast<size_t>(next_[i]);
      // Extensions share the instruction's row; the flow goes over them with it.
      for (size_t k = i + 1; k < next && next_[k] == next_[i]; ++k)
        instructions_[k].depth = static_cast<int16_t>(depth);
      const bool has_argument = now.op >= HAVE_ARGUMENT;
      const int argument = has_argument ? now.argument : 0;
      if (const int way = Direction(now.op)) {
        const int effect = PyCompile_OpcodeStackEffectWithJump(now.op, argument, 1);
        if (effect == PY_INVALID_STACK_EFFECT) return false;
        todo.emplace_back(next + static_cast<size_t>(way * now.argument), depth + effect);
      }
      if (EndsFlow(now.op)) break;
      const int effect = PyCompile_OpcodeStackEffectWithJump(now.op, argument, 0);
      if (effect == PY_INVALID_STACK_EFFECT) return false;
      depth += effect;
      i = next;
    }
  }
  return true;
}

// A handler begins with the stack cut down to what its row says, and the exception on it.
bool CodeView::FlowIntoHandlers() {
  for (TableReader table(code()->co_exceptiontable); !table.done();) {
    const int first = table.Next(), units = table.Next();
    const int target = table.Next(), depth_and_lasti = table.Next();
    const int depth = (depth_and_lasti >> 1) + (depth_and_lasti & 1) + 1;
    if (!FlowFrom(static_cast<size_t>(target), depth)) return false;
    const bool is_written = !IsOfInterpreter(instructions_[static_cast<size_t>(target)].op);
    handled_.push_back({first, first + units, target, is_written});
  }
  return true;
}

std::pair<int, int> CodeView::Branches(int offset) const {
  auto i = static_cast<size_t>(offset / 2);
#if PY_VERSION_HEX >= 0x030D0000
  constexpr int kToBool = 16;  // a comparison makes a bool of its result itself
  const Instruction& at = instructions_[i];
  if (at.op == TO_BOOL || (at.op == COMPARE_OP && at.argument & kToBool))
    i = static_cast<size_t>(next_[i]);
#endif
  bool jumps_if = false;
  switch (instructions_[i].op) {
#if PY_VERSION_HEX < 0x030C0000
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_TRUE:
#else
    case POP_JUMP_IF_TRUE:
#endif
      jumps_if = true;
      break;
#if PY_VERSION_HEX < 0x030C0000
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_FALSE:
#else
    case POP_JUMP_IF_FALSE:
#endif
      break;
    default:
      return {-1, -1};
  }
  // Jumps on the way do nothing.
  const auto end_of = [&](int32_t at) {
    constexpr int kFew = 8;
    for (int n = 0; n < kFew; ++n) {
      const int op = instructions_[static_cast<size_t>(at)].op;
      if (op == NOP) {
        at = next_[static_cast<size_t>(at)];
      } else if (op == JUMP_FORWARD || op == JUMP_BACKWARD) {
        at = jumps_[static_cast<size_t>(at)];
      } else {
        break;
      }
    }
    return static_cast<int>(at);
  };
  const int jump = end_of(jumps_[i]), behind = end_of(next_[i]);
  return jumps_if ? std::pair(behind, jump) : std::pair(jump, behind);
}

bool CodeView::HasHandler(int offset) const {
  return std::any_of(handled_.begin(), handled_.end(), [offset](const Range& range) {
    return range.is_written && range.Has(offset);
  });
}

}  // namespace frazil::python
