#include "npu/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ceil_div.h"

namespace frazil::npu {
namespace {

constexpr int64_t kMoveSetup = 16, kFractalSetup = 8, kOnChipTail = 8;  // CPL XU DR; XA XB; all
constexpr int64_t kLaneBytes = kRedLanes * 4;

int64_t Cycles(int64_t bytes, double rate) { return int64_t(std::ceil(double(bytes) / rate)); }

// Operand numbers: LD dst gm rows row_bytes dst_ld gm_ld pad; XA dst src m k ld; MMUL c a b m k n;
// DR dst src m n ld scale; vector instructions: rows follow the addresses and the scalar.
int64_t V(const Issue& issue, int i) { return int64_t(issue.v[i]); }

int64_t FractalBytes(const Issue& issue) {
  const int64_t k0 = FractalK(issue.type()), a = V(issue, 2), b = V(issue, 3);
  return issue.op == Op::kXA ? CeilDiv(a, 16) * CeilDiv(b, k0) * 512
                             : CeilDiv(a, k0) * CeilDiv(b, 16) * 512;
}

int64_t MatrixCycles(const Issue& issue, const Preset& p) {
  const int es = SizeOf(issue.type());
  const int tk = es == 1 ? p.tk_i8 : es == 2 ? p.tk_f16 : p.tk_f32;
  return CeilDiv(V(issue, 3), p.tm) * CeilDiv(V(issue, 5), p.tn) * CeilDiv(V(issue, 4), tk) *
         (es == 4 ? p.matrix_cycles_f32 : p.matrix_cycles);
}

// Where rows and cols stand in a vector instruction's list.
int RowsAt(const Issue& issue) {
  const OpInfo& info = Info(issue.op);
  for (int i = 0; i < info.num_operands; ++i) {
    if (info.operands[i].kind == OperandKind::kRows) return i;
  }
  return 0;
}

// Rows that follow each other without a gap in every operand.
bool Packed(const Issue& issue, int64_t rows, int64_t cols, int64_t es) {
  if (rows == 1) return true;
  if (issue.op == Op::kVBINC) return false;  // another scalar every row
  const OpInfo& info = Info(issue.op);
  for (int i = 0; i < info.num_operands; ++i) {
    const Operand& operand = info.operands[i];
    if (operand.kind != OperandKind::kLd) continue;
    int64_t width = es;
    if (operand.of == 0 && (issue.op == Op::kVCMP || issue.op == Op::kVCMPS)) width = 1;
    if (operand.of == 0 && issue.op == Op::kVCVT) width = SizeOf(Type(issue.fn));
    if (operand.of == 1 && issue.op == Op::kVSEL) width = 1;
    const bool packed_by_zero = operand.of == 0;  // a source of stride 0 is one row again
    if (!(packed_by_zero && issue.v[i] == 0) && V(issue, i) != cols * width) return false;
  }
  return true;
}

int64_t ReductionCycles(const Issue& issue, const Preset& p) {
  const VectorCost& lanes = p.vector[size_t(VectorClass::kGroupReduce)];
  const VectorCost& tree = p.vector[size_t(VectorClass::kRowReduce)];
  const int64_t rows = V(issue, 2), mode = V(issue, 6);
  const int64_t trees = rows * CeilDiv(kLaneBytes, p.vector_bytes);
  if (mode == kRedFinal) return tree.head + tree.slope * trees;
  const int64_t gather = lanes.head + lanes.slope * BeatsOf(issue, p);
  return mode == kRedFull ? gather + tree.slope * trees : gather;
}

Cost VectorCostOf(const Issue& issue, const Preset& p) {
  if (issue.op == Op::kVRED) {
    const bool tree = issue.v[6] == kRedFull || issue.v[6] == kRedFinal;
    const auto c = tree ? VectorClass::kRowReduce : VectorClass::kGroupReduce;
    return {ReductionCycles(issue, p), p.vector[size_t(c)].tail};
  }
  const VectorCost& cost = p.vector[size_t(VectorClassOf(issue))];
  return {cost.head + cost.slope * BeatsOf(issue, p), cost.tail};
}

VectorClass BinaryClass(int fn, bool scalar) {
  switch (fn) {
    case kBinAdd:
      return scalar ? VectorClass::kAddScalar : VectorClass::kAdd;
    case kBinSub:
      return scalar ? VectorClass::kAddScalar : VectorClass::kSub;
    case kBinMul:
      return scalar ? VectorClass::kMulScalar : VectorClass::kMul;
    case kBinDiv:
    case kBinRem:
      return VectorClass::kDiv;
    case kBinMax:
    case kBinMin:
      return VectorClass::kMaxMin;
    default:
      return scalar ? VectorClass::kAddScalar : VectorClass::kAdd;  // bits and shifts
  }
}

VectorClass UnaryClass(int fn) {
  switch (fn) {
    case kUnCopy:
      return VectorClass::kCopy;
    case kUnNeg:
    case kUnAbs:
    case kUnRelu:
      return VectorClass::kAbsNeg;
    case kUnSqrt:
    case kUnRsqrt:
      return VectorClass::kSqrt;
    case kUnRecip:
      return VectorClass::kDiv;
    case kUnExp:
      return VectorClass::kExp;
    case kUnLog:
    case kUnTanh:
    case kUnErf:
    case kUnSigmoid:
      return VectorClass::kTranscendental;
    case kUnSign:
      return VectorClass::kCompare;
    default:
      return VectorClass::kConvert;  // floor ceil rint
  }
}

}  // namespace

bool WritesGm(const Issue& issue) {
  return issue.op == Op::kST || (issue.op == Op::kDR && SpaceTag(issue.v[0]) == kGM);
}
bool TouchesGm(const Issue& issue) { return issue.op == Op::kLD || WritesGm(issue); }

GmRows GmRowsOf(const Issue& issue) {
  GmRows rows;
  if (issue.op == Op::kDR) {
    rows = {Offset(issue.v[0]), V(issue, 2), V(issue, 3) * SizeOf(issue.type()), V(issue, 4)};
  } else {
    const bool load = issue.op == Op::kLD;
    rows = {Offset(issue.v[load]), V(issue, 2), V(issue, 3), V(issue, load ? 5 : 4)};
  }
  if (issue.op != Op::kLD && rows.stride == 0) rows.stride = rows.row_bytes;
  return rows;
}

int64_t GmRows::Charged(int64_t r, int burst) const {
  const bool aligned = (address + uint64_t(r * stride)) % kSectorBytes == 0;
  return CeilDiv(row_bytes, burst) * burst + (aligned ? 0 : burst);
}

int64_t GmRows::Charged(int burst) const {
  // Alignment repeats after `period` rows.
  const int64_t period = kSectorBytes / std::gcd(stride, int64_t{kSectorBytes});
  int64_t sum = 0;
  for (int64_t r = 0; r < std::min(rows, period); ++r)
    sum += Charged(r, burst) * CeilDiv(rows - r, period);
  return sum;
}

int64_t GmCycles(bool write, int64_t hit, int64_t miss, bool l2, const Preset& p) {
  if (write)
    return p.dma_setup +
           Cycles(hit + miss, std::min(p.gm_port_write, l2 ? p.l2_write : p.gm_write));
  return p.dma_setup + int64_t(std::ceil(double(hit) / p.l2_read + double(miss) / p.gm_read));
}

Cost CostWithGm(const Issue& issue, const Preset& p, int64_t gm_cycles) {
  switch (issue.op) {
    case Op::kLD:
      return {gm_cycles, p.gm_latency};
    case Op::kST:
      return {gm_cycles, p.gm_write_latency};
    case Op::kCPL:
      return {kMoveSetup + Cycles(V(issue, 2) * V(issue, 3), p.st_l1), kOnChipTail};
    case Op::kXU:
      return {kMoveSetup + Cycles(V(issue, 2) * V(issue, 3), p.xp_ub), kOnChipTail};
    case Op::kXA:
    case Op::kXB:
      return {
          kFractalSetup + Cycles(FractalBytes(issue), issue.op == Op::kXA ? p.xp_l0a : p.xp_l0b),
          kOnChipTail};
    case Op::kMMUL:
      return {MatrixCycles(issue, p), p.matrix_head};
    case Op::kDR: {
      const int64_t drain = kMoveSetup + Cycles(V(issue, 2) * V(issue, 3) * 4, p.dr_ub);
      if (!WritesGm(issue)) return {drain, kOnChipTail};
      return {std::max(drain, gm_cycles), kOnChipTail + p.gm_write_latency};
    }
    default:
      return Info(issue.op).cost == CostClass::kVector ? VectorCostOf(issue, p)
                                                       : Cost{ScalarCycles(issue, false), 0};
  }
}

Cost CostOf(const Issue& issue, const Preset& preset, bool in_l2) {
  if (!TouchesGm(issue)) return CostWithGm(issue, preset, 0);
  const int64_t bytes = GmRowsOf(issue).Charged(preset.burst);
  const bool l2 = in_l2 && preset.l2_bytes > 0;
  return CostWithGm(issue, preset,
                    GmCycles(WritesGm(issue), l2 ? bytes : 0, l2 ? 0 : bytes, l2, preset));
}

int64_t ScalarCycles(const Issue& issue, bool taken) {
  switch (issue.op) {
    case Op::kSLD:
      return 8;
    case Op::kSBR:
      return taken ? 3 : 1;
    case Op::kSALU:
      return issue.fn == kAluMul ? 3 : issue.fn == kAluDivu || issue.fn == kAluRemu ? 16 : 1;
    default:
      return 1;
  }
}

VectorClass VectorClassOf(const Issue& issue) {
  switch (issue.op) {
    case Op::kVBIN:
    case Op::kVBINC:
      return BinaryClass(issue.fn, false);
    case Op::kVBINS:
      return BinaryClass(issue.fn % kBinSwapped, true);
    case Op::kVUN:
      return UnaryClass(issue.fn);
    case Op::kVFMA:
      return VectorClass::kFma;
    case Op::kVCMP:
    case Op::kVCMPS:
      return VectorClass::kCompare;
    case Op::kVSEL:
      return VectorClass::kSelect;
    case Op::kVCVT:
      return VectorClass::kConvert;
    case Op::kVTR:
      return VectorClass::kTranspose;
    case Op::kVRED:
      return issue.v[6] == kRedFirst || issue.v[6] == kRedMore ? VectorClass::kGroupReduce
                                                               : VectorClass::kRowReduce;
    default:
      return VectorClass::kCopy;  // VDUP, VIOTA
  }
}

int64_t BeatsOf(const Issue& issue, const Preset& p) {
  const int at = RowsAt(issue);
  const int64_t rows = V(issue, at), cols = V(issue, at + 1), es = SizeOf(issue.type());
  const int64_t widest = issue.op == Op::kVCVT ? std::max<int64_t>(es, SizeOf(Type(issue.fn))) : es;
  if (issue.op == Op::kVTR) {
    return CeilDiv(rows, 16) * CeilDiv(cols, 16) * CeilDiv(16 * 16 * es, p.vector_bytes);
  }
  if (issue.op == Op::kVRED && issue.v[6] == kRedFinal)
    return rows * CeilDiv(kLaneBytes, p.vector_bytes);
  if (issue.op != Op::kVRED && Packed(issue, rows, cols, es))
    return CeilDiv(rows * cols * widest, p.vector_bytes);
  return rows * CeilDiv(cols * widest, p.vector_bytes);
}

int64_t MacsOf(const Issue& issue) {
  return issue.op == Op::kMMUL ? V(issue, 3) * V(issue, 4) * V(issue, 5) : 0;
}

int64_t BytesOf(const Issue& issue) {
  switch (issue.op) {
    case Op::kLD:
    case Op::kST:
    case Op::kCPL:
    case Op::kXU:
      return V(issue, 2) * V(issue, 3);
    case Op::kXA:
    case Op::kXB:
      return FractalBytes(issue);
    case Op::kMMUL:
      return CeilDiv(V(issue, 3), 16) * CeilDiv(V(issue, 5), 16) * 1024;
    case Op::kDR:
      return V(issue, 2) * V(issue, 3) * SizeOf(issue.type());
    default: {
      if (Info(issue.op).cost != CostClass::kVector) return 0;
      const int at = RowsAt(issue);
      return V(issue, at) * V(issue, at + 1) * SizeOf(issue.type());
    }
  }
}

}  // namespace frazil::npu
