#include "kernels/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "core/threads/at_fork.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"

namespace frazil {
namespace {

constexpr char kLibrary[] = "libopenblas.so.0";
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;  // CBLAS's own numbers

template <typename T>
using GemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, T alpha,
                        const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

struct Blas {
  void* library = nullptr;
  GemmFn<float> sgemm = nullptr;
  GemmFn<double> dgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  std::string error;

  Blas() {
    // Its idle threads go to sleep at once: those that spin would take the cores from ours.
    constexpr char kTimeout[] = "OPENBLAS_THREAD_TIMEOUT";
    const bool own = std::getenv(kTimeout) == nullptr;
    if (own) setenv(kTimeout, "4", 0);
    void* lib = library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (own) unsetenv(kTimeout);
    if (lib == nullptr) {
      error = dlerror();
      return;
    }
    sgemm = reinterpret_cast<GemmFn<float>>(dlsym(lib, "cblas_sgemm"));
    dgemm = reinterpret_cast<GemmFn<double>>(dlsym(lib, "cblas_dgemm"));
    set_threads = reinterpret_cast<void (*)(int)>(dlsym(lib, "openblas_set_num_threads"));
    if (sgemm == nullptr || dgemm == nullptr || set_threads == nullptr) {
      error = absl::StrCat(kLibrary, " lacks cblas_sgemm, cblas_dgemm or openblas_set_num_threads");
      return;
    }
    set_threads(1);
  }

  // As many threads as ours, unless it was told otherwise.
  void FollowThreads() const { UseThreads(fixed.load() ? fixed.load() : NumThreads()); }
  void UseThreads(int threads) const {
    if (threads == current.load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> lock(mutex);
    set_threads(threads);
    current.store(threads);
  }

  mutable std::mutex mutex;
  mutable std::atomic<int> current{1}, fixed{0};
};

const Blas& Library() {
  static const Blas* const blas = new Blas;
  return *blas;
}

Status CheckLibrary() {
  if (Library().error.empty()) return absl::OkStatus();
  return RuntimeError("[blas] ", kLibrary, " cannot be used: ", Library().error,
                      "; install OpenBLAS (Debian: libopenblas0).");
}

// Who is at it. A forked child makes another one: who holds the first may be a thread that it has
// not.
std::mutex& Turn() {
  static std::mutex own;
  static std::atomic<std::mutex*> now{&own};
  static std::atomic<uint32_t> generation{0};
  if (generation.exchange(ForkGeneration()) != ForkGeneration()) now.store(new std::mutex);
  return *now.load();
}

// An operand as BLAS sees it: row-major, possibly transposed, or a contiguous copy.
template <typename T>
struct Operand {
  const T* data;
  int64_t ld;
  int trans;
  std::vector<T> copy;

  Operand(const MatrixRef& x, int64_t rows, int64_t cols) {
    data = static_cast<const T*>(x.data);
    if (x.col_stride == 1 && (x.row_stride >= cols || rows == 1)) {
      Set(rows == 1 ? cols : x.row_stride, kNoTrans);
    } else if (x.row_stride == 1 && (x.col_stride >= rows || cols == 1)) {
      Set(cols == 1 ? rows : x.col_stride, kTrans);
    } else {
      copy.resize(size_t(rows * cols));
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          copy[size_t(i * cols + j)] = data[i * x.row_stride + j * x.col_stride];
        }
      }
      data = copy.data();
      Set(cols, kNoTrans);
    }
  }
  void Set(int64_t stride, int t) {
    ld = std::max<int64_t>(1, stride);
    trans = t;
  }
};

template <typename T>
Status Run(const GemmArgs& g, GemmFn<T> gemm) {
  Operand<T> a(g.a, g.m, g.k), b(g.b, g.k, g.n);
  constexpr int64_t kMax = std::numeric_limits<int>::max();
  T* c = static_cast<T*>(g.c.data);
  bool direct = g.c.col_stride == 1 && (g.c.row_stride >= g.n || g.m == 1);
  int64_t ldc = direct && g.m > 1 ? g.c.row_stride : g.n;
  for (int64_t extent : {g.m, g.n, g.k, a.ld, b.ld, ldc}) {
    if (extent > kMax) {
      return ValueError("[blas] an extent or stride is too large for this BLAS: ", extent, " > ",
                        kMax, ".");
    }
  }
  std::vector<T> temp(direct ? 0 : size_t(g.m * g.n));
  T* out = direct ? c : temp.data();
  gemm(kRowMajor, a.trans, b.trans, int(g.m), int(g.n), int(g.k), T(1), a.data, int(a.ld), b.data,
       int(b.ld), T(0), out, int(ldc));
  if (direct) return absl::OkStatus();
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j)
      c[i * g.c.row_stride + j * g.c.col_stride] = temp[size_t(i * g.n + j)];
  }
  return absl::OkStatus();
}

}  // namespace

Status CheckBlas() { return CheckLibrary(); }

void* BlasFunction(const char* name) { return dlsym(Library().library, name); }

BlasTurn::BlasTurn(bool all_threads) : turn_(Turn()) {
  if (!turn_.try_lock()) {
    const HostUnlocked unlocked;
    turn_.lock();
  }
  const int fixed = Library().fixed.load();
  Library().UseThreads(!all_threads ? 1 : fixed ? fixed : PoolThreads());
}

BlasTurn::~BlasTurn() { turn_.unlock(); }

bool BlasAvailable() { return Library().error.empty(); }

Status SetBlasThreads(int threads) {
  FZ_RETURN_IF_ERROR(CheckLibrary());
  if (threads < 1)
    return ValueError("[blas] the number of threads must be at least 1: got ", threads, ".");
  Library().fixed.store(threads);
  Library().FollowThreads();
  return absl::OkStatus();
}

Status BlasGemm(const GemmArgs& args) {
  FZ_RETURN_IF_ERROR(CheckLibrary());
  if (args.dtype != DType::kF32 && args.dtype != DType::kF64) {
    return TypeError("[blas] matmul takes f32 or f64: got ", ShortName(args.dtype), ".");
  }
  if (args.m <= 0 || args.n <= 0) return absl::OkStatus();
  Library().FollowThreads();
  if (args.dtype == DType::kF32) return Run<float>(args, Library().sgemm);
  return Run<double>(args, Library().dgemm);
}

}  // namespace frazil
