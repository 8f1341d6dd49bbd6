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

namespace {

int Log2(int size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3; }

}  // namespace

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
      if (col == Stride::kOne) place.disp = int64_t(copy_disp_) * place.size;
    } else if (col == Stride::kAny) {
      place.base = col_ptr_[buffer];
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
  if (loop && b.strides[k_.rank] == Stride::kOne) {
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

// --- masks

Codegen::Mask Codegen::TailMask() const { return masked_ ? tail_ : Mask(); }

Codegen::Mask Codegen::MaskWith(Id pred) {
  Mask mask = TailMask();
  if (pred == kNone) return mask;
  Mask out;
  out.any = true;
  if (z_) {
    out.k = KOf(pred);
    if (mask.any) {
      out.k = NewK();
      cc_.kandw(out.k, KOf(pred), mask.k);
    }
  } else {
    out.m32 = R(pred);
    if (mask.any) out.m32 = MakeBytes(v_ * 4, I::kIdVpand, R(pred), mask.m32);
  }
  return out;
}

Codegen::Vec Codegen::Mask64(const Vec& m32) {
  return MakeBytes(v_ * 8, I::kIdVpmovsxdq, m32.xmm());
}

Codegen::Vec Codegen::Mask32(const Vec& m64) {
  Vec high = cc_.newXmm(), d = cc_.newXmm();
  cc_.vextracti128(high, m64.ymm(), 1);
  cc_.vshufps(d, m64.xmm(), high, 0x88);
  return d;
}

Codegen::Gp Codegen::BoolBits(const Operand& mask) {
  Gp bits = cc_.newUInt32();
  if (z_) {
    // Through a fresh mask: asmjit would put a spilled one into the second move as a memory
    // operand, which it does not have.
    K fresh = NewK();
    const InstId move = v_ == 8 ? I::kIdKmovb : I::kIdKmovw;
    cc_.emit(move, fresh, mask);
    cc_.emit(move, bits, fresh);
  } else {
    cc_.emit(I::kIdVmovmskps, bits, mask);
  }
  return bits;
}

Codegen::Gp Codegen::MaskBits(const Mask& mask) {
  if (mask.any) return z_ ? BoolBits(mask.k) : BoolBits(mask.m32);
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, (1 << v_) - 1);
  return bits;
}

// --- bools in memory

Codegen::Operand Codegen::BytesToBool(const Vec& bytes) {
  if (z_) {
    K k = NewK();
    cc_.emit(I::kIdVptestmb, k, bytes.xmm(), bytes.xmm());
    if (v_ == 8) cc_.kmovb(k, k);  // bits beyond the lanes stay zero everywhere
    return k;
  }
  Vec wide = MakeBytes(v_ * 4, I::kIdVpmovzxbd, bytes.xmm());
  return MakeBytes(v_ * 4, I::kIdVpcmpgtd, wide, Zero(v_ * 4));
}

Codegen::Vec Codegen::BoolToBytes(const Operand& mask) {
  static constexpr uint8_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  Mem ones = PoolBytes(kOnes, 16);
  Vec d = cc_.newXmm();
  if (z_) {
    cc_.k(mask.as<K>()).z().emit(I::kIdVmovdqu8, d, ones);
    return d;
  }
  Vec m = mask.as<Vec>();
  if (v_ == 8) {
    Vec high = cc_.newXmm();
    cc_.vextracti128(high.as<x86::Xmm>(), m.ymm(), 1);
    cc_.emit(I::kIdVpackssdw, d, m.xmm(), high);
  } else {
    cc_.emit(I::kIdVpackssdw, d, m.xmm(), m.xmm());
  }
  cc_.emit(I::kIdVpacksswb, d, d, d);
  cc_.emit(I::kIdVpand, d, d, ones);
  return d;
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

// --- lanes at arbitrary addresses

Codegen::Gp Codegen::LaneStride(int buffer, Stride cls, bool vector) {
  Gp stride = cc_.newInt64();
  if (!vector || cls == Stride::kZero) {
    cc_.xor_(stride, stride);
  } else if (cls == Stride::kOne) {
    cc_.mov(stride, SizeOf(k_.buffers[buffer].dtype));
  } else {
    cc_.mov(stride, StrideMem(buffer, VecAxis()));
  }
  return stride;
}

// Byte offsets of 8 (AVX-512) or 4 (AVX2) lanes as i64: lane * stride + offset operand. half picks
// the lanes of a 32-bit step, which needs two such vectors.
Codegen::Vec Codegen::LaneOffsets(DType type, int buffer, Stride cls, bool vector, Id offset,
                                  int half) {
  const int lanes = z_ ? 8 : 4, bytes = lanes * 8;
  Vec d;
  if (vector && cls != Stride::kZero) {
    Gp stride = LaneStride(buffer, cls, vector);
    // lane * stride for 0..7 by a table of small multiples: low and high halves multiplied apart.
    Vec s = NewVec(bytes);
    cc_.vmovq(s.xmm(), stride);
    cc_.emit(I::kIdVpbroadcastq, s, s.xmm());
    int64_t iota[4];
    Vec index = NewVec(bytes);
    if (z_) {
      uint8_t small[8];
      for (int i = 0; i < 8; ++i) small[i] = uint8_t(half * 8 + i);
      cc_.emit(I::kIdVpmovsxbq, index, PoolBytes(small, 8));
      d = MakeBytes(bytes, I::kIdVpmullq, index, s);
    } else {
      for (int i = 0; i < 4; ++i) iota[i] = half * 4 + i;
      cc_.emit(I::kIdVmovups, index, PoolBytes(iota, 32));
      Vec high = MakeBytes(bytes, I::kIdVpsrlq, s, 32);
      cc_.emit(I::kIdVpmuludq, high, high, index);
      cc_.emit(I::kIdVpsllq, high, high, 32);
      d = MakeBytes(bytes, I::kIdVpmuludq, s, index);
      cc_.emit(I::kIdVpaddq, d, d, high);
    }
  }
  if (offset != kNone) {  // i64 operands exist in 8- and 4-lane kernels only
    Vec scaled = MakeBytes(bytes, I::kIdVpsllq, R(offset), Log2(SizeOf(type)));
    if (d.isValid()) {
      cc_.emit(I::kIdVpaddq, d, d, scaled);
    } else {
      d = scaled;
    }
  }
  return d.isValid() ? d : Zero(bytes);
}

Codegen::Vec Codegen::Gather(DType type, const Gp& base, int buffer, Stride cls, bool vector,
                             Id offset, const Mask& mask) {
  const int size = SizeOf(type);
  const int per = z_ ? 8 : 4, halves = v_ / per;
  std::vector<Vec> parts;
  for (int half = 0; half < halves; ++half) {
    Vec index = LaneOffsets(type, buffer, cls, vector, offset, half);
    Vec d = Zero(std::max(16, per * size));
    if (z_) {
      K k = NewK();
      if (!mask.any) {
        cc_.kxnorw(k, k, k);
      } else if (half == 0) {
        cc_.kmovw(k, mask.k);
      } else {
        cc_.kshiftrw(k, mask.k, 8);
      }
      cc_.k(k).emit(size == 8 ? I::kIdVpgatherqq : I::kIdVpgatherqd, d, x86::ptr(base, index));
    } else {
      Vec m = NewVec(per * size);
      if (!mask.any) {
        cc_.emit(I::kIdVpcmpeqd, m, m, m);
      } else if (size == 8) {
        Copy(m, Mask64(mask.m32));
      } else if (half == 0) {
        Copy(m, mask.m32.xmm());
      } else {
        cc_.vextracti128(m.as<x86::Xmm>(), mask.m32.ymm(), 1);
      }
      cc_.emit(size == 8 ? I::kIdVpgatherqq : I::kIdVpgatherqd, d, x86::ptr(base, index), m);
    }
    parts.push_back(d);
  }
  if (halves == 1) return parts[0];
  Vec d = NewVec(v_ * size);
  if (z_) {
    cc_.emit(I::kIdVinserti32x8, d, parts[0].zmm(), parts[1], 1);
  } else {
    cc_.emit(I::kIdVinserti128, d, parts[0].ymm(), parts[1], 1);
  }
  return d;
}

// Runs fn for every set bit of bits, lowest first.
void Codegen::LaneLoop(const Gp& bits, const std::function<void(const Gp& lane)>& fn) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  Gp left = cc_.newUInt32(), lane = cc_.newInt64();
  cc_.mov(left, bits);
  cc_.test(left, left);
  cc_.jz(done);
  cc_.bind(top);
  cc_.tzcnt(lane.r32(), left);
  fn(lane);
  cc_.blsr(left, left);
  cc_.jnz(top);
  cc_.bind(done);
}

namespace {

void CopyElement(x86::Compiler& cc, int size, x86::Mem to, x86::Mem from) {
  x86::Gp t = cc.newUInt64();
  from.setSize(uint32_t(size));
  to.setSize(uint32_t(size));
  if (size == 8) {
    cc.mov(t, from);
    cc.mov(to, t);
  } else if (size == 4) {
    cc.mov(t.r32(), from);
    cc.mov(to, t.r32());
  } else {
    cc.movzx(t.r32(), from);
    if (size == 2)
      cc.mov(to, t.r16());
    else
      cc.mov(to, t.r8());
  }
}

}  // namespace

// 8- and 16-bit elements that are not one full vector: through the stack, touching only the active
// lanes.
Codegen::Vec Codegen::LoadLanes(DType type, const Gp& base, int buffer, Stride cls, bool vector,
                                Id offset, const Mask& mask) {
  const int size = SizeOf(type), bytes = std::max(16, v_ * size);
  Gp slot = cc_.newIntPtr(), offsets = cc_.newIntPtr();
  cc_.lea(slot, Scratch(0));
  cc_.emit(I::kIdVmovups, x86::ptr(slot), Zero(bytes));
  if (offset != kNone) {
    cc_.lea(offsets, Scratch(1));
    cc_.emit(I::kIdVmovups, x86::ptr(offsets), LaneOffsets(type, buffer, cls, vector, offset, 0));
  }
  Gp stride = LaneStride(buffer, cls, vector);
  LaneLoop(MaskBits(mask), [&](const Gp& lane) {
    Gp at = cc_.newInt64();
    if (offset != kNone) {
      cc_.mov(at, x86::qword_ptr(offsets, lane, 3));
    } else {
      cc_.mov(at, lane);
      cc_.imul(at, stride);
    }
    CopyElement(cc_, size, x86::ptr(slot, lane, uint32_t(Log2(size))), x86::ptr(base, at));
  });
  return MakeBytes(bytes, I::kIdVmovups, x86::ptr(slot));
}

void Codegen::StoreLanes(DType type, const Vec& v, const Gp& base, int buffer, Stride cls,
                         bool vector, Id offset, const Mask& mask) {
  const int size = SizeOf(type);
  Gp slot = cc_.newIntPtr(), offsets = cc_.newIntPtr();
  cc_.lea(slot, Scratch(0));
  cc_.emit(I::kIdVmovups, x86::ptr(slot), v);
  if (offset != kNone) {
    cc_.lea(offsets, Scratch(1));
    cc_.emit(I::kIdVmovups, x86::ptr(offsets), LaneOffsets(type, buffer, cls, vector, offset, 0));
  }
  Gp stride = LaneStride(buffer, cls, vector);
  LaneLoop(MaskBits(mask), [&](const Gp& lane) {
    Gp at = cc_.newInt64();
    if (offset != kNone) {
      cc_.mov(at, x86::qword_ptr(offsets, lane, 3));
    } else {
      cc_.mov(at, lane);
      cc_.imul(at, stride);
    }
    CopyElement(cc_, size, x86::ptr(base, at), x86::ptr(slot, lane, uint32_t(Log2(size))));
  });
}

// --- the instructions

void Codegen::EmitParam(Id id) {
  const Inst& inst = k_.body[id];
  Gp scalars = cc_.newIntPtr();
  cc_.mov(scalars, x86::qword_ptr(args_, offsetof(kir::KernelArgs, scalars)));
  Vec v = LoadBroadcast(inst.type, x86::ptr(scalars, int32_t(inst.imm) * 8));
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
  const Inst& inst = k_.body[id];
  const int b = int(inst.imm), size = SizeOf(inst.type);
  const bool in_loop = info_[id].region != 0;
  const bool vector = InVectorRange(level_);
  const Stride cls = vector ? VecClass(b, in_loop) : Stride::kZero;
  const Place place = PlaceOf(b, in_loop);
  const Mask mask = MaskWith(inst.b);
  Vec v;
  if (inst.a == kNone && inst.b == kNone && cls == Stride::kZero) {
    v = LoadBroadcast(inst.type, place.At(size));
  } else if (inst.a == kNone && cls == Stride::kOne && (z_ || size >= 4 || !mask.any)) {
    v = LoadContiguous(inst.type, place.At(v_ * size), mask);
  } else if (size >= 4) {
    v = Gather(inst.type, Pointer(place), b, cls, vector, inst.a, mask);
  } else if (inst.a == kNone && inst.b == kNone && cls == Stride::kOne) {
    // AVX2 has no masks for small types: whole steps go straight, only the last one lane by lane.
    v = NewVec(std::max(v_ * size, 16));
    OnlyFullSteps(
        [&] { MoveIn(v, place.At(v_ * size), v_ * size); },
        [&] { Copy(v, LoadLanes(inst.type, Pointer(place), b, cls, vector, inst.a, mask)); });
  } else {
    v = LoadLanes(inst.type, Pointer(place), b, cls, vector, inst.a, mask);
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
  const Inst& inst = k_.body[id];
  const int b = int(inst.imm), size = SizeOf(inst.type);
  const bool in_loop = info_[id].region != 0;
  const Vec v = IsBool(inst.type) ? BoolToBytes(Val(inst.a)) : R(inst.a);
  const Place place = PlaceOf(b, in_loop);
  if (!InVectorRange(level_)) return StoreUniform(inst.type, v, Pointer(place), inst.b, inst.c);
  const Stride cls = VecClass(b, in_loop);
  const Mask mask = MaskWith(inst.c);
  if (inst.b == kNone && cls == Stride::kOne && (z_ || size >= 4 || !mask.any)) {
    StoreContiguous(inst.type, v, place.At(v_ * size), mask);
  } else if (inst.b == kNone && inst.c == kNone && cls == Stride::kOne) {
    OnlyFullSteps([&] { MoveOut(place.At(v_ * size), v, v_ * size); },
                  [&] { StoreLanes(inst.type, v, Pointer(place), b, cls, true, inst.b, mask); });
  } else {
    StoreLanes(inst.type, v, Pointer(place), b, cls, true, inst.b, mask);
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
