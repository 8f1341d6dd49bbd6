// Random kernels with random arguments, and the comparison of two emitters on them. Used by the
// tests of every emitter. Invariant: a case is a pure function of its seed; a generated kernel
// verifies, reads and writes inside its buffers, and never shows the payload of a NaN, so that all
// executors must agree bit for bit (any NaN equal).
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "jit/emit/emitter.h"
#include "jit/kir/kir.h"

namespace frazil::jit {

struct GenOptions {
  int max_values = 24;  // instructions per region, about
  bool loops = true;
  bool predicates = true;
  bool offsets = true;
  bool small_types = true;   // i8 i16 u8 u16 f16 bf16
  bool calls = false;        // call exp, log, ...
  bool index = true;         // loads of indices, which are i64
  bool down = false;         // sums in 64 lanes, columns in vectors
  bool repeats = false;      // repeats, in kernels without a loop axis
  bool moves = false;        // and buffers that move with their iterations, points one by one
  std::vector<DType> types;  // only these, if any are given
};

using Rng = std::mt19937_64;

// A buffer with guard bytes around what the kernel may touch; all of it is compared after a run.
struct TestBuffer {
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> lines;
  int64_t base = 0;  // byte offset of the element at index 0 along every axis

  uint8_t* data() { return lines.front().bytes; }
  int64_t size() const { return int64_t(lines.size()) * 64; }
};

// A kernel with everything it takes to call it.
struct Case {
  kir::Kernel kernel;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  std::vector<uint64_t> scalars;
  std::vector<TestBuffer> buffers;

  int64_t rows() const;
  int64_t cols() const { return extents[kernel.rank - 1]; }
};

// Extents for `kernel` that keep a run short, with the awkward ones (0, 1, just around a vector)
// frequent.
std::vector<int64_t> RandomExtents(const kir::Kernel& kernel, Rng& rng);
// Buffers, strides within their classes, and scalars; one named n of type i64 counts repeats, and
// is small. Element offsets of loads and stores must lie in [0, 8).
Case MakeCase(kir::Kernel kernel, std::vector<int64_t> extents, Rng& rng);
kir::Kernel RandomKernel(Rng& rng, const GenOptions& options = {});

// Runs over the whole space, in one call or (if split) in up to four. Returns the buffers
// afterwards.
std::vector<TestBuffer> Execute(const Case& c, const Compiled& compiled, Rng* split);

// The first difference between two results as text, empty if there is none.
std::string Difference(const Case& c, std::vector<TestBuffer>& expected,
                       std::vector<TestBuffer>& actual);

struct Comparison {
  bool refused = false;    // `actual` answered NotImplementedError
  std::string difference;  // empty: equal, or refused; otherwise what differs, seed and kernel text
};

// Emits and runs one random case on both. The expected one runs in one call, the actual one in
// split ranges too.
Comparison CompareEmitters(Emitter& expected, Emitter& actual, uint64_t seed,
                           const GenOptions& options = {});
// The same on a given case.
Comparison CompareOn(const Case& c, Emitter& expected, Emitter& actual, uint64_t seed);

}  // namespace frazil::jit
