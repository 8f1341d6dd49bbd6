#include "jit/emit/x86/codegen.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/check.h"

namespace frazil::jit {

using asmjit::ConstPoolScope;
using kir::Inst;
using kir::kNone;
using kir::Stride;

namespace {

// Bodies up to this cost get an unrolled loop over full vectors and a masked tail; longer ones are
// emitted once, always masked: register allocation is superlinear, and a long body does not notice
// the mask.
constexpr int kShortBody = 28;

constexpr int kMaxCopies = 8;

}  // namespace

Codegen::Codegen(const kir::Kernel& kernel, Isa isa, asmjit::CodeHolder* code)
    : k_(kernel),
      z_(isa == Isa::kAvx512),
      space_(kernel.vec == kir::VecAxis::kSpace),
      code_(code),
      cc_(code) {}

Status Codegen::Run() {
  if (space_ && k_.chunked && k_.rank == 1) {
    return NotImplementedError("[x86] chunks cannot lie on the vector axis: kernel ", k_.name, ".");
  }
  for (const Inst& inst : k_.body) {
    if (inst.op == Op::kBarrier)
      return NotImplementedError("[x86] barriers: kernel ", k_.name, ".");
  }
  Analyse();
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
  EmitLevel(kKernelLevel, -1);
  EmitRows();
  if (k_.stream) cc_.sfence();
  cc_.bind(done);
  cc_.ret();
  cc_.endFunc();
  if (status_.ok()) cc_.finalize();
  return status_;
}

// --- analysis

int8_t Codegen::LoadLevel(const Inst& inst, int region) const {
  const kir::Buffer& buffer = k_.buffers[inst.imm];
  int8_t level = kRowLevel;
  if (buffer.strides[k_.rank - 1] != Stride::kZero) level = kPointLevel;
  // Inside a loop that may run zero times nothing is read before the loop is entered.
  if (region) level = std::max<int8_t>(level, kPointLevel);
  if (region && buffer.strides[k_.rank] != Stride::kZero) level = kLoopLevel;
  // What the kernel itself writes is read where the program says.
  if (buffer.out) level = region ? kLoopLevel : kPointLevel;
  return level;
}

void Codegen::Analyse() {
  info_.assign(k_.body.size(), Info());
  vals_.assign(k_.body.size() * kMaxCopies, Operand());
  int region = 0, loops = 0, consts = 0;
  bool wide = false;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    Info& info = info_[i];
    if (inst.op == Op::kLoop) region = ++loops;
    info.region = region;
    if (inst.op == Op::kEnd) region = 0;
    if (inst.op == Op::kLoop || inst.op == Op::kEnd || inst.op == Op::kBarrier) continue;
    if (SizeOf(inst.type) == 8) wide = true;
    if (inst.op == Op::kConst && !IsBool(inst.type) && SameConst(Id(i)) == Id(i)) ++consts;
    for (Id operand : {inst.a, inst.b, inst.c}) {
      if (operand == kNone) continue;
      ++info_[operand].uses;
      int8_t level = info_[operand].level;
      if (k_.body[operand].op == Op::kReduce) level = kPointLevel;
      info.level = std::max(info.level, level);
    }
    if (inst.op == Op::kIndex) {
      const int axis = int(inst.imm);
      info.level = axis < k_.rank - 1 ? kRowLevel : axis == k_.rank - 1 ? kPointLevel : kLoopLevel;
    } else if (inst.op == Op::kLoad) {
      info.level = std::max(info.level, LoadLevel(inst, info.region));
    } else if (inst.op == Op::kStore) {
      info.level = info.region ? kLoopLevel : kPointLevel;
    } else if (inst.op == Op::kReduce) {
      info.level = kLoopLevel;
    }
  }
  v_ = (z_ ? 16 : 8) / (wide ? 2 : 1);
  resident_consts_ = consts <= (z_ ? 12 : 4);
  long_body_ = Cost(kPointLevel) > kShortBody;
}

