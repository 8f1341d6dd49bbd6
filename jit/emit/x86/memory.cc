// Loads, stores, and the two that make values from nothing: param and index.
#include <algorithm>
#include <cstddef>

#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

// --- addresses

Codegen::Mem Codegen::Place::At(int bytes) const {
  Mem mem = index.isValid() ? x86::ptr(base, index, uint32_t(Log2(size)), int32_t(disp))
                            : x86::ptr(base, int32_t(disp));
  mem.setSize(uint32_t(bytes));
  return mem;
}

// The address of the first lane of the current step.
Codegen::Place Codegen::PlaceOf(int buffer, bool in_loop) {
  const kir::Buffer& b = k_.buffers[buffer];
  Place place;
  place.size = SizeOf(b.dtype);
  const Stride col = b.strides[k_.rank - 1];
  if (level_ <= kRowLevel) {
    place.base = row_ptr_[buffer];
    return place;
  }
  const bool loop = in_loop && level_ == kLoopLevel && b.strides[k_.rank] != Stride::kZero;
  if (space_) {
    if (loop) {
      place.base = loop_ptr_[buffer];
      if (col == Stride::kAny && point_copies_ > 1 && copy_ > 0) {
        place.base = cc_.newIntPtr();
        cc_.imul(place.base, vec_step_[buffer], copy_);
        cc_.add(place.base, loop_ptr_[buffer]);
      }
      if (col == Stride::kOne && panel_at_.isValid()) place.index = col_;
      if (col == Stride::kOne) place.disp = int64_t(copy_disp_) * place.size;
    } else if (col == Stride::kAny) {
      place.base = col_ptr_[buffer];
      if (point_copies_ > 1 && copy_ > 0) {
        place.base = cc_.newIntPtr();
        cc_.imul(place.base, vec_step_[buffer], copy_);
        cc_.add(place.base, col_ptr_[buffer]);
      }
    } else {
      place.base = row_ptr_[buffer];
      if (col == Stride::kOne) {
        place.index = col_;
        place.disp = int64_t(copy_disp_) * place.size;
      }
    }
    return place;
  }
  place.base = col_ptr_[buffer];
  if (loop && !none_ && b.strides[k_.rank] == Stride::kOne) {
    place.index = j_;
    place.disp = int64_t(copy_disp_) * place.size;
  } else if (loop) {
    place.base = loop_ptr_[buffer];
  }
  return place;
}

// How the address moves from lane to lane here.
Stride Codegen::VecClass(int buffer, bool in_loop) const {
  if (level_ <= kRowLevel) return Stride::kZero;
  const kir::Buffer& b = k_.buffers[buffer];
  if (space_) return b.strides[k_.rank - 1];
  return in_loop && level_ == kLoopLevel ? b.strides[k_.rank] : Stride::kZero;
}

Codegen::Gp Codegen::Pointer(const Place& place) {
  if (!place.index.isValid() && place.disp == 0) return place.base;
  Gp p = cc_.newIntPtr();
  cc_.lea(p, place.At(0));
  return p;
}

// --- whole vectors

void Codegen::MoveIn(const Vec& d, const Mem& mem, int bytes) {
  if (bytes >= 16) {
    cc_.emit(I::kIdVmovups, d, mem);
  } else {
    cc_.emit(bytes == 8 ? I::kIdVmovq : I::kIdVmovd, d.xmm(), mem);
  }
}

void Codegen::MoveOut(const Mem& mem, const Vec& v, int bytes) {
  if (bytes >= 16) {
    cc_.emit(nontemporal_ ? I::kIdVmovntps : I::kIdVmovups, mem, v);
  } else {
    cc_.emit(bytes == 8 ? I::kIdVmovq : I::kIdVmovd, mem, v.xmm());
  }
}

