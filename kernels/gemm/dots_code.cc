#include "kernels/gemm/dots_code.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "core/threads/at_fork.h"
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

constexpr int kMostTurn = 8;
constexpr int kRowsPerBaseOfA = 5;  // [base + {0,1,2,3,4}*lda] needs lda and 3*lda in registers
constexpr int kRowsPerBaseOfB = 4;

// Writes one kernel. A vector's halves are loaded from two rows, so that what is left to turn stays
// near: unpacking turns squares within parts of 16 bytes, and AVX-512 then picks parts out of two
// registers. Registers: rdi the call; r8 ldb, r9 3*ldb, r14 lda, r15 3*lda or, with two vectors,
// what is read ahead; r11 the counter; vector 0.. the accumulators, the last ones for turning.
class DotsWriter {
 public:
  DotsWriter(x86::Assembler* as, const DotsShape& s)
      : as_(*as),
        s_(s),
        wide_(s.isa == Isa::kAvx512),
        size_(s.f64 ? 8 : 4),
        vec_bytes_(wide_ ? 64 : 32),
        lanes_(Lanes(s.isa, s.f64)),
        turn_(DotsTurn(s.isa, s.f64)),
        first_(s.rows * s.vectors),
        words_(s.stored != DotsStored::kComputed) {
    FZ_CHECK(first_ + turn_ + (wide_ ? 1 : 2) + (words_ ? 2 : 0) <= (wide_ ? 32 : 16));
    FZ_CHECK(!words_ || !s.f64);
    FZ_CHECK(s.vectors == 1 || s.rows <= 3);
  }

  void Write() {
    for (const Gp& r : kSaved) as_.push(r);
    StartAccumulators();
    LoadPointers();
    Blocks();
    Rest();
    StoreAccumulators();
    for (int i = int(kSaved.size()) - 1; i >= 0; --i) as_.pop(kSaved[size_t(i)]);
    as_.vzeroupper();
    as_.ret();
  }

 private:
  static constexpr std::array<Gp, 6> kSaved = {x86::rbx, x86::rbp, x86::r12,
                                               x86::r13, x86::r14, x86::r15};

  static Mem Field(size_t offset) { return x86::qword_ptr(x86::rdi, int32_t(offset)); }
  Vec Reg(int i) const { return wide_ ? Vec(x86::zmm(i)) : Vec(x86::ymm(i)); }
  Vec Half(int i) const { return wide_ ? Vec(x86::ymm(i)) : Vec(x86::xmm(i)); }
  Vec Acc(int row, int v) const { return Reg(row * s_.vectors + v); }
  int Broadcast() const { return first_ + turn_ + 1; }  // AVX2 only
  // Of words: what takes them apart, and one half of them, widened.
  int Halves() const { return wide_ ? 31 : 15; }
  int Widened() const { return wide_ ? 30 : 14; }

  static Gp BaseOfB(int i) {
    constexpr Gp kBases[] = {x86::rax, x86::rcx, x86::rdx, x86::rsi,
                             x86::rbx, x86::rbp, x86::r12, x86::r13};
    return kBases[i];
  }
  int BasesOfB() const { return s_.vectors * lanes_ / kRowsPerBaseOfB; }
  static Gp BaseOfA(int i) {
    constexpr Gp kBases[] = {x86::r10, x86::rbx, x86::rbp, x86::r12};
    return kBases[i];
  }
  int BasesOfA() const { return (s_.rows + kRowsPerBaseOfA - 1) / kRowsPerBaseOfA; }
  Gp Ahead() const { return s_.vectors == 1 ? x86::r13 : x86::r15; }