// The first constant with these bits; loops of one kernel often repeat their constants.
Codegen::Id Codegen::SameConst(Id id) const {
  const Inst& inst = k_.body[id];
  for (Id i = 0; i < id; ++i) {
    const Inst& other = k_.body[i];
    if (other.op == Op::kConst && other.imm == inst.imm && !IsBool(other.type) &&
        SizeOf(other.type) == SizeOf(inst.type)) {
      return i;
    }
  }
  return id;
}

int Codegen::Cost(int level) const {
  int cost = 0;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (info_[i].level >= level) cost += CostOf(k_.body[i]);
  }
  return cost;
}

int Codegen::CostOf(const Inst& inst) {
  switch (inst.op) {
    case kir::Op::kParam:
    case kir::Op::kConst:
    case kir::Op::kLoop:
    case kir::Op::kEnd:
    case kir::Op::kBarrier:
      return 0;
    case kir::Op::kDiv:
    case kir::Op::kRem:
      return IsFloat(inst.type) ? 1 : 12;
    case kir::Op::kMulhi:
      return 6;
    case kir::Op::kCast:
      return 4;
    case kir::Op::kMin:
    case kir::Op::kMax:
    case kir::Op::kReduce:
      return 3;
    case kir::Op::kLoad:
    case kir::Op::kStore:
      return inst.b != kNone ? 4 : 1;
    default:
      return 1;
  }
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
    if (info_[i].level != level || (region >= 0 && info_[i].region != region)) continue;
    if (inst.op == Op::kLoop || inst.op == Op::kEnd || inst.op == Op::kBarrier ||
        inst.op == Op::kStore || inst.op == Op::kReduce) {
      continue;
    }
    EmitInst(Id(i));
  }
  level_ = saved;
}

// Columns carry the lanes: full vectors first (past the cache if asked for and aligned), then
// masked ones.
void Codegen::EmitColumnsSpace() {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (k_.buffers[b].strides[k_.rank - 1] != Stride::kAny) continue;
    col_ptr_[b] = cc_.newIntPtr();
    cc_.mov(col_ptr_[b], col_);
    cc_.imul(col_ptr_[b], StrideMem(int(b), k_.rank - 1));
    cc_.add(col_ptr_[b], row_ptr_[b]);
  }
  if (!k_.has_loop) {
    const int cost = Cost(kPointLevel);
    const int copies = cost <= 4 ? 4 : cost <= 12 ? 2 : 1;
    if (k_.stream) SpaceLoop(long_body_ ? 1 : copies, true, false);
    if (!long_body_) SpaceLoop(copies, false, false);
  } else if (PanelCopies() > 1) {
    SpaceLoop(PanelCopies(), false, false);
  }
  SpaceLoop(1, false, true);
}

void Codegen::SpaceLoop(int copies, bool nontemporal, bool masked) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  Gp rest = cc_.newInt64("rest");
  const int step = copies * v_;
  level_ = kPointLevel;
  if (nontemporal) {  // an unaligned row takes the ordinary stores
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const kir::Buffer& buffer = k_.buffers[b];
      const int bytes = v_ * SizeOf(buffer.dtype);
      if (!buffer.out || buffer.strides[k_.rank - 1] != Stride::kOne || bytes < 16) continue;
      Gp address = cc_.newIntPtr();
      cc_.lea(address, PlaceOf(int(b), false).At(0));
      cc_.test(address.r32(), std::min(bytes, 64) - 1);
      cc_.jnz(done);
    }
  }
  cc_.mov(rest, col_end_);
  cc_.sub(rest, col_);
  if (masked) {
    cc_.jle(done);
  } else {
    cc_.sub(rest, step);
    cc_.js(done);
  }
  nontemporal_ = nontemporal;
  cc_.bind(top);
  if (masked) {
    Gp count = cc_.newInt64("count");
    cc_.mov(count, v_);
    cc_.cmp(rest, v_);
    cc_.cmovl(count, rest);
    SetTailMask(count);
  } else {
    FullLanes();
  }
  if (k_.has_loop && copies > 1) {
    point_copies_ = copies;
    SpaceStep();
    point_copies_ = 1;
    copies = 0;
  }
  for (int copy = 0; copy < copies; ++copy) {
    copy_disp_ = copy * v_;
    SpaceStep();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (k_.buffers[b].strides[k_.rank - 1] == Stride::kAny) cc_.add(col_ptr_[b], vec_step_[b]);
    }
  }
  copy_disp_ = 0;
  cc_.add(col_, step);
  cc_.sub(rest, step);
  if (masked) {
    cc_.jg(top);
  } else {
    cc_.jns(top);
  }
  cc_.bind(done);
  nontemporal_ = false;
  FullLanes();
}