Codegen::Vec Codegen::LoadContiguous(DType type, const Mem& mem, const Mask& mask) {
  const int size = SizeOf(type), bytes = v_ * size;
  Vec d = NewVec(std::max(bytes, 16));
  if (!mask.any) {
    MoveIn(d, mem, bytes);
  } else if (z_) {
    static constexpr InstId kMove[] = {I::kIdVmovdqu8, I::kIdVmovdqu16, I::kIdVmovdqu32,
                                       I::kIdVmovdqu64};
    Mem any = mem;
    any.setSize(d.size());
    cc_.k(mask.k).z().emit(kMove[Log2(size)], d, any);
  } else {
    FZ_CHECK(size >= 4);
    cc_.emit(size == 4 ? I::kIdVpmaskmovd : I::kIdVpmaskmovq, d, MaskFor(mask.m32, type), mem);
  }
  return d;
}

Codegen::Vec Codegen::LoadBroadcast(DType type, Mem mem) {
  static constexpr InstId kBroadcast[] = {I::kIdVpbroadcastb, I::kIdVpbroadcastw,
                                          I::kIdVbroadcastss, I::kIdVbroadcastsd};
  const int size = SizeOf(type);
  mem.setSize(uint32_t(size));
  return MakeBytes(std::max(16, v_ * size), kBroadcast[Log2(size)], mem);
}

void Codegen::StoreContiguous(DType type, const Vec& v, const Mem& mem, const Mask& mask) {
  const int size = SizeOf(type);
  if (!mask.any) {
    MoveOut(mem, v, v_ * size);
  } else if (z_) {
    static constexpr InstId kMove[] = {I::kIdVmovdqu8, I::kIdVmovdqu16, I::kIdVmovdqu32,
                                       I::kIdVmovdqu64};
    Mem any = mem;
    any.setSize(v.size());
    cc_.k(mask.k).emit(kMove[Log2(size)], any, v);
  } else {
    FZ_CHECK(size >= 4);
    cc_.emit(size == 4 ? I::kIdVpmaskmovd : I::kIdVpmaskmovq, mem, MaskFor(mask.m32, type), v);
  }
}

// --- the instructions

void Codegen::EmitParam(Id id) {
  const Inst& inst = k_.body[id];
  Gp scalars = each_;
  if (!k_.scalars[inst.imm].each) {
    scalars = cc_.newIntPtr();
    cc_.mov(scalars, x86::qword_ptr(args_, offsetof(kir::KernelArgs, scalars)));
  }
  const Mem word = x86::ptr(scalars, int32_t(inst.imm) * 8);
  if (Is(id, Form::kNarrowed)) return Set(id, LoadNarrowed(id, word));
  Vec v = LoadBroadcast(inst.type, word);
  Set(id, IsBool(inst.type) ? BytesToBool(v) : Operand(v));
}

void Codegen::EmitIndex(Id id) {
  const int axis = int(k_.body[id].imm);
  Vec d = NewFor(DType::kI64);
  Gp value = cc_.newInt64();
  if (axis < k_.rank - 1) {
    cc_.mov(value, counters_[axis]);
  } else {
    cc_.mov(value, axis == k_.rank ? j_ : col_);
  }
  const bool vector = axis == VecAxis() && InVectorRange(level_);
  if (vector && copy_disp_) cc_.add(value, copy_disp_);
  cc_.vmovq(d.xmm(), value);
  cc_.emit(I::kIdVpbroadcastq, d, d.xmm());
  if (vector) {
    if (z_) {
      static constexpr uint8_t kIota[8] = {0, 1, 2, 3, 4, 5, 6, 7};
      Vec iota = MakeBytes(v_ * 8, I::kIdVpmovsxbq, PoolBytes(kIota, 8));
      cc_.emit(I::kIdVpaddq, d, d, iota);
    } else {
      static constexpr int64_t kIota[4] = {0, 1, 2, 3};
      cc_.emit(I::kIdVpaddq, d, d, PoolBytes(kIota, 32));
    }
  }
  Set(id, d);
}

