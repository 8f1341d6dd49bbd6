#include "npu/access.h"

#include <algorithm>

#include "core/ceil_div.h"
#include "core/str.h"

namespace frazil::npu {
namespace {

constexpr int64_t kMaxExtent = 65536;  // rows, columns
constexpr int64_t kMaxRowBytes = 1 << 20;
constexpr int64_t kMaxMatrix = 4096;  // m, k, n of one instruction

// What the operands of one issue say, by kind.
struct Extents {
  int64_t rows = 1, cols = 1, row_bytes = 0, m = 0, k = 0, n = 0, pad = 0, mode = 0;
  std::array<int64_t, kMaxOperands> ld{};  // of address operand number i
};

// 0: no limit of its own.
int64_t LimitOf(OperandKind kind) {
  switch (kind) {
    case OperandKind::kRows:
    case OperandKind::kCols:
      return kMaxExtent;
    case OperandKind::kRowBytes:
      return kMaxRowBytes;
    case OperandKind::kM:
    case OperandKind::kK:
    case OperandKind::kN:
      return kMaxMatrix;
    default:
      return 0;
  }
}

bool Fail(FaultCode code, int operand, std::string detail, Fault* fault) {
  fault->code = code;
  fault->operand = operand;
  fault->detail = std::move(detail);
  return false;
}

int64_t* FieldOf(OperandKind kind, Extents* e) {
  switch (kind) {
    case OperandKind::kRows:
      return &e->rows;
    case OperandKind::kCols:
      return &e->cols;
    case OperandKind::kRowBytes:
      return &e->row_bytes;
    case OperandKind::kM:
      return &e->m;
    case OperandKind::kK:
      return &e->k;
    case OperandKind::kN:
      return &e->n;
    case OperandKind::kPad:
      return &e->pad;
    case OperandKind::kMode:
      return &e->mode;
    default:
      return nullptr;
  }
}

bool ReadExtents(const Issue& issue, Extents* e, Fault* fault) {
  const OpInfo& info = Info(issue.op);
  for (int i = 0; i < info.num_operands; ++i) {
    const Operand& operand = info.operands[i];
    const int64_t value = int64_t(issue.v[i]);
    if (operand.kind == OperandKind::kLd) {
      if (value < 0 || value > kMaxRowBytes * kMaxExtent)
        return Fail(FaultCode::kShapeLimit, i, StrCat("a row stride of ", value, " bytes"), fault);
      e->ld[operand.of] = value;
    }
    int64_t* field = FieldOf(operand.kind, e);
    if (!field) continue;
    *field = value;
    const int64_t limit = LimitOf(operand.kind);
    if (limit && (value < 1 || value > limit))
      return Fail(FaultCode::kShapeLimit, i, StrCat(value, " is not in [1, ", limit, "]"), fault);
  }
  if (e->pad < 0 || e->pad > kMaxRowBytes)
    return Fail(FaultCode::kShapeLimit, info.num_operands - 1, StrCat("a pad of ", e->pad), fault);
  return true;
}

// Elements of accumulators: 16-bit floats reduce in f32, bytes in 32 bits.
constexpr int kAccumulatorBytes = 4;

class Maker {
 public:
  Maker(const Issue& issue, const Extents& e, Accesses* out) : issue_(issue), e_(e), out_(out) {}

  // A destination whose row stride 0 means packed, or a source for which it means "this row again".
  void Write(int operand, int64_t rows, int64_t row_bytes) {
    Add(operand, rows, row_bytes, e_.ld[operand] ? e_.ld[operand] : row_bytes, true);
  }
  void Read(int operand, int64_t rows, int64_t row_bytes) {
    Add(operand, rows, row_bytes, e_.ld[operand], false);
  }
  void ReadPacked(int operand, int64_t rows, int64_t row_bytes, int64_t ld) {
    Add(operand, rows, row_bytes, ld ? ld : row_bytes, false);
  }
  // Whole fractals.
  void Tile(int operand, int64_t bytes, bool write) { Add(operand, 1, bytes, bytes, write); }