// A loop along which a row of the array is a long way from the next reads several vectors of it at
// a time.
int Codegen::PanelCopies() const {
  constexpr int kPanelBytes = 256, kShortPanel = 20;
  if (Cost(kPointLevel) > kShortPanel) return 1;
  for (const kir::Buffer& buffer : k_.buffers) {
    if (buffer.strides[k_.rank - 1] == Stride::kAny) return 1;
  }
  return std::min(kPanelBytes / (z_ ? 64 : 32), kMaxCopies);
}

void Codegen::SetCopy(int copy) {
  if (point_copies_ == 1) return;
  copy_ = copy;
  copy_disp_ = copy * v_;
}

void Codegen::SpaceStep() {
  level_ = kPointLevel;
  PointBody();
}

// Everything of one point: instructions outside loops in order, and the loops.
void Codegen::PointBody() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op == Op::kLoop) {
      size_t end = i;
      while (k_.body[end].op != Op::kEnd) ++end;
      EmitLoop(Id(i), Id(end));
      i = end;
      continue;
    }
    if (info_[i].level != kPointLevel || inst.op == Op::kBarrier || inst.op == Op::kEnd) continue;
    ForCopies([&] { EmitInst(Id(i)); });
  }
}

// One column at a time; the loop axis carries the lanes, outside loops all lanes are equal.
void Codegen::EmitPointsLoop() {
  Label top = cc_.newLabel();
  cc_.bind(top);
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    const Stride cls = k_.buffers[b].strides[k_.rank - 1];
    col_ptr_[b] = cc_.newIntPtr();
    if (cls == Stride::kZero) {
      cc_.mov(col_ptr_[b], row_ptr_[b]);
      continue;
    }
    cc_.mov(col_ptr_[b], col_);
    cc_.imul(col_ptr_[b], StrideMem(int(b), k_.rank - 1));
    cc_.add(col_ptr_[b], row_ptr_[b]);
  }
  level_ = kPointLevel;
  FullLanes();
  PointBody();
  cc_.inc(col_);
  cc_.cmp(col_, col_end_);
  cc_.jl(top);
}

void Codegen::EmitInst(Id id) {
  switch (k_.body[id].op) {
    case Op::kParam:
      return EmitParam(id);
    case Op::kConst: {
      const Inst& inst = k_.body[id];
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

void Codegen::SetTailMask(const Gp& count) {
  masked_ = true;
  tail_count_ = count;
  tail_.any = true;
  if (z_) {
    Gp bits = cc_.newUInt32();
    cc_.mov(bits, -1);
    cc_.bzhi(bits, bits, count.r32());
    tail_.k = NewK();
    cc_.kmovw(tail_.k, bits);
    return;
  }
  static constexpr int32_t kIota[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Vec wide = NewVec(v_ * 4);
  cc_.vmovd(wide.xmm(), count.r32());
  cc_.emit(x86::Inst::kIdVpbroadcastd, wide, wide.xmm());
  tail_.m32 = NewVec(v_ * 4);
  cc_.emit(x86::Inst::kIdVpcmpgtd, tail_.m32, wide, PoolBytes(kIota, size_t(v_) * 4));
}

// --- registers and constants

int Codegen::RegBytes(DType type) const {
  if (IsBool(type)) return v_ * 4;  // AVX2 only
  return std::max(16, v_ * SizeOf(type));
}

Codegen::Vec Codegen::NewVec(int bytes) {
  if (bytes <= 16) return cc_.newXmm();
  if (bytes <= 32) return cc_.newYmm();
  return cc_.newZmm();
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
  return Val(id).isReg() && info_[id].uses == 1 && info_[id].level == level_ && op != Op::kConst &&
         op != Op::kReduce && op != Op::kCast && op != Op::kBitcast && op != Op::kAbs;
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
