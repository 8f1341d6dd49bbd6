#include "bindings/python/proof/lives.h"

#include <opcode.h>

#include <algorithm>

namespace frazil::python {

Lives::Lives(const CodeView& code)
    : words_((static_cast<size_t>(code.code()->co_nlocalsplus) + 63) / 64) {
  all_ = ReadsNames(code.code());
  if (all_) return;
  live_.assign(static_cast<size_t>(code.units()) * words_, 0);
  for (bool changes = true; changes && words_ > 0;) {
    changes = false;
    for (int unit = code.units(); unit-- > 0;) {
      if (code.At(2 * unit).depth >= 0) changes |= Take(code, 2 * unit);
    }
  }
}

// Names of functions that show a frame's names.
bool Lives::ReadsNames(PyCodeObject* code) const {
  static constexpr const char* kReaders[] = {
      "locals", "vars", "dir", "eval", "exec", "_getframe", "f_locals", "currentframe", "stack"};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_names, i);
    if (std::any_of(std::begin(kReaders), std::end(kReaders), [&](const char* reader) {
          return PyUnicode_CompareWithASCIIString(name, reader) == 0;
        }))
      return true;
  }
  return false;
}

// What is live before an instruction, from what is behind it. True if that changes.
bool Lives::Take(const CodeView& code, int offset) {
  std::vector<uint64_t> now(words_, 0);
  const auto add_those_at = [&](int next) {
    for (size_t w = 0; w < words_ && next / 2 < code.units(); ++w)
      now[w] |= live_[static_cast<size_t>(next / 2) * words_ + w];
  };
  code.ForFollowing(offset, add_those_at);
  const auto reads = [&](int local) { now[local / 64] |= uint64_t{1} << local % 64; };
  const auto writes = [&](int local) { now[local / 64] &= ~(uint64_t{1} << local % 64); };
  const CodeView::Instruction& i = code.At(offset);
  switch (i.op) {
    case LOAD_FAST:
    case DELETE_FAST:
#if PY_VERSION_HEX >= 0x030C0000
    case LOAD_FAST_CHECK:
    case LOAD_FAST_AND_CLEAR:
#endif
      reads(i.argument);
      break;
    case STORE_FAST:
      writes(i.argument);
      break;
#if PY_VERSION_HEX >= 0x030D0000
    case LOAD_FAST_LOAD_FAST:
      reads(i.argument >> 4);
      reads(i.argument & 15);
      break;
    case STORE_FAST_LOAD_FAST:
      reads(i.argument & 15);
      writes(i.argument >> 4);
      break;
    case STORE_FAST_STORE_FAST:
      writes(i.argument >> 4);
      writes(i.argument & 15);
      break;
#endif
    default:
      break;
  }
  code.ForHandlers(offset, add_those_at);  // what raises has written nothing
  uint64_t* const row = &live_[static_cast<size_t>(offset / 2) * words_];
  if (std::equal(now.begin(), now.end(), row)) return false;
  std::copy(now.begin(), now.end(), row);
  return true;
}

}  // namespace frazil::python
