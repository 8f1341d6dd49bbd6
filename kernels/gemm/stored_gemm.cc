#include "kernels/gemm/stored_gemm.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/cost.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/row_dots.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil {
namespace {

using gemm::Scratch;
using gemm::View;

// S is Half or BFloat16.
template <typename S>
class Stored {
 public:
  Stored(const GemmArgs& args, const RowsDone* done, Isa isa)
      : g_(args),
        b_{static_cast<const S*>(args.b.data), args.b.row_stride, args.b.col_stride},
        done_(done),
        isa_(isa),
        units_(ResolveIsa(isa)) {}

  // Each thread takes columns, so that it alone reads what they are stored in.
  void Run() const {
    const bool as_it_lies = units_ != Isa::kScalar && b_.rs == 1 && g_.a.col_stride == 1 &&
                            g_.c.col_stride == 1 && g_.m <= tuned::kTurnedRows && g_.k > 0 &&
                            g_.k <= gemm::kChunk;
    if (!as_it_lies) return Widened(0, g_.n);
    const double work = double(g_.m) * double(g_.n) * double(g_.k);
    const int64_t grains = g_.n / tuned::kProductGrain;
    const int64_t parts = cost::Products(work, DType::kF32) >= cost::kWorthSharing
                              ? std::clamp<int64_t>(NumThreads(), 1, std::max<int64_t>(grains, 1))
                              : 1;
    if (parts == 1) return Columns(0, g_.n);
    OneByOne(parts, [&](int64_t i) {
      const int64_t end = i + 1 == parts ? g_.n : grains * (i + 1) / parts * tuned::kProductGrain;
      Columns(grains * i / parts * tuned::kProductGrain, end);
    });
  }

 private:
  float* Result(int64_t column) const {
    return static_cast<float*>(g_.c.data) + column * g_.c.col_stride;
  }

  void Columns(int64_t begin, int64_t end) const {
    const DefaultFpMode mode;
    const View<float> a{static_cast<const float*>(g_.a.data), g_.a.row_stride, 1};
    const View<S> b{b_.At(0, begin), b_.rs, b_.cs};
    const gemm::Block<float> c{Result(begin), g_.m, end - begin, g_.c.row_stride};
    if (TryTurnedStored(units_, a, b, g_.k, c)) return;
    constexpr auto kStored =
        std::is_same_v<S, Half> ? gemm::DotsStored::kHalf : gemm::DotsStored::kBFloat16;
    if (g_.m <= tuned::kRowDotsRows &&
        gemm::TryStoredDots(units_, a.data, a.rs, reinterpret_cast<const uint16_t*>(b.data), b.cs,
                            kStored, g_.k, c))
      return;
    Widened(begin, end);
  }

  // Some columns at a time as float32.
  void Widened(int64_t begin, int64_t end) const {
    const bool across = b_.cs == 1 && b_.rs != 1;
    const int64_t column = g_.k + kPadding;
    const int64_t most = std::max(kFewestColumns, kWidenedBytes / 4 / column);
    const int64_t parts = std::max<int64_t>(1, (end - begin + most - 1) / most);
    for (int64_t part = 0; part < parts && !Abandoned(); ++part) {
      const int64_t first = begin + (end - begin) * part / parts;
      const int64_t count = begin + (end - begin) * (part + 1) / parts - first;
      float* const to = Scratch::ThisThread().Get<float>(Scratch::kWidened,
                                                         across ? g_.k * count : column * count);
      Widen(first, count, across, column, to);
      GemmArgs f32 = g_;
      f32.n = count;
      f32.b = across ? MatrixRef{to, count, 1} : MatrixRef{to, 1, column};
      f32.c.data = Result(first);
      if (done_ != nullptr && parts == 1 && begin == 0 && end == g_.n) {
        GemmOnPool(f32, *done_, isa_);
      } else {
        GemmOnPool(f32, isa_);
      }
    }
  }

  void Widen(int64_t first, int64_t count, bool across, int64_t column, float* to) const {
    const int64_t runs = across ? g_.k : count, run = across ? count : g_.k;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, run));
    ParallelFor(runs, grain, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        if (across) {
          gemm::WidenRun(b_.At(i, first), run, to + i * run);
        } else if (b_.rs == 1) {
          gemm::WidenRun(b_.At(0, first + i), run, to + i * column);
        } else {
          for (int64_t p = 0; p < run; ++p) to[i * column + p] = gemm::Widen(*b_.At(p, first + i));
        }
      }
    });
  }

  static constexpr int64_t kPadding = 16;  // columns a power of two apart share few sets of a cache
  static constexpr int64_t kFewestColumns = 256, kWidenedBytes = 8 << 20;
  static constexpr int64_t kGrain = 16384;  // elements that are worth a thread

  const GemmArgs& g_;
  const View<S> b_;
  const RowsDone* const done_;  // or null
  const Isa isa_, units_;
};

void Product(const GemmArgs& args, DType stored, const RowsDone* done, Isa isa) {
  FZ_CHECK(args.dtype == DType::kF32);
  if (args.m <= 0 || args.n <= 0) return;
  if (stored == DType::kF16) return Stored<Half>(args, done, isa).Run();
  FZ_CHECK(stored == DType::kBF16);
  Stored<BFloat16>(args, done, isa).Run();
}

}  // namespace

void StoredGemmOnPool(const GemmArgs& args, DType stored, Isa isa) {
  Product(args, stored, nullptr, isa);
}

void StoredGemmOnPool(const GemmArgs& args, DType stored, const RowsDone& done, Isa isa) {
  TellRows(args.m, done,
           [&](const RowsDone& rows_done) { Product(args, stored, &rows_done, isa); });
}

}  // namespace frazil
