#include "jit/emit/x86/codegen.h"

#include <cstddef>

#include "core/tuned.h"
#include "jit/emit/x86/allot.h"

namespace frazil::jit {

using kir::Inst;
using kir::Stride;

Codegen::Codegen(const kir::Kernel& kernel, Isa isa, const RegisterFile* file,
                 asmjit::CodeHolder* code)
    : Selection(kernel, isa), file_(file), code_(code), cc_(code) {}

// Before the function proper, with the arguments where the caller put them.
void Codegen::LeaveFew(const Label& few) {
  x86::Assembler entry(code_);
  entry.mov(x86::rax, x86::r8);  // the end of the columns
  entry.sub(x86::rax, x86::rcx);
  entry.cmp(x86::rax, v_ / 2);
  entry.jle(few);
}

Status Codegen::Run(Columns columns, const Label& few) {
  if (space_ && k_.chunked && k_.rank == 1) {
    return NotImplementedError("[x86] chunks cannot lie on the vector axis: kernel ", k_.name, ".");
  }
  if (k_.long_rows)
    return NotImplementedError("[x86] rows of several chunks: kernel ", k_.name, ".");
  for (const Inst& inst : k_.body) {
    if (inst.op == Op::kBarrier)
      return NotImplementedError("[x86] barriers: kernel ", k_.name, ".");
  }
  Select();
  vals_.assign(k_.body.size() * tuned::kMaxCopies, Operand());
  if (z_ && !repeats_) divisors_.assign(vals_.size(), Divisor());
  if (z_ && space_ && !k_.has_loop && !repeats_) FindTables();
  few_ = columns == Columns::kFew;
  if (columns == Columns::kMany) LeaveFew(few);
  if (few_) cc_.bind(few);
  asmjit::FuncNode* fn =
      cc_.addFunc(asmjit::FuncSignatureT<void, const void*, int64_t, int64_t, int64_t, int64_t>(
          asmjit::CallConvId::kHost));
  fn->frame().setAvxEnabled();
  if (z_) fn->frame().setAvx512Enabled();
  fn->frame().setAvxCleanup();
  args_ = cc_.newIntPtr("args");
  row_ = cc_.newInt64("row");
  row_end_ = cc_.newInt64("row_end");
  col_begin_ = cc_.newInt64("col_begin");
  col_end_ = cc_.newInt64("col_end");
  Gp params[] = {args_, row_, row_end_, col_begin_, col_end_};
  for (int i = 0; i < 5; ++i) fn->setArg(i, params[i]);

  Label done = cc_.newLabel();
  cc_.cmp(row_, row_end_);
  cc_.jge(done);
  cc_.cmp(col_begin_, col_end_);
  cc_.jge(done);
  Prologue();
  LoadTables();
  EmitLevel(kKernelLevel, -1);
  EmitRows();
  if (k_.stream) cc_.sfence();
  cc_.bind(done);
  cc_.ret();
  cc_.endFunc();
  if (status_.ok()) Assemble(fn);
  return status_;
}

void Codegen::Assemble(asmjit::FuncNode* fn) {
  if (!file_) {
    cc_.finalize();
    return;
  }
  RegisterFile file = *file_;
  if (!z_) file.vec &= 0xffff;
  if (!Allotter(&cc_, fn, file).Run()) {
    out_of_registers_ = true;
    status_ = NotImplementedError("[x86] no registers for kernel ", k_.name, ".");
    return;
  }
  x86::Assembler assembler(code_);
  assembler.addEncodingOptions(cc_.encodingOptions());
  cc_.serializeTo(&assembler);
}

// --- structure

Codegen::Mem Codegen::StrideMem(int buffer, int axis) {
  return x86::qword_ptr(strides_, (buffer * k_.axes() + axis) * 8);
}

void Codegen::Prologue() {
  buffers_ = cc_.newIntPtr("buffers");
  extents_ = cc_.newIntPtr("extents");
  strides_ = cc_.newIntPtr("strides");
  cc_.mov(buffers_, x86::qword_ptr(args_, offsetof(kir::KernelArgs, buffers)));
  cc_.mov(extents_, x86::qword_ptr(args_, offsetof(kir::KernelArgs, extents)));
  cc_.mov(strides_, x86::qword_ptr(args_, offsetof(kir::KernelArgs, strides)));
  const size_t n = k_.buffers.size();
  row_ptr_.resize(n);
  col_ptr_.resize(n);
  loop_ptr_.resize(n);
  vec_step_.resize(n);
  for (size_t b = 0; b < n; ++b) {
    row_ptr_[b] = cc_.newIntPtr();
    if (VecAxis() < k_.axes() && k_.buffers[b].strides[VecAxis()] == Stride::kAny) {
      vec_step_[b] = cc_.newInt64();
      cc_.imul(vec_step_[b], StrideMem(int(b), VecAxis()), v_);
    }
  }
  FullLanes();
}

void Codegen::InitCounters() {
  counters_.clear();
  for (int a = 0; a < k_.rank - 1; ++a) {
    counters_.push_back(cc_.newStack(8, 8));
    counters_.back().setSize(8);
  }
  if (k_.rank < 2) return;
  Gp quotient = cc_.newInt64();
  cc_.mov(quotient, row_);
  for (int a = k_.rank - 2; a >= 1; --a) {
    Gp remainder = cc_.newInt64();
    Gp extent = cc_.newInt64();
    cc_.mov(extent, x86::qword_ptr(extents_, a * 8));
    cc_.xor_(remainder, remainder);
    cc_.idiv(remainder, quotient, extent);
    cc_.mov(counters_[a], remainder);
  }
  cc_.mov(counters_[0], quotient);
}

void Codegen::AdvanceCounters(const Label& next_row) {
  for (int a = k_.rank - 2; a >= 0; --a) {
    Gp count = cc_.newInt64();
    cc_.mov(count, counters_[a]);
    cc_.inc(count);
    cc_.mov(counters_[a], count);
    if (a == 0) break;
    cc_.cmp(count, x86::qword_ptr(extents_, a * 8));
    cc_.jl(next_row);
    cc_.xor_(count, count);
    cc_.mov(counters_[a], count);
  }
  cc_.jmp(next_row);
}

void Codegen::RowPointers() {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    cc_.mov(row_ptr_[b], x86::qword_ptr(buffers_, int(b) * 8));
    for (int a = 0; a < k_.rank - 1; ++a) {
      if (k_.buffers[b].strides[a] == Stride::kZero) continue;
      Gp offset = cc_.newInt64();
      cc_.mov(offset, counters_[a]);
      cc_.imul(offset, StrideMem(int(b), a));
      cc_.add(row_ptr_[b], offset);
    }
  }
}

