// Runs graphs in tests without the planner: every value in memory of its own, groups lowered and
// executed in order. Used by lower_test. Invariant: bytes around every result are checked after
// each launch.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "jit/emit/emitter.h"
#include "jit/graph/groups.h"
#include "jit/lower/lower.h"

namespace frazil::jit {

// Dense elements of any dtype.
struct Elements {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<uint64_t> bits;  // one word each
  bool operator==(const Elements&) const = default;
};

// Equal, counting any NaN as any NaN.
bool Same(const Elements& a, const Elements& b, std::string* where);

// Memory for an input of any layout, filled from dense elements.
struct Memory {
  std::vector<char> bytes;
  int64_t first = 0;  // byte of element 0
  char* data() { return bytes.data() + first; }
};
Memory Scatter(const Elements& x, const Layout* layout);
Elements Gather(DType dtype, const Layout* layout, const char* data);

struct RunCounts {
  int kernels = 0;
  std::vector<std::string> texts, keys;
};

// The graph's outputs. `inputs`: dense elements of each input, laid out as the graph says.
StatusOr<std::vector<Elements>> RunGraph(const Graph& graph, const std::vector<Elements>& inputs,
                                         bool fuse, Emitter* emitter, RunCounts* counts = nullptr);

}  // namespace frazil::jit
