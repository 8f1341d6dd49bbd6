// The points of a row: steps of columns (kSpace) or one column after another (kLoop).
#include <algorithm>
#include <cstddef>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::Stride;

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
  if (repeats_) {
    if (!few_ && RepeatCopies() > 1) SpaceLoop(RepeatCopies(), false, false);
  } else if (!k_.has_loop) {
    const int cost = Cost(kPointLevel);
    const int copies = cost <= 4 ? 4 : cost <= 12 ? 2 : 1;
    if (k_.stream) SpaceLoop(long_body_ ? 1 : copies, true, false);
    if (Interleaves()) {
      interleaved_ = true;
      SpaceLoop(2, false, false);
      interleaved_ = false;
    } else if (!long_body_ || HasBlocks()) {
      SpaceLoop(copies, false, false);
    }
  } else if (!few_ && HasPanels()) {
    EmitPanels();
  }
  SpaceLoop(1, false, true);
}

// Bodies that are too long for the processor to see enough of at once, and whose values fit twice:
// two vectors go through them instruction by instruction. Beyond a length the compiler's time
// counts more.
bool Codegen::Interleaves() const {
  const int cost = Cost(kPointLevel);
  if (!z_ || k_.stream || cost < tuned::kInterleavedLeast || cost > tuned::kInterleavedMost)
    return false;
  for (const kir::Buffer& buffer : k_.buffers) {
    if (buffer.strides[k_.rank - 1] == Stride::kAny) return false;
  }
  std::vector<int> last(k_.body.size(), -1);
  for (size_t i = 0; i < k_.body.size(); ++i) {
    for (const Id id : Taken(k_.body[i])) {
      if (id != kir::kNone) last[size_t(id)] = int(i);
    }
  }
  int shared = int(tables_.size()), live = 0, most = 0;
  std::vector<int> ends(k_.body.size(), 0);
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const bool constant = k_.body[i].op == Op::kConst;
    if (last[i] >= 0 && Of(i).level < kPointLevel) {
      shared += !constant || (resident_consts_ && SameConst(Id(i)) == Id(i) && k_.body[i].imm != 0);
    } else if (last[i] >= 0) {
      ++live;
      ++ends[size_t(last[i])];
    }
    most = std::max(most, live);
    live -= ends[i];
  }
  return shared + 2 * most + 2 <= 32;
}

void Codegen::SpaceLoop(int copies, bool nontemporal, bool masked) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  Gp rest = cc_.newInt64("rest");
  const int step = copies * v_;
  level_ = kPointLevel;
  if (nontemporal) SkipOrdinary(done);
  cc_.mov(rest, col_end_);
  cc_.sub(rest, col_);
  if (masked) {
    cc_.jle(done);
  } else {
    cc_.sub(rest, step);
    cc_.js(done);
  }
  nontemporal_ = nontemporal;
  Label last = cc_.newLabel();
  if (masked) {  // the mask is made before the first step and before the last
    NewTailMask();
    cc_.bind(last);
    FillTailMask(rest);
  } else {
    FullLanes();
  }
  cc_.bind(top);
  if ((repeats_ && copies > 1) || interleaved_) {
    point_copies_ = copies;
    SpaceStep();
    point_copies_ = 1;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (k_.buffers[b].strides[k_.rank - 1] != Stride::kAny) continue;
      Gp far = cc_.newInt64();
      cc_.imul(far, vec_step_[b], copies);
      cc_.add(col_ptr_[b], far);
    }
    copies = 0;
  }
  for (int copy = 0; copy < copies; ++copy) {
    copy_disp_ = copy * v_;
    if (k_.stream && !nontemporal) FetchAhead();
    SpaceStep();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (k_.buffers[b].strides[k_.rank - 1] == Stride::kAny) cc_.add(col_ptr_[b], vec_step_[b]);
    }
  }
  copy_disp_ = 0;
  cc_.add(col_, step);
  cc_.sub(rest, step);
  if (masked) {
    cc_.jle(done);
    cc_.cmp(rest, v_);
    cc_.jge(top);
    cc_.jmp(last);
  } else {
    cc_.jns(top);
  }
  cc_.bind(done);
  nontemporal_ = false;
  FullLanes();
}

// An unaligned row takes the ordinary stores, and so does one that overwrites an operand: its lines
// are in the cache already, and to write past it would throw them out.
void Codegen::SkipOrdinary(const Label& ordinary) {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    const kir::Buffer& out = k_.buffers[b];
    const int bytes = v_ * SizeOf(out.dtype);
    if (!out.out || out.strides[k_.rank - 1] != Stride::kOne) continue;
    Gp address = cc_.newIntPtr();
    cc_.lea(address, PlaceOf(int(b), false).At(0));
    if (bytes >= 16) {
      cc_.test(address.r32(), std::min(bytes, 64) - 1);
      cc_.jnz(ordinary);
    }
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const kir::Buffer& in = k_.buffers[i];
      if (in.out || in.strides[k_.rank - 1] != Stride::kOne) continue;
      Gp from = cc_.newIntPtr();
      cc_.lea(from, PlaceOf(int(i), false).At(0));
      cc_.cmp(address, from);
      cc_.je(ordinary);
    }
  }
}

// Hardware does not fetch past the end of a page, and begins anew in each of many arrays.
void Codegen::FetchAhead() {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    const kir::Buffer& buffer = k_.buffers[b];
    if (buffer.out || buffer.strides[k_.rank - 1] != Stride::kOne) continue;
    Place place = PlaceOf(int(b), false);
    if (place.disp % 64 != 0) continue;
    place.disp += tuned::kColumnBytesAhead;
    cc_.prefetcht0(place.At(0));
  }
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

// Everything of one point: instructions outside loops in order, the loops, and the repeats.
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
    if (inst.op == Op::kRepeat) {
      size_t end = i;
      while (k_.body[end].op != Op::kDone) ++end;
      EmitRepeat(Id(i), Id(end));
      i = end;
      continue;
    }
    if (Of(i).level != kPointLevel || !HasCode(inst.op)) continue;
    ForCopies([&] { EmitInst(Id(i)); });
  }
}

// One column at a time; the loop axis carries the lanes, outside loops all lanes are equal.
void Codegen::EmitPointsLoop() {
  if (FetchesPoints()) {
    Gp length = cc_.newInt64();
    cc_.mov(length, x86::qword_ptr(extents_, k_.rank * 8));
    points_ahead_ = RowsAhead(length);
  }
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
  NextPointers();
  level_ = kPointLevel;
  FullLanes();
  PointBody();
  cc_.inc(col_);
  cc_.cmp(col_, col_end_);
  cc_.jl(top);
}

}  // namespace frazil::jit
