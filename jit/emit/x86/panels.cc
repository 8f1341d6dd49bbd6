// Loops whose steps are whole rows of an array, far from each other (sums down columns): a panel of
// columns goes through the rows together, row by row, as the array lies in memory. One column after
// another would touch every page of every operand again for each vector of columns.
//
// Parts of the body that belong to a column (before, between and after loops) are passes over the
// columns of the panel. The stack holds what outlives a pass: accumulators, position after
// position, and values that a later pass or loop takes.
#include <algorithm>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

// From the panel's first column to its last, a vector at a time.
void Codegen::PanelSteps(const std::function<void()>& step) {
  Label top = cc_.newLabel();
  cc_.sub(col_, panel_at_);
  cc_.xor_(panel_at_, panel_at_);
  cc_.bind(top);
  step();
  cc_.add(col_, v_);
  cc_.add(panel_at_, v_);
  cc_.cmp(col_, panel_end_);
  cc_.jl(top);
}

Codegen::Mem Codegen::KeptMem(Id id) {
  Mem mem = AccMem(panel_kept_[id], 0);
  mem.setSize(uint32_t(v_ * SizeOf(k_.body[id].type)));
  return mem;
}

// Takes from the stack what instructions of the part take and other parts have made.
void Codegen::TakeKept(const std::vector<int>& parts, int part) {
  std::vector<bool> loaded(k_.body.size());
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (parts[i] != part) continue;
    for (Id operand : Taken(k_.body[i])) {
      if (operand == kNone || loaded[operand] || !panel_kept_[operand].pitch) continue;
      if (KnownIn(parts, operand) == part) continue;
      const int bytes = v_ * SizeOf(k_.body[operand].type);
      const Vec kept = NewVec(std::max(bytes, 16));
      MoveIn(kept, KeptMem(operand), bytes);
      Set(operand, kept);
      loaded[operand] = true;
    }
  }
}

void Codegen::PanelPass(const std::vector<int>& parts, int part) {
  bool any = !accs_.empty();
  for (size_t i = 0; i < k_.body.size(); ++i) {
    any |= parts[i] == part && Of(i).level == kPointLevel && HasCode(k_.body[i].op);
  }
  if (!any) return;
  level_ = kPointLevel;
  const auto keep = [&](Id id) {
    if (panel_kept_[id].pitch) MoveOut(KeptMem(id), R(id), v_ * SizeOf(k_.body[id].type));
  };
  PanelSteps([&] {
    for (const Accumulator& acc : accs_) {
      Set(acc.id, FinishReduce(acc));
      keep(acc.id);
    }
    TakeKept(parts, part);
    for (size_t i = 0; i < k_.body.size(); ++i) {
      if (parts[i] != part || Of(i).level != kPointLevel || !HasCode(k_.body[i].op)) continue;
      EmitInst(Id(i));
      if (kir::HasValue(k_.body[i].op)) keep(Id(i));
    }
  });
}

// The next rows are jumps away, which the processor does not foresee. Says which buffers' are
// fetched, and how far away.
void Codegen::RowsToFetch(Id begin, Id end) {
  far_row_.assign(k_.buffers.size(), Gp());
  Gp length = cc_.newInt64();
  cc_.mov(length, panel_end_);
  cc_.sub(length, col_);
  const Gp ahead = RowsAhead(length);
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kLoad && inst.op != Op::kStore) continue;
    if (Of(i).level != kLoopLevel || !walked_[inst.imm] || far_row_[inst.imm].isValid() ||
        k_.buffers[inst.imm].strides[k_.rank - 1] != Stride::kOne)
      continue;
    Gp far = far_row_[inst.imm] = cc_.newInt64("far");
    cc_.mov(far, ahead);
    cc_.imul(far, StrideMem(int(inst.imm), k_.rank));
  }
}

void Codegen::FetchRows() {
  for (size_t b = 0; b < far_row_.size(); ++b) {
    if (!far_row_[b].isValid()) continue;
    Gp next = cc_.newIntPtr();
    cc_.mov(next, far_row_[b]);
    cc_.add(next, loop_ptr_[b]);
    const Mem at = x86::ptr(next, col_, uint32_t(Log2(SizeOf(k_.buffers[b].dtype))));
    if (k_.buffers[b].out) {
      cc_.prefetchw(at);
    } else {
      cc_.prefetcht0(at);
    }
  }
}

