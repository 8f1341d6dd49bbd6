// Ops that are calls of kernels/ instead of generated kernels: matmul, put, sort and others. Made
// by the planner, run by plans. Invariant: immutable; the result depends on operands and shapes
// alone, never on layouts or threads.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/precision.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // operands: the first element of each operand of the node, in its own layout; result: dense.
  virtual Status Run(absl::Span<char* const> operands, char* result) const = 0;
  // Rows of the result that RunByRows tells of, as blocks of adjacent bytes; 0 if it cannot.
  virtual int64_t rows() const { return 0; }
  virtual Status RunByRows(absl::Span<char* const> operands, char* result,
                           absl::FunctionRef<void(int64_t begin, int64_t end)> done) const;
  // True if the result may lie in operand 0's memory when that is dense and nothing else needs it.
  virtual bool in_place() const { return false; }
  // True if a run only queues launches on its GPU's stream, which read and write the operands, the
  // result and memory that lives as long as the process: it may then be part of a graph.
  virtual bool capturable() const { return false; }
  // About how long it takes, as Launch::work.
  virtual int64_t work() const = 0;
  virtual std::string text() const = 0;  // for dumps
  // About what it holds.
  virtual int64_t bytes() const { return 512; }
  // Why the CPU runs it for a value of another device; empty if it does not.
  virtual std::string refusal() const { return {}; }
};

// For node `id` of a Group::Kind::kLibrary.
StatusOr<std::unique_ptr<const LibraryCall>> MakeLibraryCall(const Graph& graph, int32_t id,
                                                             Precision precision);

}  // namespace frazil::jit
