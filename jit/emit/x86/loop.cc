// Loops over the loop axis: bounds, pointers, the unrolled loop and the steps after it.
#include <algorithm>
#include <cstddef>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::Stride;
namespace I = x86::Inst;
using kir::ReduceKind;

namespace {}  // namespace

void Codegen::LoopBounds() {
  lo_ = cc_.newInt64("lo");
  hi_ = cc_.newInt64("hi");
  cc_.mov(hi_, x86::qword_ptr(extents_, k_.rank * 8));
  if (!k_.chunked) {
    cc_.xor_(lo_, lo_);
    return;
  }
  if (k_.rank >= 2) {
    cc_.mov(lo_, counters_[0]);
  } else {
    cc_.mov(lo_, col_);
  }
  Gp end = cc_.newInt64();
  cc_.imul(lo_, lo_, kir::kChunk);
  cc_.lea(end, x86::ptr(lo_, int32_t(kir::kChunk)));
  cc_.cmp(hi_, end);
  cc_.cmovg(hi_, end);
}

// Which buffers the loop walks through, and where it starts.
void Codegen::LoopPointers(Id begin, Id end) {
  walked_.assign(k_.buffers.size(), false);
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if ((inst.op != Op::kLoad && inst.op != Op::kStore) || Of(i).level != kLoopLevel) continue;
    const Stride cls = k_.buffers[inst.imm].strides[k_.rank];
    if (cls != Stride::kZero && (space_ || none_ || cls == Stride::kAny)) walked_[inst.imm] = true;
  }
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (!walked_[b]) continue;
    loop_ptr_[b] = cc_.newIntPtr();
    cc_.mov(loop_ptr_[b], lo_);
    cc_.imul(loop_ptr_[b], StrideMem(int(b), k_.rank));
    const Stride col = k_.buffers[b].strides[k_.rank - 1];
    if (!space_ || col == Stride::kAny) {
      cc_.add(loop_ptr_[b], col_ptr_[b]);
    } else if (col == Stride::kZero || panel_at_.isValid()) {
      cc_.add(loop_ptr_[b], row_ptr_[b]);
    } else {
      Place place;
      place.base = row_ptr_[b];
      place.index = col_;
      place.size = SizeOf(k_.buffers[b].dtype);
      Gp at = cc_.newIntPtr();
      cc_.lea(at, place.At(0));
      cc_.add(loop_ptr_[b], at);
    }
  }
}

void Codegen::AdvanceLoopPointers() {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (!walked_[b]) continue;
    if (space_ || none_) {
      cc_.add(loop_ptr_[b], StrideMem(int(b), k_.rank));
    } else {
      cc_.add(loop_ptr_[b], vec_step_[b]);
    }
  }
}

void Codegen::EmitLoop(Id begin, Id end) {
  Label empty = cc_.newLabel(), done = cc_.newLabel();
  LoopBounds();
  accs_.clear();
  int cost = 0;
  bool laned = false;
  for (Id i = begin; i < end; ++i) {
    if (Of(i).level == kLoopLevel && !Is(i, Form::kDropped)) cost += CostOf(k_.body[i]);
    if (k_.body[i].op != Op::kReduce) continue;
    laned |= k_.body[i].lanes != 0;
    ForCopies([&] {
      Accumulator acc;
      acc.id = i;
      acc.copy = copy_;
      acc.laned = k_.body[i].lanes != 0;
      acc.out = IdentityRegShape(k_.body[i]);
      accs_.push_back(std::move(acc));
    });
  }
  positions_ = Positions();
  int copies = laned ? positions_ : cost <= 4 ? 4 : cost <= 12 ? 2 : 1;
  if (copies > 8 || cost * copies > tuned::kUnrollLimit) copies = 1;
  cc_.cmp(lo_, hi_);
  cc_.jge(empty);
  for (Id i = begin; i < end; ++i) {
    if (Of(i).level != kPointLevel || k_.body[i].op == Op::kLoop) continue;
    ForCopies([&] { EmitInst(i); });
  }
  LoopPointers(begin, end);
  j_ = cc_.newInt64("j");
  cc_.mov(j_, lo_);
  InitAccumulators(copies);
  level_ = kLoopLevel;
  fetched_ = FetchedIn(begin);
  if (copies > 1) UnrolledLoop(begin, end, copies);
  StepLoop(begin, end, copies > 1);
  level_ = kPointLevel;
  for (Accumulator& acc : accs_) MoveReg(acc.out, FinishReduce(acc));
  if (!accs_.empty()) {
    cc_.jmp(done);
    cc_.bind(empty);
    for (Accumulator& acc : accs_) {
      const Inst& inst = k_.body[acc.id];
      const bool zero =
          acc.laned && ReduceKind(inst.imm) == ReduceKind::kSum;  // an empty sum is +0
      MoveReg(acc.out, zero ? Operand(Zero(RegBytes(inst.type))) : IdentityReg(inst));
    }
    cc_.bind(done);
  } else {
    cc_.bind(empty);
  }
  for (Accumulator& acc : accs_) {
    SetCopy(acc.copy);
    Set(acc.id, acc.out);
    if (Of(acc.id).also == Also::kDivisor) PrepareDivisor(acc.id);
  }
  SetCopy(0);
}

