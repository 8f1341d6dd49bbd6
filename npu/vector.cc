#include "npu/vector.h"

#include <algorithm>
#include <cstring>

#include "core/str.h"
#include "npu/host_loop.h"

namespace frazil::npu {
namespace {

bool Unsupported(const Issue& issue, Fault* fault) {
  const OpInfo& info = Info(issue.op);
  fault->code = FaultCode::kDtypeUnsupported;
  fault->detail = StrCat(issue.fn < info.functions.size() ? info.functions[issue.fn] : "function",
                         " of ", Name(issue.type()));
  return false;
}

// Rows of elements of an operand.
struct Rows {
  char* base;
  int64_t stride;
  int64_t element;  // bytes

  char* At(int64_t r, int64_t c) const { return base + r * stride + c * element; }
};

// body(r, c, n) for blocks of n elements from column c of row r on. Rows that follow each other in
// all operands are one.
template <size_t kOperands, typename Body>
void ForBlocks(int64_t rows, int64_t cols, const Rows (&operands)[kOperands], const Body& body) {
  bool packed = true;
  for (const Rows& o : operands) packed = packed && o.stride == cols * o.element;
  if (packed) {
    cols *= rows;
    rows = 1;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; c += kBlock) body(r, c, std::min(kBlock, cols - c));
  }
}

// Where lanes of an element type are made: in place for 32 bits, else in `buffer`.
void* LanesAt(Type type, char* to, void* buffer) { return SizeOf(type) == 4 ? to : buffer; }

struct alignas(64) Buffer {
  int32_t lanes[kBlock];
};

// One element as the lanes of a block of a row of n.
const void* Broadcast(Type type, const void* element, int64_t n, Buffer* buffer) {
  int32_t lane;
  std::memcpy(&lane, LoadLanes(type, static_cast<const char*>(element), 1, buffer), 4);
  std::fill_n(buffer->lanes, std::min(n, kBlock), lane);
  return buffer;
}

class Elementwise {
 public:
  Elementwise(const Issue& issue, const Pointers& p, int rows_operand)
      : issue_(issue),
        p_(p),
        type_(issue.type()),
        rows_(int64_t(issue.v[size_t(rows_operand)])),
        cols_(int64_t(issue.v[size_t(rows_operand) + 1])) {}

  void Unary(UnaryKernel kernel) {
    const Rows d = RowsOf(0), x = RowsOf(1);
    ForBlocks(rows_, cols_, {d, x}, [&](int64_t r, int64_t c, int64_t n) {
      char* to = d.At(r, c);
      void* out = LanesAt(type_, to, &d_);
      kernel(LoadLanes(type_, x.At(r, c), n, &x_), n, out);
      StoreLanes(type_, out, n, to);
    });
  }

  void Binary(BinaryKernel kernel) {
    const Rows d = RowsOf(0), x = RowsOf(1), y = RowsOf(2);
    ForBlocks(rows_, cols_, {d, x, y}, [&](int64_t r, int64_t c, int64_t n) {
      Apply(kernel, LoadLanes(type_, x.At(r, c), n, &x_), LoadLanes(type_, y.At(r, c), n, &y_), n,
            d.At(r, c));
    });
  }

  // y is one element a row.
  void BinaryColumn(BinaryKernel kernel) {
    const Rows d = RowsOf(0), x = RowsOf(1);
    for (int64_t r = 0; r < rows_; ++r) {
      const void* y = Broadcast(type_, p_.at[2] + r * p_.stride[2], cols_, &y_);
      for (int64_t c = 0; c < cols_; c += kBlock) {
        const int64_t n = std::min(kBlock, cols_ - c);
        Apply(kernel, LoadLanes(type_, x.At(r, c), n, &x_), y, n, d.At(r, c));
      }
    }
  }

  // y is the scalar operand.
  void BinaryScalar(BinaryKernel kernel, bool swapped) {
    const Rows d = RowsOf(0), x = RowsOf(1);
    const void* s = Broadcast(type_, &issue_.v[2], rows_ * cols_, &y_);
    ForBlocks(rows_, cols_, {d, x}, [&](int64_t r, int64_t c, int64_t n) {
      const void* lanes = LoadLanes(type_, x.At(r, c), n, &x_);
      Apply(kernel, swapped ? s : lanes, swapped ? lanes : s, n, d.At(r, c));
    });
  }