// The loop that begins at instruction `begin`.
void Codegen::PanelRows(const std::vector<int>& parts, Id begin) {
  Id end = begin;
  accs_.clear();
  for (; k_.body[end].op != Op::kEnd; ++end) {
    if (k_.body[end].op == Op::kReduce) accs_.push_back(panel_accs_[end]);
  }
  LoopPointers(begin, end);
  PanelSteps([&] {
    for (const Accumulator& acc : accs_) {
      const Inst& inst = k_.body[acc.id];
      const Vec identity = ConstReg(inst.type, Identity(inst));
      for (int i = 0; i < (acc.laned ? positions_ : 1); ++i)
        cc_.emit(I::kIdVmovups, AccMem(acc, i), identity);
    }
  });
  cc_.sub(col_, panel_at_);
  cc_.xor_(panel_at_, panel_at_);
  RowsToFetch(begin, end);
  Label top = cc_.newLabel(), same = cc_.newLabel();
  Gp lane = cc_.newInt64("lane"), at = cc_.newInt64("at");
  cc_.mov(j_, lo_);
  cc_.xor_(lane, lane);
  cc_.bind(top);
  cc_.mov(at, lane);
  PanelSteps([&] {
    FetchRows();
    level_ = kPointLevel;
    TakeKept(parts, parts[begin]);
    level_ = kLoopLevel;
    LoopBody(begin, end);
    for (const Accumulator& acc : accs_) {
      const Inst& inst = k_.body[acc.id];
      const Mem mem = acc.laned ? AccMemAt(acc, at) : AccMem(acc, 0);
      const Vec before = Make(inst.type, I::kIdVmovups, mem);
      cc_.emit(I::kIdVmovups, mem, Combine(inst, before, R(inst.a)));
    }
    cc_.add(at, v_);
  });
  AdvanceLoopPointers();
  cc_.add(lane, panel_columns_);
  cc_.inc(j_);
  cc_.mov(at, j_);
  cc_.sub(at, lo_);
  cc_.test(at, positions_ - 1);
  cc_.jnz(same);
  cc_.xor_(lane, lane);
  cc_.bind(same);
  cc_.cmp(j_, hi_);
  cc_.jl(top);
  level_ = kPointLevel;
}

// Gives accumulators and kept values their room, which says how many columns a panel has.
void Codegen::AllotPanel() {
  const std::vector<bool> kept = KeptInPanels();
  const auto positions = [&](const Inst& inst) {
    return inst.op != Op::kReduce ? 0 : inst.lanes != 0 ? positions_ : 1;
  };
  int bytes = 0;  // of a column
  for (size_t i = 0; i < k_.body.size(); ++i)
    bytes += SizeOf(k_.body[i].type) * (positions(k_.body[i]) + kept[i]);
  panel_columns_ =
      std::clamp(tuned::kPanelBytes / std::max(bytes, 1), v_, tuned::kPanelColumns) / v_ * v_;
  panel_accs_.assign(k_.body.size(), Accumulator());
  panel_kept_.assign(k_.body.size(), Accumulator());
  const auto allot = [&](Id id, int count, Accumulator* to) {
    to->id = id;
    to->laned = count == positions_;
    to->pitch = panel_columns_ * SizeOf(k_.body[id].type);
    to->stack = cc_.newStack(uint32_t(to->pitch * count), 64);
  };
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    if (const int count = positions(k_.body[i])) allot(i, count, &panel_accs_[i]);
    if (kept[i]) allot(i, 1, &panel_kept_[i]);
  }
}

// Panels of full vectors. Columns that are left, and loops of no steps, are for what follows.
void Codegen::EmitPanels() {
  level_ = kPointLevel;
  FullLanes();
  positions_ = Positions();
  AllotPanel();
  const std::vector<int> parts = PanelParts();
  Label top = cc_.newLabel(), done = cc_.newLabel();
  LoopBounds();
  cc_.cmp(lo_, hi_);
  cc_.jge(done);
  j_ = cc_.newInt64("j");
  panel_at_ = cc_.newInt64("panel_at");
  panel_end_ = cc_.newInt64("panel_end");
  cc_.bind(top);
  Gp most = cc_.newInt64();
  cc_.mov(panel_end_, col_end_);
  cc_.sub(panel_end_, col_);
  cc_.cmp(panel_end_, v_);
  cc_.jl(done);
  cc_.and_(panel_end_, -v_);
  cc_.mov(most, panel_columns_);
  cc_.cmp(panel_end_, most);
  cc_.cmovg(panel_end_, most);
  cc_.add(panel_end_, col_);
  cc_.xor_(panel_at_, panel_at_);
  accs_.clear();
  int part = 0;
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    if (k_.body[i].op != Op::kLoop) continue;
    PanelPass(parts, part++);
    PanelRows(parts, i);
    ++part;
  }
  PanelPass(parts, part);
  cc_.jmp(top);
  cc_.bind(done);
  panel_at_ = Gp();
}

}  // namespace frazil::jit