void Codegen::UnrolledLoop(Id begin, Id end, int copies) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  const int step = space_ ? copies : copies * v_;
  Gp rest = cc_.newInt64("rest");
  cc_.mov(rest, hi_);
  cc_.sub(rest, j_);
  cc_.sub(rest, step);
  cc_.js(done);
  if (!space_) FullLanes();
  cc_.bind(top);
  for (int copy = 0; copy < copies; ++copy) {
    copy_disp_ = space_ ? 0 : copy * v_;
    LoopBody(begin, end);
    for (Accumulator& acc : accs_) Accumulate(&acc, acc.regs[size_t(copy) % acc.regs.size()]);
    AdvanceLoopPointers();
    if (space_) cc_.inc(j_);
  }
  copy_disp_ = 0;
  if (!space_) cc_.add(j_, step);
  cc_.sub(rest, step);
  cc_.jns(top);
  cc_.bind(done);
  for (Accumulator& acc : accs_) {
    if (!acc.laned) continue;
    for (int i = 0; i < positions_; ++i) cc_.emit(I::kIdVmovups, AccMem(acc, i), acc.regs[i]);
  }
}

void Codegen::StepLoop(Id begin, Id end, bool short_rest) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  Gp rest = cc_.newInt64("rest");
  cc_.mov(rest, hi_);
  cc_.sub(rest, j_);
  if (short_rest) cc_.jle(done);
  Label last = cc_.newLabel();
  if (!space_) {  // the mask is made before the first step and before the last
    NewTailMask();
    cc_.bind(last);
    FillTailMask(rest);
  }
  cc_.bind(top);
  Gp lane;
  ForCopies([&] {
    LoopBody(begin, end);
    for (Accumulator& acc : accs_) {
      if (acc.copy == copy_) StepAccumulator(&acc, &lane);
    }
  });
  AdvanceLoopPointers();
  const int step = space_ ? 1 : v_;
  cc_.add(j_, step);
  cc_.sub(rest, step);
  if (space_) {
    cc_.jg(top);
  } else {
    cc_.jle(done);
    cc_.cmp(rest, v_);
    cc_.jge(top);
    cc_.jmp(last);
  }
  cc_.bind(done);
  if (!space_) FullLanes();
}

// One step into the accumulator, which a laned reduce finds on the stack.
void Codegen::StepAccumulator(Accumulator* acc, Gp* lane) {
  const Inst& inst = k_.body[acc->id];
  if (!acc->laned) return Accumulate(acc, acc->regs[0]);
  if (!lane->isValid()) {  // j mod lanes; in kSpace a position is a whole vector of columns
    *lane = cc_.newInt64("lane");
    cc_.mov(*lane, j_);
    cc_.sub(*lane, lo_);
    cc_.and_(*lane, space_ ? positions_ - 1 : 63);
    if (space_) cc_.shl(*lane, v_ == 16 ? 4 : v_ == 8 ? 3 : 2);
  }
  const Mem mem = AccMemAt(*acc, *lane);
  if (space_) {  // sums and products commute
    cc_.emit(I::kIdVmovups, mem, Combine(inst, R(inst.a), mem));
    return;
  }
  Vec value = NewFor(inst.type);
  cc_.emit(I::kIdVmovups, value, mem);
  Accumulate(acc, value);
  cc_.emit(I::kIdVmovups, mem, value);
}