  void Fma() {
    const Rows d = RowsOf(0), x = RowsOf(1), y = RowsOf(2);
    ForBlocks(rows_, cols_, {d, x, y}, [&](int64_t r, int64_t c, int64_t n) {
      char* to = d.At(r, c);
      LoadLanes(type_, to, n, &d_);
      void* out = LanesAt(type_, to, &d_);
      FusedMultiplyAdd(LoadLanes(type_, x.At(r, c), n, &x_), LoadLanes(type_, y.At(r, c), n, &y_),
                       n, out);
      StoreLanes(type_, out, n, to);
    });
  }

  void Compare(BinaryKernel kernel) {
    const Rows d{p_.at[0], p_.stride[0], 1}, x = RowsOf(1), y = RowsOf(2);
    ForBlocks(rows_, cols_, {d, x, y}, [&](int64_t r, int64_t c, int64_t n) {
      kernel(LoadLanes(type_, x.At(r, c), n, &x_), LoadLanes(type_, y.At(r, c), n, &y_), n,
             d.At(r, c));
    });
  }

  void CompareScalar(BinaryKernel kernel) {
    const Rows d{p_.at[0], p_.stride[0], 1}, x = RowsOf(1);
    const void* s = Broadcast(type_, &issue_.v[2], rows_ * cols_, &y_);
    ForBlocks(rows_, cols_, {d, x}, [&](int64_t r, int64_t c, int64_t n) {
      kernel(LoadLanes(type_, x.At(r, c), n, &x_), s, n, d.At(r, c));
    });
  }

  // dst = mask ? x : y, on elements of T.
  template <typename T>
  void Select() {
    const Rows d = RowsOf(0), x = RowsOf(2), y = RowsOf(3), m{p_.at[1], p_.stride[1], 1};
    ForBlocks(rows_, cols_, {d, x, y, m}, [&](int64_t r, int64_t c, int64_t n) {
      const uint8_t* mask = reinterpret_cast<const uint8_t*>(m.At(r, c));
      const T *a = reinterpret_cast<const T*>(x.At(r, c)),
              *b = reinterpret_cast<const T*>(y.At(r, c));
      T* out = reinterpret_cast<T*>(d.At(r, c));
      ForEach(n, [=](int64_t i) {
        const T whole = T(0) - T(mask[i] != 0);
        out[i] = T((a[i] & whole) | (b[i] & T(~whole)));
      });
    });
  }

  void Convert() {
    const Type to = Type(issue_.fn);
    const Rows d{p_.at[0], p_.stride[0], SizeOf(to)}, x = RowsOf(1);
    const Rounding rounding = Rounding(issue_.v[6] & 3);
    const bool saturate = issue_.v[6] & 4;
    ForBlocks(rows_, cols_, {d, x}, [&](int64_t r, int64_t c, int64_t n) {
      ConvertLanes(type_, LoadLanes(type_, x.At(r, c), n, &x_), n, to, rounding, saturate,
                   d.At(r, c));
    });
  }

  template <typename T>
  void Fill() {
    const Rows d = RowsOf(0);
    const T value = T(issue_.v[1]);
    ForBlocks(rows_, cols_, {d}, [&](int64_t r, int64_t c, int64_t n) {
      T* out = reinterpret_cast<T*>(d.At(r, c));
      ForEach(n, [=](int64_t i) { out[i] = value; });
    });
  }

  void Ramp() {
    const uint32_t start = uint32_t(issue_.v[1]), step = uint32_t(issue_.v[2]);
    for (int64_t r = 0; r < rows_; ++r) {
      uint32_t* out = reinterpret_cast<uint32_t*>(p_.at[0] + r * p_.stride[0]);
      ForEach(cols_, [=](int64_t i) { out[i] = start + step * uint32_t(i); });
    }
  }

