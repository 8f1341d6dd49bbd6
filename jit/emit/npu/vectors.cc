#include "jit/emit/npu/vectors.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace frazil::npu {
namespace {

constexpr int64_t kMaxCols = 65536;

bool Commutes(Bin fn) {
  return fn != kBinSub && fn != kBinDiv && fn != kBinShl && fn != kBinShr && fn != kBinRem;
}
bool HasScalarForm(Bin fn) { return fn < kBinSwapped && fn <= kBinOr; }

Cmp Swapped(Cmp cc) {
  switch (cc) {
    case kCmpLt:
      return kCmpGt;
    case kCmpLe:
      return kCmpGe;
    case kCmpGt:
      return kCmpLt;
    case kCmpGe:
      return kCmpLe;
    default:
      return cc;
  }
}

Arg N(int64_t n) { return Arg::Number(n); }

}  // namespace

Val Vectors::New(Type type, Shape shape) { return Take(type, shape, Bytes(type, shape)); }

Val Vectors::Take(Type type, Shape shape, int64_t bytes) {
  const auto address = pool_.Take(bytes);
  overflowed_ |= !address;
  Val v;
  v.type = type;
  v.shape = shape;
  v.address = address.value_or(Address(kUB, 0));
  return v;
}

Vectors::Grid Vectors::GridOf(Shape result, std::initializer_list<Shape> operands) const {
  bool flat = true;
  for (Shape s : operands) flat &= s == result;
  if (!result.cols) return {1, rows_, true};
  if (!result.rows) return {1, cols_, true};
  if (flat && rows_ * cols_ <= kMaxCols) return {1, rows_ * cols_, true};
  return {rows_, cols_, false};
}

template <typename F>
void Vectors::In(Shape shape, const Val& x, F f) {
  if (!x.uniform && x.shape == shape) return f(x);
  const Val wide = New(x.type, shape);
  Expand(x, wide);
  f(wide);
  Free(wide);
}

void Vectors::Fill(const Arg& number, const Val& dst) {
  const Grid g = GridOf(dst.shape, {});
  s_.Emit(Op::kVDUP, dst.type, 0, {dst.at(), number, N(g.rows), N(g.cols), N(0)});
}

void Vectors::Expand(const Val& x, const Val& dst) {
  if (x.uniform) return Fill(x.number, dst);
  if (x.shape == dst.shape) return Unary(kUnCopy, x, dst);
  if (x.shape.cols && !dst.shape.cols) {  // the one column of a tile as a column
    FZ_CHECK(cols_ == 1);
    s_.Emit(Op::kVUN, dst.type, kUnCopy, {dst.at(), x.at(), N(rows_), N(1), N(0), N(Ld(x))});
    return;
  }
  if (x.shape.cols || !dst.shape.cols) {  // a row over rows; columns are vectors of rows already
    if (!dst.shape.cols) return Unary(kUnCopy, x, dst);
    s_.Emit(Op::kVUN, dst.type, kUnCopy, {dst.at(), x.at(), N(rows_), N(cols_), N(0), N(0)});
    return;
  }
  if (SizeOf(x.type) == 2) {  // there are no 16-bit integers: by way of f32, which is exact
    const Val column = New(kF32, x.shape), wide = New(kF32, dst.shape);
    Convert(x, 0, column);
    Expand(column, wide);
    Convert(wide, 0, dst);
    Free(wide);
    Free(column);
    return;
  }
  // A column over columns: zero or x.
  Val bits = dst;
  bits.type = SizeOf(dst.type) == 4 ? kU32 : kU8;
  Fill(N(0), bits);
  const int64_t rows = dst.shape.rows ? rows_ : 1;
  s_.Emit(Op::kVBINC, bits.type, kBinOr,
          {bits.at(), bits.at(), x.at(), N(rows), N(cols_), N(0), N(Pitch(bits)), N(0)});
}

void Vectors::Unary(Un fn, const Val& x, const Val& dst) {
  if (x.uniform) return In(dst.shape, x, [&](const Val& w) { Unary(fn, w, dst); });
  FZ_CHECK(x.shape.cols == dst.shape.cols);
  Shape shape = dst.shape;
  if (!shape.cols) shape = x.shape;  // vectors of rows, whether they move or not
  const Grid g = GridOf(shape, {x.shape});
  s_.Emit(
      Op::kVUN, x.type, fn,
      {dst.at(), x.at(), N(g.rows), N(g.cols), N(0), N(g.flat ? g.cols * SizeOf(x.type) : Ld(x))});
}

void Vectors::Convert(const Val& x, int mode, const Val& dst) {
  if (x.uniform) return In(dst.shape, x, [&](const Val& w) { Convert(w, mode, dst); });
  const Grid g = GridOf(dst.shape, {dst.shape});
  s_.Emit(Op::kVCVT, x.type, dst.type,
          {dst.at(), x.at(), N(g.rows), N(g.cols), N(0),
           N(g.flat ? g.cols * SizeOf(x.type) : Ld(x)), N(mode)});
}

