// Lanes at arbitrary addresses: gathers, and single elements through the stack.
#include <algorithm>

#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

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

}  // namespace frazil::jit
