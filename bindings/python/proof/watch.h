// Watch: follows the body of a call that is to be learnt, instruction by instruction, while CPython
// runs it: what it reads besides its arguments goes into the World, and the first thing that might
// make a call differ from another one with the same arguments and the same World ends the proof.
//
// Nothing is executed here. The interpreter runs the body as ever, with its frames, exceptions and
// tracebacks, and tells before each instruction (sys.monitoring from Python 3.12 on, a C trace
// function before); we look at the stack of values. All Python code that the call runs is seen, of
// whatever function, __getattr__, generator or callback. So only what C code does has to be known:
// by induction every object in sight is an argument, in the World, or made in the call by what is
// known to depend on such objects alone (proof/callables.h).
//
// Made by promised.cc for a call from which a script may be learnt. Invariants: while it lives, one
// at a time in the process, no debugger, profiler or coverage tool is on, and none is disturbed;
// the body does not notice, nor who looks at what it left; it started and there is no doubt only if every instruction was understood.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/python/proof/code_view.h"
#include "bindings/python/proof/frame.h"
#include "bindings/python/proof/numbers.h"
#include "bindings/python/proof/telling_apart.h"
#include "bindings/python/proof/world.h"
#include "bindings/python/result.h"

namespace frazil::python {

class Prover;  // proof/prover.h

class Watch {
 public:
  // `nest`: what the call compares already. `asked` (may be null) is told of tensors that are told
  // apart.
  Watch(Prover* prover, const Nest& nest, Asked* asked = nullptr);
  ~Watch() {
    End();
    Unplant();
  }
  Watch(const Watch&) = delete;

  // Around the body, the call of `function`. Nothing is watched where somebody else traces, or
  // where this Python's frames are not known.
  void Begin(PyObject* function, PyObject* const* arguments, size_t count);
  void End();

  // Puts objects of their own in the place of the nest's moving numbers, so that it can be seen
  // where they go; `arguments` are those of the call.
  bool Plant(std::vector<PyObject*>* arguments);
  // An object is one of the numbers that are followed: it as an operand beside a tensor of this
  // dtype. Null: as a constant.
  const Tensor* Operand(PyObject* number, DType dtype);
  // The same as an index of an axis, in range and not negative: null if its value was asked for, or
  // if it is none of them.
  const Tensor* Position(PyObject* number, int64_t extent);
  // The same as an element of an array of this dtype. Null if its value was asked for.
  const Tensor* Element(PyObject* number, DType dtype);
  // The values of numbers in it are asked for.
  void Asks(PyObject* object);
  const Result::NumberMap& tracked() const { return tracked_; }

  bool started() const { return started_; }
  // It was asked whether two tensors are one object, or may have been (telling_apart.h): whatever
  // tensors. Only where somebody is told.
  bool tells_tensors_apart() const { return tells_tensors_apart_; }
  // Why not: the first thing, with its line.
  const std::string& doubt() const { return doubt_; }

#if FRAZIL_KNOWS_FRAMES
  // Before the instruction at `offset` of the innermost frame.
  void OnInstruction(Frame* frame, int offset);
#endif

 private:
  const Tensor* OperandOf(int node, DType dtype);
#if FRAZIL_KNOWS_FRAMES
  struct Now;
  struct Called {
    PyObject* callable;
    PyObject* const* arguments;
    int count;
    bool keywords;
  };
  static Called CalledBy(const Now& now, int argument, bool keywords);
  bool Enter(Frame* frame);
  void Look(Frame* frame, int offset);
  static bool TellsApart(const Now& now, const Tensors* among);
  void NoteAsked(const Now& now);
  void NoteAsked(PyObject* callable, PyObject* const* arguments, int count);
  bool Judge(const Now& now);
  bool JudgeAttribute(const Now& now, PyObject* owner, PyObject* name);
  bool JudgeCall(const Now& now, int argument, bool keywords);
  bool JudgeStore(PyObject* owner, PyObject* name);
  bool JudgeMatch(const Now& now);
  bool JudgeText(const Now& now);
  bool JudgeCallOfLists(const Now& now);
  bool JudgeOrder(PyObject* gone_through);
  bool JudgeImport(const Now& now);
  // Where numbers go (watch_numbers.cc).
  bool FollowNumbers(const Now& now);
  bool FollowCall(const Now& now, const Called& call);
  bool IsAskedByC(Frame* frame);
  bool FollowSum(const Now& now, const Called& call);
  void FinishPending(const Now& now);
  void Track(PyObject* number, int node);
  void ShowOriginals(Frame* frame, int offset);
  bool IsTracked(PyObject* o) const { return tracked_.contains(o); }
  int NodeOf(PyObject* number);
  void Pin(PyObject* object, int depth = 0);
  void PinAll();
  // Lists that are only appended to.
  void CheckUnread(const Now& now);
  bool Follows() const;
  bool TakesOperand(PyObject* a, PyObject* b, int how);
  void Expect(Frame* frame, int node, std::vector<PyObject*> operands);
  const CodeView* ViewOf(PyCodeObject* code);
#endif
  bool Doubt(std::string why);  // false
  // Functions in gc.callbacks (JAX has one) are no part of the body: where there are any, garbage is
  // collected after the watch, or from its first doubt on.
  void PauseCollector();
  void ResumeCollector();
  PyObject* OriginalOf(PyObject* number);
  void Unplant();
  std::string Where() const;

  Prover* const prover_;
  World* const world_;
  Numbers* const numbers_;
  const Nest& nest_;
  Result::NumberMap tracked_;
  std::vector<Object> kept_;  // what is tracked, so that no address is used again
  absl::flat_hash_map<PyObject*, Object> originals_;  // of what is tracked, where it is asked for
  std::vector<Object> planted_in_;                    // the containers of the nest
  const absl::flat_hash_set<PyObject*> compared_;     // containers and functions of the nest
  bool started_ = false, running_ = false, collector_paused_ = false;
  bool tells_tensors_apart_ = false;
  Asked* const asked_;
  Tensors inputs_;  // of the arguments
  std::string doubt_;
  PyCodeObject* code_ = nullptr;  // of the instruction at hand
  int offset_ = 0;
#if FRAZIL_KNOWS_FRAMES
  absl::flat_hash_map<PyCodeObject*, std::unique_ptr<CodeView>> views_;
  Frame* first_ = nullptr;          // that of the body
  Frame* frame_ = nullptr;          // the latest
  const CodeView* view_ = nullptr;  // its code
  PyObject* function_ = nullptr;    // that it runs
  Frame* making_ = nullptr;         // a frame whose latest instruction makes a function
  // Functions made in the call, by weak references: what they close over lives as long as without us.
  absl::flat_hash_map<PyObject*, Object> made_;
  bool IsMade(PyObject* function) const;
  // Generators whose latest instruction is a yield inside of try or with.
  absl::flat_hash_set<Frame*> open_;
  // A number that the next instruction of the frame finds on the stack.
  struct Pending {
    Frame* frame = nullptr;
    int node = -1;
    std::vector<Object> operands;
  };
  Pending pending_;
#endif
  // A number that a built-in function computes from those that are followed and adds to a tensor.
  struct Hidden {
    Object value;
    int node = -1;
  };
  Hidden hidden_;
};

// The watch that follows numbers now, or null.
inline Watch* g_following = nullptr;

}  // namespace frazil::python
