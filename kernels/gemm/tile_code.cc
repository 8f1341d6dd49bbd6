#include "kernels/gemm/tile_code.h"

#include <atomic>
#include <cstddef>
#include <mutex>

#include "core/threads/at_fork.h"
#include "core/threads/long_work.h"
#include "kernels/gemm/assemble.h"

namespace frazil::gemm {
namespace {

using asmjit::Label;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Tmm;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

constexpr int kRowBytes = 2 * kTileBytes;  // of B and C
constexpr int kMost = 2;                   // tiles of C in a row or column

// Writes one kernel. Registers: rdi the call; rax and r8 the rows of A, rsi their stride, r9 their
// step; rdx B, rcx the stride of B and C; r10 C; r11 the steps. Tiles: 0 to 3 C, 4 and 5 B, 6 and 7
// A.
class TileWriter {
 public:
  TileWriter(x86::Assembler* as, const TileShape& s) : as_(*as), s_(s) {}

  void Write() {
    as_.mov(x86::r10, Field(offsetof(TileCall, c)));
    as_.mov(x86::ecx, kRowBytes);
    as_.mov(x86::rax, Field(offsetof(TileCall, a)));
    as_.mov(x86::r8, Field(offsetof(TileCall, a) + sizeof(void*)));
    as_.mov(x86::rsi, Field(offsetof(TileCall, a_row)));
    as_.mov(x86::r9, Field(offsetof(TileCall, a_step)));
    as_.mov(x86::rdx, Field(offsetof(TileCall, b)));
    as_.mov(x86::r11, Field(offsetof(TileCall, steps)));
    Start();
    Label step = as_.newLabel();
    as_.align(asmjit::AlignMode::kCode, 32);
    as_.bind(step);
    Step();
    as_.dec(x86::r11);
    as_.jnz(step);
    for (int i = 0; i < s_.rows; ++i) {
      for (int j = 0; j < s_.cols; ++j) as_.tilestored(TileOfC(i, j), C(i, j));
    }
    as_.ret();
  }

 private:
  static Mem Field(size_t offset) { return x86::qword_ptr(x86::rdi, int32_t(offset)); }
  static Tmm C(int i, int j) { return x86::tmm(uint32_t(i * kMost + j)); }
  static Tmm B(int j) { return x86::tmm(uint32_t(4 + j)); }
  static Tmm A(int i) { return x86::tmm(uint32_t(6 + i)); }
  static Mem TileOfC(int i, int j) {
    return x86::ptr(x86::r10, x86::rcx, 0, i * kTileRows * kRowBytes + j * kTileBytes);
  }

  void Start() {
    Label load = as_.newLabel(), done = as_.newLabel();
    as_.cmp(Field(offsetof(TileCall, accumulate)), 0);
    as_.jne(load);
    for (int i = 0; i < s_.rows; ++i) {
      for (int j = 0; j < s_.cols; ++j) as_.tilezero(C(i, j));
    }
    as_.jmp(done);
    as_.bind(load);
    for (int i = 0; i < s_.rows; ++i) {
      for (int j = 0; j < s_.cols; ++j) as_.tileloadd(C(i, j), TileOfC(i, j));
    }
    as_.bind(done);
  }

  void Step() {
    for (int i = 0; i < s_.rows; ++i) {
      as_.tileloadd(A(i), x86::ptr(i == 0 ? x86::rax : x86::r8, x86::rsi));
      for (int j = 0; j < s_.cols; ++j) {
        if (i == 0) as_.tileloadd(B(j), x86::ptr(x86::rdx, x86::rcx, 0, j * kTileBytes));
        as_.emit(s_.bf16 ? Inst::kIdTdpbf16ps : Inst::kIdTdpbssd, C(i, j), A(i), B(j));
      }
    }
    as_.add(x86::rax, x86::r9);
    as_.add(x86::r8, x86::r9);
    as_.add(x86::rdx, kTileWords * kRowBytes);
  }

  x86::Assembler& as_;
  const TileShape s_;
};

// What ldtilecfg reads: palette 1, every tile whole.
struct alignas(64) TileConfig {
  constexpr TileConfig() {
    for (int i = 0; i < 8; ++i) row_bytes[i] = kTileBytes, rows[i] = kTileRows;
  }
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kConfig;

}  // namespace

TileKernel GetTiles(const TileShape& shape) {
  static std::atomic<TileKernel> cache[2 * kMost * kMost];
  static std::mutex mutex;
  std::atomic<TileKernel>& slot =
      cache[(shape.bf16 * kMost + shape.rows - 1) * kMost + shape.cols - 1];
  TileKernel kernel = slot.load(std::memory_order_acquire);
  if (kernel != nullptr) return kernel;
  const ForkGuard guard;
  std::lock_guard<std::mutex> lock(mutex);
  kernel = slot.load(std::memory_order_relaxed);
  if (kernel == nullptr) {
    kernel = reinterpret_cast<TileKernel>(
        Assemble([&](x86::Assembler& as) { TileWriter(&as, shape).Write(); }));
    slot.store(kernel, std::memory_order_release);
  }
  return kernel;
}

TileScope::TileScope() { asm volatile("ldtilecfg %0" : : "m"(kConfig)); }
// A product of user code that interrupted another leaves the other's configuration, which is the
// same; tiles hold nothing while a product may be interrupted.
TileScope::~TileScope() {
  if (LongWork::Interruptions() == 0) asm volatile("tilerelease");
}

}  // namespace frazil::gemm
