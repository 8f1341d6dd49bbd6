// Square roots of f32 without the divider, which takes 12.5 cycles for a vector of AVX-512: exact,
// from the processor's estimate by fused multiply-adds.
//
// With y the estimate of 1 / sqrt(x), g = x y and h = y / 2, one step (e = 1/2 - g h; g += g e;
// h += h e) leaves g within an ulp of sqrt(x); then g + (x - g g) h, rounded once, is sqrt(x)
// rounded: Markstein, IBM J. Res. Dev. 34 (1990). That the rounding is right for every f32 follows
// from a test of all of them (SquareRoots in tests/jit/x86_test.cc), as roots scale by powers of
// four; it was made with the estimates of Intel's processors, which are the same on all of them,
// so others keep the divider. x must be far enough from overflow and underflow; where it is not,
// the vector goes to the divider, unless it is 0, which is frequent.
#include <algorithm>
#include <vector>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

namespace {

constexpr uint32_t kLeast = 27U << 23;             // 2^-100
constexpr uint32_t kSpan = (227U << 23) - kLeast;  // to 2^100

}  // namespace

Codegen::Vec Codegen::QuickRoot(const Inst& inst) {
  constexpr DType t = DType::kF32;
  constexpr int kMore = 6, kEqual = 0;
  const Vec x = R(inst.a);
  const Mem half = ConstMem(t, 0x3f000000);
  Vec h = Make(t, I::kIdVrsqrt14ps, x);
  Vec g = Make(t, I::kIdVmulps, x, h);
  cc_.emit(I::kIdVmulps, h, h, half);
  Vec rest = NewFor(t);
  Copy(rest, g);
  cc_.emit(I::kIdVfnmadd213ps, rest, h, half);
  cc_.emit(I::kIdVfmadd231ps, g, g, rest);
  cc_.emit(I::kIdVfmadd231ps, h, h, rest);
  Vec left = NewFor(t);
  Copy(left, g);
  cc_.emit(I::kIdVfnmadd213ps, left, g, x);
  cc_.emit(I::kIdVfmadd231ps, g, left, h);

  const Vec above = Make(t, I::kIdVpsubd, x, ConstMem(t, kLeast));
  Label divide = cc_.newLabel(), done = cc_.newLabel();
  K doubtful = NewK(), zero = NewK();
  cc_.emit(I::kIdVpcmpud, doubtful, above, ConstMem(t, kSpan), kMore);
  cc_.kortestw(doubtful, doubtful);
  cc_.jz(done);
  cc_.emit(I::kIdVcmpps, zero, x, Zero(64), kEqual);
  cc_.kandnw(doubtful, zero, doubtful);
  cc_.kortestw(doubtful, doubtful);
  cc_.jnz(divide);
  cc_.k(zero).emit(I::kIdVmovaps, g, x);
  cc_.jmp(done);
  cc_.bind(divide);
  cc_.emit(I::kIdVsqrtps, g, x);
  cc_.bind(done);
  return g;
}

}  // namespace frazil::jit