  Mem RowOfB(int row, int at) const {
    const Gp base = BaseOfB(row / kRowsPerBaseOfB);
    switch (row % kRowsPerBaseOfB) {
      case 0:
        return x86::ptr(base, at);
      case 1:
        return x86::ptr(base, x86::r8, 0, at);
      case 2:
        return x86::ptr(base, x86::r8, 1, at);
      default:
        return x86::ptr(base, x86::r9, 0, at);
    }
  }
  Mem ElementOfA(int row, int at) const {
    const Gp base = BaseOfA(row / kRowsPerBaseOfA);
    switch (row % kRowsPerBaseOfA) {
      case 0:
        return x86::ptr(base, at);
      case 1:
        return x86::ptr(base, x86::r14, 0, at);
      case 2:
        return x86::ptr(base, x86::r14, 1, at);
      case 3:
        return x86::ptr(base, x86::r15, 0, at);
      default:
        return x86::ptr(base, x86::r14, 2, at);
    }
  }

  template <typename Visit>
  void ForEachOfC(Visit visit) {
    as_.mov(x86::rax, Field(offsetof(DotsCall, c)));
    as_.mov(x86::rcx, Field(offsetof(DotsCall, ldc)));
    for (int i = 0; i < s_.rows; ++i) {
      for (int v = 0; v < s_.vectors; ++v) visit(Acc(i, v), x86::ptr(x86::rax, v * vec_bytes_));
      if (i + 1 < s_.rows) as_.add(x86::rax, x86::rcx);
    }
  }

