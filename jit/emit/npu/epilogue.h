// What follows a matrix product, slice by slice from its accumulators. Called by the emitter of
// products beside its own work. Invariant: a slice leaves its accumulator before that is written
// again, and slices are worked on in the order in which they were pushed.
#pragma once

#include <deque>

#include "jit/emit/npu/tile_program.h"

namespace frazil::npu {

// Columns of a slice, and how many slices are kept in vector memory.
struct Slicing {
  int64_t cols;
  int kept;
};
// The most overlap first.
inline constexpr Slicing kSlicings[] = {{64, 8}, {64, 4}, {32, 8}, {64, 3},
                                        {32, 4}, {64, 2}, {32, 2}, {16, 2}};

class EpilogueQueue {
 public:
  // `product`: the kernel's buffer that the accumulators hold, as elements of `type`. Its other
  // buffers and its scalars become parameters.
  EpilogueQueue(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info, int product,
                Type type, const Slicing& slicing, Stream* stream);

  // For accumulators of so many rows; false if there is no room.
  bool MakeSlots(int64_t rows) { return program_.MakeSlots(rows, slicing_.cols); }
  // One slice is worked on every so many products.
  void SetPace(int64_t products) { pace_ = products; }

  // An accumulator is complete: rows x cols of the result from (row, col) on.
  void Push(const Arg& accumulator, int64_t row, int64_t col, int64_t rows, int64_t cols);
  // It is about to be written.
  void Release(const Arg& accumulator);
  // Spread over the products that follow, slices keep the vector unit busy and the way to the
  // matrix unit free.
  void AfterProduct() {
    if (!slices_.empty() && ++since_slice_ >= pace_) FinishSlice();
  }
  void Finish() {
    while (!slices_.empty()) FinishSlice();
  }
  bool overflowed() const { return program_.overflowed(); }

 private:
  struct Slice {
    Arg from;  // its first fractal
    uint64_t accumulator;
    Tile tile;
  };
  void Fetch();
  void FinishSlice();

  Stream& stream_;
  const Type type_;
  const Slicing slicing_;
  TileProgram program_;
  std::deque<Slice> slices_;          // in order; finished ones are gone
  int64_t fetched_ = 0, loaded_ = 0;  // of slices_, how many from the front
  int64_t pace_ = 1, since_slice_ = 0;
};

// How accumulators become elements of the type.
inline uint8_t DrainFn(Type type) { return IsFloat(type) ? 0 : uint8_t(kDrainI32); }

}  // namespace frazil::npu
