#include "kernels/gemm/codegen.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "core/check.h"
#include "core/threads/at_fork.h"
#include "core/tuned.h"
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
// looks ahead has the next tile of C in rbx, ldc in rbp and what comes after it in r12; or its list
// in rbx. One with runs has the list of them in rbx, their count in rbp and row 15 of A in r12.
class KernelWriter {
 public:
  KernelWriter(x86::Assembler* as, const KernelShape& s)
      : as_(*as),
        s_(s),
        wide_(s.isa == Isa::kAvx512),
        vec_bytes_(wide_ ? 64 : 32),
        esize_(s.f64 ? 8 : 4),
        b_in_memory_(s.mr == 1),
        has_product_(s.step == Step::kPlainHalves || s.step == Step::kWords) {
    int next = s.mr * s.nv * (s.step == Step::kPairs ? 2 : 1);
    b_reg_ = next;
    next += b_in_memory_ ? 1 : s.nv;
    a_reg_ = next;
    int last = (wide_ ? 32 : s.masked ? 15 : 16) - has_product_;
    product_reg_ = last;
    a_count_ = std::clamp(last - next, 1, 4);
    FZ_CHECK(next < last || BroadcastsInFma());
  }

  void Write() {
    if (SavesRegisters()) {
      for (const Gp& r : {x86::rbx, x86::rbp, x86::r12}) as_.push(r);
    }
    if (s_.masked) LoadMask();
    if (s_.step == Step::kPairs) {
      StartC();
      LoadPointers();
      PairsLoop();
    } else {
      StartAccumulators();
      LoadPointers();
      s_.runs ? Runs() : KLoop();
      StoreAccumulators();
    }
    if (SavesRegisters()) {
      for (const Gp& r : {x86::r12, x86::rbp, x86::rbx}) as_.pop(r);
    }
    as_.vzeroupper();
    as_.ret();
  }

 private:
  static Mem Field(size_t offset) { return x86::qword_ptr(x86::rdi, int32_t(offset)); }
  Vec Reg(int i) const { return wide_ ? Vec(x86::zmm(i)) : Vec(x86::ymm(i)); }
  Vec Acc(int i, int j) const { return Reg(i * s_.nv + j); }
  bool FetchesC() const { return s_.ahead == Ahead::kNear || s_.ahead == Ahead::kFarRows; }
  bool Listed() const { return s_.ahead == Ahead::kListed; }
  // Each step of an A by columns is another line, which the first-level cache does not keep.
  bool FetchesSteps() const { return Listed() && s_.a == ALayout::kColumns; }
  bool SavesRegisters() const { return s_.ahead != Ahead::kNone || s_.runs; }
  bool IsMasked(int j) const { return s_.masked && j == s_.nv - 1; }
  // With one vector a row nothing is gained by keeping the broadcast value in a register. Bytes of
  // A are the unsigned ones everywhere, which they would not be there.
  bool BroadcastsInFma() const {
    return wide_ && s_.nv == 1 && !b_in_memory_ && s_.step != Step::kPlainHalves &&
           s_.step != Step::kBytes;
  }

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