  // Through scratch: the destination may be the source.
  template <typename T>
  void Transpose(Scratch* scratch) {
    T* x = reinterpret_cast<T*>(scratch->Get(rows_ * cols_ * int64_t(sizeof(T))));
    for (int64_t r = 0; r < rows_; ++r)
      std::memcpy(x + r * cols_, p_.at[1] + r * p_.stride[1], size_t(cols_) * sizeof(T));
    for (int64_t c0 = 0; c0 < cols_; c0 += 16) {  // in squares, for the cache
      for (int64_t r0 = 0; r0 < rows_; r0 += 16) {
        for (int64_t c = c0; c < std::min(c0 + 16, cols_); ++c) {
          T* out = reinterpret_cast<T*>(p_.at[0] + c * p_.stride[0]);
          for (int64_t r = r0; r < std::min(r0 + 16, rows_); ++r) out[r] = x[r * cols_ + c];
        }
      }
    }
  }

 private:
  Rows RowsOf(int operand) const {
    return {p_.at[size_t(operand)], p_.stride[size_t(operand)], SizeOf(type_)};
  }

  void Apply(BinaryKernel kernel, const void* x, const void* y, int64_t n, char* to) {
    void* out = LanesAt(type_, to, &d_);
    kernel(x, y, n, out);
    StoreLanes(type_, out, n, to);
  }

  const Issue& issue_;
  const Pointers& p_;
  const Type type_;
  const int64_t rows_, cols_;
  Buffer d_, x_, y_;
};

// f called with a zero of an unsigned type of the element's size.
template <typename F>
bool BySize(Type type, const F& f) {
  switch (SizeOf(type)) {
    case 1:
      f(uint8_t());
      return true;
    case 2:
      f(uint16_t());
      return true;
    default:
      f(uint32_t());
      return true;
  }
}

int RowsOperand(Op op) {
  switch (op) {
    case Op::kVBIN:
    case Op::kVBINC:
    case Op::kVBINS:
    case Op::kVFMA:
    case Op::kVCMP:
    case Op::kVCMPS:
    case Op::kVIOTA:
      return 3;
    case Op::kVSEL:
      return 4;
    default:
      return 2;
  }
}

}  // namespace

bool Vector(const Issue& issue, const Pointers& p, Scratch* scratch, Fault* fault) {
  const Type type = issue.type();
  Elementwise e(issue, p, RowsOperand(issue.op));
  switch (issue.op) {
    case Op::kVBIN:
    case Op::kVBINC:
    case Op::kVBINS: {
      const bool scalar = issue.op == Op::kVBINS;
      const BinaryKernel kernel = BinaryFor(Bin(scalar ? issue.fn % kBinSwapped : issue.fn), type);
      if (!kernel) return Unsupported(issue, fault);
      if (scalar) {
        e.BinaryScalar(kernel, issue.fn >= kBinSwapped);
      } else if (issue.op == Op::kVBINC) {
        e.BinaryColumn(kernel);
      } else {
        e.Binary(kernel);
      }
      return true;
    }
    case Op::kVUN: {
      const UnaryKernel kernel = UnaryFor(Un(issue.fn), type);
      if (!kernel) return Unsupported(issue, fault);
      e.Unary(kernel);
      return true;
    }
    case Op::kVFMA:
      e.Fma();
      return true;
    case Op::kVCMP:
    case Op::kVCMPS: {
      const BinaryKernel kernel = CompareFor(Cmp(issue.fn), type);
      if (!kernel) return Unsupported(issue, fault);
      issue.op == Op::kVCMP ? e.Compare(kernel) : e.CompareScalar(kernel);
      return true;
    }
    case Op::kVSEL:
      return BySize(type, [&](auto zero) { e.Select<decltype(zero)>(); });
    case Op::kVCVT:
      if (issue.fn >= kNumTypes) return Unsupported(issue, fault);
      e.Convert();
      return true;
    case Op::kVRED:
      return Reduce(issue, p, fault);
    case Op::kVDUP:
      return BySize(type, [&](auto zero) { e.Fill<decltype(zero)>(); });
    case Op::kVIOTA:
      e.Ramp();
      return true;
    case Op::kVTR:
      return BySize(type, [&](auto zero) { e.Transpose<decltype(zero)>(scratch); });
    default:
      return Unsupported(issue, fault);
  }
}

}  // namespace frazil::npu
