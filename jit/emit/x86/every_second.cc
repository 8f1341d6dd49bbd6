// Lanes that are every second element of memory, as one of two neighbours in a pooling window or a
// real part beside an imaginary one: read and written as whole vectors with gaps, and as whole
// vectors without where both of the neighbours are written. AVX-512 and elements of 32 and 64 bits
// only; the stride is known when the kernel runs, so the general way stands beside.
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;
namespace I = x86::Inst;

namespace {

constexpr uint32_t kEven = 0x55555555;  // of as many elements as two vectors have

}  // namespace

// Lanes fill a vector, or half of one where others are wider: with gaps two, or one.
bool Codegen::MayBeEverySecond(DType type, Stride cls, bool vector) const {
  const int bytes = v_ * SizeOf(type);
  return z_ && SizeOf(type) >= 4 && (bytes == 64 || bytes == 32) && vector && cls == Stride::kAny;
}

// second() at run time where lanes are two elements apart, other() elsewhere.
void Codegen::IfEverySecond(int buffer, const std::function<void()>& second,
                            const std::function<void()>& other) {
  Label general = cc_.newLabel(), done = cc_.newLabel();
  Gp stride = LaneStride(buffer, Stride::kAny, true);
  cc_.cmp(stride, 2 * SizeOf(k_.buffers[buffer].dtype));
  cc_.jne(general);
  second();
  cc_.jmp(done);
  cc_.bind(general);
  other();
  cc_.bind(done);
}

// Which elements of two vectors belong to lanes that are on: of the first, and of the second.
// `both`: or to their neighbours.
std::pair<Codegen::K, Codegen::K> Codegen::EvenMasks(const Mask& mask, int lanes, bool both) {
  K low = NewK(), high = NewK();
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, kEven);
  if (mask.any) {
    Gp spread = cc_.newUInt32();
    cc_.pdep(spread, MaskBits(mask), bits);
    bits = spread;
  }
  if (both) {
    Gp next = cc_.newUInt32();
    cc_.lea(next, x86::ptr(bits, bits));  // shifted by one
    cc_.or_(bits, next);
  }
  cc_.kmovd(low, bits);
  cc_.kshiftrd(high, low, uint32_t(lanes));
  return {low, high};
}

namespace {

struct Moves {
  explicit Moves(bool wide)
      : lanes(wide ? 8 : 16),
        widen(wide ? I::kIdVpmovzxbq : I::kIdVpmovzxbd),
        move(wide ? I::kIdVmovupd : I::kIdVmovups),
        permute(wide ? I::kIdVpermpd : I::kIdVpermps),
        permute_two(wide ? I::kIdVpermt2pd : I::kIdVpermt2ps),
        merge(wide ? I::kIdVpermi2pd : I::kIdVpermi2ps) {}
  int lanes;  // of a vector of 64 bytes
  asmjit::InstId widen, move, permute, permute_two, merge;
};

}  // namespace