  void StartAccumulators() {
    const Label load = as_.newLabel(), done = as_.newLabel();
    as_.cmp(Field(offsetof(DotsCall, accumulate)), 0);
    as_.jne(load);
    for (int r = 0; r < first_; ++r) {
      as_.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVxorps, Reg(r), Reg(r), Reg(r));
    }
    as_.jmp(done);
    as_.bind(load);
    ForEachOfC([&](const Vec& acc, const Mem& c) { as_.vmovups(acc, c); });
    as_.bind(done);
  }

  void StoreAccumulators() {
    ForEachOfC([&](const Vec& acc, const Mem& c) { as_.vmovups(c, acc); });
  }

  void LoadPointers() {
    as_.mov(x86::r8, Field(offsetof(DotsCall, ldb)));
    as_.lea(x86::r9, x86::ptr(x86::r8, x86::r8, 1));
    as_.mov(BaseOfB(0), Field(offsetof(DotsCall, b)));
    for (int i = 1; i < BasesOfB(); ++i) as_.lea(BaseOfB(i), x86::ptr(BaseOfB(i - 1), x86::r8, 2));
    as_.mov(x86::r14, Field(offsetof(DotsCall, lda)));
    if (s_.rows > 3) as_.lea(x86::r15, x86::ptr(x86::r14, x86::r14, 1));
    as_.mov(BaseOfA(0), Field(offsetof(DotsCall, a)));
    for (int i = 1; i < BasesOfA(); ++i) {
      as_.lea(BaseOfA(i), x86::ptr(BaseOfA(i - 1), x86::r14, 2));
      as_.add(BaseOfA(i), x86::r14);
    }
    if (s_.ahead) as_.mov(Ahead(), Field(offsetof(DotsCall, ahead)));
    if (words_) {
      as_.mov(x86::r11, Field(offsetof(DotsCall, halves)));
      as_.vmovups(Reg(Halves()), x86::ptr(x86::r11));
    }
  }

  void Advance(int steps) {
    for (int i = 0; i < BasesOfB(); ++i) as_.add(BaseOfB(i), steps * (words_ ? 2 : size_));
    for (int i = 0; i < BasesOfA(); ++i) as_.add(BaseOfA(i), steps * size_);
  }

  // The rows whose halves make up register r before turning.
  std::pair<int, int> RowsOf(int r) const {
    const int set = wide_ ? turn_ / 2 : turn_;
    const int low = r % set + r / set * 2 * set;
    return {low, low + set};
  }

  void LoadHalves(int v, int at) {
    for (int r = 0; r < turn_; ++r) {
      const auto [low, high] = RowsOf(r);
      const Mem from = RowOfB(v * lanes_ + low, at), other = RowOfB(v * lanes_ + high, at);
      as_.vmovups(Half(first_ + r), from);
      if (wide_) {
        as_.vinsertf64x4(Reg(first_ + r), Reg(first_ + r), other, 1);
      } else {
        as_.vinsertf128(Reg(first_ + r), Reg(first_ + r), other, 1);
      }
    }
  }

  // The same of `rest` elements, zeros behind them.
  void LoadMaskedHalves(int v) {
    const int other = first_ + turn_;
    if (wide_) {
      as_.kmovw(x86::k1, x86::word_ptr(x86::rdi, int32_t(offsetof(DotsCall, mask_bits))));
    } else {
      as_.mov(x86::r11, Field(offsetof(DotsCall, mask_row)));
      as_.vmovups(x86::xmm(Broadcast()), x86::ptr(x86::r11));
    }
    auto load = [&](int to, const Mem& from) {
      if (wide_) {
        as_.k(x86::k1).z().emit(s_.f64 ? Inst::kIdVmovupd : Inst::kIdVmovups, Reg(to), from);
      } else {
        as_.emit(s_.f64 ? Inst::kIdVmaskmovpd : Inst::kIdVmaskmovps, Half(to),
                 x86::xmm(Broadcast()), from);
      }
    };
    for (int r = 0; r < turn_; ++r) {
      const auto [low, high] = RowsOf(r);
      load(first_ + r, RowOfB(v * lanes_ + low, 0));
      load(other, RowOfB(v * lanes_ + high, 0));
      if (wide_) {
        as_.vinsertf64x4(Reg(first_ + r), Reg(first_ + r), Half(other), 1);
      } else {
        as_.vinsertf128(Reg(first_ + r), Reg(first_ + r), Half(other), 1);
      }
    }
  }

  // Registers of what is being transposed, and the one that is free.
  struct Turning {
    std::array<int, kMostTurn> at;
    int free;
  };

  // at[x], at[y] = low(x, y), high(x, y), where `low` and `high` emit to the first of three
  // registers.
  template <typename Low, typename High>
  void Pair(Turning* t, int x, int y, Low low, High high) {
    const int from_x = t->at[size_t(x)], from_y = t->at[size_t(y)];
    low(Reg(t->free), Reg(from_x), Reg(from_y));
    high(Reg(from_x), Reg(from_x), Reg(from_y));
    t->at[size_t(x)] = t->free, t->at[size_t(y)] = from_x, t->free = from_y;
  }
  void Unpack(Turning* t, int x, int y, bool doubles) {
    const auto low = doubles ? Inst::kIdVunpcklpd : Inst::kIdVunpcklps;
    const auto high = doubles ? Inst::kIdVunpckhpd : Inst::kIdVunpckhps;
    Pair(
        t, x, y, [&](const Vec& d, const Vec& a, const Vec& b) { as_.emit(low, d, a, b); },
        [&](const Vec& d, const Vec& a, const Vec& b) { as_.emit(high, d, a, b); });
  }

  // at[t] becomes the register with k step t of all rows.
  Turning Turn() {
    Turning t;
    for (int r = 0; r < turn_; ++r) t.at[size_t(r)] = first_ + r;
    t.free = first_ + turn_;
    const int set = wide_ ? turn_ / 2 : turn_;
    for (int s = 0; s < turn_; s += set) {
      if (s_.f64) {
        Unpack(&t, s, s + 1, true);
        continue;
      }
      Unpack(&t, s, s + 1, false);
      Unpack(&t, s + 2, s + 3, false);
      Unpack(&t, s, s + 2, true);      // steps 0 and 1
      Unpack(&t, s + 1, s + 3, true);  // steps 2 and 3
      std::swap(t.at[size_t(s) + 1], t.at[size_t(s) + 2]);
    }
    for (int j = 0; wide_ && j < set; ++j) {
      auto pick = [&](int which) {
        return [this, which](const Vec& d, const Vec& a, const Vec& b) {
          as_.vshuff64x2(d, a, b, which);
        };
      };
      Pair(&t, j, j + set, pick(0x88), pick(0xDD));
    }
    return t;
  }

  // Of 16-bit floats the register with a k step: of a word's two the first lies in the lower half.
  int Widen(int step, const Turning& t) {
    const int word = t.at[size_t(step / 2)], to = Widened();
    const bool second = step % 2 != 0;
    if (s_.stored == DotsStored::kBFloat16) {
      if (!second) {
        as_.vpslld(Reg(to), Reg(word), 16);
      } else {
        as_.emit(wide_ ? Inst::kIdVpandd : Inst::kIdVpand, Reg(to), Reg(word), Reg(Halves()));
      }
      return to;
    }
    // The lower halves of all words, then the upper ones; each in half a vector.
    if (!second && wide_) {
      as_.vpermw(Reg(word), Reg(Halves()), Reg(word));
    } else if (!second) {
      as_.vpshufb(Reg(word), Reg(word), Reg(Halves()));
      as_.vpermq(Reg(word), Reg(word), 0xD8);
    } else if (wide_) {
      as_.vextracti64x4(Half(word), Reg(word), 1);
    } else {
      as_.vextracti128(Half(word), Reg(word), 1);
    }
    as_.vcvtph2ps(Reg(to), Half(word));
    return to;
  }

  void Fmas(int v, int step, int at, const Turning& t) {
    const auto fma = s_.f64 ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps;
    const Vec b = Reg(words_ ? Widen(step, t) : t.at[size_t(step)]);
    for (int i = 0; i < s_.rows; ++i) {
      const Mem a = ElementOfA(i, at + step * size_);
      if (wide_) {
        as_.emit(fma, Acc(i, v), b, s_.f64 ? a._1to8() : a._1to16());
      } else {
        as_.emit(s_.f64 ? Inst::kIdVbroadcastsd : Inst::kIdVbroadcastss, Reg(Broadcast()), a);
        as_.emit(fma, Acc(i, v), b, Reg(Broadcast()));
      }
    }
  }

  void WholeTurn(int v, int at) {
    LoadHalves(v, at);
    const Turning t = Turn();
    for (int step = 0; step < StepsOfTurn(); ++step) Fmas(v, step, at, t);
  }
  int StepsOfTurn() const { return words_ ? 2 * turn_ : turn_; }

  // Two turns of a vector's rows at a time, so that a line of cache is used up before others
  // replace it.
  void Blocks() {
    const Label loop = as_.newLabel(), done = as_.newLabel();
    as_.mov(x86::r11, Field(offsetof(DotsCall, blocks)));
    as_.test(x86::r11, x86::r11);
    as_.jz(done);
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(loop);
    for (int v = 0; v < s_.vectors; ++v) {
      const int lines = words_ ? lanes_ / 2 : lanes_;
      for (int i = 0; s_.ahead && i < lines; ++i) {
        as_.prefetcht1(x86::ptr(Ahead(), (v * lines + i) * 64));
      }
      WholeTurn(v, 0);
      if (!words_) WholeTurn(v, turn_ * size_);
    }
    Advance(2 * turn_);
    if (s_.ahead) as_.add(Ahead(), Field(offsetof(DotsCall, ahead_step)));
    as_.dec(x86::r11);
    as_.jnz(loop);
    as_.bind(done);
  }

  void Rest() {
    const Label few = as_.newLabel(), done = as_.newLabel();
    if (!words_) {
      as_.mov(x86::r11, Field(offsetof(DotsCall, rest)));
      as_.cmp(x86::r11, turn_);
      as_.jl(few);
      for (int v = 0; v < s_.vectors; ++v) WholeTurn(v, 0);
      Advance(turn_);
    }
    as_.bind(few);
    for (int v = 0; v < s_.vectors; ++v) {
      const Label next = v + 1 < s_.vectors ? as_.newLabel() : done;
      as_.mov(x86::r11, Field(offsetof(DotsCall, rest)));
      as_.and_(x86::r11, StepsOfTurn() - 1);
      as_.jz(done);
      LoadMaskedHalves(v);
      const Turning t = Turn();
      as_.mov(x86::r11, Field(offsetof(DotsCall, rest)));
      as_.and_(x86::r11, StepsOfTurn() - 1);
      for (int step = 0; step + 1 < StepsOfTurn(); ++step) {
        Fmas(v, step, 0, t);
        as_.dec(x86::r11);
        as_.jz(next);
      }
      if (v + 1 < s_.vectors) as_.bind(next);
    }
    as_.bind(done);
  }

  x86::Assembler& as_;
  const DotsShape s_;
  const bool wide_;
  const int size_, vec_bytes_, lanes_, turn_;
  const int first_;   // register that is no accumulator
  const bool words_;  // of two 16-bit floats
};