void Codegen::EmitLoad(Id id) {
  if (const std::vector<Id> block = BlockOf(id); !block.empty()) {
    if (id == block.front()) LoadBlock(block);
    return;
  }
  const Inst& inst = k_.body[id];
  const int b = int(inst.imm), size = SizeOf(inst.type);
  const bool in_loop = Of(id).region != 0;
  const bool vector = InVectorRange(level_);
  const Stride cls = vector ? VecClass(b, in_loop) : Stride::kZero;
  Place place = PlaceOf(b, in_loop);
  Id offset = inst.a;
  if (HasDistance(inst)) {
    place.disp += int64_t(k_.body[offset].imm) * size;
    offset = kNone;
  }
  if (Is(id, Form::kNarrowed)) return Set(id, LoadNarrowed(id, place.At(size)));
  const Mask mask = MaskWith(inst.b);
  // Rows that an index chooses: the offset is the same in all lanes.
  if (offset != kNone && vector && cls == Stride::kOne && !InVectorRange(Of(offset).level)) {
    Gp elements = cc_.newInt64(), base = Pointer(place);
    place = {cc_.newIntPtr(), {}, size};
    cc_.vmovq(elements, R(offset).xmm());
    cc_.lea(place.base, x86::ptr(base, elements, uint32_t(Log2(size))));
    offset = kNone;
  }
  Vec v;
  if (offset == kNone && inst.b == kNone && cls == Stride::kZero) {
    v = LoadBroadcast(inst.type, place.At(size));
  } else if (offset == kNone && cls == Stride::kOne && (z_ || size >= 4 || !mask.any)) {
    v = LoadContiguous(inst.type, place.At(v_ * size), mask);
  } else if (offset == kNone && MayBeEverySecond(inst.type, cls, vector)) {
    v = NewVec(v_ * size);
    IfEverySecond(
        b, [&] { LoadEverySecond(inst.type, v, Pointer(place), mask); },
        [&] { Copy(v, Gather(inst.type, Pointer(place), b, cls, vector, offset, mask)); });
  } else if (size >= 4) {
    v = Gather(inst.type, Pointer(place), b, cls, vector, offset, mask);
  } else if (offset == kNone && inst.b == kNone && cls == Stride::kOne) {
    // AVX2 has no masks for small types: whole steps go straight, only the last one lane by lane.
    v = NewVec(std::max(v_ * size, 16));
    OnlyFullSteps(
        [&] { MoveIn(v, place.At(v_ * size), v_ * size); },
        [&] { Copy(v, LoadLanes(inst.type, Pointer(place), b, cls, vector, offset, mask)); });
  } else {
    v = LoadLanes(inst.type, Pointer(place), b, cls, vector, offset, mask);
  }
  Set(id, IsBool(inst.type) ? BytesToBool(v) : Operand(v));
}

// All lanes are equal: lane 0 is written once, if at all.
void Codegen::StoreUniform(DType type, const Vec& v, const Gp& pointer, Id offset, Id pred) {
  Label skip = cc_.newLabel();
  const int size = SizeOf(type);
  if (pred != kNone) {
    cc_.test(BoolBits(Val(pred)), 1);
    cc_.jz(skip);
  }
  Mem mem = x86::ptr(pointer);
  if (offset != kNone) {
    Gp at = cc_.newInt64();
    Vec fresh =
        NewFor(DType::kI64);  // like a mask in BoolBits: vmovq to a register reads no memory
    Copy(fresh, R(offset));
    cc_.vmovq(at, fresh.xmm());
    mem = x86::ptr(pointer, at, uint32_t(Log2(size)));
  }
  mem.setSize(uint32_t(size));
  switch (size) {
    case 8:
      cc_.vmovq(mem, v.xmm());
      break;
    case 4:
      cc_.vmovd(mem, v.xmm());
      break;
    case 2:
      cc_.vpextrw(mem, v.xmm(), 0);
      break;
    default:
      cc_.vpextrb(mem, v.xmm(), 0);
      break;
  }
  cc_.bind(skip);
}

