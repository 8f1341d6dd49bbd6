#include "kernels/gemm/codegen.h"

#include <atomic>
#include <cstddef>
#include <mutex>

#include "core/at_fork.h"
#include "core/check.h"
#include "kernels/gemm/assemble.h"

namespace frazil::gemm {
namespace {

using asmjit::Label;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

constexpr int kRowsPerBase = 5;  // [base + {0,1,2,3,4}*lda] needs lda and 3*lda in registers
constexpr int kUnroll = kAheadSteps;

// Writes one kernel. Registers: rdi the call; rax, r8, r9 rows 0, 5, 10 of A; rsi lda, r10 3*lda;
// rdx B, rcx ldb; r11 the k counter. Before and after the k loop rax and rcx walk C. A kernel that
// looks ahead has the next tile of C in rbx, ldc in rbp and what comes after it in r12.
class KernelWriter {
 public:
  KernelWriter(x86::Assembler* as, const KernelShape& s)
      : as_(*as),
        s_(s),
        wide_(s.isa == Isa::kAvx512),
        vec_bytes_(wide_ ? 64 : 32),
        esize_(s.f64 ? 8 : 4),
        b_in_memory_(s.mr == 1) {
    int next = s.mr * s.nv;
    b_reg_ = next;
    next += b_in_memory_ ? 1 : s.nv;
    a_reg_ = next;
    int last = wide_ ? 32 : s.masked ? 15 : 16;
    a_count_ = last - next >= 2 ? 2 : 1;
    FZ_CHECK(next < last || BroadcastsInFma());
  }

  void Write() {
    if (s_.ahead) {
      for (const Gp& r : {x86::rbx, x86::rbp, x86::r12}) as_.push(r);
    }
    if (s_.masked) LoadMask();
    StartAccumulators();
    LoadPointers();
    KLoop();
    StoreAccumulators();
    if (s_.ahead) {
      for (const Gp& r : {x86::r12, x86::rbp, x86::rbx}) as_.pop(r);
    }
    as_.vzeroupper();
    as_.ret();
  }

 private:
  static Mem Field(size_t offset) { return x86::qword_ptr(x86::rdi, int32_t(offset)); }
  Vec Reg(int i) const { return wide_ ? Vec(x86::zmm(i)) : Vec(x86::ymm(i)); }
  Vec Acc(int i, int j) const { return Reg(i * s_.nv + j); }
  bool IsMasked(int j) const { return s_.masked && j == s_.nv - 1; }
  // With one vector a row nothing is gained by keeping the broadcast value in a register.
  bool BroadcastsInFma() const { return wide_ && s_.nv == 1 && !b_in_memory_; }

  void LoadMask() {
    if (wide_) {
      as_.mov(x86::rax, Field(offsetof(KernelCall, mask_bits)));
      as_.kmovw(x86::k1, x86::eax);
    } else {
      as_.mov(x86::rax, Field(offsetof(KernelCall, mask_row)));
      as_.vmovups(x86::ymm15, x86::ptr(x86::rax));
    }
  }

  void LoadVector(const Vec& dst, const Mem& src, bool masked) {
    if (!masked) {
      as_.vmovups(dst, src);
    } else if (wide_) {
      as_.k(x86::k1).z().emit(s_.f64 ? Inst::kIdVmovupd : Inst::kIdVmovups, dst, src);
    } else {
      as_.emit(s_.f64 ? Inst::kIdVmaskmovpd : Inst::kIdVmaskmovps, dst, x86::ymm15, src);
    }
  }

  void StoreVector(const Mem& dst, const Vec& src, bool masked) {
    if (!masked) {
      as_.vmovups(dst, src);
    } else if (wide_) {
      as_.k(x86::k1).emit(s_.f64 ? Inst::kIdVmovupd : Inst::kIdVmovups, dst, src);
    } else {
      as_.emit(s_.f64 ? Inst::kIdVmaskmovpd : Inst::kIdVmaskmovps, dst, x86::ymm15, src);
    }
  }

  void StartAtC() {
    as_.mov(x86::rax, Field(offsetof(KernelCall, c)));
    as_.mov(x86::rcx, Field(offsetof(KernelCall, ldc)));
  }

