// Program: calls as data. What a traced call did is one, over its cells; a segment of it is one,
// for the compiler; the body of a composite is one, for whoever runs or expands it. Everything else
// in this folder is what is done with programs: the trie (tracer/node.h) finds the calls that come
// again, a ScriptBuilder writes a program down while the body runs, SameProgram compares two,
// Pieces (tracer/pieces.h) says what becomes one plan, a Script runs it, Interpret
// (tracer/interpret.h) runs it op by op, Print and ParseProgram (tracer/program_text.h) are its
// text.
//
// Values have one notation, ValueId: results are numbered over all calls, 0, 1, ...; ~0, ~1, ...
// are the parameters, and behind them the constants.
//
// Invariants: a call's operands are earlier results, parameters or constants; marks stand in the
// order of the calls; a composite's body returns results of its own and has no marks, writes or
// tape; what a program refers to is immutable once others may see it.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/apply.h"
#include "core/precision.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

using ValueId = int32_t;
// Nothing: what is undefined, or not there. It is negative and yet no parameter or constant.
inline constexpr ValueId kNoValue = std::numeric_limits<ValueId>::min();
using Operands = absl::InlinedVector<ValueId, 4>;

// What must hold of a tensor that is passed. Without a layout: of a cell that was undefined, which
// no call takes.
struct Parameter {
  DType dtype{};
  Device device;
  bool immediate = false;
  bool zero = false;  // of these: one that is 0, and not -0, at every run
  LayoutRef layout;

  static Parameter Of(const Value& v) { return {v.dtype, v.device, v.immediate, false, v.layout}; }
  bool Admits(const Value& v) const {
    return v.layout == layout && v.dtype == dtype && v.immediate == immediate && v.device == device;
  }
  bool operator==(const Parameter&) const = default;
};

struct Result {
  DType dtype{};
  Device device;
  LayoutRef layout;
};

// Tensors that a whole call may read and write, its parameters: an argument, a module's parameter
// or its .grad, the default random generator. The owner keeps the cells alive during the call.
using Cells = absl::Span<Tensor* const>;

struct Program;
struct WhileLoop;  // tracer/while_loop.h

// In the place of a composite's number, that of a loop: one that tests its condition, or a counted one.
inline constexpr uint32_t kLoopRow = ~uint32_t{0};

// What one call was, wherever its operands came from.
struct CallRecord {
  bool composite = false;
  uint32_t op = 0;  // OpId or CompositeId
  absl::InlinedVector<Result, 1> results;
  Attrs attrs;
  std::shared_ptr<const Program> body;  // composite only
  std::string origin;                   // "train.py:12"
  // Of a loop the body is that of an iteration. One that tests its condition:
  std::shared_ptr<const WhileLoop> loop;
  // A counted one (tracer/counted_loop.h): the first parameters of the body are the states, its
  // first outputs what they become.
  int64_t times = 0;
  int32_t states = 0;

  bool IsLoop() const { return composite && op == kLoopRow; }
  OpId primitive() const { return static_cast<OpId>(op); }
};

// What the program learned from data between two calls, or nothing: a place where it was cut for
// its length or because a value was needed.
struct Mark {
  enum class Kind : uint8_t { kCut, kNumber, kIndexCheck };
  Kind kind = Kind::kCut;
  int32_t at = 0;                             // calls before it
  Precision precision = Precision::kDefault;  // of those since the mark before
  ValueId read = kNoValue;                    // kNumber, kIndexCheck
  uint64_t outcome = 0;                       // kNumber: the bits
  IndexRange range{};                         // kIndexCheck: where indices lie,
  std::string check, of;                      // who asks, and of what
  std::string origin;                         // where it was read: "train.py:12"
  // kNumber: what the program was then besides the values of its tensors: equal numbers within one
  // call are equal states; -1 where it is not known. And what those tensors held.
  int32_t state = -1;
  std::vector<ValueId> held;
};

