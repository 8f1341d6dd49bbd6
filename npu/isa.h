// What an instruction is: opcodes, queues, memory spaces, element types, operands, and the 64-bit
// word. Called by everything in npu and by the emitter. Invariant: what stands in isa.def
// stands nowhere else; Decode(Encode(i)) == i, and Decode accepts exactly the words that Encode
// makes.
//
//   R  op 63:56, dt 55:52, fn 51:48, eight operand fields of six bits: a0 47:42 ... a7 5:0
//   I  op 63:56,                       sd 47:42,                       imm32 31:0
//   B  op 63:56,           cc 51:48,   a0 47:42, a1 41:36,             rel32 31:0
// A field holds a register (0-31) or the number 0-31 (32-63). What is not used is zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "core/status.h"

namespace frazil::npu {

inline constexpr int kIsaRevision = 1;
inline constexpr int kRegisters = 32;  // s0 reads 0
inline constexpr int kMaxOperands = 8;
inline constexpr int kFlagsPerPair = 8;
inline constexpr int kMaxParams = 32;

enum Queue : uint8_t { kS, kLD, kXP, kMM, kVE, kDR, kST, kNumQueues, kBySet, kByWait, kByBar };
inline constexpr int kAllQueues = 7;  // the operand of BAR all

enum Space : uint8_t { kGM, kL1, kL0A, kL0B, kL0C, kUB, kNumSpaces };
// An address: the space in bits 63:60, a byte offset (local) or device address (GM) below.
constexpr uint64_t Address(Space space, uint64_t offset) { return uint64_t{space} << 60 | offset; }
constexpr int SpaceTag(uint64_t address) { return int(address >> 60); }
constexpr uint64_t Offset(uint64_t address) { return address & ~(uint64_t{15} << 60); }
inline constexpr uint64_t kGmBase = 0x0000'1000'0000'0000;  // no device address lies below

enum Type : uint8_t { kF32, kF16, kBF16, kI8, kU8, kI32, kU32, kNumTypes };
constexpr int SizeOf(Type t) { return t == kF32 || t >= kI32 ? 4 : t <= kBF16 ? 2 : 1; }
constexpr bool IsFloat(Type t) { return t <= kBF16; }
constexpr int FractalK(Type t) { return 32 / SizeOf(t); }  // k0: elements of a 32-byte fractal row

enum class Op : uint8_t {
#define NPU_OP(code, E, ...) k##E,
#include "npu/isa.def"
#undef NPU_OP
  kCount
};

enum class OperandKind : uint8_t {
  kNone,
  kDstReg,  // scalar register that is written
  kImm32,   // of an I word
  kRel,     // of a B word
  kValue,   // any 64-bit number
  kScalar,  // an element in the low bits
  kWrite,   // address that is written (spaces: mask)
  kRead,    // address that is read
  kRows,
  kCols,
  kRowBytes,
  kM,
  kK,
  kN,
  kLd,  // row stride in bytes of address operand number `of`; 0: source broadcast, destination
        // packed
  kPad,
  kMode,
  kQueueId,
  kFlagId,
};

struct Operand {
  OperandKind kind = OperandKind::kNone;
  uint8_t spaces = 0;  // of addresses: bit s set: space s is legal
  uint8_t of = 0;      // of kLd
};

enum class Format : uint8_t { kR, kI, kB };

enum class CostClass : uint8_t { kScalar, kScalarLoad, kFlag, kMove, kMatrix, kDrain, kVector };

// One row of isa.def.
struct OpInfo {
  uint8_t code;
  std::string_view name;
  Queue queue;
  Format format;
  uint16_t types;  // mask over Type
  absl::Span<const std::string_view> functions;
  std::array<Operand, kMaxOperands> operands;
  int num_operands;
  CostClass cost;
  std::string_view doc;
};
const OpInfo& Info(Op op);
std::optional<Op> FindCode(uint8_t code);
std::optional<Op> FindOp(std::string_view name);
// "dst" "src2" "rows" "dst_ld": what operand i is, for people.
std::string OperandName(const OpInfo& info, int i);
std::string_view Name(Queue q);  // "S" ... "ST"
std::string_view Name(Space s);  // "gm" ... "ub"
std::string_view Name(Type t);   // "f32" ...

// Functions, in the order of the fn field.
enum Alu : uint8_t {
  kAluAdd,
  kAluSub,
  kAluMul,
  kAluDivu,
  kAluRemu,
  kAluMin,
  kAluMax,
  kAluAnd,
  kAluOr,
  kAluXor,
  kAluShl,
  kAluShru,
  kAluSar,
  kAluSlt,
  kAluSltu,
  kAluCmov
};
enum Branch : uint8_t { kBrEq, kBrNe, kBrLt, kBrGe, kBrLtu, kBrGeu, kBrAlways };
enum Bin : uint8_t {
  kBinAdd,
  kBinSub,
  kBinMul,
  kBinDiv,
  kBinMax,
  kBinMin,
  kBinAnd,
  kBinOr,
  kBinXor,
  kBinShl,
  kBinShr,
  kBinRem
};
inline constexpr int kBinSwapped = 8;  // VBINS: s fn x
enum Un : uint8_t {
  kUnCopy,
  kUnNeg,
  kUnAbs,
  kUnSqrt,
  kUnRsqrt,
  kUnRecip,
  kUnExp,
  kUnLog,
  kUnTanh,
  kUnErf,
  kUnSigmoid,
  kUnFloor,
  kUnCeil,
  kUnRint,
  kUnSign,
  kUnRelu
};
enum Cmp : uint8_t { kCmpEq, kCmpNe, kCmpLt, kCmpLe, kCmpGt, kCmpGe };
enum Red : uint8_t {
  kRedSum,
  kRedMax,
  kRedMin,
  kRedProd,
  kRedArgmax,
  kRedArgmin,
  kRedAny,
  kRedAll
};
enum RedMode : uint8_t { kRedFull, kRedFirst, kRedMore, kRedFinal };
inline constexpr int kRedLanes = 64;
enum DrainBits : uint8_t { kDrainRelu = 1, kDrainScale = 2, kDrainSaturate = 4, kDrainI32 = 8 };
inline constexpr uint8_t kMatrixAcc = 1;
inline constexpr uint8_t kTransposed = 1;

// A decoded instruction. Fields of R operands: 0-31 a register, 32-63 the number 0-31.
struct Instr {
  Op op = Op::kNOP;
  uint8_t dt = 0;
  uint8_t fn = 0;
  std::array<uint8_t, kMaxOperands> a{};
  int32_t imm = 0;  // imm32 or rel32

  bool operator==(const Instr&) const = default;
};
constexpr uint8_t Imm(int n) { return uint8_t(32 + n); }  // the field of number n in [0, 32)
constexpr bool IsImm(uint8_t field) { return field >= 32; }

// Why no word can stand for this instruction; empty if one does.
std::string FieldProblem(const Instr& instr);
// FieldProblem must be empty.
uint64_t Encode(const Instr& instr);
enum class DecodeError : uint8_t { kNone, kOpcode, kEncoding };
DecodeError Decode(uint64_t word, Instr* instr);

}  // namespace frazil::npu