  void StartAccumulators() {
    Label load = as_.newLabel(), done = as_.newLabel();
    StartAtC();
    as_.cmp(Field(offsetof(KernelCall, accumulate)), 0);
    as_.jne(load);
    for (int r = 0; r < s_.mr * s_.nv; ++r) {
      as_.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVxorps, Reg(r), Reg(r), Reg(r));
    }
    for (int i = 0; i < s_.mr && !s_.ahead; ++i) {
      for (int j = 0; j < s_.nv; ++j) as_.prefetchw(x86::ptr(x86::rax, j * vec_bytes_));
      as_.add(x86::rax, x86::rcx);
    }
    as_.jmp(done);
    as_.bind(load);
    for (int i = 0; i < s_.mr; ++i) {
      for (int j = 0; j < s_.nv; ++j) {
        LoadVector(Acc(i, j), x86::ptr(x86::rax, j * vec_bytes_), IsMasked(j));
      }
      as_.add(x86::rax, x86::rcx);
    }
    as_.bind(done);
  }

  void StoreAccumulators() {
    StartAtC();
    for (int i = 0; i < s_.mr; ++i) {
      for (int j = 0; j < s_.nv; ++j) {
        StoreVector(x86::ptr(x86::rax, j * vec_bytes_), Acc(i, j), IsMasked(j));
      }
      as_.add(x86::rax, x86::rcx);
    }
  }

  static Gp Base(int i) {
    const Gp bases[] = {x86::rax, x86::r8, x86::r9};
    return bases[i];
  }
  int Bases() const {
    return s_.a == ALayout::kColumns ? 1 : (s_.mr + kRowsPerBase - 1) / kRowsPerBase;
  }

  void LoadPointers() {
    as_.mov(x86::rax, Field(offsetof(KernelCall, a)));
    as_.mov(x86::rsi, Field(offsetof(KernelCall, lda)));
    as_.lea(x86::r10, x86::ptr(x86::rsi, x86::rsi, 1));
    for (int base = 1; base < Bases(); ++base) {
      as_.lea(Base(base), x86::ptr(Base(base - 1), x86::rsi, 2));
      as_.add(Base(base), x86::rsi);
    }
    as_.mov(x86::rdx, Field(offsetof(KernelCall, b)));
    as_.mov(x86::rcx, Field(offsetof(KernelCall, ldb)));
    as_.mov(x86::r11, Field(offsetof(KernelCall, k)));
    if (!s_.ahead) return;
    as_.mov(x86::rbx, Field(offsetof(KernelCall, next_c)));
    as_.mov(x86::rbp, Field(offsetof(KernelCall, ldc)));
    as_.mov(x86::r12, Field(offsetof(KernelCall, ahead)));
  }

  // A's element of row i, u steps after the pointers.
  Mem AElement(int i, int u) const {
    if (s_.a == ALayout::kColumns) return x86::ptr(x86::rax, i * esize_);
    Gp base = Base(i / kRowsPerBase);
    int32_t at = u * esize_;
    switch (i % kRowsPerBase) {
      case 0:
        return x86::ptr(base, at);
      case 1:
        return x86::ptr(base, x86::rsi, 0, at);
      case 2:
        return x86::ptr(base, x86::rsi, 1, at);
      case 3:
        return x86::ptr(base, x86::r10, 0, at);
      default:
        return x86::ptr(base, x86::rsi, 2, at);
    }
  }

  void Fma(const Vec& acc, const Vec& x, const asmjit::Operand_& y) {
    as_.emit(s_.f64 ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps, acc, x, y);
  }

  void KStep(int u) {
    if (!b_in_memory_) {
      for (int j = 0; j < s_.nv; ++j) {
        LoadVector(Reg(b_reg_ + j), x86::ptr(x86::rdx, j * vec_bytes_), IsMasked(j));
      }
    }
    for (int i = 0; i < s_.mr; ++i) {
      Mem a = AElement(i, u);
      if (BroadcastsInFma()) {
        Fma(Acc(i, 0), Reg(b_reg_), s_.f64 ? a._1to8() : a._1to16());
        continue;
      }
      Vec av = Reg(a_reg_ + i % a_count_);
      as_.emit(s_.f64 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, av, a);
      for (int j = 0; j < s_.nv; ++j) FmaWithB(Acc(i, j), av, j);
    }
    if (s_.far_rows) {
      for (int j = 0; j < s_.nv; ++j) as_.prefetcht1(x86::ptr(x86::r12, j * vec_bytes_));
      as_.add(x86::r12, x86::rcx);
    }
    as_.add(x86::rdx, x86::rcx);
    if (s_.a == ALayout::kColumns) as_.add(x86::rax, x86::rsi);
  }

  void FmaWithB(const Vec& acc, const Vec& av, int j) {
    if (!b_in_memory_) {
      Fma(acc, av, Reg(b_reg_ + j));
    } else if (IsMasked(j)) {
      LoadVector(Reg(b_reg_), x86::ptr(x86::rdx, j * vec_bytes_), true);
      Fma(acc, av, Reg(b_reg_));
    } else {
      Fma(acc, av, x86::ptr(x86::rdx, j * vec_bytes_));
    }
  }