void Vectors::Binary(Bin fn, Val x, Val y, const Val& dst) {
  if (x.uniform && y.uniform) {
    Val column = New(x.type, {});
    Fill(x.number, column);
    Binary(fn, column, y, dst);
    Free(column);
    return;
  }
  if (x.uniform && (Commutes(fn) || !HasScalarForm(fn))) {
    if (Commutes(fn)) return Binary(fn, y, x, dst);
    return In(y.shape, x, [&](const Val& w) { Binary(fn, w, y, dst); });
  }
  if (x.uniform || (y.uniform && HasScalarForm(fn))) {
    const Val& v = x.uniform ? y : x;
    const Arg number = x.uniform ? x.number : y.number;
    const Grid g = GridOf(v.shape, {v.shape});
    s_.Emit(Op::kVBINS, v.type, uint8_t(fn + (x.uniform ? kBinSwapped : 0)),
            {dst.at(), v.at(), number, N(g.rows), N(g.cols), N(0),
             N(g.flat ? g.cols * SizeOf(v.type) : Pitch(v))});
    return;
  }
  if (y.uniform) {
    const Shape one = x.shape.cols ? Shape{false, true} : x.shape;
    return In(one, y, [&](const Val& w) { Binary(fn, x, w, dst); });
  }
  if (x.shape.cols == y.shape.cols) {
    const Shape result = x.shape.cols ? Union(x.shape, y.shape) : Shape{};
    const Grid g = x.shape.cols ? GridOf(result, {x.shape, y.shape}) : Grid{1, rows_, true};
    const auto ld = [&](const Val& v) { return g.flat ? g.cols * SizeOf(v.type) : Ld(v); };
    s_.Emit(Op::kVBIN, x.type, fn,
            {dst.at(), x.at(), y.at(), N(g.rows), N(g.cols), N(0), N(ld(x)), N(ld(y))});
    return;
  }
  if (!x.shape.cols) {
    if (Commutes(fn)) return Binary(fn, y, x, dst);
    const Shape wide{x.shape.rows || y.shape.rows, true};
    return In(wide, x, [&](const Val& w) { Binary(fn, w, y, dst); });
  }
  const int64_t rows = dst.shape.rows ? rows_ : 1;
  s_.Emit(Op::kVBINC, x.type, fn,
          {dst.at(), x.at(), y.at(), N(rows), N(cols_), N(0), N(Ld(x)), N(0)});
}

void Vectors::Compare(Cmp cc, Val x, Val y, const Val& dst) {
  if (x.uniform && !y.uniform) return Compare(Swapped(cc), y, x, dst);
  if (x.uniform) return In({}, x, [&](const Val& w) { Compare(cc, w, y, dst); });
  if (y.uniform) {
    const Grid g = GridOf(x.shape, {x.shape});
    s_.Emit(Op::kVCMPS, x.type, cc,
            {dst.at(), x.at(), y.number, N(g.rows), N(g.cols), N(0),
             N(g.flat ? g.cols * SizeOf(x.type) : Pitch(x))});
    return;
  }
  if (x.shape.cols != y.shape.cols) {
    const Shape wide = Union(x.shape, y.shape);
    if (!x.shape.cols) return In(wide, x, [&](const Val& w) { Compare(cc, w, y, dst); });
    return In(wide, y, [&](const Val& w) { Compare(cc, x, w, dst); });
  }
  const Shape result = x.shape.cols ? Union(x.shape, y.shape) : Shape{};
  const Grid g = x.shape.cols ? GridOf(result, {x.shape, y.shape}) : Grid{1, rows_, true};
  const auto ld = [&](const Val& v) { return g.flat ? g.cols * SizeOf(v.type) : Ld(v); };
  s_.Emit(Op::kVCMP, x.type, cc,
          {dst.at(), x.at(), y.at(), N(g.rows), N(g.cols), N(0), N(ld(x)), N(ld(y))});
}

void Vectors::Select(const Val& mask, const Val& x, const Val& y, const Val& dst) {
  Shape shape = dst.shape;
  if (!shape.cols) {
    // Vectors of rows, moving or not: one shape is as good as the other.
    const auto same = [&](const Val& v) {
      return v.uniform ? v : [&] {
        Val w = v;
        w.shape = shape;
        return w;
      }();
    };
    return In(shape, same(mask), [&](const Val& m) {
      In(shape, same(x), [&](const Val& a) {
        In(shape, same(y), [&](const Val& b) {
          s_.Emit(Op::kVSEL, dst.type, 0,
                  {dst.at(), m.at(), a.at(), b.at(), N(1), N(rows_), N(0), N(rows_)});
        });
      });
    });
  }
  // The mask alone may be a row for all rows.
  const Shape row{false, true};
  In(mask.shape == row ? row : shape, mask, [&](const Val& m) {
    In(shape, x, [&](const Val& a) {
      In(shape, y, [&](const Val& b) {
        const Grid g = GridOf(shape, {m.shape});
        s_.Emit(Op::kVSEL, dst.type, 0,
                {dst.at(), m.at(), a.at(), b.at(), N(g.rows), N(g.cols), N(0),
                 N(g.flat ? g.cols : Ld(m))});
      });
    });
  });
}