// A node of the tape: one that the call made, or that a parameter had before.
struct Link {
  enum class Kind : uint8_t { kNone, kMade, kCell };
  Kind kind = Kind::kNone;
  int32_t index = 0;

  bool operator==(const Link&) const = default;
};

// A tensor: its value and its node.
struct Content {
  ValueId value = kNoValue;
  Link node;

  bool operator==(const Content&) const = default;
};

// A node that a call left on the tape (tracer/tape_record.h).
struct TapeRecord {
  struct Edge {
    Link node;
    DType dtype{};
    LayoutRef shape;

    bool operator==(const Edge&) const = default;
  };
  // A variable of a function-style gradient within the call, whose scope is closed: it passes
  // gradients on to its one edge, if it has any.
  bool variable = false;
  OpId op = {};
  Attrs attrs;
  absl::InlinedVector<Edge, 3> edges;
  std::array<Content, 3> saved;
  ValueId saved_output = kNoValue;
  bool spent = false;
};

struct Program {
  struct Call {
    std::shared_ptr<const CallRecord> record;  // equal calls may share it
    Operands operands;

    const CallRecord* operator->() const { return record.get(); }
  };
  // A cell whose content the call replaced, and by what.
  struct Write {
    int32_t cell;  // a parameter
    Content content;

    bool operator==(const Write&) const = default;
  };

  std::vector<Parameter> parameters;
  std::vector<ValueRef> constants;
  std::vector<Call> calls;
  // Of a whole call; if there are calls, the last one stands behind them all.
  std::vector<Mark> marks;
  std::vector<Content> outputs;
  std::vector<Write> writes;
  std::vector<TapeRecord> tape;  // what results and cells hang off

  bool IsConstant(ValueId id) const {
    return id < 0 && id != kNoValue && ~id >= static_cast<ValueId>(parameters.size());
  }
  const ValueRef& constant(ValueId id) const { return constants[~id - parameters.size()]; }
  ValueId IdOfConstant(size_t i) const { return ~static_cast<ValueId>(parameters.size() + i); }
};

// Calls f with every ValueId by which the end of a program names a value.
template <typename P, typename F>
void ForValuesOfEnd(P& program, const F& f) {
  for (auto& o : program.outputs) f(o.value);
  for (auto& w : program.writes) f(w.content.value);
  for (auto& node : program.tape) {
    for (auto& o : node.saved) f(o.value);
    f(node.saved_output);
  }
}

// About what it takes in memory, for bounds by bytes: of one call, and of all there is.
int64_t BytesOf(const CallRecord& call);
int64_t BytesOf(const Program& program);

// Runs of a program's calls as programs of their own.
class Parts {
 public:
  // `whole` has to outlive this.
  explicit Parts(const Program& whole);

  struct Part {
    Program program;            // its parameters are what its calls take from elsewhere, in order,
    std::vector<ValueId> from;  // which are these values of the whole
    std::vector<ValueId> results;  // the numbers of its results in the whole
  };
  // `calls`: ascending. `one_number`: constants of a few elements that are equal become one
  // parameter, and it is told of zeros that they are.
  Part Take(absl::Span<const int32_t> calls, bool one_number = false) const;

  // Results of the calls before call i, which may be the end.
  ValueId FirstResult(size_t i) const { return first_result_[i]; }
  // Of constants of a few elements that are equal the first, else the value itself.
  ValueId FirstEqual(ValueId id) const {
    return whole_.IsConstant(id) ? first_equal_[static_cast<size_t>(~id) - whole_.parameters.size()]
                                 : id;
  }
  // The call that makes a result.
  int32_t MakerOf(ValueId result) const { return maker_[result]; }
  Parameter TypeOf(ValueId id) const;

 private:
  const Program& whole_;
  std::vector<ValueId> first_result_;
  std::vector<int32_t> maker_;
  std::vector<ValueId> first_equal_;  // of each constant: the first that is the same
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
