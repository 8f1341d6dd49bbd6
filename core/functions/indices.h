// Arrays used as indices: checked, counted from the front, and joined to positions over several
// axes. Called by take, put, getitem and setitem. Invariants: what is checked is what is used, even
// if another thread replaces the content of a cell; a negative index counts from the end; no byte
// of an array is looked at besides the check and the number of a mask's true elements.
//
// An index array (core/functions/indices.h) is checked as it was given, in one pass, before
// anything runs; counting negative indices from the end, and joining arrays of several axes to
// positions, is a composite of ops that fuses with the gather behind it and is left out by eager
// calls whose one array needs none. A mask is counted (one number, which a trace reads), then its
// positions are an op whose attribute is that number. put counts in any number of adjacent axes at
// once, so x[i, j] = v writes where x lies, without a view of it that would hold its memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/functions/composites.h"

namespace frazil::ops {

// An index array and the axes that it indexes, `extent` elements in all; a bool mask is an array of
// the positions where it is true. Others are checked and normalised by Positions.
struct ArrayIndex {
  Tensor array;
  int axis = 0;         // the first
  int axes = 1;         // how many; of a mask perhaps several
  bool normal = false;  // in range and not negative
};

// Positions in the axes of `arrays` taken as one, in their order, for each place of the arrays'
// broadcast shape. The axes are those of a part of x with the extents `dims`. TypeError and
// IndexError by the name of `op`.
Tensor Positions(std::string_view op, const Tensor& x, Dims dims,
                 absl::Span<const ArrayIndex> arrays);

// What the composite in it (positions_of) computes. attrs: of each array its extent, and whether it is
// normal.
Tensor JoinedPositions(absl::Span<const Tensor> arrays, AttrSpan attrs);

// i32 and i64 as they are, other integers as i64; without a gradient.
Tensor Integers(std::string_view op, const Tensor& indices);

// take and put at such positions.
Tensor TakeAt(const Tensor& x, const Tensor& positions, int64_t axis);
Tensor PutAt(const Tensor& x, const Tensor& positions, const Tensor& updates, int64_t axis,
             int64_t axes = 1, bool add = false);

// Where a bool array is true, in row-major order: as one number each, or split, [rank, count], one
// for each axis. Reads how many there are.
Tensor TruePositions(const Tensor& mask, bool split);

// Ops of this thread do not write over the content that is replaced (jit/eager/eager.h).
class KeepsContent {
 public:
  KeepsContent() : spent_(std::exchange(State().spent, nullptr)) {}
  ~KeepsContent() { State().spent = spent_; }
  KeepsContent(const KeepsContent&) = delete;
  KeepsContent& operator=(const KeepsContent&) = delete;

 private:
  const Value* const spent_;
};

}  // namespace frazil::ops
