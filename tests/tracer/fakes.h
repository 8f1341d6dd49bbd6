// What the tracer calls, without kernels: an eager door and a compiler of segments that run a
// handful of ops element by element, and write down what they were asked for. Used by the tests of
// the tracer. Invariant: a plan computes what its calls one by one do.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "tracer/recording.h"

namespace frazil::tracer {

// Runs add, subtract, multiply, negative, greater and matmul (as a product of elements, which is
// enough for whoever only looks at which call it is) of i32, f32 and bool.
class FakeDoor final : public Door {
 public:
  Tensor Call(const OpCall& call) override;
  int calls = 0;
};

class FakeCompiler final : public SegmentCompiler {
 public:
  // What it was asked for.
  struct Request {
    size_t calls;
    LiveMask live;
    Overwritable overwritable;
    const SegmentPlan* like;
  };
  StatusOr<std::shared_ptr<const SegmentPlan>> Compile(const Program& program, const LiveMask& live,
                                                       Precision precision,
                                                       const Overwritable& overwritable,
                                                       const SegmentPlan* like) override;
  std::vector<Request> requests;
  int runs = 0;          // of plans
  bool refuses = false;  // the next requests
  int64_t bytes = 1000;  // that a plan says it holds
};

// Both in place of jit's while it lives.
class Fakes {
 public:
  Fakes();
  ~Fakes();
  Fakes(const Fakes&) = delete;

  FakeDoor door;
  FakeCompiler compiler;

 private:
  Door* door_before_;
  SegmentCompiler* compiler_before_;
};

Tensor Ints(std::initializer_list<int32_t> elements);  // one axis
Tensor Int(int32_t element);                           // no axis, in memory
Tensor Floats(std::initializer_list<float> elements);
std::vector<int32_t> ElementsOf(const Tensor& t);  // i32; makes it ready

const Layout* Pair();  // of i32[2]
// A call over i32[2] in the trie: what is called, and with what. fresh: how many of the operands
// are slots first met here.
CallRecord MadeCall(OpId op, Attrs attrs = {});
NodeOperands Taking(Operands operands, int fresh = 0);

}  // namespace frazil::tracer