constexpr int kMaxRows = 16;

// What takes words apart (DotsWriter::Widen): the upper halves' bits, or an order of halves, for
// AVX2 within 16 bytes.
const void* HalvesOf(const DotsShape& shape) {
  struct Tables {
    alignas(64) uint32_t upper[16];
    alignas(64) uint16_t order[32];
    alignas(32) uint8_t order_of_16[32];
  };
  static constexpr Tables kTables = [] {
    Tables t{};
    for (size_t i = 0; i < 16; ++i) {
      t.upper[i] = 0xFFFF0000;
      t.order[i] = uint16_t(2 * i), t.order[16 + i] = uint16_t(2 * i + 1);
    }
    for (size_t i = 0; i < 32; ++i)
      t.order_of_16[i] = uint8_t(i % 16 / 8 * 2 + i % 8 / 2 * 4 + i % 2);
    return t;
  }();
  if (shape.stored == DotsStored::kBFloat16) return kTables.upper;
  return shape.isa == Isa::kAvx512 ? static_cast<const void*>(kTables.order) : kTables.order_of_16;
}

}  // namespace

int DotsTurn(Isa isa, bool f64) { return Lanes(isa, f64) / 2; }

int MaxDotsRows(Isa isa, int vectors) {
  if (vectors == 2) return 3;
  return isa == Isa::kAvx512 ? kMaxRows : 8;
}

