// Throughput and compile time of the x86 emitter on both instruction sets, beside a streaming triad
// written by hand. Run by hand: build/bench/x86_bench. Figures are the best of several rounds of
// one thread.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "core/check.h"
#include "jit/emit/x86/x86_emitter.h"
#include "jit/kir/builder.h"
#include "jit/kir/fn_table.h"

namespace frazil::jit {
namespace {

using kir::Kernel;
using kir::Op;
using kir::Stride;
using kir::V;

double Best(int rounds, const std::function<void()>& fn) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Floats {
  explicit Floats(int64_t n)
      : data(static_cast<float*>(std::aligned_alloc(4096, (size_t(n) * 4 + 4095) / 4096 * 4096))) {
    for (int64_t i = 0; i < n; ++i) data.get()[i] = float(i % 1000) * 0.01f - 5.0f;
  }
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data;
};

// The definition of exp in kernels/fn_exp.h, written with intrinsics: what the emitter should come
// near.
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) void Exp512(const float* in,
                                                                          float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    __m512 x = _mm512_loadu_ps(in + i);
    x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_set1_ps(-104), _CMP_LT_OQ),
                           _mm512_set1_ps(-104));
    x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(_mm512_set1_ps(89), x, _CMP_LT_OQ),
                           _mm512_set1_ps(89));
    const __m512 magic = _mm512_set1_ps(12582912.0f);
    const __m512 k = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), magic),
                 n512 = _mm512_sub_ps(k, magic);
    const __m512 hi = _mm512_fmadd_ps(n512, _mm512_set1_ps(-0x1.62e430p-1f), x);
    const __m512 lo = _mm512_mul_ps(n512, _mm512_set1_ps(0x1.05c610p-29f));
    const __m512 r = _mm512_add_ps(hi, lo), tail = _mm512_add_ps(_mm512_sub_ps(hi, r), lo);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0x1.6d70d2p-10f), r, _mm512_set1_ps(0x1.123adcp-7f));
    for (float c : {0x1.5554c8p-5f, 0x1.555490p-3f, 0.5f})
      p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
    const __m512 e = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, tail);
    const __m512 y = _mm512_add_ps(_mm512_add_ps(r, e), _mm512_set1_ps(1));
    const __m512i bits = _mm512_castps_si512(k), one = _mm512_set1_epi32(0x3f800000);
    const __m512i half = _mm512_slli_epi32(_mm512_srli_epi32(bits, 1), 23),
                  all = _mm512_slli_epi32(bits, 23);
    const __m512 s1 = _mm512_castsi512_ps(_mm512_add_epi32(half, one));
    const __m512 s2 = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_sub_epi32(all, half), one));
    _mm512_storeu_ps(out + i, _mm512_mul_ps(_mm512_mul_ps(y, s1), s2));
  }
}

__attribute__((target("avx512f"))) void Triad512(const float* a, const float* b, const float* c,
                                                 float* o, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    _mm512_stream_ps(o + i,
                     _mm512_add_ps(_mm512_mul_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)),
                                   _mm512_load_ps(c + i)));
  }
  _mm_sfence();
}
__attribute__((target("avx2"))) void Triad256(const float* a, const float* b, const float* c,
                                              float* o, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) {
    _mm256_stream_ps(o + i,
                     _mm256_add_ps(_mm256_mul_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)),
                                   _mm256_load_ps(c + i)));
  }
  _mm_sfence();
}

kir::Buffer In(const char* name, std::initializer_list<Stride> s) {
  return {name, DType::kF32, false, s};
}
kir::Buffer Out(const char* name, std::initializer_list<Stride> s) {
  return {name, DType::kF32, true, s};
}

std::unique_ptr<Compiled> Compile(Emitter& emitter, const Kernel& k) {
  FZ_CHECK(kir::Verify(k).ok());
  auto compiled = emitter.Emit(k);
  if (!compiled.ok()) std::printf("%s\n", compiled.status().ToString().c_str());
  FZ_CHECK(compiled.ok());
  return *std::move(compiled);
}

void Run(const Compiled& c, std::vector<void*> buffers, std::vector<int64_t> extents,
         std::vector<int64_t> strides, int64_t rows, int64_t cols) {
  const kir::KernelArgs args{buffers.data(), extents.data(), strides.data(), nullptr};
  c.Run(args, 0, rows, 0, cols);
}

