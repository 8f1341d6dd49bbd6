#include "core/check.h"
#include "jit/emit/npu/tile_program.h"
#include "jit/kir/legalize.h"
#include "kernels/fn.h"

namespace frazil::npu {
namespace {

using kir::ReduceKind;

Arg N(int64_t n) { return Arg::Number(n); }

Val UniformOf(Type type, int64_t number) {
  Val v;
  v.type = type;
  v.uniform = true;
  v.number = N(number);
  return v;
}

struct NativeFn {
  Fn fn;
  Un un;
};
constexpr NativeFn kNative[] = {
    {Fn::kExp, kUnExp}, {Fn::kLog, kUnLog}, {Fn::kTanh, kUnTanh}, {Fn::kErf, kUnErf}};

}  // namespace

kir::LegalCaps NpuLegalCaps() {
  kir::LegalCaps caps;
  for (const NativeFn& n : kNative) caps.native_calls |= uint64_t{1} << int(n.fn);
  return caps;
}

void TileProgram::Instruction(Id i, const Tile& tile) {
  const Inst& inst = k_.body[i];
  const InstInfo& info = At(i);
  if (info.root != i) return;  // another name for an operand's memory
  if (inst.op == kir::Op::kParam || inst.op == kir::Op::kConst) {
    Val v;
    v.type = info.type;
    v.uniform = true;
    v.number = inst.op == kir::Op::kParam ? Arg::Param(params_[k_.buffers.size() + inst.imm])
                                          : Arg::Number(int64_t(int32_t(uint32_t(inst.imm))));
    values_[i] = v;
    return;
  }
  if (inst.op == kir::Op::kLoad) return Loaded(i, tile);
  const Val a = inst.a == kir::kNone ? Val() : ValueOf(inst.a);
  const Val b = inst.b == kir::kNone ? Val() : ValueOf(inst.b);
  const Val c = inst.c == kir::kNone ? Val() : ValueOf(inst.c);
  const bool fused = inst.op == kir::Op::kFma;
  const Val dst = fused ? Destination(i, {inst.c}) : Destination(i, {inst.a, inst.b, inst.c});
  Operation(i, a, b, c, dst);
  values_[i] = dst;
}

void TileProgram::Loaded(Id i, const Tile& tile) {
  const Inst& inst = k_.body[i];
  const InstInfo& info = At(i);
  const Slot& slot = loads_.at({int(inst.imm), info.in_loop});
  Val v = slot.at(slot.read);
  if (!IsPlainLoad(i)) {
    const Val raw = v;
    v = Destination(i, {});
    stream_.Emit(
        Op::kVTR, info.type, 0,
        {v.at(), raw.at(), N(tile.cols), N(tile.rows), N(0), N(tile.rows * SizeOf(info.type))});
  }
  values_[i] = v;
}

void TileProgram::Operation(Id i, const Val& a, const Val& b, const Val& c, const Val& dst) {
  const Inst& inst = k_.body[i];
  switch (inst.op) {
#define FZ_BINARY(K, B) \
  case kir::Op::K:      \
    return vectors_.Binary(B, a, b, dst);
    FZ_BINARY(kAdd, kBinAdd)
    FZ_BINARY(kSub, kBinSub)
    FZ_BINARY(kMul, kBinMul)
    FZ_BINARY(kDiv, kBinDiv)
    FZ_BINARY(kRem, kBinRem)
    FZ_BINARY(kMin, kBinMin)
    FZ_BINARY(kMax, kBinMax)
    FZ_BINARY(kAnd, kBinAnd)
    FZ_BINARY(kOr, kBinOr)
    FZ_BINARY(kXor, kBinXor)
    FZ_BINARY(kShl, kBinShl)
    FZ_BINARY(kShr, kBinShr)
#undef FZ_BINARY
#define FZ_UNARY(K, U) \
  case kir::Op::K:     \
    return vectors_.Unary(U, a, dst);
    FZ_UNARY(kNeg, kUnNeg)
    FZ_UNARY(kAbs, kUnAbs)
    FZ_UNARY(kSqrt, kUnSqrt)
    FZ_UNARY(kFloor, kUnFloor)
    FZ_UNARY(kCeil, kUnCeil)
    FZ_UNARY(kRint, kUnRint)
#undef FZ_UNARY
#define FZ_COMPARE(K, C) \
  case kir::Op::K:       \
    return vectors_.Compare(C, a, b, dst);
    FZ_COMPARE(kLt, kCmpLt)
    FZ_COMPARE(kLe, kCmpLe)
    FZ_COMPARE(kEq, kCmpEq)
    FZ_COMPARE(kNe, kCmpNe)
#undef FZ_COMPARE
    case kir::Op::kTrunc:
      return vectors_.Truncate(a, dst);
    case kir::Op::kNot:
      if (inst.type == DType::kBool) return vectors_.Compare(kCmpEq, a, UniformOf(kU8, 0), dst);
      return vectors_.Binary(kBinSub, UniformOf(a.type, -1), a, dst);  // -1 - a is ~a
    case kir::Op::kFma:
      return vectors_.Fma(a, b, c, dst);
    case kir::Op::kSelect:
      return vectors_.Select(a, b, c, dst);
    case kir::Op::kCast:
      return vectors_.Convert(a, IsFloat(a.type) && !IsFloat(dst.type) ? 1 : 0, dst);
    case kir::Op::kCall:
      for (const NativeFn& n : kNative) {
        if (uint64_t(n.fn) == inst.imm) return vectors_.Unary(n.un, a, dst);
      }
      [[fallthrough]];
    default:
      FZ_CHECK(false);
  }
}

TileProgram::ReduceWords TileProgram::WordsOf(const Inst& inst, Type type) {
  const bool f = IsFloat(type);
  switch (ReduceKind(inst.imm)) {
    case ReduceKind::kSum:
      return {kRedSum, kBinAdd, f ? 0x80000000u : 0u};
    case ReduceKind::kProd:
      return {kRedProd, kBinMul, f ? 0x3f800000u : 1u};
    case ReduceKind::kMax:
      return {kRedMax, kBinMax, f ? 0xff800000u : type == kI32 ? 0x80000000u : 0u};
    case ReduceKind::kMin:
      return {kRedMin, kBinMin, f ? 0x7f800000u : type == kI32 ? 0x7fffffffu : ~0u};
    case ReduceKind::kAnd:
      return {kRedAll, kBinAnd, 1};
    case ReduceKind::kOr:
      return {kRedAny, kBinOr, 0};
  }
  FZ_CHECK(false);
  return {};
}

void TileProgram::Reduce(Id i, const Tile& tile) {
  const Inst& inst = k_.body[i];
  Val x = ValueOf(inst.a);
  const Shape full{true, true};
  const bool widen = plan_.loop_is_rows() && x.type == kU8;
  const Type type = widen ? kI32 : x.type;
  const ReduceWords words = WordsOf(inst, type);
  // The element of every point, also where it is the same along an axis.
  Val wide = x;
  const bool expand = x.uniform || !(x.shape == full);
  if (expand) {
    wide = vectors_.New(x.type, full);
    vectors_.Expand(x, wide);
  }
  if (widen) {
    const Val numbers = vectors_.New(kI32, full);
    vectors_.Convert(wide, 0, numbers);
    if (expand) vectors_.Free(wide);
    wide = numbers;
  }
  plan_.loop_is_rows() ? ReduceColumns(i, wide, words, tile, widen)
                       : ReduceRows(i, wide, words, tile);
  if (expand || widen) vectors_.Free(wide);
}

void TileProgram::ReduceRows(Id i, const Val& x, const ReduceWords& words, const Tile& tile) {
  if (tile.first && tile.last) {
    const Val dst = Destination(i, {});
    vectors_.ReduceRows(words.row, x, kRedFull, dst);
    values_[i] = dst;
    return;
  }
  if (tile.first) partial_[i] = vectors_.NewLanes(x.type);
  const Val lanes = partial_[i];
  vectors_.ReduceRows(words.row, x, tile.first ? kRedFirst : kRedMore, lanes);
  if (!tile.last) return;
  const Val dst = Destination(i, {});
  vectors_.ReduceRows(words.row, lanes, kRedFinal, dst);
  values_[i] = dst;
  vectors_.Free(lanes);
}

void TileProgram::ReduceColumns(Id i, const Val& x, const ReduceWords& words, const Tile& tile,
                                bool narrow) {
  if (tile.first) partial_[i] = vectors_.NewAccumulators(x.type);
  const Val accumulators = partial_[i];
  vectors_.AccumulateRows(words.column, x, tile.first, words.identity, accumulators);
  if (!tile.last) return;
  const Val dst = Destination(i, {});
  if (narrow) {
    const Val row = vectors_.New(kI32, {false, true});
    vectors_.FinishRows(words.column, accumulators, row);
    vectors_.Convert(row, 0, dst);
    vectors_.Free(row);
  } else {
    vectors_.FinishRows(words.column, accumulators, dst);
  }
  values_[i] = dst;
  vectors_.Free(accumulators);
}

}  // namespace frazil::npu
