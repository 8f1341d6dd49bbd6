// BodyState: what the Python code of a call is at a read of a bool, but for what its tensors hold: where
// each frame stands, its names that may be read again and the values on its stack, and what the call's containers and global
// names hold by now. From equal states the code goes on alike, so that a loop over tensors can be
// told from one that counts (tracer/while_loop.h). Made by promised.cc around the body of a call
// that is learnt from. Invariants: looking runs no code of the user's and changes nothing; what
// cannot be compared by the rule of nest.h, or lies in C code that calls Python (map, sorted,
// __getattr__; not what a call hands on), has no state. What a body by promise counts in global objects is not seen: a loop
// whose course that decides does not depend on its arguments only.
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "bindings/python/nest.h"
#include "bindings/python/proof/code_view.h"
#include "bindings/python/proof/frame.h"
#include "bindings/python/proof/lives.h"
#include "tracer/script_builder.h"

namespace frazil::python {

class BodyState final : public tracer::StateObserver {
 public:
  // `nest`: of the call. Frames that begin from now on are the body's.
  explicit BodyState(const Nest& nest);
  bool Look(State* state) override;

 private:
#if FRAZIL_KNOWS_FRAMES
  bool AddFrame(const Frame* frame, bool through_c, bool innermost, Nest* now);
  bool Calls(const Frame* frame, PyObject* function);
  bool AddValue(PyObject* value, Nest* now);

  const Frame* const outside_;
  struct Code {
    std::unique_ptr<CodeView> view;
    std::unique_ptr<Lives> lives;
    bool writes_names = false;  // of the module
  };
  Code* CodeOf(PyCodeObject* code);
  static int OffsetIn(const CodeView& view, const Frame* frame);
  absl::flat_hash_map<PyCodeObject*, Code> codes_;
  const std::vector<PyObject*> containers_;
  const std::vector<Nest::Place> places_;
  // What states know by its address, such as strings, which lives as long as they are compared: an
  // address that is used again would be taken for the same content.
  absl::flat_hash_map<PyObject*, Object> known_by_address_;
#endif
};

}  // namespace frazil::python