Kernel TriadKernel(bool stream) {
  Kernel k;
  k.name = "triad";
  k.stream = stream;
  k.buffers = {In("a", {Stride::kOne}), In("b", {Stride::kOne}), In("c", {Stride::kOne}),
               Out("o", {Stride::kOne})};
  kir::Builder b(&k);
  b.Store(3, b.Load(0) * b.Load(1) + b.Load(2));
  return k;
}

void Triad(Emitter& emitter, int64_t n, bool stream, int rounds) {
  Floats a(n), b(n), c(n), o(n);
  const bool wide = emitter.caps().vector_bytes == 64;
  auto kernel = Compile(emitter, TriadKernel(stream));
  double hand = 1e9, ours = 1e9;
  for (int round = 0; round < 3; ++round) {
    hand = std::min(hand, Best(rounds, [&] {
                      (wide ? Triad512 : Triad256)(a.data.get(), b.data.get(), c.data.get(),
                                                   o.data.get(), n);
                    }));
    ours = std::min(ours, Best(rounds, [&] {
                      Run(*kernel, {a.data.get(), b.data.get(), c.data.get(), o.data.get()}, {n},
                          {4, 4, 4, 4}, 1, n);
                    }));
  }
  std::printf("a*b+c %8ld f32 %-6s: %6.2f GB/s, streaming triad by hand %6.2f GB/s, ratio %.2f\n",
              long(n), stream ? "stream" : "", double(n) * 16e-9 / ours, double(n) * 16e-9 / hand,
              hand / ours);
}

V Exp(kir::Builder& b, V x) { return b.Call(kir::FindFn("exp"), x); }

void ExpBench(Emitter& emitter) {
  const int64_t n = 1 << 20, part = 1 << 17;  // 512 KiB at a time stay in L2
  Kernel k;
  k.name = "exp";
  k.buffers = {In("x", {Stride::kOne}), Out("o", {Stride::kOne})};
  kir::Builder b(&k);
  b.Store(1, Exp(b, b.Load(0)));
  auto kernel = Compile(emitter, k);
  Floats x(part), o(part);
  const double t = Best(20, [&] {
    for (int64_t i = 0; i < n; i += part)
      Run(*kernel, {x.data.get(), o.data.get()}, {part}, {4, 4}, 1, part);
  });
  std::printf("exp 1Mi f32, in L2: %.3f ns an element\n", t * 1e9 / double(n));
  if (emitter.caps().vector_bytes != 64) return;
  std::vector<float> want(o.data.get(), o.data.get() + part);
  const double hand = Best(20, [&] {
    for (int64_t i = 0; i < n; i += part) Exp512(x.data.get(), o.data.get(), part);
  });
  FZ_CHECK(std::equal(want.begin(), want.end(), o.data.get()));
  std::printf("  by hand with intrinsics: %.3f ns, ratio %.2f\n", hand * 1e9 / double(n), hand / t);
}

Kernel SoftmaxKernel() {
  Kernel k;
  k.name = "softmax";
  k.has_loop = true;
  k.vec = kir::VecAxis::kLoop;
  k.buffers = {In("x", {Stride::kAny, Stride::kOne}), Out("o", {Stride::kAny, Stride::kOne})};
  kir::Builder b(&k);
  b.Loop();
  V max = b.Reduce(kir::ReduceKind::kMax, b.Load(0), 0);
  b.End();
  b.Loop();
  V sum = b.Reduce(kir::ReduceKind::kSum, Exp(b, b.Load(0) - max), 64);
  b.End();
  V scale = b.Const(DType::kF32, 1) / sum;
  b.Loop();
  b.Store(1, Exp(b, b.Load(0) - max) * scale);
  b.End();
  return k;
}

void SoftmaxBench(Emitter& emitter) {
  const int64_t n = 1024;
  auto kernel = Compile(emitter, SoftmaxKernel());
  Floats x(n * n), o(n * n);
  for (int64_t rows : {int64_t{128}, n}) {  // in L2, and beyond it
    const double t = Best(20, [&] {
      Run(*kernel, {x.data.get(), o.data.get()}, {n, n}, {n * 4, 4, n * 4, 4}, 1, rows);
    });
    std::printf("softmax %4ld x 1024 f32: %.3f ns an element\n", long(rows),
                t * 1e9 / double(rows * n));
  }
}