// How many rows ahead to fetch where a row has `length` elements: what comes sooner than a few
// hundred nanoseconds is there too late.
Codegen::Gp Codegen::RowsAhead(const Gp& length) {
  Gp ahead = cc_.newInt64("ahead");
  cc_.mov(ahead, 1);
  for (int rows = 2; rows <= tuned::kMostRowsAhead; rows *= 2) {
    Gp more = cc_.newInt64();
    cc_.mov(more, rows);
    cc_.cmp(length, tuned::kFetchedAhead / rows);
    cc_.cmovle(ahead, more);
  }
  return ahead;
}

// The processor fetches ahead within pages only, and a row often ends where its page does: while
// the last loop of several runs over what the first has brought near, it fetches what the next
// point needs, or where rows are short one of the points behind it.
void Codegen::NextPointers() {
  next_ptr_.assign(k_.buffers.size(), Gp());
  if (!FetchesPoints()) return;
  std::vector<bool> touched(k_.buffers.size());
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    const bool load = inst.op == Op::kLoad && inst.a == kir::kNone;
    const bool store = inst.op == Op::kStore && inst.b == kir::kNone;
    if ((load || store) && Of(i).level == kLoopLevel) touched[inst.imm] = true;
  }
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    const kir::Buffer& buffer = k_.buffers[b];
    if (!touched[b] || buffer.strides[k_.rank] != Stride::kOne ||
        buffer.strides[k_.rank - 1] != Stride::kAny)
      continue;
    Gp next = next_ptr_[b] = cc_.newIntPtr("next");
    Gp size = cc_.newInt64(), near = cc_.newIntPtr();
    cc_.mov(near, col_ptr_[b]);
    cc_.mov(next, points_ahead_);
    cc_.imul(next, StrideMem(int(b), k_.rank - 1));
    cc_.add(next, near);
    cc_.lea(size, x86::ptr(col_, points_ahead_));
    cc_.cmp(size, col_end_);
    cc_.cmovge(next, near);
    cc_.mov(size, x86::qword_ptr(extents_, k_.rank * 8));
    cc_.cmp(size, tuned::kFetchedBytes / SizeOf(buffer.dtype));
    cc_.cmovg(next, near);
  }
}

bool Codegen::FetchesPoints() const {
  const auto is_loop = [](const Inst& inst) { return inst.op == Op::kLoop; };
  return !k_.chunked && std::count_if(k_.body.begin(), k_.body.end(), is_loop) >= 2;
}

// Inputs in the loop that takes longest of those behind the first, outputs in the last.
Codegen::Fetched Codegen::FetchedIn(Id begin) const {
  if (next_ptr_.empty()) return {};
  std::vector<int> costs;
  int here = 0;
  for (Id i = 0; size_t(i) < k_.body.size(); ++i) {
    if (k_.body[i].op == Op::kLoop) costs.push_back(0);
    if (i == begin) here = int(costs.size()) - 1;
    if (Of(i).region && Of(i).level == kLoopLevel && !Is(i, Form::kDropped))
      costs.back() += CostOf(k_.body[i]);
  }
  const bool longest = here == std::max_element(costs.begin() + 1, costs.end()) - costs.begin();
  return {longest, here + 1 == int(costs.size())};
}

void Codegen::FetchNext() {
  for (size_t b = 0; b < next_ptr_.size(); ++b) {
    const int size = SizeOf(k_.buffers[b].dtype);
    const bool here = k_.buffers[b].out ? fetched_.outputs : fetched_.inputs;
    if (!here || !next_ptr_[b].isValid() || copy_disp_ * size % 64 != 0) continue;
    const Mem at = x86::ptr(next_ptr_[b], j_, uint32_t(Log2(size)), copy_disp_ * size);
    if (k_.buffers[b].out) {
      cc_.prefetchw(at);
    } else {
      cc_.prefetcht0(at);
    }
  }
}

void Codegen::LoopBody(Id begin, Id end) {
  FetchNext();
  for (Id i = begin + 1; i < end; ++i) {
    if (Of(i).level == kLoopLevel && k_.body[i].op != Op::kReduce) EmitInst(i);
  }
}

}  // namespace frazil::jit
