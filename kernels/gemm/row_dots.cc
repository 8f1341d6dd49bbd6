#include "kernels/gemm/row_dots.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <type_traits>

#include "core/at_fork.h"
#include "kernels/gemm/assemble.h"
#include "kernels/gemm/codegen.h"

namespace frazil::gemm {
namespace {

using asmjit::Label;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

struct Call {
  const void* a;
  int64_t row_bytes;
  const void* x;
  void* y;
  int64_t steps;  // of Turn elements of k each
};
using DotsKernel = void (*)(const Call*);

// Writes a kernel for `vectors` vectors of rows; several hide the latency of the fma chain. A
// vector's 128-bit parts come from different rows, so that the turn that is left stays within
// parts: part q of register r holds row q * turn + r, and after the turn register r holds element r
// of every row. Registers: Base(i) the first row of each part; r8 and r9 1 and 3 rows; r10 x; r11
// the steps left.
class DotsWriter {
 public:
  DotsWriter(x86::Assembler* as, bool f64, bool wide, int vectors)
      : as_(*as),
        f64_(f64),
        wide_(wide),
        vectors_(vectors),
        parts_(wide ? 4 : 2),
        turn_(f64 ? 2 : 4) {}

  void Write() {
    Start();
    Label loop = as_.newLabel(), done = as_.newLabel();
    as_.test(x86::r11, x86::r11);
    as_.jz(done);
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(loop);
    Step();
    as_.dec(x86::r11);
    as_.jnz(loop);
    as_.bind(done);
    as_.mov(x86::rax, Field(offsetof(Call, y)));
    for (int v = 0; v < vectors_; ++v)
      as_.vmovups(x86::ptr(x86::rax, v * (wide_ ? 64 : 32)), Acc(v));
    as_.vzeroupper();
    as_.ret();
  }

 private:
  static Mem Field(size_t offset) { return x86::qword_ptr(x86::rdi, int32_t(offset)); }
  Vec Reg(int i) const { return wide_ ? Vec(x86::zmm(i)) : Vec(x86::ymm(i)); }
  Vec Acc(int v) const { return Reg(v); }
  Vec X(int t) const { return Reg(4 + t); }
  Vec Rows(int r) const { return Reg(8 + r); }
  Vec Half(int r) const { return Reg(12 + r); }

  static Gp Base(int i) {
    const Gp bases[] = {x86::rax, x86::rcx, x86::rdx, x86::rsi};
    return bases[i];
  }

  void Start() {
    if (wide_) {
      for (int q = 1; q < 4; ++q) {
        as_.mov(x86::eax, 0xF << (4 * q));
        as_.kmovw(x86::k(uint32_t(q)), x86::eax);
      }
    }
    as_.mov(x86::r8, Field(offsetof(Call, row_bytes)));
    as_.lea(x86::r9, x86::ptr(x86::r8, x86::r8, 1));
    as_.mov(x86::r10, Field(offsetof(Call, x)));
    as_.mov(x86::r11, Field(offsetof(Call, steps)));
    as_.mov(Base(0), Field(offsetof(Call, a)));
    for (int i = 1; i < vectors_ * parts_; ++i) {
      as_.lea(Base(i), x86::ptr(Base(i - 1), x86::r8, turn_ == 4 ? 2 : 1));
    }
    for (int v = 0; v < vectors_; ++v) as_.vxorps(x86::xmm(v), x86::xmm(v), x86::xmm(v));
  }

  Mem Row(const Gp& base, int r) const {
    switch (r) {
      case 0:
        return x86::ptr(base);
      case 1:
        return x86::ptr(base, x86::r8);
      case 2:
        return x86::ptr(base, x86::r8, 1);
      default:
        return x86::ptr(base, x86::r9);
    }
  }

  void LoadRows(int v) {
    for (int r = 0; r < turn_; ++r) {
      if (wide_) {
        as_.vbroadcastf32x4(Rows(r), Row(Base(v * 4), r));
        for (int q = 1; q < 4; ++q) {
          as_.k(x86::k(uint32_t(q))).vbroadcastf32x4(Rows(r), Row(Base(v * 4 + q), r));
        }
      } else {
        as_.vmovups(Rows(r).xmm(), Row(Base(v * 2), r));
        as_.vinsertf128(Rows(r), Rows(r), Row(Base(v * 2 + 1), r), 1);
      }
    }
  }

