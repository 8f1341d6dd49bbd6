// Measures the matmul against OpenBLAS in interleaved rounds; prints the ratio of speeds and its
// spread.
//
//   gemm_bench [threads] [rounds] [best|avx2] [m n k layout-of-a layout-of-b]
//
// Layouts: n as stored, t transposed. For avx2 set OPENBLAS_CORETYPE=Haswell to compare like with
// like.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "core/threads/parallel.h"
#include "kernels/blas.h"
#include "kernels/gemm/gemm.h"

namespace {

using frazil::GemmArgs;

struct Case {
  int64_t m, n, k;
  bool ta, tb;
};

// With one thread the thread's own time is taken, which others' work on the machine disturbs less.
double Now(bool own_time) {
  timespec t;
  clock_gettime(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

double TimePerCall(bool own_time, int repeats, const std::function<void()>& call) {
  double start = Now(own_time);
  for (int i = 0; i < repeats; ++i) call();
  return (Now(own_time) - start) / repeats;
}

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void Measure(const Case& c, frazil::DType dtype, int threads, int rounds, frazil::Isa isa) {
  const int64_t size = frazil::SizeOf(dtype);
  auto filled = [&](int64_t count) {
    std::vector<char> v(size_t(count * size));
    for (int64_t i = 0; i < count; ++i) {
      double x = double(i * 7919 % 1000) / 500 - 1;
      if (dtype == frazil::DType::kF32) reinterpret_cast<float*>(v.data())[i] = float(x);
      if (dtype == frazil::DType::kF64) reinterpret_cast<double*>(v.data())[i] = x;
    }
    return v;
  };
  std::vector<char> a = filled(c.m * c.k), b = filled(c.k * c.n), out(size_t(c.m * c.n * size));
  GemmArgs g{dtype, c.m, c.n, c.k, {a.data(), c.k, 1}, {b.data(), c.n, 1}, {out.data(), c.n, 1}};
  if (c.ta) g.a.row_stride = 1, g.a.col_stride = c.m;
  if (c.tb) g.b.row_stride = 1, g.b.col_stride = c.k;
  std::function<void()> own = [&] { GemmOnPool(g, isa); };
  std::function<void()> blas = [&] {
    if (!BlasGemm(g).ok()) std::abort();
  };
  own(), blas();
  double once = std::max(TimePerCall(threads == 1, 2, own), 1e-7);
  int repeats = int(std::clamp(0.02 / once, 1.0, 100000.0));
  std::vector<double> ratios, own_times, blas_times;
  for (int r = 0; r < rounds; ++r) {
    double t_own, t_blas;
    if (r % 2 == 0) {
      t_own = TimePerCall(threads == 1, repeats, own),
      t_blas = TimePerCall(threads == 1, repeats, blas);
    } else {
      t_blas = TimePerCall(threads == 1, repeats, blas),
      t_own = TimePerCall(threads == 1, repeats, own);
    }
    ratios.push_back(t_blas / t_own), own_times.push_back(t_own), blas_times.push_back(t_blas);
  }
  double flops = 2.0 * double(c.m) * double(c.n) * double(c.k);
  std::sort(ratios.begin(), ratios.end());
  double best = *std::min_element(own_times.begin(), own_times.end());
  double best_blas = *std::min_element(blas_times.begin(), blas_times.end());
  std::printf(
      "%s %6ld %6ld %6ld %c%c t%d  own %8.2f GF/s (best %8.2f)  blas %8.2f (best %8.2f)  "
      "ratio %.3f [%.3f %.3f] best/best %.3f\n",
      frazil::ShortName(dtype).data(), long(c.m), long(c.n), long(c.k), c.ta ? 't' : 'n',
      c.tb ? 't' : 'n', threads, flops / Median(own_times) * 1e-9, flops / best * 1e-9,
      flops / Median(blas_times) * 1e-9, flops / best_blas * 1e-9, Median(ratios),
      ratios[ratios.size() / 4], ratios[ratios.size() * 3 / 4], best_blas / best);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (!frazil::SetBlasThreads(threads).ok()) {
    std::fprintf(stderr, "gemm_bench: libopenblas.so.0 cannot be used.\n");
    return 1;
  }
  bool avx2 = argc > 3 && std::string(argv[3]) == "avx2";
  frazil::Isa isa = avx2 ? frazil::Isa::kAvx2 : frazil::Isa::kBest;
  frazil::SetNumThreads(threads);
  if (argc > 8) {
    Case c{std::atol(argv[4]), std::atol(argv[5]), std::atol(argv[6]), argv[7][0] == 't',
           argv[8][0] == 't'};
    Measure(c, frazil::DType::kF32, threads, rounds, isa);
    return 0;
  }
  std::vector<Case> cases;
  for (int64_t n : {64, 128, 256, 512, 1024, 2048}) cases.push_back({n, n, n, false, false});
  for (Case c : {Case{64, 128, 784, false, false}, Case{64, 64, 128, false, false},
                 Case{64, 128, 64, false, true}, Case{128, 64, 64, true, false},
                 Case{512, 512, 512, false, true}, Case{512, 512, 512, true, false},
                 Case{1000, 1000, 1000, false, false}, Case{64, 64, 100000, false, false},
                 Case{1, 2048, 2048, false, false}, Case{2048, 1, 2048, false, false},
                 Case{1, 512, 512, false, false}, Case{512, 1, 512, false, false}}) {
    cases.push_back(c);
  }
  for (const Case& c : cases) Measure(c, frazil::DType::kF32, threads, rounds, isa);
  for (int64_t n : {64, 512, 1024})
    Measure({n, n, n, false, false}, frazil::DType::kF64, threads, rounds, isa);
  return 0;
}