  void KSteps(int steps) {
    for (int u = 0; u < steps; ++u) KStep(u);
    if (s_.a != ALayout::kRows) return;
    for (int base = 0; base < Bases(); ++base) as_.add(Base(base), steps * esize_);
  }

  // Whole turns of the loop, while r11 + kUnroll steps are left.
  void Turns(bool fetch_c) {
    Label main = as_.newLabel(), done = as_.newLabel();
    as_.jl(done);
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(main);
    if (s_.ahead && !s_.far_rows) {
      for (int at = 0; at < kAheadBytes; at += 64) as_.prefetcht1(x86::ptr(x86::r12, at));
      as_.add(x86::r12, kAheadBytes);
    }
    if (fetch_c) {
      for (int j = 0; j < s_.nv; ++j) as_.prefetchw(x86::ptr(x86::rbx, j * vec_bytes_));
      as_.add(x86::rbx, x86::rbp);
    }
    KSteps(kUnroll);
    as_.sub(x86::r11, kUnroll);
    as_.jge(main);
    as_.bind(done);
  }

  // A kernel that looks ahead fetches a row of the next tile of C in each of the last turns:
  // fetched earlier, it would not last.
  void KLoop() {
    Label one = as_.newLabel(), done = as_.newLabel();
    const int last = s_.ahead ? s_.mr * kUnroll : 0;
    as_.sub(x86::r11, last + kUnroll);
    Turns(false);
    if (s_.ahead) {
      as_.add(x86::r11, last);
      Turns(true);
    }
    as_.add(x86::r11, kUnroll);
    as_.jz(done);
    as_.bind(one);
    KSteps(1);
    as_.dec(x86::r11);
    as_.jnz(one);
    as_.bind(done);
  }

  x86::Assembler& as_;
  const KernelShape s_;
  const bool wide_;
  const int vec_bytes_, esize_;
  const bool b_in_memory_;  // a single row uses each vector of B once
  int b_reg_, a_reg_, a_count_;
};

Kernel Generate(const KernelShape& shape) {
  return reinterpret_cast<Kernel>(
      Assemble([&](x86::Assembler& as) { KernelWriter(&as, shape).Write(); }));
}

constexpr int kMaxRows = 14;

int SlotOf(const KernelShape& s) {
  int slot = s.f64;
  slot = slot * 2 + (s.isa == Isa::kAvx512);
  slot = slot * 2 + s.masked;
  slot = slot * 2 + (s.a == ALayout::kColumns);
  slot = slot * 3 + s.ahead + s.far_rows;
  slot = slot * kMaxRows + s.mr - 1;
  return slot * kMaxVectors + s.nv - 1;
}
constexpr int kSlots = 48 * kMaxRows * kMaxVectors;

// Elements of all ones, then all zeros: a load that starts `lanes - columns` elements in is the
// mask.
constexpr int32_t kMaskTable[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace

int Lanes(Isa isa, bool f64) { return (isa == Isa::kAvx512 ? 64 : 32) / (f64 ? 8 : 4); }

int MaxRows(Isa isa, int nv) {
  static constexpr int8_t kWide[kMaxVectors] = {14, 14, 9, 6, 4, 4, 3, 2};
  static constexpr int8_t kNarrow[kMaxVectors] = {6, 6, 3, 2, 1, 1, 1, 1};
  return isa == Isa::kAvx512 ? kWide[nv - 1] : kNarrow[nv - 1];
}

void SetMask(const KernelShape& shape, int columns, KernelCall* call) {
  call->mask_bits = (uint64_t{1} << columns) - 1;
  if (shape.isa == Isa::kAvx2) call->mask_row = kMaskTable + 8 - columns * (shape.f64 ? 2 : 1);
}

Kernel GetKernel(const KernelShape& shape) {
  static std::atomic<Kernel> cache[kSlots];
  static std::mutex mutex;
  FZ_CHECK(shape.nv >= 1 && shape.nv <= kMaxVectors);
  FZ_CHECK(shape.mr >= 1 && shape.mr <= MaxRows(shape.isa, shape.nv));
  std::atomic<Kernel>& slot = cache[SlotOf(shape)];
  Kernel kernel = slot.load(std::memory_order_acquire);
  if (kernel != nullptr) return kernel;
  const ForkGuard guard;
  std::lock_guard<std::mutex> lock(mutex);
  kernel = slot.load(std::memory_order_relaxed);
  if (kernel == nullptr) {
    kernel = Generate(shape);
    slot.store(kernel, std::memory_order_release);
  }
  return kernel;
}

}  // namespace frazil::gemm
