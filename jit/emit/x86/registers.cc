// Registers, constants and stack slots.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using asmjit::ConstPoolScope;
using kir::kNone;

// With a name: asmjit would print a number to make one, which takes longer than everything else.
Codegen::Vec Codegen::NewVec(int bytes) {
  using asmjit::TypeId;
  Vec v;
  cc_._newReg(&v,
              bytes <= 16   ? TypeId::kInt32x4
              : bytes <= 32 ? TypeId::kInt32x8
                            : TypeId::kInt32x16,
              "v");
  return v;
}

Codegen::K Codegen::NewK() {
  K k;
  cc_._newReg(&k, asmjit::TypeId::kMask16, "k");
  return k;
}

Codegen::Mem Codegen::PoolBytes(const void* data, size_t size) {
  return cc_.newConst(ConstPoolScope::kLocal, data, size);
}

// A constant as an operand: broadcast by the instruction itself (AVX-512) or a whole vector in the
// pool (AVX2).
Codegen::Mem Codegen::ConstMem(DType type, uint64_t bits) {
  const int size = SizeOf(type);
  if (z_ && size >= 4) {
    Mem mem = size == 4 ? cc_.newUInt32Const(ConstPoolScope::kLocal, uint32_t(bits))
                        : cc_.newUInt64Const(ConstPoolScope::kLocal, bits);
    return mem.cloneBroadcasted(v_ == 16 ? Mem::Broadcast::k1To16 : Mem::Broadcast::k1To8);
  }
  uint8_t data[64];
  const int bytes = std::min(RegBytes(type), 32);
  for (int i = 0; i < bytes; i += size) std::memcpy(data + i, &bits, size_t(size));
  return PoolBytes(data, size_t(bytes));
}

Codegen::Vec Codegen::ConstReg(DType type, uint64_t bits) {
  if (bits == 0) return Zero(RegBytes(type));
  Vec d = NewFor(type);
  Mem mem = ConstMem(type, bits);
  if (z_ && SizeOf(type) >= 4) {
    cc_.emit(SizeOf(type) == 4 ? x86::Inst::kIdVbroadcastss : x86::Inst::kIdVbroadcastsd, d,
             mem.cloneBroadcasted(Mem::Broadcast::kNone));
  } else {
    cc_.emit(x86::Inst::kIdVmovups, d, mem);
  }
  return d;
}

Codegen::Vec Codegen::Zero(int bytes) {
  Vec d = NewVec(bytes);
  cc_.emit(z_ ? x86::Inst::kIdVpxord : x86::Inst::kIdVpxor, d, d, d);
  return d;
}

Codegen::Vec Codegen::R(Id id) {
  if (Val(id).isReg()) return Val(id).as<Vec>();
  FZ_CHECK(k_.body[id].op == Op::kConst);
  return ConstReg(k_.body[id].type, k_.body[id].imm);
}

Codegen::Operand Codegen::S(Id id) {
  if (Val(id).isReg()) return Val(id);
  FZ_CHECK(k_.body[id].op == Op::kConst);
  return ConstMem(k_.body[id].type, k_.body[id].imm);
}

// A value made in this very copy of the body for one use alone: its register may be overwritten.
// (Casts and the like may share the register of their operand.)
bool Codegen::Dead(Id id) const {
  const Op op = k_.body[id].op;
  return Val(id).isReg() && Of(id).uses == 1 && Of(id).level == level_ && !Of(id).common &&
         op != Op::kConst && op != Op::kReduce && op != Op::kCarry && op != Op::kCast &&
         op != Op::kBitcast && op != Op::kAbs;
}

Codegen::Vec Codegen::Owned(Id id) {
  if (!Val(id).isReg() || Dead(id)) return R(id);
  Vec d = NewFor(k_.body[id].type);
  Copy(d, R(id));
  return d;
}

Codegen::Mem Codegen::Scratch(int index) {
  while (int(scratch_.size()) <= index) scratch_.push_back(cc_.newStack(128, 64));
  return scratch_[index];
}

}  // namespace frazil::jit
