// Vector instructions on the values of a tile, whatever their shape: full, one row, one column or
// one number. Called by the emitter of kernels. Invariant: operands are left as they are; results
// are the bits of the kernel IR's instruction.
//
// A value that moves along columns is stored packed: rows x cols if it also moves along rows, else
// 1 x cols. One that does not is a packed vector of `rows` elements (all equal if it does not move
// along rows either), or a number in a register.
#pragma once

#include "jit/emit/npu/scratch_pool.h"
#include "jit/emit/npu/stream.h"

namespace frazil::npu {

struct Shape {
  bool rows = false, cols = false;
  bool operator==(const Shape&) const = default;
};
inline Shape Union(Shape a, Shape b) { return {a.rows || b.rows, a.cols || b.cols}; }

struct Val {
  Type type = kF32;
  Shape shape;
  bool uniform = false;  // `number` holds it; no memory
  Arg number;
  uint64_t address = 0;
  BufferId buffer = kUntracked;

  Arg at(int64_t bytes = 0) const { return Arg::Local(address + uint64_t(bytes), buffer); }
};

class Vectors {
 public:
  Vectors(Stream* stream, ScratchPool* pool) : s_(*stream), pool_(*pool) {}

  void SetTile(int64_t rows, int64_t cols) {
    rows_ = rows;
    cols_ = cols;
  }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t Elements(Shape shape) const {
    return shape.cols ? (shape.rows ? rows_ * cols_ : cols_) : rows_;
  }
  int64_t Bytes(Type type, Shape shape) const { return Elements(shape) * SizeOf(type); }

  // A temporary. Where there is no room, overflowed() is true from then on and what is emitted must
  // not be used: smaller tiles may fit.
  Val New(Type type, Shape shape);
  bool overflowed() const { return overflowed_; }
  void Free(const Val& v) { pool_.Give(v.address); }

  // dst = x fn y; dst has the union of the shapes.
  void Binary(Bin fn, Val x, Val y, const Val& dst);
  void Unary(Un fn, const Val& x, const Val& dst);
  void Convert(const Val& x, int mode, const Val& dst);
  void Compare(Cmp cc, Val x, Val y, const Val& dst);
  void Select(const Val& mask, const Val& x, const Val& y, const Val& dst);
  void Fma(const Val& x, const Val& y, const Val& z, const Val& dst);
  void Truncate(const Val& x, const Val& dst);
  // x in the shape of dst.
  void Expand(const Val& x, const Val& dst);
  void Fill(const Arg& number, const Val& dst);
  // dst (a column) = the reduction of each row of x, which is full.
  void ReduceRows(Red fn, const Val& x, RedMode mode, const Val& dst);
  // 8 rows of accumulators of a 4-byte type; 64 lanes for each row.
  Val NewAccumulators(Type type) { return Take(type, {}, 8 * AccumulatorPitch(type)); }
  Val NewLanes(Type type) { return Take(type, {}, rows_ * kRedLanes * SizeOf(type)); }
  // They take up the rows of x (full), row i in accumulator i mod 8; Finish combines them into dst
  // (a row). Tiles but the last of an axis have a multiple of 8 rows.
  void AccumulateRows(Bin fn, const Val& x, bool first, uint64_t identity, const Val& accumulators);
  void FinishRows(Bin fn, const Val& accumulators, const Val& dst);

 private:
  // Runs f on x in `shape`, as a temporary if it has another.
  template <typename F>
  void In(Shape shape, const Val& x, F f);
  int64_t AccumulatorPitch(Type type) const;
  int64_t Pitch(const Val& v) const { return cols_ * SizeOf(v.type); }
  // Row stride of an operand of a rows x cols instruction: 0 repeats the row.
  int64_t Ld(const Val& v) const { return v.shape.rows ? Pitch(v) : 0; }
  // Rows and columns of an instruction over all of `shape`, as flat as it goes.
  struct Grid {
    int64_t rows, cols;
    bool flat;
  };
  Grid GridOf(Shape result, std::initializer_list<Shape> operands) const;

  Stream& s_;
  ScratchPool& pool_;
  Val Take(Type type, Shape shape, int64_t bytes);

  int64_t rows_ = 1, cols_ = 1;
  bool overflowed_ = false;
};

}  // namespace frazil::npu
