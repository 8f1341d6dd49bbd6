// Lanes that are every second element of memory, as one of two neighbours in a pooling window or a
// real part beside an imaginary one: read and written as whole vectors with gaps. AVX-512 and
// 32-bit elements only; the stride is known when the kernel runs, so the general way stands beside.
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Stride;
namespace I = x86::Inst;

namespace {

constexpr uint32_t kEven = 0x55555555;  // of 32 elements

}  // namespace

bool Codegen::MayBeEverySecond(DType type, Stride cls, bool vector) const {
  return z_ && v_ == 16 && SizeOf(type) == 4 && vector && cls == Stride::kAny;
}

// second() at run time where lanes are two elements apart, other() elsewhere.
void Codegen::IfEverySecond(int buffer, const std::function<void()>& second,
                            const std::function<void()>& other) {
  Label general = cc_.newLabel(), done = cc_.newLabel();
  Gp stride = LaneStride(buffer, Stride::kAny, true);
  cc_.cmp(stride, 8);
  cc_.jne(general);
  second();
  cc_.jmp(done);
  cc_.bind(general);
  other();
  cc_.bind(done);
}

// Which of 32 elements belong to lanes that are on: of the first 16, and of the others.
std::pair<Codegen::K, Codegen::K> Codegen::EvenMasks(const Mask& mask) {
  K low = NewK(), high = NewK();
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, kEven);
  if (mask.any) {
    Gp spread = cc_.newUInt32();
    cc_.pdep(spread, MaskBits(mask), bits);
    bits = spread;
  }
  cc_.kmovd(low, bits);
  cc_.kshiftrd(high, low, 16);
  return {low, high};
}

void Codegen::LoadEverySecond(const Vec& to, const Gp& from, const Mask& mask) {
  static constexpr uint8_t kPick[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  const auto [low, high] = EvenMasks(mask);
  const Vec pick = MakeBytes(64, I::kIdVpmovzxbd, PoolBytes(kPick, 16));
  Vec second = NewVec(64);
  cc_.k(low).z().emit(I::kIdVmovups, to, x86::zmmword_ptr(from));
  cc_.k(high).z().emit(I::kIdVmovups, second, x86::zmmword_ptr(from, 64));
  cc_.emit(I::kIdVpermt2ps, to, pick, second);
}

void Codegen::StoreEverySecond(const Vec& v, const Gp& to, const Mask& mask) {
  static constexpr uint8_t kTwice[2][16] = {
      {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7},
      {8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15}};
  const auto [low, high] = EvenMasks(mask);
  for (int half = 0; half < 2; ++half) {
    Vec d = MakeBytes(64, I::kIdVpmovzxbd, PoolBytes(kTwice[half], 16));
    cc_.emit(I::kIdVpermps, d, d, v);
    cc_.k(half ? high : low).emit(I::kIdVmovups, x86::zmmword_ptr(to, half * 64), d);
  }
}

}  // namespace frazil::jit