void SetDotsMask(const DotsShape& shape, DotsCall* call) {
  // A load that starts `4 - words` words in is the mask.
  static constexpr int32_t kMasks[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
  const bool words = shape.stored != DotsStored::kComputed;
  const int64_t used = words ? call->rest / 2 : call->rest % DotsTurn(shape.isa, shape.f64);
  call->mask_bits = (uint64_t{1} << used) - 1;
  if (shape.isa == Isa::kAvx2) call->mask_row = kMasks + 4 - used * (shape.f64 ? 2 : 1);
  if (words) call->halves = HalvesOf(shape);
}

DotsKernel GetDots(const DotsShape& shape) {
  static std::atomic<DotsKernel> cache[3][2][2][2][2][kMaxRows];
  static std::mutex mutex;
  FZ_CHECK(shape.vectors == 1 || shape.vectors == 2);
  FZ_CHECK(shape.rows >= 1 && shape.rows <= MaxDotsRows(shape.isa, shape.vectors));
  const bool wide = shape.isa == Isa::kAvx512;
  std::atomic<DotsKernel>& slot =
      cache[int(shape.stored)][shape.f64][wide][shape.vectors - 1][shape.ahead][shape.rows - 1];
  DotsKernel kernel = slot.load(std::memory_order_acquire);
  if (kernel != nullptr) return kernel;
  const ForkGuard guard;
  std::lock_guard<std::mutex> lock(mutex);
  kernel = slot.load(std::memory_order_relaxed);
  if (kernel == nullptr) {
    auto write = [&](x86::Assembler& as) { DotsWriter(&as, shape).Write(); };
    kernel = reinterpret_cast<DotsKernel>(Assemble(write));
    slot.store(kernel, std::memory_order_release);
  }
  return kernel;
}

}  // namespace frazil::gemm
