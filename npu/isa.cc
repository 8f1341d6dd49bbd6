#include "npu/isa.h"

#include "core/check.h"

namespace frazil::npu {
namespace {

using enum OperandKind;
using enum Format;
using Names = absl::Span<const std::string_view>;

constexpr uint16_t kNoTypes = 0, kAllTypes = (1 << kNumTypes) - 1,
                   kFloatTypes = 1 << kF32 | 1 << kF16 | 1 << kBF16,
                   kMatrixTypes = kFloatTypes | 1 << kI8 | 1 << kU8, kIotaTypes = 1 << kI32;

constexpr std::string_view kAlu[] = {"add", "sub", "mul", "divu", "remu", "min", "max",  "and",
                                     "or",  "xor", "shl", "shru", "sar",  "slt", "sltu", "cmov"};
constexpr std::string_view kBranch[] = {"eq", "ne", "lt", "ge", "ltu", "geu", "always"};
constexpr std::string_view kTranspose[] = {"", "t"};
constexpr std::string_view kMatrix[] = {"", "acc"};
// Bits of DR in this order: relu, scale, sat, i32.
constexpr std::string_view kDrain[] = {
    "",        "relu",         "scale",         "relu_scale",
    "sat",     "relu_sat",     "scale_sat",     "relu_scale_sat",
    "i32",     "relu_i32",     "scale_i32",     "relu_scale_i32",
    "sat_i32", "relu_sat_i32", "scale_sat_i32", "relu_scale_sat_i32"};
constexpr std::string_view kBinary[] = {"add", "sub", "mul", "div", "max", "min",
                                        "and", "or",  "xor", "shl", "shr", "rem"};
constexpr std::string_view kBinaryS[] = {"add",  "sub",  "mul",  "div",  "max",  "min",
                                         "and",  "or",   "radd", "rsub", "rmul", "rdiv",
                                         "rmax", "rmin", "rand", "ror"};
constexpr std::string_view kUnary[] = {"copy", "neg",  "abs",  "sqrt", "rsqrt",   "recip",
                                       "exp",  "log",  "tanh", "erf",  "sigmoid", "floor",
                                       "ceil", "rint", "sign", "relu"};
constexpr std::string_view kCompare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::string_view kTypeNames[] = {"f32", "f16", "bf16", "i8", "u8", "i32", "u32"};
constexpr std::string_view kReduce[] = {"sum",    "max",    "min", "prod",
                                        "argmax", "argmin", "any", "all"};

constexpr Names kNoFns, kAluFns = kAlu, kBranchFns = kBranch, kTransposeFns = kTranspose,
                        kMatrixFns = kMatrix, kDrainFns = kDrain, kBinFns = kBinary,
                        kBinSFns = kBinaryS, kUnFns = kUnary, kCmpFns = kCompare,
                        kTypeFns = kTypeNames, kRedFns = kReduce;

// The words of isa.def's operand lists.
constexpr uint8_t GM = 1 << kGM, L1 = 1 << kL1, L0A = 1 << kL0A, L0B = 1 << kL0B, L0C = 1 << kL0C,
                  UB = 1 << kUB;
constexpr Operand DST(uint8_t spaces) { return {kWrite, spaces, 0}; }
constexpr Operand SRC(uint8_t spaces) { return {kRead, spaces, 0}; }
constexpr Operand LD(uint8_t of) { return {kLd, 0, of}; }
constexpr Operand SD{kDstReg}, IMM32{kImm32}, REL{kRel}, VAL{kValue}, SCALAR{kScalar}, ROWS{kRows},
    COLS{kCols}, ROW_BYTES{kRowBytes}, DIM_M{kM}, DIM_K{kK}, DIM_N{kN}, PAD{kPad}, MODE{kMode},
    QUEUE{kQueueId}, FLAG{kFlagId};

constexpr CostClass kCostScalar = CostClass::kScalar, kCostScalarLoad = CostClass::kScalarLoad,
                    kCostFlag = CostClass::kFlag, kCostMove = CostClass::kMove,
                    kCostMatrix = CostClass::kMatrix, kCostDrain = CostClass::kDrain,
                    kCostVector = CostClass::kVector;

struct List {
  std::array<Operand, kMaxOperands> items{};
  int count = 0;
  template <typename... T>
  constexpr explicit List(T... operands) : items{operands...}, count(sizeof...(operands)) {}
};

constexpr OpInfo kInfos[] = {
#define NPU_OP(code, E, queue, format, types, functions, operands, cost, doc) \
  {code, #E, queue, format, types, functions, List operands.items, List operands.count, cost, doc},
#include "npu/isa.def"
#undef NPU_OP
};

constexpr std::array<int8_t, 256> MakeByCode() {
  std::array<int8_t, 256> table{};
  for (int8_t& i : table) i = -1;
  for (size_t i = 0; i < size_t(Op::kCount); ++i) table[kInfos[i].code] = int8_t(i);
  return table;
}
constexpr std::array<int8_t, 256> kByCode = MakeByCode();

}  // namespace

const OpInfo& Info(Op op) { return kInfos[size_t(op)]; }

std::optional<Op> FindCode(uint8_t code) {
  if (kByCode[code] < 0) return std::nullopt;
  return Op(kByCode[code]);
}

std::optional<Op> FindOp(std::string_view name) {
  for (size_t i = 0; i < size_t(Op::kCount); ++i) {
    if (kInfos[i].name == name) return Op(i);
  }
  return std::nullopt;
}

namespace {

// "x", or "x1" "x2" ... where the list has several of the kind.
std::string Numbered(const OpInfo& info, int i, std::string_view name) {
  int number = 0, count = 0;
  for (int j = 0; j < info.num_operands; ++j) {
    if (info.operands[j].kind != info.operands[i].kind) continue;
    ++count;
    if (j <= i) ++number;
  }
  return count == 1 ? std::string(name) : StrCat(name, number);
}

std::string_view KindName(OperandKind kind) {
  switch (kind) {
    case kNone:
      return "nothing";
    case kDstReg:
      return "sd";
    case kImm32:
      return "imm";
    case kRel:
      return "rel";
    case kValue:
      return "value";
    case kScalar:
      return "scalar";
    case kWrite:
      return "dst";
    case kRead:
      return "src";
    case kRows:
      return "rows";
    case kCols:
      return "cols";
    case kRowBytes:
      return "row_bytes";
    case kM:
      return "m";
    case kK:
      return "k";
    case kN:
      return "n";
    case kLd:
      return "ld";
    case kPad:
      return "pad";
    case kMode:
      return "mode";
    case kQueueId:
      return "queue";
    case kFlagId:
      return "flag";
  }
  return "";
}

}  // namespace

std::string OperandName(const OpInfo& info, int i) {
  const Operand& operand = info.operands[i];
  if (operand.kind == kLd) return StrCat(OperandName(info, operand.of), "_ld");
  return Numbered(info, i, KindName(operand.kind));
}

std::string_view Name(Queue q) {
  static constexpr std::string_view kNames[] = {"S", "LD", "XP", "MM", "VE", "DR", "ST"};
  FZ_CHECK(q < kNumQueues);
  return kNames[q];
}

std::string_view Name(Space s) {
  static constexpr std::string_view kNames[] = {"gm", "l1", "l0a", "l0b", "l0c", "ub"};
  FZ_CHECK(s < kNumSpaces);
  return kNames[s];
}

std::string_view Name(Type t) { return kTypeNames[t]; }

}  // namespace frazil::npu
