// Throughput and compile time of the x86 emitter on both instruction sets, beside a streaming triad
// written by hand. Run by hand: build/bench/x86_bench [repeats]. Figures are the best of several
// rounds of one thread.
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
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

// What this thread has run, in seconds: others on a busy machine do not count.
double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double Best(int rounds, const std::function<void()>& fn) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start = Now();
    fn();
    best = std::min(best, Now() - start);
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

// GCC 12's own headers begin some operations with a register that is not initialised.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
// The definition of exp in kernels/fn_exp.h, written with intrinsics: what the emitter should come
// near.
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) void Exp512(const float* in,
                                                                          float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    __m512 x = _mm512_loadu_ps(in + i);
    x = _mm512_min_ps(_mm512_set1_ps(89), _mm512_max_ps(_mm512_set1_ps(-104), x));
    const __m512 magic = _mm512_set1_ps(12582912.0f), one = _mm512_set1_ps(1);
    const __m512 n512 =
        _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), magic), magic);
    __m512 r = _mm512_fmadd_ps(n512, _mm512_set1_ps(-0x1.62e430p-1f), x);
    r = _mm512_fmadd_ps(n512, _mm512_set1_ps(0x1.05c610p-29f), r);
    __m512 p = _mm512_set1_ps(0.00139404566f);
    for (float c : {0.00836883299f, 0.0416664034f, 0.166665196f, 0.5f})
      p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
    p = _mm512_fmadd_ps(_mm512_fmadd_ps(p, r, one), r, one);
    _mm512_storeu_ps(out + i, _mm512_scalef_ps(p, n512));
  }
}
#pragma GCC diagnostic pop

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

// --- repeats

// Seconds of a clock cycle, by a chain of products that take three each.
double Cycle() {
  constexpr int64_t kProducts = 1 << 20;
  return Best(9,
              [] {
                uint64_t x = 3;
                for (int64_t i = 0; i < kProducts; i += 4) {
                  asm volatile("imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0" : "+r"(x));
                }
              }) /
         double(kProducts * 3);
}

// Cycles between two iterations: what one waits for of the one before (4 a float product, 3 a
// sum, 1 what is no float), and what its instructions take at two a cycle.
void Bounds(const Kernel& k, double* chain, double* work) {
  std::vector<double> ready(k.body.size(), 0);
  constexpr int kTurns = 64;
  *chain = *work = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    bool inside = false;
    std::vector<std::pair<kir::Id, double>> next;
    for (size_t i = 0; i < k.body.size(); ++i) {
      const kir::Inst& inst = k.body[i];
      inside &= inst.op != Op::kDone;
      if (inside && inst.op == Op::kNext) next.emplace_back(inst.a, ready[size_t(inst.b)]);
      if (inside && kir::HasValue(inst.op) && inst.op != Op::kCarry && inst.op != Op::kConst &&
          inst.op != Op::kParam) {
        double start = 0;
        for (kir::Id id : {inst.a, inst.b, inst.c})
          if (id != kir::kNone) start = std::max(start, ready[size_t(id)]);
        ready[i] = start + (!IsFloat(inst.type) || inst.op == Op::kSelect ? 1
                            : inst.op == Op::kAdd || inst.op == Op::kSub  ? 3
                                                                          : 4);
        if (turn == 0) *work += 0.5;
      }
      inside |= inst.op == Op::kRepeat;
    }
    for (const auto& [id, at] : next) ready[size_t(id)] = at;
    if (turn == kTurns)
      for (const auto& [id, at] : next) *chain = std::max(*chain, at / (kTurns + 1));
  }
}

// z = z^2 + c; with `count`, only while |z| < 2, and how often that was.
Kernel MandelbrotKernel(bool count) {
  Kernel k;
  k.name = "mandelbrot";
  k.buffers = {In("re", {Stride::kOne}), In("im", {Stride::kOne}), Out("o", {Stride::kOne}),
               Out("p", {Stride::kOne})};
  k.scalars = {{"n", DType::kI64}};
  kir::Builder b(&k);
  V cr = b.Load(0), ci = b.Load(1), zero = b.Const(DType::kF32, 0);
  b.Repeat(b.Param(0));
  V zr = b.Carry(zero), zi = b.Carry(zero), n;
  if (count) n = b.Carry(zero);
  V rr = zr * zr, ii = zi * zi;
  V re = rr - ii + cr, im = (zr + zr) * zi + ci;
  if (count) {
    V in = rr + ii < 4.0;
    V more = select(in, n + 1.0, n);
    re = select(in, re, zr);
    im = select(in, im, zi);
    b.Next(n, more);
  }
  b.Next(zr, re);
  b.Next(zi, im);
  b.Done();
  b.Store(2, zr);
  b.Store(3, count ? n : zi);
  return k;
}