void Codegen::LoadEverySecond(DType type, const Vec& to, const Gp& from, const Mask& mask) {
  static constexpr uint8_t kPick[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  const Moves m(SizeOf(type) == 8);
  const auto [low, high] = EvenMasks(mask, m.lanes, false);
  const Vec pick = MakeBytes(64, m.widen, PoolBytes(kPick, size_t(m.lanes)));
  Vec first = NewVec(64);
  cc_.k(low).z().emit(m.move, first, x86::zmmword_ptr(from));
  if (v_ < m.lanes) {
    cc_.emit(m.permute, first, pick, first);
    cc_.vmovups(to, first.ymm());
    return;
  }
  Vec second = NewVec(64);
  cc_.k(high).z().emit(m.move, second, x86::zmmword_ptr(from, 64));
  cc_.emit(m.permute_two, first, pick, second);
  cc_.vmovups(to, first);
}

// 64 bytes, of which v may be the first half.
Codegen::Vec Codegen::WholeVector(const Vec& v) {
  if (v.size() == 64) return v;
  Vec whole = NewVec(64);
  cc_.vmovups(whole.ymm(), v);
  return whole;
}

void Codegen::StoreEverySecond(DType type, const Vec& v, const Gp& to, const Mask& mask) {
  const Moves m(SizeOf(type) == 8);
  const auto [low, high] = EvenMasks(mask, m.lanes, false);
  const Vec whole = WholeVector(v);
  for (int half = 0; half < 2 * v_ / m.lanes; ++half) {
    uint8_t twice[16];
    for (int i = 0; i < m.lanes; ++i) twice[i] = uint8_t((half * m.lanes + i) / 2);
    Vec d = MakeBytes(64, m.widen, PoolBytes(twice, size_t(m.lanes)));
    cc_.emit(m.permute, d, d, whole);
    cc_.k(half ? high : low).emit(m.move, x86::zmmword_ptr(to, half * 64), d);
  }
}

// Whether store `id` and the one behind it may write the parts of complex numbers.
bool Codegen::MayStoreParts(Id id) const {
  const auto plain = [&](Id store) {
    const Inst& inst = k_.body[store];
    return inst.op == kir::Op::kStore && inst.b == kNone && inst.c == kNone &&
           MayBeEverySecond(inst.type, VecClass(int(inst.imm), Of(store).region != 0), true) &&
           !Is(inst.a, Form::kWidened) && BlockOf(store).empty();
  };
  if (id < 0 || size_t(id) + 1 >= k_.body.size() || !InVectorRange(level_) || !plain(id) ||
      !plain(id + 1))
    return false;
  const Inst &first = k_.body[id], &second = k_.body[id + 1];
  return first.type == second.type && first.imm + 1 == second.imm && !MayStoreParts(id - 1);
}

void Codegen::StoreParts(Id id) {
  const Inst &first = k_.body[id], &second = k_.body[id + 1];
  const int a = int(first.imm), b = int(second.imm), size = SizeOf(first.type);
  const bool in_loop = Of(id).region != 0;
  const Vec v = R(first.a), w = R(second.a);
  const Gp to = Pointer(PlaceOf(a, in_loop)), beside = Pointer(PlaceOf(b, in_loop));
  const Mask mask = MaskWith(kNone);
  Label general = cc_.newLabel(), done = cc_.newLabel();
  Gp next = cc_.newIntPtr();
  cc_.lea(next, x86::ptr(to, size));
  cc_.cmp(next, beside);
  cc_.jne(general);
  for (const int buffer : {a, b}) {
    cc_.cmp(LaneStride(buffer, Stride::kAny, true), 2 * size);
    cc_.jne(general);
  }
  const Moves m(size == 8);
  const Vec re = WholeVector(v), im = WholeVector(w);
  std::pair<K, K> masks;
  if (mask.any) masks = EvenMasks(mask, m.lanes, true);
  for (int half = 0; half < 2 * v_ / m.lanes; ++half) {
    uint8_t turns[16];
    for (int i = 0; i < m.lanes; ++i)
      turns[i] = uint8_t((half * m.lanes + i) / 2 + (i % 2 ? m.lanes : 0));
    Vec d = MakeBytes(64, m.widen, PoolBytes(turns, size_t(m.lanes)));
    cc_.emit(m.merge, d, re, im);
    const Mem mem = x86::zmmword_ptr(to, half * 64);
    if (mask.any) {
      cc_.k(half ? masks.second : masks.first).emit(m.move, mem, d);
    } else {
      cc_.emit(m.move, mem, d);
    }
  }
  cc_.jmp(done);
  cc_.bind(general);
  StoreLanes(first.type, v, to, a, Stride::kAny, true, kNone, mask);
  StoreLanes(second.type, w, beside, b, Stride::kAny, true, kNone, mask);
  cc_.bind(done);
}

}  // namespace frazil::jit