 private:
  void Add(int operand, int64_t rows, int64_t row_bytes, int64_t stride, bool write) {
    out_->items[out_->count++] = {issue_.v[operand], rows, row_bytes, stride,
                                  uint8_t(operand),  write};
  }
  const Issue& issue_;
  const Extents& e_;
  Accesses* out_;
};

void Reduction(const Issue& issue, const Extents& e, int64_t es, Maker* make) {
  const int64_t lanes = kRedLanes * (issue.fn >= kRedAny ? 1 : kAccumulatorBytes);
  const int64_t result = issue.fn == kRedArgmax || issue.fn == kRedArgmin ? 4
                         : issue.fn >= kRedAny                            ? 1
                                                                          : es;
  if (e.mode == kRedFinal) {
    make->ReadPacked(1, e.rows, lanes, e.ld[1]);
  } else {
    make->Read(1, e.rows, e.cols * es);
  }
  if (e.mode == kRedMore) make->ReadPacked(0, e.rows, lanes, e.ld[0]);
  make->Write(0, e.rows, e.mode == kRedFirst || e.mode == kRedMore ? lanes : result);
}

}  // namespace

bool AccessesOf(const Issue& issue, Accesses* out, Fault* fault) {
  out->count = 0;
  Extents e;
  if (!ReadExtents(issue, &e, fault)) return false;
  Maker make(issue, e, out);
  const int64_t es = issue.dt < kNumTypes ? SizeOf(issue.type()) : 1;
  const int64_t k0 = 32 / es, row = e.cols * es;
  switch (issue.op) {
    case Op::kLD:
      make.Read(1, e.rows, e.row_bytes);
      make.Write(0, e.rows, e.row_bytes + e.pad);
      break;
    case Op::kST:
    case Op::kCPL:
    case Op::kXU:
      make.Read(1, e.rows, e.row_bytes);
      make.Write(0, e.rows, e.row_bytes);
      break;
    case Op::kXA:
      issue.fn ? make.Read(1, e.k, e.m * es) : make.Read(1, e.m, e.k * es);
      make.Tile(0, CeilDiv(e.m, 16) * CeilDiv(e.k, k0) * 512, true);
      break;
    case Op::kXB:
      issue.fn ? make.Read(1, e.n, e.k * es) : make.Read(1, e.k, e.n * es);
      make.Tile(0, CeilDiv(e.k, k0) * CeilDiv(e.n, 16) * 512, true);
      break;
    case Op::kMMUL: {
      const int64_t c = CeilDiv(e.m, 16) * CeilDiv(e.n, 16) * 1024;
      make.Tile(1, CeilDiv(e.m, 16) * CeilDiv(e.k, k0) * 512, false);
      make.Tile(2, CeilDiv(e.k, k0) * CeilDiv(e.n, 16) * 512, false);
      if (issue.fn & kMatrixAcc) make.Tile(0, c, false);
      make.Tile(0, c, true);
      break;
    }
    case Op::kDR:
      make.Tile(1, CeilDiv(e.m, 16) * CeilDiv(e.n, 16) * 1024, false);
      make.Write(0, e.m, e.n * es);
      break;
    case Op::kVBIN:
    case Op::kVCMP:
    case Op::kVFMA:
      make.Read(1, e.rows, row);
      make.Read(2, e.rows, row);
      if (issue.op == Op::kVFMA) make.ReadPacked(0, e.rows, row, e.ld[0]);
      make.Write(0, e.rows, issue.op == Op::kVCMP ? e.cols : row);
      break;
    case Op::kVBINC:
      make.Read(1, e.rows, row);
      make.ReadPacked(2, e.rows, es, e.ld[2]);
      make.Write(0, e.rows, row);
      break;
    case Op::kVBINS:
    case Op::kVUN:
    case Op::kVCMPS:
      make.Read(1, e.rows, row);
      make.Write(0, e.rows, issue.op == Op::kVCMPS ? e.cols : row);
      break;
    case Op::kVSEL:
      make.Read(1, e.rows, e.cols);
      make.ReadPacked(2, e.rows, row, e.ld[0]);
      make.ReadPacked(3, e.rows, row, e.ld[0]);
      make.Write(0, e.rows, row);
      break;
    case Op::kVCVT:
      if (e.mode < 0 || e.mode > 7)
        return Fail(FaultCode::kShapeLimit, 6, StrCat("mode ", e.mode, " is not in [0, 7]"), fault);
      make.Read(1, e.rows, row);
      make.Write(0, e.rows, e.cols * SizeOf(Type(issue.fn)));
      break;
    case Op::kVRED:
      if (e.mode < 0 || e.mode > 3)
        return Fail(FaultCode::kShapeLimit, 6, StrCat("mode ", e.mode, " is not in [0, 3]"), fault);
      Reduction(issue, e, es, &make);
      break;
    case Op::kVDUP:
    case Op::kVIOTA:
      make.Write(0, e.rows, row);
      break;
    case Op::kVTR:
      make.Read(1, e.rows, row);
      make.Write(0, e.cols, e.rows * es);
      break;
    case Op::kSLD:
      make.Tile(1, 4, false);
      break;
    default:
      break;  // touches no memory
  }
  return true;
}

namespace {

int64_t AlignmentOf(Space space, const Issue& issue) {
  if (issue.op == Op::kSLD) return 4;
  switch (space) {
    case kGM:
      return issue.op == Op::kDR ? SizeOf(issue.type()) : 1;  // moves are of bytes
    case kL1:
    case kUB:
      return 32;
    case kL0A:
    case kL0B:
      return 512;
    default:
      return 1024;
  }
}

bool Meet(const Access& a, const Access& b) {
  return a.space() == b.space() && a.begin() < b.end() && b.begin() < a.end();
}

// Rows of equal stride that lie beside each other share no byte.
bool Interleaved(const Access& a, const Access& b) {
  const int64_t stride = std::max(a.stride, b.stride);
  if ((a.rows > 1 && a.stride != stride) || (b.rows > 1 && b.stride != stride) || stride == 0)
    return false;
  const int64_t shift = int64_t(b.begin() - a.begin()) % stride;
  const int64_t from = shift < 0 ? shift + stride : shift;
  return from >= a.row_bytes && from + b.row_bytes <= stride;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Whether a row of `b` meets bytes [begin, end).
bool MeetsRow(const Access& b, int64_t begin, int64_t end) {
  const int64_t base = int64_t(b.begin());
  if (b.rows == 1 || b.stride == 0) return base < end && begin < base + b.row_bytes;
  const int64_t first = FloorDiv(begin - base - b.row_bytes, b.stride) + 1;
  const int64_t last = FloorDiv(end - 1 - base, b.stride);
  return std::max<int64_t>(first, 0) <= std::min(last, b.rows - 1);
}

bool SameBytes(const Access& a, const Access& b) {
  return a.address == b.address && a.rows == b.rows && a.row_bytes == b.row_bytes &&
         (a.rows == 1 || a.stride == b.stride);
}

}  // namespace

bool Overlap(const Access& a, const Access& b) {
  if (!Meet(a, b) || Interleaved(a, b)) return false;
  const Access& few = a.rows <= b.rows ? a : b;
  const Access& many = a.rows <= b.rows ? b : a;
  for (int64_t r = 0; r < few.rows; ++r) {
    const int64_t begin = int64_t(few.begin()) + r * few.stride;
    if (MeetsRow(many, begin, begin + few.row_bytes)) return true;
  }
  return false;
}

bool CheckAccesses(const Issue& issue, const Accesses& accesses, const Preset& preset,
                   Fault* fault) {
  const OpInfo& info = Info(issue.op);
  for (const Access& a : accesses) {
    const auto fail = [&](FaultCode code, std::string detail) {
      fault->address = a.address;
      fault->address_end = a.address + uint64_t((a.rows - 1) * a.stride + a.row_bytes);
      return Fail(code, a.operand, std::move(detail), fault);
    };
    const int tag = SpaceTag(a.address);
    if (tag >= kNumSpaces || !(info.operands[a.operand].spaces >> tag & 1))
      return fail(FaultCode::kIllegalSpace,
                  tag < kNumSpaces ? std::string(Name(Space(tag))) : StrCat("space tag ", tag));
    const int64_t alignment = AlignmentOf(a.space(), issue);
    // The stride of packed rows follows from the row and need not be aligned.
    const bool strided = a.rows > 1 && a.stride != a.row_bytes;
    if (a.begin() % alignment != 0 || (strided && a.stride % alignment != 0))
      return fail(FaultCode::kMisaligned, StrCat("offset ", a.begin(), ", row stride ", a.stride,
                                                 ": multiples of ", alignment, " are needed"));
    if (a.space() != kGM && a.end() > uint64_t(preset.bytes[a.space()]))
      return fail(FaultCode::kLocalOob,
                  StrCat("bytes [", a.begin(), ", ", a.end(), ") of ", preset.bytes[a.space()]));
  }
  for (const Access& w : accesses) {
    if (!w.write) continue;
    for (const Access& r : accesses) {
      if (r.write || !Overlap(w, r) || SameBytes(w, r)) continue;
      fault->address = r.address;
      return Fail(FaultCode::kOverlap, w.operand,
                  StrCat("operand ", int(r.operand), " begins ",
                         int64_t(r.begin()) - int64_t(w.begin()), " bytes from the destination"),
                  fault);
    }
  }
  return true;
}

}  // namespace frazil::npu