// A step of the classical Runge-Kutta method on Lorenz's equations.
Kernel LorenzKernel(DType t) {
  Kernel k;
  k.name = "lorenz";
  for (const char* name : {"x", "y", "z"}) k.buffers.push_back({name, t, false, {Stride::kOne}});
  for (const char* name : {"u", "v", "w"}) k.buffers.push_back({name, t, true, {Stride::kOne}});
  k.scalars = {{"n", DType::kI64}, {"h", t}};
  kir::Builder b(&k);
  std::vector<V> init = {b.Load(0), b.Load(1), b.Load(2)}, s, sum, at;
  V h = b.Param(1), half = h * 0.5, sixth = h * (1.0 / 6);
  b.Repeat(b.Param(0));
  for (V v : init) s.push_back(b.Carry(v));
  at = s;
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<V> d = {(at[1] - at[0]) * 10.0, at[0] * (28.0 - at[2]) - at[1],
                        at[0] * at[1] - at[2] * (8.0 / 3)};
    for (int i = 0; i < 3; ++i) {
      if (stage == 0) sum.push_back(d[i]);
      if (stage == 1 || stage == 2) sum[i] = sum[i] + d[i] * 2.0;
      if (stage == 3) sum[i] = sum[i] + d[i];
    }
    for (int i = 0; i < 3 && stage < 3; ++i) at[i] = s[i] + d[i] * (stage == 2 ? h : half);
  }
  std::vector<V> next;
  for (int i = 0; i < 3; ++i) next.push_back(s[i] + sum[i] * sixth);
  for (int i = 0; i < 3; ++i) b.Next(s[i], next[i]);
  b.Done();
  for (int i = 0; i < 3; ++i) b.Store(3 + i, s[i]);
  return k;
}

void RepeatBench(Emitter& emitter, const char* what, const Kernel& k, int64_t points,
                 uint64_t iterations, double parameter) {
  double chain = 0, work = 0;
  Bounds(k, &chain, &work);
  auto compiled = Compile(emitter, k);
  const DType t = k.buffers[0].dtype;
  const int size = SizeOf(t);
  std::vector<std::vector<char>> data(k.buffers.size(), std::vector<char>(points * size));
  std::vector<void*> buffers;
  for (auto& bytes : data) {
    for (int64_t i = 0; i < points; ++i) {
      const double value = double(i % 1000) * 0.001 - 0.3;
      const float single = float(value);
      std::memcpy(&bytes[i * size], size == 8 ? static_cast<const void*>(&value) : &single, size);
    }
    buffers.push_back(bytes.data());
  }
  uint64_t scalars[2] = {iterations, 0};
  const float single = float(parameter);
  std::memcpy(&scalars[1], size == 8 ? static_cast<const void*>(&parameter) : &single, size);
  const std::vector<int64_t> strides(k.buffers.size(), size);
  const kir::KernelArgs args{buffers.data(), &points, strides.data(), scalars};
  const double time = Best(points > 1 ? 5 : 200, [&] { compiled->Run(args, 0, 1, 0, points); });
  const int lanes = emitter.caps().vector_bytes / size;
  const double steps = double(iterations) * double((points + lanes - 1) / lanes);
  std::printf(
      "%-22s %7ld points: %8.3f ns a vector and iteration, %6.2f cycles; its work %.1f, "
      "its chain %.1f; %zu bytes\n",
      what, long(points), time / steps * 1e9, time / steps / Cycle(), work, chain,
      compiled->code_bytes());
}

void Repeats(Emitter& emitter) {
  RepeatBench(emitter, "mandelbrot f32", MandelbrotKernel(false), 1 << 20, 100, 0);
  RepeatBench(emitter, "mandelbrot counted f32", MandelbrotKernel(true), 1 << 20, 100, 0);
  RepeatBench(emitter, "mandelbrot f32", MandelbrotKernel(false), 1, 1000, 0);
  for (DType t : {DType::kF32, DType::kF64}) {
    const Kernel lorenz = LorenzKernel(t);
    const char* name = t == DType::kF32 ? "lorenz f32" : "lorenz f64";
    RepeatBench(emitter, name, lorenz, 1, 1000, 0.01);
    RepeatBench(emitter, name, lorenz, 1 << 16, 100, 0.01);
  }
  CompileTime(emitter, "lorenz", LorenzKernel(DType::kF64));
  CompileTime(emitter, "mandelbrot", MandelbrotKernel(true));
}

void All(Isa isa, bool only_repeats) {
  if (!X86Emitter::Supported(isa)) return;
  X86Emitter emitter(isa);
  std::printf("-- %s\n", std::string(emitter.caps().name).c_str());
  Repeats(emitter);
  if (only_repeats) return;
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

int main(int argc, char** argv) {
  const bool only_repeats = argc > 1 && std::string_view(argv[1]) == "repeats";
  frazil::jit::All(frazil::jit::Isa::kAvx2, only_repeats);
  frazil::jit::All(frazil::jit::Isa::kAvx512, only_repeats);
}
