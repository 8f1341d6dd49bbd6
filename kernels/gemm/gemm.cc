#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/config.h"
#include "core/cost.h"
#include "core/cpu.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/float_gemm.h"
#include "kernels/gemm/integer_gemm.h"
#include "kernels/gemm/pairs_gemm.h"
#include "kernels/gemm/small_product.h"
#include "kernels/gemm/word_gemm.h"

namespace frazil {
namespace {

template <typename S>
void Integers(const GemmArgs& g, Isa units) {
  if (!gemm::TryWordGemm<S>(g, units)) gemm::IntegerGemm<S>(g);
}

void Dispatch(const GemmArgs& g, Isa wanted, const gemm::Team& team) {
  const Isa isa = ResolveIsa(wanted);
  switch (g.dtype) {
    case DType::kF32:
      return gemm::FloatGemm<float>(g, isa, team);
    case DType::kF64:
      return gemm::FloatGemm<double>(g, isa, team);
    case DType::kF16:
      return gemm::FloatGemm<Half>(g, isa, team);
    case DType::kBF16:
      if (g.pairs) return gemm::PairsGemm(g, ResolveUnits(wanted));
      return gemm::FloatGemm<BFloat16>(g, isa, team);
    case DType::kI8:
      if (g.wide) {
        if (!gemm::TryWideGemm(g, ResolveUnits(wanted))) gemm::WideGemm(g);
        return;
      }
      return Integers<uint8_t>(g, ResolveUnits(wanted));
    case DType::kU8:
      return Integers<uint8_t>(g, ResolveUnits(wanted));
    case DType::kI16:
    case DType::kU16:
      return Integers<uint16_t>(g, ResolveUnits(wanted));
    case DType::kI32:
    case DType::kU32:
      return Integers<uint32_t>(g, ResolveUnits(wanted));
    case DType::kI64:
    case DType::kU64:
      return gemm::IntegerGemm<uint64_t>(g);
    default:
      break;
  }
  FZ_CHECK(false && "no matmul of bool or complex numbers");
}

DType OutputOf(const GemmArgs& g) { return g.wide ? DType::kI32 : g.dtype; }

MatrixRef Offset(DType t, const MatrixRef& x, int64_t row, int64_t col) {
  int64_t at = (row * x.row_stride + col * x.col_stride) * SizeOf(t);
  return {static_cast<char*>(x.data) + at, x.row_stride, x.col_stride};
}

// Rows [m0, m1) and columns [n0, n1) of the output as a problem of its own.
GemmArgs Part(const GemmArgs& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  return {g.dtype,
          m1 - m0,
          n1 - n0,
          g.k,
          Offset(g.dtype, g.a, m0, 0),
          Offset(g.dtype, g.b, 0, n0),
          Offset(OutputOf(g), g.c, m0, n0),
          g.pairs,
          g.wide};
}

// What FRAZIL_ISA says of kBest.
Isa BestAllowed() {
  const std::string& isa = GetConfig().isa;
  return isa == "avx2" ? Isa::kAvx2 : isa == "avx512" ? Isa::kAvx512 : Isa::kBest;
}

struct Grid {
  int64_t rows, cols;
};

// Whether the threads pack operands together, each for all. Otherwise each part of the output is a
// product of its own: less waiting, more packing. Outputs in another layout or type are finished in
// parts.
bool WorthTeam(const GemmArgs& g, double work, int threads) {
  if (g.dtype != DType::kF32 && g.dtype != DType::kF64) return false;
  if (g.c.row_stride != 1 && g.c.col_stride != 1) return false;
  return work >= tuned::kTeamWork && std::min(g.m, g.n) >= tuned::kTeamRows * threads;
}

// Parts of the output with the least reading: each part packs its own operands, so parts that are
// near square, or that cut only the longer side, cost least.
Grid ChooseGrid(const GemmArgs& g, int threads) {
  int64_t most_rows = (g.m + tuned::kProductGrain - 1) / tuned::kProductGrain,
          most_cols = (g.n + tuned::kProductGrain - 1) / tuned::kProductGrain;
  Grid best{1, 1};
  double best_cost = 1e300;
  for (int64_t rows = 1; rows <= std::min<int64_t>(threads, most_rows); ++rows) {
    int64_t cols = std::min<int64_t>((threads + rows - 1) / rows, most_cols);
    double tile_rows = double((most_rows + rows - 1) / rows * tuned::kProductGrain);
    double tile_cols = double((most_cols + cols - 1) / cols * tuned::kProductGrain);
    double cost = tile_rows * tile_cols + 4 * (tile_rows + tile_cols);
    if (cost < best_cost) best = {rows, cols}, best_cost = cost;
  }
  return best;
}

// Where part i of `parts` starts, in whole grains.
int64_t Cut(int64_t extent, int64_t parts, int64_t i) {
  int64_t grains = (extent + tuned::kProductGrain - 1) / tuned::kProductGrain;
  return std::min(extent, grains * i / parts * tuned::kProductGrain);
}

}  // namespace

GemmArgs Transposed(const GemmArgs& g) {
  auto turn = [](const MatrixRef& x) { return MatrixRef{x.data, x.col_stride, x.row_stride}; };
  return {g.dtype, g.n, g.m, g.k, turn(g.b), turn(g.a), turn(g.c), g.pairs, g.wide};
}

Isa ResolveUnits(Isa wanted) {
  static const Isa best = BestAllowed();
  const CpuFeatures& cpu = Cpu();
  if (wanted == Isa::kBest) wanted = best;
  if (wanted >= Isa::kAmx && cpu.amx) return Isa::kAmx;
  if (wanted >= Isa::kAvx512Vnni && cpu.avx512_vnni) return Isa::kAvx512Vnni;
  if (wanted >= Isa::kAvx512 && cpu.avx512) return Isa::kAvx512;
  if (wanted >= Isa::kAvx2Vnni && cpu.avx2_vnni) return Isa::kAvx2Vnni;
  if (wanted >= Isa::kAvx2 && cpu.avx2) return Isa::kAvx2;
  return Isa::kScalar;
}

Isa ResolveIsa(Isa wanted) {
  const Isa units = ResolveUnits(wanted);
  return units >= Isa::kAvx512 ? Isa::kAvx512 : units >= Isa::kAvx2 ? Isa::kAvx2 : Isa::kScalar;
}

void Gemm(const GemmArgs& args, Isa isa) {
  if (args.m <= 0 || args.n <= 0) return;
  DefaultFpMode mode;
  Dispatch(args, isa, gemm::Team());
}

struct GemmSeries::Chosen {
  std::variant<gemm::Repeated<float>, gemm::Repeated<double>,
               std::unique_ptr<const gemm::SmallProduct>>
      product;
  bool transposed = false;
};

GemmSeries::GemmSeries(const GemmArgs& like, Isa isa) : like_(like), isa_(isa) {
  if (like.m <= 0 || like.n <= 0) return;
  if (auto small = gemm::SmallProduct::Make(like, isa_)) {
    chosen_.reset(new Chosen{std::move(small)});
    return;
  }
  const auto choose = [&]<typename S>(S) {
    bool transposed = false;
    auto product = gemm::FloatSeries<S>(like, ResolveIsa(isa_), &transposed);
    if (product) chosen_.reset(new Chosen{*std::move(product), transposed});
  };
  if (like.dtype == DType::kF32) choose(float());
  if (like.dtype == DType::kF64) choose(double());
}
GemmSeries::~GemmSeries() = default;

void GemmSeries::Run(void* a, void* b, void* c) {
  like_.a.data = a, like_.b.data = b, like_.c.data = c;
  if (chosen_ == nullptr) return Gemm(like_, isa_);
  const DefaultFpMode mode;
  if (chosen_->transposed) std::swap(a, b);
  std::visit(
      [&]<typename P>(P& product) {
        if constexpr (std::is_same_v<P, std::unique_ptr<const gemm::SmallProduct>>) {
          product->Run(a, b, c);
        } else {
          using S = typename P::Element;
          product.Run(static_cast<S*>(a), static_cast<S*>(b), static_cast<S*>(c), false);
        }
      },
      chosen_->product);
}

void GemmAdd(const GemmArgs& args, Isa isa) {
  if (args.m <= 0 || args.n <= 0) return;
  DefaultFpMode mode;
  if (args.dtype == DType::kF32) return gemm::FloatGemmAdd<float>(args, ResolveIsa(isa));
  FZ_CHECK(args.dtype == DType::kF64);
  gemm::FloatGemmAdd<double>(args, ResolveIsa(isa));
}

void GemmParallel(const GemmArgs& args, int threads, ParallelRun run, Isa isa) {
  double work = double(args.m) * double(args.n) * double(args.k);
  if (threads > 1 && WorthTeam(args, work, threads)) {
    DefaultFpMode mode;
    return Dispatch(args, isa, gemm::Team(threads, run));
  }
  const double time = cost::Products(work, args.dtype, args.pairs);
  Grid grid = threads > 1 && time >= cost::kWorthSharing ? ChooseGrid(args, threads) : Grid{1, 1};
  if (grid.rows * grid.cols <= 1) return Gemm(args, isa);
  run(grid.rows * grid.cols, [&](int64_t i) {
    int64_t r = i / grid.cols, c = i % grid.cols;
    Gemm(Part(args, Cut(args.m, grid.rows, r), Cut(args.m, grid.rows, r + 1),
              Cut(args.n, grid.cols, c), Cut(args.n, grid.cols, c + 1)),
         isa);
  });
}

void OneByOne(int64_t count, absl::FunctionRef<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  ParallelFor(std::min<int64_t>(count, NumThreads()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  });
}

void GemmOnPool(const GemmArgs& args, Isa isa) { GemmParallel(args, NumThreads(), OneByOne, isa); }

void GemmOnPool(const GemmArgs& args, const RowsDone& done, Isa isa) {
  const double work = double(args.m) * double(args.n) * double(args.k);
  const int threads = NumThreads();
  TellRows(args.m, done, [&](const RowsDone& rows_done) {
    if (args.m > 0 && args.n > 0 && (threads == 1 || WorthTeam(args, work, threads))) {
      const DefaultFpMode mode;
      const ParallelRun run = OneByOne;
      Dispatch(args, isa, gemm::Team(threads, run, &rows_done));
    } else {
      GemmParallel(args, threads, OneByOne, isa);
    }
  });
}

void TellRows(int64_t rows, const RowsDone& done,
              absl::FunctionRef<void(const RowsDone& rows_done)> make) {
  std::atomic<bool> told{false};
  const auto tell = [&](int64_t begin, int64_t end) {
    told.store(true, std::memory_order_relaxed);
    done(begin, end);
  };
  make(RowsDone(tell));
  if (!told && !Abandoned())
    ParallelFor(rows, std::max<int64_t>(1, rows / (NumThreads() * tuned::kToldParts)), done);
}

}  // namespace frazil