void SumBench(Emitter& emitter, kir::VecAxis vec, kir::ReduceKind kind) {
  const int64_t n = 1024;
  const bool loop = vec == kir::VecAxis::kLoop;
  Kernel k;
  k.name = "sum";
  k.has_loop = true;
  k.vec = vec;
  k.buffers = {In("x", {loop ? Stride::kAny : Stride::kOne, loop ? Stride::kOne : Stride::kAny}),
               Out("o", {Stride::kOne, Stride::kZero})};
  kir::Builder b(&k);
  b.Loop();
  V sum = b.Reduce(kind, b.Load(0), kind != kir::ReduceKind::kSum ? 0 : loop ? 64 : 8);
  b.End();
  b.Store(1, sum);
  auto kernel = Compile(emitter, k);
  Floats x(n * n), o(n);
  const double t = Best(50, [&] {
    Run(*kernel, {x.data.get(), o.data.get()}, {n, n}, {loop ? n * 4 : 4, loop ? 4 : n * 4, 4, 0},
        1, n);
  });
  std::printf("%s of %-7s 1024 x 1024 f32: %.2f GB/s\n", std::string(kir::Name(kind)).c_str(),
              loop ? "rows" : "columns", double(n * n) * 4e-9 / t);
}

Kernel Chain(int ops) {
  Kernel k;
  k.name = "chain";
  k.buffers = {In("x", {Stride::kOne}), In("y", {Stride::kOne}), Out("o", {Stride::kOne})};
  kir::Builder b(&k);
  V x = b.Load(0), y = b.Load(1);
  for (int i = 0; i < ops; ++i) {
    V z = i % 3 == 0 ? x * y : i % 3 == 1 ? x + y : x - y;
    y = x;
    x = z;
  }
  b.Store(2, x);
  return k;
}

Kernel FunctionKernel(int fn, DType t) {
  Kernel k;
  k.name = "function";
  const bool two = kir::kFns[fn].operands == 2;
  k.buffers = {{"x", t, false, {Stride::kOne}},
               {"y", t, false, {Stride::kOne}},
               {"o", t, true, {Stride::kOne}}};
  kir::Builder b(&k);
  b.Store(2, b.Call(fn, b.Load(0), two ? b.Load(1) : V{}));
  return k;
}

void CompileTime(Emitter& emitter, const char* what, const Kernel& k) {
  size_t bytes = 0;
  const double t = Best(50, [&] { bytes = Compile(emitter, k)->code_bytes(); });
  std::printf("compile %-10s %7.1f us, %zu bytes\n", what, t * 1e6, bytes);
}

void All(Isa isa) {
  if (!X86Emitter::Supported(isa)) return;
  X86Emitter emitter(isa);
  std::printf("-- %s\n", std::string(emitter.caps().name).c_str());
  Kernel exp;
  exp.name = "exp";
  exp.buffers = {In("x", {Stride::kOne}), Out("o", {Stride::kOne})};
  kir::Builder b(&exp);
  b.Store(1, Exp(b, b.Load(0)));
  CompileTime(emitter, "1 op", Chain(1));
  CompileTime(emitter, "10 ops", Chain(10));
  CompileTime(emitter, "50 ops", Chain(50));
  CompileTime(emitter, "exp", exp);
  CompileTime(emitter, "softmax", SoftmaxKernel());
  for (int fn = 0; fn < kir::kNumFns; ++fn) {
    for (DType t : {DType::kF32, DType::kF64}) {
      const Kernel k = FunctionKernel(fn, t);
      if (!emitter.Emit(k).ok()) continue;
      CompileTime(emitter,
                  (std::string(kir::kFns[fn].name) + " " + std::string(ShortName(t))).c_str(), k);
    }
  }
  Triad(emitter, int64_t{16} << 20, true, 5);
  Triad(emitter, 4096, false, 200);
  ExpBench(emitter);
  SoftmaxBench(emitter);
  for (kir::ReduceKind kind : {kir::ReduceKind::kSum, kir::ReduceKind::kMax}) {
    SumBench(emitter, kir::VecAxis::kLoop, kind);
    SumBench(emitter, kir::VecAxis::kSpace, kind);
  }
}

}  // namespace
}  // namespace frazil::jit

int main() {
  frazil::jit::All(frazil::jit::Isa::kAvx2);
  frazil::jit::All(frazil::jit::Isa::kAvx512);
}