void Codegen::EmitRows() {
  InitCounters();
  Label top = cc_.newLabel(), done = cc_.newLabel();
  cc_.bind(top);
  RowPointers();
  level_ = kRowLevel;
  EmitLevel(kRowLevel, -1);
  col_ = cc_.newInt64("col");
  cc_.mov(col_, col_begin_);
  if (space_) {
    EmitColumnsSpace();
  } else {
    EmitPointsLoop();
  }
  cc_.inc(row_);
  cc_.cmp(row_, row_end_);
  cc_.jge(done);
  AdvanceCounters(top);
  cc_.bind(done);
}

// Emits the pure instructions of one level; region -1 means all of them wherever they stand.
void Codegen::EmitLevel(int level, int region) {
  const int saved = level_;
  level_ = level;
  FullLanes();
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (Of(i).level != level || (region >= 0 && Of(i).region != region)) continue;
    if (!HasCode(inst.op) || inst.op == Op::kStore || Of(i).count) continue;
    EmitInst(Id(i));
  }
  level_ = saved;
}

void Codegen::EmitInst(Id id) {
  if (Is(id, Form::kDropped)) return;
  if (Is(id, Form::kTakenBack)) return TakeBack(id);
  EmitValue(id);
  if (Of(id).also == Also::kDivisor) PrepareDivisor(id);
  if (Of(id).also == Also::kPark) ParkValue(id);
}

void Codegen::EmitValue(Id id) {
  switch (k_.body[id].op) {
    case Op::kParam:
      return EmitParam(id);
    case Op::kConst: {
      const Inst& inst = k_.body[id];
      if (Of(id).uses == 0) return;  // distances
      if (IsBool(inst.type)) {
        if (z_) {
          K mask = NewK();
          if (inst.imm & 1) {
            cc_.emit(v_ == 8 ? x86::Inst::kIdKxnorb : x86::Inst::kIdKxnorw, mask, mask, mask);
          } else {
            cc_.kxorw(mask, mask, mask);
          }
          Set(id, mask);
        } else {
          Set(id, ConstReg(DType::kI32, inst.imm & 1 ? 0xffffffffu : 0));
        }
      } else if (resident_consts_) {
        const Id same = SameConst(id);
        Set(id, same == id ? Operand(ConstReg(inst.type, inst.imm)) : Val(same));
      }
      return;
    }
    case Op::kIndex:
      return EmitIndex(id);
    case Op::kLoad:
      return EmitLoad(id);
    case Op::kStore:
      return EmitStore(id);
    case Op::kCast:
      if (Is(id, Form::kWidened) || Is(id, Form::kNothing)) return;
      return EmitCast(id);
    case Op::kBitcast:
      return EmitBitcast(id);
    default:
      return EmitArith(id);
  }
}

// --- masks of the tail

void Codegen::FullLanes() {
  masked_ = false;
  tail_ = Mask();
}

// From here on instructions are emitted under a mask, which FillTailMask sets.
void Codegen::NewTailMask() {
  masked_ = true;
  tail_count_ = cc_.newInt64("count");
  tail_.any = true;
  if (z_) {
    tail_.k = NewK();
  } else {
    tail_.m32 = NewVec(v_ * 4);
  }
}

// The first `rest` lanes are on, or all.
void Codegen::FillTailMask(const Gp& rest) {
  cc_.mov(tail_count_, v_);
  cc_.cmp(rest, v_);
  cc_.cmovl(tail_count_, rest);
  if (z_) {
    Gp bits = cc_.newUInt32();
    cc_.mov(bits, -1);
    cc_.bzhi(bits, bits, tail_count_.r32());
    cc_.kmovw(tail_.k, bits);
    return;
  }
  static constexpr int32_t kIota[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Vec wide = NewVec(v_ * 4);
  cc_.vmovd(wide.xmm(), tail_count_.r32());
  cc_.emit(x86::Inst::kIdVpbroadcastd, wide, wide.xmm());
  cc_.emit(x86::Inst::kIdVpcmpgtd, tail_.m32, wide, PoolBytes(kIota, size_t(v_) * 4));
}

}  // namespace frazil::jit