  void Zero(const Vec& v) { as_.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVxorps, v, v, v); }

  void StartAccumulators() {
    Label load = as_.newLabel(), done = as_.newLabel();
    StartAtC();
    as_.cmp(Field(offsetof(KernelCall, accumulate)), 0);
    as_.jne(load);
    for (int r = 0; r < s_.mr * s_.nv; ++r) Zero(Reg(r));
    for (int i = 0; i < s_.mr && s_.ahead == Ahead::kNone; ++i) {
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
    const Gp bases[] = {x86::rax, x86::r8, x86::r9, x86::r12};
    return bases[i];
  }
  int Bases() const {
    return s_.a == ALayout::kColumns ? 1 : (s_.mr + kRowsPerBase - 1) / kRowsPerBase;
  }

  // Of the rows of A behind those of rax.
  void MoveBases() {
    for (int base = 1; base < Bases(); ++base) {
      as_.lea(Base(base), x86::ptr(Base(base - 1), x86::rsi, 2));
      as_.add(Base(base), x86::rsi);
    }
  }

  void LoadPointers() {
    as_.mov(x86::rsi, Field(offsetof(KernelCall, lda)));
    as_.lea(x86::r10, x86::ptr(x86::rsi, x86::rsi, 1));
    if (!s_.runs) {
      as_.mov(x86::rax, Field(offsetof(KernelCall, a)));
      MoveBases();
    }
    as_.mov(x86::rdx, Field(offsetof(KernelCall, b)));
    as_.mov(x86::rcx, Field(offsetof(KernelCall, ldb)));
    as_.mov(x86::r11, Field(offsetof(KernelCall, k)));
    if (Listed()) as_.mov(x86::rbx, Field(offsetof(ListedCall, list)));
    if (FetchesSteps()) as_.imul(x86::r9, x86::rsi, tuned::kColumnStepsAhead);
    if (!FetchesC()) return;
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

  // What the k step does to one vector of accumulators.
  void Fma(const Vec& acc, const Vec& x, const asmjit::Operand_& y) {
    const Vec product = Reg(product_reg_);
    switch (s_.step) {
      case Step::kFma:
      case Step::kPairs:
        as_.emit(s_.f64 ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps, acc, x, y);
        return;
      case Step::kBytes:
        if (!wide_) as_.vex();
        as_.emit(Inst::kIdVpdpbusd, acc, x, y);
        return;
      case Step::kHalves:
        if (!wide_) as_.vex();
        as_.emit(Inst::kIdVpdpwssd, acc, x, y);
        return;
      case Step::kPlainHalves:
        as_.emit(Inst::kIdVpmaddwd, product, x, y);
        as_.emit(Inst::kIdVpaddd, acc, acc, product);
        return;
      case Step::kWords:
        as_.emit(Inst::kIdVpmulld, product, x, y);
        as_.emit(Inst::kIdVpaddd, acc, acc, product);
        return;
    }
  }

  // B's vector j, u steps after the pointers.
  Mem BVector(int j, int u) const {
    return x86::ptr(x86::rdx, ((Listed() ? u * s_.nv : 0) + j) * vec_bytes_);
  }

  // `sums`: the first of the accumulators.
  void KStep(int u, int sums = 0) {
    if (FetchesSteps()) as_.prefetcht0(x86::ptr(x86::rax, x86::r9));
    if (!b_in_memory_) {
      for (int j = 0; j < s_.nv; ++j) LoadVector(Reg(b_reg_ + j), BVector(j, u), IsMasked(j));
    }
    for (int i = 0; i < s_.mr; ++i) {
      Mem a = AElement(i, u);
      if (BroadcastsInFma()) {
        Fma(Reg(sums + i), Reg(b_reg_), s_.f64 ? a._1to8() : a._1to16());
        continue;
      }
      Vec av = Reg(a_reg_ + i % a_count_);
      as_.emit(s_.f64 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, av, a);
      for (int j = 0; j < s_.nv; ++j) {
        FmaWithB(Reg(sums + i * s_.nv + j), av, BVector(j, u), j);
      }
    }
    if (s_.ahead == Ahead::kFarRows) {
      for (int j = 0; j < s_.nv; ++j) as_.prefetcht1(x86::ptr(x86::r12, j * vec_bytes_));
      as_.add(x86::r12, x86::rcx);
    }
    if (!Listed()) as_.add(x86::rdx, x86::rcx);
    if (s_.a == ALayout::kColumns) as_.add(x86::rax, x86::rsi);
  }

  void FmaWithB(const Vec& acc, const Vec& av, const Mem& b, int j) {
    if (!b_in_memory_) {
      Fma(acc, av, Reg(b_reg_ + j));
    } else if (IsMasked(j)) {
      LoadVector(Reg(b_reg_), b, true);
      Fma(acc, av, Reg(b_reg_));
    } else {
      Fma(acc, av, b);
    }
  }

  void KSteps(int steps) {
    for (int u = 0; u < steps; ++u) KStep(u);
    if (Listed()) as_.add(x86::rdx, steps * s_.nv * vec_bytes_);
    if (s_.a != ALayout::kRows) return;
    for (int base = 0; base < Bases(); ++base) as_.add(Base(base), steps * esize_);
  }

  // Whole turns of the loop, while r11 + kUnroll steps are left.
  void Turns(bool fetch_c) {
    Label main = as_.newLabel(), done = as_.newLabel();
    as_.jl(done);
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(main);
    if (Listed()) {
      as_.movsxd(x86::rbp, x86::dword_ptr(x86::rbx, offsetof(AheadLine, offset)));
      as_.movsxd(x86::r12, x86::dword_ptr(x86::rbx, offsetof(AheadLine, base)));
      as_.add(x86::rbp, x86::ptr(x86::rdi, x86::r12, 0, offsetof(ListedCall, from)));
      as_.prefetcht1(x86::ptr(x86::rbp));
      as_.add(x86::rbx, sizeof(AheadLine));
    }
    if (s_.ahead == Ahead::kNear) {
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

  // A kernel that fetches C fetches a row of the next tile of C in each of the last turns:
  // fetched earlier, it would not last.
  void KLoop() {
    Label one = as_.newLabel(), done = as_.newLabel();
    const int last = FetchesC() ? s_.mr * kUnroll : 0;
    as_.sub(x86::r11, last + kUnroll);
    Turns(false);
    if (FetchesC()) {
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

  void Runs() {
    const Label run = as_.newLabel();
    as_.mov(x86::rbx, Field(offsetof(RunsCall, runs)));
    as_.mov(x86::rbp, Field(offsetof(RunsCall, count)));
    as_.bind(run);
    as_.mov(x86::rax, x86::ptr(x86::rbx, offsetof(Run, a)));
    as_.add(x86::rax, Field(offsetof(KernelCall, a)));
    MoveBases();
    as_.mov(x86::r11, x86::ptr(x86::rbx, offsetof(Run, k)));
    as_.add(x86::rbx, sizeof(Run));
    KLoop();
    as_.dec(x86::rbp);
    as_.jnz(run);
  }

  // C = +0 where it does not continue.
  void StartC() {
    Label done = as_.newLabel();
    as_.cmp(Field(offsetof(KernelCall, accumulate)), 0);
    as_.jne(done);
    StartAtC();
    Zero(Reg(0));
    for (int i = 0; i < s_.mr; ++i) {
      for (int j = 0; j < s_.nv; ++j)
        StoreVector(x86::ptr(x86::rax, j * vec_bytes_), Reg(0), IsMasked(j));
      as_.add(x86::rax, x86::rcx);
    }
    as_.bind(done);
  }

  // Two k steps, or the first of them.
  void Pair(bool whole) {
    const int odd = s_.mr * s_.nv;
    KStep(0, 0);
    if (whole) KStep(s_.a == ALayout::kRows ? 1 : 0, odd);
    if (s_.a != ALayout::kRows) return;
    for (int base = 0; base < Bases(); ++base) as_.add(Base(base), (whole ? 2 : 1) * esize_);
  }

  // Blocks of kPairsBlock k steps: rbp holds a block's, rbx those left, r12 walks C.
  void PairsLoop() {
    Label block = as_.newLabel(), pair = as_.newLabel(), single = as_.newLabel();
    Label add = as_.newLabel(), done = as_.newLabel();
    as_.test(x86::r11, x86::r11);
    as_.jz(done);
    for (const Gp& r : {x86::rbx, x86::rbp, x86::r12}) as_.push(r);
    as_.bind(block);
    for (int r = 0; r < 2 * s_.mr * s_.nv; ++r) Zero(Reg(r));
    as_.mov(x86::ebx, kPairsBlock);
    as_.cmp(x86::r11, x86::rbx);
    as_.cmovl(x86::rbx, x86::r11);
    as_.sub(x86::r11, x86::rbx);
    as_.mov(x86::rbp, x86::rbx);
    as_.sub(x86::rbx, 2);
    as_.jl(single);
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(pair);
    Pair(true);
    as_.sub(x86::rbx, 2);
    as_.jge(pair);
    as_.bind(single);
    as_.cmp(x86::rbx, -1);
    as_.jne(add);
    Pair(false);
    as_.bind(add);
    AddPairsToC();
    as_.test(x86::r11, x86::r11);
    as_.jnz(block);
    for (const Gp& r : {x86::r12, x86::rbp, x86::rbx}) as_.pop(r);
    as_.bind(done);
  }

  // C += even + odd. A block that is not whole counts as filled up with zeros, which make a sum of
  // -0 one of +0. Where that is done to both sums though only one of them has fewer, nothing
  // changes: the other's +0 decides.
  void AddPairsToC() {
    Label whole = as_.newLabel();
    const int sums = s_.mr * s_.nv;
    as_.cmp(x86::rbp, kPairsBlock);
    as_.je(whole);
    Zero(Reg(b_reg_));
    for (int r = 0; r < 2 * sums; ++r) as_.vaddps(Reg(r), Reg(r), Reg(b_reg_));
    as_.bind(whole);
    as_.mov(x86::r12, Field(offsetof(KernelCall, c)));
    for (int i = 0; i < s_.mr; ++i) {
      for (int j = 0; j < s_.nv; ++j) {
        const Vec even = Acc(i, j), odd = Reg(sums + i * s_.nv + j);
        as_.vaddps(even, even, odd);
        LoadVector(odd, x86::ptr(x86::r12, j * vec_bytes_), IsMasked(j));
        as_.vaddps(even, odd, even);
        StoreVector(x86::ptr(x86::r12, j * vec_bytes_), even, IsMasked(j));
      }
      as_.add(x86::r12, Field(offsetof(KernelCall, ldc)));
    }
  }

  x86::Assembler& as_;
  const KernelShape s_;
  const bool wide_;
  const int vec_bytes_, esize_;
  const bool b_in_memory_;  // a single row uses each vector of B once
  const bool has_product_;  // products and sums are instructions of their own
  int b_reg_, a_reg_, a_count_, product_reg_;
};

Kernel Generate(const KernelShape& shape) {
  return reinterpret_cast<Kernel>(
      Assemble([&](x86::Assembler& as) { KernelWriter(&as, shape).Write(); }));
}

constexpr int kMaxRows = kMostRowsOfRuns;

int SlotOf(const KernelShape& s) {
  int slot = s.f64;
  slot = slot * 2 + (s.isa == Isa::kAvx512);
  slot = slot * 2 + s.masked;
  slot = slot * 2 + (s.a == ALayout::kColumns);
  slot = slot * 2 + s.runs;
  slot = slot * kAheads + int(s.ahead);
  slot = slot * kSteps + int(s.step);
  slot = slot * kMaxRows + s.mr - 1;
  return slot * kMaxVectors + s.nv - 1;
}
constexpr int kSlots = 32 * kAheads * kSteps * kMaxRows * kMaxVectors;

// Elements of all ones, then all zeros: a load that starts `lanes - columns` elements in is the
// mask.
constexpr int32_t kMaskTable[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace

int Lanes(Isa isa, bool f64) { return (isa == Isa::kAvx512 ? 64 : 32) / (f64 ? 8 : 4); }

int MaxRows(Isa isa, int nv, Step step, bool runs) {
  static constexpr int8_t kWide[kMaxVectors] = {14, 14, 9, 6, 4, 4, 3, 2};
  static constexpr int8_t kNarrow[kMaxVectors] = {6, 6, 3, 2, 1, 1, 1, 1};
  static constexpr int8_t kWidePairs[kMaxVectors] = {14, 7, 4, 3, 2, 2, 1, 1};
  static constexpr int8_t kNarrowPairs[kMaxVectors] = {6, 3, 1, 1, 1, 1, 0, 0};
  if (runs && isa == Isa::kAvx512 && nv == 1) return kMostRowsOfRuns;
  if (step == Step::kPairs) return (isa == Isa::kAvx512 ? kWidePairs : kNarrowPairs)[nv - 1];
  if (isa == Isa::kAvx2 && nv == 2 && (step == Step::kPlainHalves || step == Step::kWords))
    return 5;  // one register holds the product
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
  FZ_CHECK(shape.mr >= 1 && shape.mr <= MaxRows(shape.isa, shape.nv, shape.step, shape.runs));
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