  // Leaves element t of every row in Rows(t).
  void Turn() {
    if (f64_) {
      as_.vunpcklpd(Half(0), Rows(0), Rows(1));
      as_.vunpckhpd(Rows(1), Rows(0), Rows(1));
      as_.vmovaps(Rows(0), Half(0));
      return;
    }
    as_.vunpcklps(Half(0), Rows(0), Rows(1));
    as_.vunpckhps(Half(1), Rows(0), Rows(1));
    as_.vunpcklps(Half(2), Rows(2), Rows(3));
    as_.vunpckhps(Half(3), Rows(2), Rows(3));
    as_.vunpcklpd(Rows(0), Half(0), Half(2));
    as_.vunpckhpd(Rows(1), Half(0), Half(2));
    as_.vunpcklpd(Rows(2), Half(1), Half(3));
    as_.vunpckhpd(Rows(3), Half(1), Half(3));
  }

  void Step() {
    for (int t = 0; t < turn_; ++t) {
      as_.emit(f64_ ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, X(t),
               x86::ptr(x86::r10, t * (f64_ ? 8 : 4)));
    }
    as_.add(x86::r10, 16);
    for (int v = 0; v < vectors_; ++v) {
      LoadRows(v);
      Turn();
      for (int t = 0; t < turn_; ++t) {
        as_.emit(f64_ ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps, Acc(v), Rows(t), X(t));
      }
    }
    for (int i = 0; i < vectors_ * parts_; ++i) as_.add(Base(i), 16);
  }

  x86::Assembler& as_;
  const bool f64_, wide_;
  const int vectors_, parts_, turn_;
};

// Sixteen rows of f32 at most: of rows a power of two apart, more do not stay in the first-level
// cache.
int MostVectors(Isa isa) { return isa == Isa::kAvx512 ? 1 : 2; }

// nullptr where code cannot be generated.
DotsKernel GetDots(bool f64, Isa isa, int vectors) {
  static std::atomic<DotsKernel> cache[2][2][3];
  static std::mutex mutex;
  bool wide = isa == Isa::kAvx512;
  std::atomic<DotsKernel>& slot = cache[f64][wide][vectors];
  DotsKernel kernel = slot.load(std::memory_order_acquire);
  if (kernel != nullptr) return kernel;
  const ForkGuard guard;
  std::lock_guard<std::mutex> lock(mutex);
  kernel = slot.load(std::memory_order_relaxed);
  if (kernel != nullptr) return kernel;
  auto write = [&](x86::Assembler& as) { DotsWriter(&as, f64, wide, vectors).Write(); };
  kernel = reinterpret_cast<DotsKernel>(Assemble(write));
  slot.store(kernel, std::memory_order_release);
  return kernel;
}

// The last few k steps, which do not fill a turn, continue the accumulators in y.
template <typename T>
__attribute__((target("fma"))) void LastSteps(const T* a, int64_t row_stride, int64_t rows,
                                              const T* x, int64_t from, int64_t k, T* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = from; i < k; ++i) y[r] = std::fma(a[r * row_stride + i], x[i], y[r]);
  }
}

template <typename T>
bool Run(Isa isa, const T* a, int64_t row_stride, int64_t rows, const T* x, int64_t k, T* y) {
  constexpr bool kF64 = std::is_same_v<T, double>;
  constexpr int64_t kTurn = kF64 ? 2 : 4;
  if (isa == Isa::kScalar || rows < Lanes(isa, kF64)) return false;
  int vectors = int(std::min<int64_t>(MostVectors(isa), rows / Lanes(isa, kF64)));
  DotsKernel kernel = GetDots(kF64, isa, vectors);
  if (kernel == nullptr) return false;
  int64_t size = Lanes(isa, kF64) * vectors;
  for (int64_t r = 0; r < rows; r += size) {
    // The last group starts early enough to be whole; the rows that it repeats get the same values
    // again.
    int64_t at = std::min(r, rows - size);
    Call call{a + at * row_stride, row_stride * int64_t(sizeof(T)), x, y + at, k / kTurn};
    kernel(&call);
  }
  LastSteps(a, row_stride, rows, x, k / kTurn * kTurn, k, y);
  return true;
}

}  // namespace

bool TryRowDots(Isa isa, const float* a, int64_t row_stride, int64_t rows, const float* x,
                int64_t k, float* y) {
  return Run(isa, a, row_stride, rows, x, k, y);
}

bool TryRowDots(Isa isa, const double* a, int64_t row_stride, int64_t rows, const double* x,
                int64_t k, double* y) {
  return Run(isa, a, row_stride, rows, x, k, y);
}

}  // namespace frazil::gemm