void Codegen::EmitStore(Id id) {
  if (const std::vector<Id> block = BlockOf(id); !block.empty()) {
    if (id == block.back()) StoreBlock(block);
    return;
  }
  if (MayStoreParts(id)) return StoreParts(id);
  if (MayStoreParts(id - 1)) return;
  const Inst& inst = k_.body[id];
  const int b = int(inst.imm), size = SizeOf(inst.type);
  const bool in_loop = Of(id).region != 0;
  Place place = PlaceOf(b, in_loop);
  Id offset = inst.b;
  if (HasDistance(inst)) {
    place.disp += int64_t(k_.body[offset].imm) * size;
    offset = kNone;
  }
  if (Is(inst.a, Form::kWidened)) return StoreWidened(inst, place);
  const Vec v = IsBool(inst.type) ? BoolToBytes(Val(inst.a)) : R(inst.a);
  if (!InVectorRange(level_)) return StoreUniform(inst.type, v, Pointer(place), offset, inst.c);
  const Stride cls = VecClass(b, in_loop);
  const Mask mask = MaskWith(inst.c);
  if (offset == kNone && cls == Stride::kOne && (z_ || size >= 4 || !mask.any)) {
    StoreContiguous(inst.type, v, place.At(v_ * size), mask);
  } else if (offset == kNone && inst.c == kNone && cls == Stride::kOne) {
    OnlyFullSteps([&] { MoveOut(place.At(v_ * size), v, v_ * size); },
                  [&] { StoreLanes(inst.type, v, Pointer(place), b, cls, true, offset, mask); });
  } else if (offset == kNone && MayBeEverySecond(inst.type, cls, true)) {
    IfEverySecond(
        b, [&] { StoreEverySecond(inst.type, v, Pointer(place), mask); },
        [&] { StoreLanes(inst.type, v, Pointer(place), b, cls, true, offset, mask); });
  } else {
    StoreLanes(inst.type, v, Pointer(place), b, cls, true, offset, mask);
  }
}

// Both halves of a 32-bit vector as 64-bit integers.
void Codegen::StoreWidened(const Inst& inst, const Place& place) {
  const Inst& cast = k_.body[inst.a];
  const Vec v = R(cast.a);
  const InstId widen = IsSigned(k_.body[cast.a].type) ? I::kIdVpmovsxdq : I::kIdVpmovzxdq;
  const int bytes = v_ * 4;  // of a half, widened
  for (int half = 0; half < 2; ++half) {
    const auto part = [&](const Vec& from) {
      if (half == 0) return z_ ? Vec(from.ymm()) : Vec(from.xmm());
      Vec d = NewVec(bytes / 2);
      if (z_) {
        cc_.emit(I::kIdVextracti32x8, d, from.zmm(), 1);
      } else {
        cc_.emit(I::kIdVextracti128, d, from.ymm(), 1);
      }
      return d;
    };
    const Vec d = MakeBytes(bytes, widen, part(v));
    Place at = place;
    at.disp += half * bytes;
    const Mem mem = at.At(bytes);
    if (!tail_.any) {
      MoveOut(mem, d, bytes);
    } else if (z_) {
      K k = tail_.k;
      if (half == 1) {
        k = NewK();
        cc_.kshiftrw(k, tail_.k, 8);
      }
      cc_.k(k).emit(I::kIdVmovdqu64, mem, d);
    } else {
      cc_.emit(I::kIdVpmaskmovq, mem, MakeBytes(bytes, I::kIdVpmovsxdq, part(tail_.m32)), d);
    }
  }
}

// full() at run time if all lanes of the step are on, partial() otherwise.
void Codegen::OnlyFullSteps(const std::function<void()>& full,
                            const std::function<void()>& partial) {
  Label tail = cc_.newLabel(), done = cc_.newLabel();
  cc_.cmp(tail_count_, v_);
  cc_.jne(tail);
  full();
  cc_.jmp(done);
  cc_.bind(tail);
  partial();
  cc_.bind(done);
}

}  // namespace frazil::jit