void Vectors::Fma(const Val& x, const Val& y, const Val& z, const Val& dst) {
  const Shape shape = dst.shape;
  if (!shape.cols) {
    const auto column = [&](const Val& v, auto f) {
      if (v.uniform) return In(shape, v, f);
      f(v);
    };
    return column(x, [&](const Val& a) {
      column(y, [&](const Val& b) {
        if (z.uniform || z.address != dst.address) Expand(z, dst);
        s_.Emit(Op::kVFMA, dst.type, 0,
                {dst.at(), a.at(), b.at(), N(1), N(rows_), N(0), N(4 * rows_), N(4 * rows_)});
      });
    });
  }
  // Numbers become one row, columns become full.
  const auto row_or_full = [&](const Val& v, auto f) {
    if (v.uniform) return In({false, true}, v, f);
    if (!v.shape.cols) return In(shape, v, f);
    f(v);
  };
  row_or_full(x, [&](const Val& a) {
    row_or_full(y, [&](const Val& b) {
      if (z.uniform || z.address != dst.address) Expand(z, dst);
      const Grid g = GridOf(shape, {a.shape, b.shape});
      const auto ld = [&](const Val& v) { return g.flat ? g.cols * SizeOf(v.type) : Ld(v); };
      s_.Emit(Op::kVFMA, dst.type, 0,
              {dst.at(), a.at(), b.at(), N(g.rows), N(g.cols), N(0), N(ld(a)), N(ld(b))});
    });
  });
}

// Toward zero: the ceiling of what is negative, the floor of the rest.
void Vectors::Truncate(const Val& x, const Val& dst) {
  const Val negative = New(kU8, dst.shape), up = New(x.type, dst.shape);
  In(dst.shape, x, [&](const Val& w) {
    Val zero;
    zero.type = x.type;
    zero.uniform = true;
    zero.number = N(0);
    Compare(kCmpLt, w, zero, negative);
    Unary(kUnCeil, w, up);
    const Val down = New(x.type, dst.shape);
    Unary(kUnFloor, w, down);
    Select(negative, up, down, dst);
    Free(down);
  });
  Free(up);
  Free(negative);
}

void Vectors::ReduceRows(Red fn, const Val& x, RedMode mode, const Val& dst) {
  const bool lanes = mode == kRedFinal;
  const int64_t lane_bytes = kRedLanes * (fn >= kRedAny ? 1 : 4);
  s_.Emit(Op::kVRED, x.type, fn,
          {dst.at(), x.at(), N(rows_), N(lanes ? kRedLanes : cols_), N(0),
           N(lanes ? lane_bytes : Pitch(x)), N(mode)});
}

int64_t Vectors::AccumulatorPitch(Type type) const { return (cols_ * SizeOf(type) + 31) / 32 * 32; }

void Vectors::AccumulateRows(Bin fn, const Val& x, bool first, uint64_t identity,
                             const Val& accumulators) {
  FZ_CHECK(SizeOf(x.type) == 4);  // so that every eighth row is aligned
  const int64_t pitch = Pitch(x), ld = AccumulatorPitch(x.type);
  int64_t row = 0;
  if (first && rows_ < 8) {
    s_.Emit(Op::kVDUP, x.type, 0, {accumulators.at(), N(int64_t(identity)), N(8), N(cols_), N(ld)});
  } else if (first) {
    // The identity and x give x: the first eight rows are the accumulators.
    s_.Emit(Op::kVUN, x.type, kUnCopy,
            {accumulators.at(), x.at(), N(8), N(cols_), N(ld), N(pitch)});
    row = 8;
  }
  for (; row < rows_; row += 8) {
    s_.Emit(Op::kVBIN, x.type, fn,
            {accumulators.at(), accumulators.at(), x.at(row * pitch),
             N(std::min<int64_t>(8, rows_ - row)), N(cols_), N(ld), N(ld), N(pitch)});
  }
}

void Vectors::FinishRows(Bin fn, const Val& accumulators, const Val& dst) {
  const int64_t ld = AccumulatorPitch(accumulators.type);
  for (int half = 4; half >= 1; half /= 2) {
    s_.Emit(Op::kVBIN, accumulators.type, fn,
            {half == 1 ? dst.at() : accumulators.at(), accumulators.at(),
             accumulators.at(half * ld), N(half), N(cols_), N(half == 1 ? 0 : ld), N(ld), N(ld)});
  }
}

}  // namespace frazil::npu
