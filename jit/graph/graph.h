// Graph: a linear SSA list of op calls over concrete layouts; what passes rewrite and plans are
// made of. Built by the eager door (one op), by the tracer (a segment) and by the .gir parser.
// Invariant: a value id is a node index; operands precede uses; inputs are the first nodes; every
// node has one result whose dtype and layout are what core Infer says (kernel results are dense;
// views derive theirs).
//
// Loops. The roll pass turns a body that a graph repeats into a graph of its own, `Loop::body`. In
// its place stands one node (kLoop), whose operands are what the body's inputs take
// (`Loop::Source`), and behind it its results: what an output of the body, the number in the
// result's attributes, is in the last iteration (kEnd), or in all of them, one after another
// (kEvery). A loop is part of a kernel where its state can stay in registers, and otherwise steps
// of a plan; nothing here says which (jit/graph/loop_kernel.h). Only a loop over small arrays that
// is written out as scalars says so (jit/graph/scalar_loop.h). A loop with a condition tests it
// itself and ends behind the first iteration that does not want another (jit/graph/while_loop.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/infer.h"

namespace frazil::jit {

enum class Role : uint8_t { kOp, kLoop, kEnd, kEvery };

struct Loop;
struct LoopRef : std::shared_ptr<const Loop> {
  using shared_ptr::shared_ptr;
};
bool operator==(const LoopRef& a, const LoopRef& b);  // by content

struct Node {
  bool input = false;
  bool immediate = false;  // input: a 0-d scalar that becomes a kernel argument
  bool zero = false;       // of these: one that is 0, and not -0, at every run
  OpId op = OpId::k_copy;  // if not an input
  Attrs attrs;
  absl::InlinedVector<int32_t, 3> operands;
  DType dtype = DType::kF32;
  Device device;
  LayoutRef layout;
  int64_t offset = 0;   // views: elements, of the view's dtype, from operand 0's first element
  bool view = false;    // shares operand 0's memory
  int32_t origin = -1;  // index into Graph::origins, or -1
  Role role = Role::kOp;
  LoopRef loop;  // of a kLoop, else null

  bool operator==(const Node&) const = default;
};

struct Graph {
  std::vector<Node> nodes;
  int num_inputs = 0;
  std::vector<int32_t> outputs;      // node ids, in order; may repeat, may be inputs or views
  std::vector<std::string> origins;  // "train.py:12", for dumps and explanations

  int32_t AddInput(DType dtype, Device device, const Layout* layout,
                   bool immediate);  // before any op
  // Infers; the op's errors are the user's errors. A reshape that no strides describe becomes a
  // copy and a view.
  StatusOr<int32_t> AddOp(OpId op, absl::Span<const int32_t> operands, AttrSpan attrs,
                          int32_t origin = -1);
};

struct Loop {
  // Where an input of the body comes from.
  struct Source {
    enum class Kind : uint8_t {
      kSame,   // the operand, in all iterations
      kEach,   // as many operands as iterations
      kSlide,  // a window into the operand, that moves with the iterations
      kState   // the operand in the first, then output `next` of the iteration before
    };
    Kind kind = Kind::kSame;
    int32_t operand = 0;  // the first one's place among those of the kLoop node
    int64_t start = 0;    // kSlide: elements from the operand's first, in the first iteration
    int64_t step = 0;     // kSlide: to the next iteration's
    int32_t next = -1;    // kState

    bool operator==(const Source&) const = default;
  };

  int64_t times = 0;                 // of iterations; with a condition at most
  std::vector<Source> sources = {};  // as inputs of the body
  Graph body = {};
  bool scalars = false;
  // An output, a bool: whether there is another iteration. -1: there is. Such a loop's sources are
  // kSame and kState, its results those of the last iteration that was.
  int32_t condition = -1;
};

// What core Infer says of an op over nodes of `graph`.
StatusOr<Inferred> InferNode(const Graph& graph, OpId op, absl::Span<const int32_t> operands,
                             AttrSpan attrs);

// Of the op, or of the role.
std::string_view NameOf(const Node& node);

inline int64_t BytesOf(const Node& node) { return node.layout->size * SizeOf(node.dtype); }

bool HasLoops(const Graph& graph);
inline bool IsResult(const Node& node) { return node.role > Role::kLoop; }  // of a loop
// Behind the results of the loop at node `id`.
int32_t EndOfLoop(const Graph& graph, int32_t id);

// The value whose memory node `id` lives in (itself, or what it is a view of), and where in it:
// bytes from that value's first element.
int32_t BaseOf(const Graph& graph, int32_t id);
int64_t OffsetInBase(const Graph& graph, int32_t id);
// The same in elements of the node's dtype.
int64_t ElementsInBase(const Graph& graph, int32_t id);

// Takes out the origins that no node has.
void DropOrigins(Graph* graph);

// Ids in range, inference agrees, inputs first, view chains well formed. After every pass in debug
// builds.
Status Verify(const Graph& graph);

// Text form. Parse(Print(g)) == g.
//   graph (f32[64,10], f32[10], scalar f32) {
//     %3 = add %0, %1 : f32[64,10]
//     %4 = multiply %3, %2 : f32[64,10]
//     %5 = sum %4 {2, 0} : f32[64]
//     %6 = permute_dims %0 {1, 0} : view f32[10,64] strides [1,10] offset 0
//     return %5, %4
//   }
//   graph (f32[8,4], f32[4,4], f32[1,4]) {
//     %3 = loop %0, %1, %2 : bool[0] times 8 (slide 0 by 4, same, state 0) graph (
//          f32[1,4], f32[4,4], f32[1,4]) {
//       %3 = matmul %2, %1 : f32[1,4]
//       %4 = add %3, %0 : f32[1,4]
//       return %4
//     }
//     %4 = every %3 {0} : f32[8,1,4]
//     return %4
//   }
// `while 1 times n` is a loop whose condition is output 1.
// `zero scalar f32` is one that is known. A comment after an op is its origin. A non-dense input prints as f32[64,10] strides [1,64];
// devices other than cpu as @npu after the type. The parser takes any value names; %0, %1, ... are
// the inputs.
std::string Print(const Graph& graph);
StatusOr<Graph> Parse(std::string_view text);

// Identity of a graph for caches: everything but origins. Equal keys mean equal graphs.
std::string ContentKey(const Graph& graph);

}  // namespace frazil::jit
