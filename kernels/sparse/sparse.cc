#include "kernels/sparse/sparse.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/cost.h"
#include "core/cpu.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "kernels/sparse/numbers.h"

// Bodies of loops: written once, compiled for the vectors that every processor has and for wider
// ones. Products and sums are rounded one by one either way.
#define FZ_BODY [[gnu::always_inline]] inline
#define FZ_AVX2 __attribute__((target("avx2")))

namespace frazil {
namespace {

using sparse::Number;

constexpr int64_t kChunk = 4096;      // entries whose places are looked at, then used
constexpr int64_t kWideRow = 128;     // bytes of a dense row that make up for looking at an entry
constexpr int64_t kMostShares = 16;   // of wide rows
constexpr int64_t kMostPartSums = 8;  // sums of parts of the entries, where rows are narrow

// Whether all of n places lie in [0, limit).
template <typename I>
FZ_BODY bool AllBelow(const I* places, int64_t n, int64_t limit) {
  using U = std::make_unsigned_t<I>;
  const U last = static_cast<U>(limit - 1);  // limit 0: no place is right
  if (limit == 0) return n == 0;
  U outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const U place = static_cast<U>(places[i]);
    outside |= place | (last - place);
  }
  return !(outside >> (8 * sizeof(U) - 1));
}

template <typename I>
FZ_AVX2 bool AllBelowAvx2(const I* places, int64_t n, int64_t limit) {
  return AllBelow(places, n, limit);
}

template <typename T, typename I>
class Product {
 public:
  using N = Number<T>;
  using Sum = typename N::Sum;
  // Where numbers are computed with as they lie in memory.
  static constexpr bool kVectors = std::is_arithmetic_v<T> && sizeof(T) == sizeof(Sum);
  using Lane = std::conditional_t<kVectors, Sum, float>;
  static constexpr int64_t kLanes = 32 / sizeof(Lane);
  typedef Lane Vec __attribute__((vector_size(32), aligned(alignof(Lane)), may_alias));

  explicit Product(const SparseArgs& args)
      : s_(args),
        first_(reinterpret_cast<const I*>(args.structure)),
        columns_(first_ + (args.pairs ? args.entries : args.rows + 1)),
        a_(reinterpret_cast<const T*>(args.a)),
        b_(reinterpret_cast<const T*>(args.b)),
        out_(reinterpret_cast<T*>(args.out)) {}

  Status Matmul() {
    FZ_RETURN_IF_ERROR(CheckStarts());
    if (s_.width == 0) return absl::OkStatus();
    if (!s_.pairs && !s_.transposed) {
      ByRows([&](int64_t begin, int64_t end) { Gather(begin, end); });
    } else {
      Scatter();
    }
    return Outcome();
  }

  Status Sample() {
    FZ_RETURN_IF_ERROR(CheckStarts());
    if (s_.pairs) {
      ParallelFor(s_.entries, Grain(), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end && !Abandoned(); at += kChunk) {
          const int64_t last = std::min(end, at + kChunk);
          if (!Check(at, last)) return;
          for (int64_t p = at; p < last; ++p) out_[p] = Dot(first_[p], columns_[p]);
        }
      });
    } else {
      ByRows([&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          for (int64_t p = first_[row]; p < first_[row + 1]; ++p) out_[p] = Dot(row, columns_[p]);
      });
    }
    return Outcome();
  }

 private:
  // --- what a structure may say

  Status CheckStarts() const {
    if (s_.pairs) return absl::OkStatus();
    std::atomic<bool> good = first_[0] == 0 && first_[s_.rows] == s_.entries;
    ParallelFor(s_.rows, tuned::kSignsGrain, [&](int64_t begin, int64_t end) {
      bool ascend = true;
      for (int64_t row = begin; row < end; ++row) ascend &= first_[row] <= first_[row + 1];
      if (!ascend) good = false;
    });
    if (good || Abandoned()) return absl::OkStatus();
    return IndexError("[sparse] the starts of ", s_.rows, " rows must ascend from 0 to ",
                      s_.entries, ", the number of values.");
  }

  // Entries [begin, end); remembers that one is wrong.
  bool Check(int64_t begin, int64_t end) {
    static const auto all_below = Cpu().avx2 ? AllBelowAvx2<I> : AllBelow<I>;
    const bool good = all_below(columns_ + begin, end - begin, s_.columns) &&
                      (!s_.pairs || all_below(first_ + begin, end - begin, s_.rows));
    if (!good) bad_.store(true, std::memory_order_relaxed);
    return good;
  }

  Status Outcome() const {
    if (!bad_.load()) return absl::OkStatus();
    const auto find = [&](const I* places, int64_t limit) {
      return std::find_if(places, places + s_.entries, [&](I p) { return p < 0 || p >= limit; });
    };
    const I* const column = find(columns_, s_.columns);
    const bool of_columns = column != columns_ + s_.entries;
    const I* const bad = of_columns ? column : find(first_, s_.rows);
    return IndexError("[sparse] ", of_columns ? "column " : "row ", int64_t{*bad},
                      " is out of range for a matrix of shape (", s_.rows, ", ", s_.columns, ").");
  }

  int64_t Grain() const {
    const double each = cost::Sparse(1, double(s_.width), s_.dtype) - double(cost::kCall);
    return static_cast<int64_t>(std::max(1.0, double(cost::kPart) / each));
  }

  // --- by rows: each is one thread's, and so are about as many rows and entries together

  template <typename Body>
  void ByRows(const Body& body) {
    const auto row_at = [&](int64_t place) {
      int64_t low = 0, high = s_.rows;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const bool below = first_[middle] + middle < place;
        low = below ? middle + 1 : low;
        high = below ? high : middle;
      }
      return low;
    };
    ParallelFor(s_.entries + s_.rows, Grain(), [&](int64_t begin, int64_t end) {
      const int64_t last = row_at(end);
      for (int64_t row = row_at(begin); row < last && !Abandoned();) {
        int64_t stop = row + 1;
        while (stop < last && first_[stop + 1] - first_[row] <= kChunk && stop - row < kChunk)
          ++stop;
        if (!Check(first_[row], first_[stop])) return;
        body(row, stop);
        row = stop;
      }
    });
  }

  void Gather(int64_t begin, int64_t end) const {
    static const bool avx2 = Cpu().avx2;
    avx2 ? GatherAvx2(begin, end) : GatherAll(begin, end);
  }
  FZ_AVX2 void GatherAvx2(int64_t begin, int64_t end) const { GatherAll(begin, end); }

  FZ_BODY void GatherAll(int64_t begin, int64_t end) const {
    if (s_.width == 1) return GatherOne(begin, end, a_, b_, first_, columns_, out_);
    int64_t at = 0;
    if constexpr (kVectors) {
      at = GatherVectors<8>(begin, end, at);
      at = GatherVectors<4>(begin, end, at);
      at = GatherVectors<2>(begin, end, at);
      at = GatherVectors<1>(begin, end, at);
    }
    for (; at < s_.width; ++at) {
      for (int64_t row = begin; row < end; ++row) {
        Sum sum = {};
        for (int64_t p = first_[row], last = first_[row + 1]; p < last; ++p)
          sum += N::Load(a_[p]) * N::Load(b_[columns_[p] * s_.width + at]);
        out_[row * s_.width + at] = N::Store(sum);
      }
    }
  }

  FZ_BODY static void GatherOne(int64_t begin, int64_t end, const T* values, const T* x,
                                const I* first, const I* columns, T* out) {
    for (int64_t row = begin; row < end; ++row) {
      Sum sum = {};
      for (int64_t p = first[row], last = first[row + 1]; p < last; ++p)
        sum += N::Load(values[p]) * N::Load(x[columns[p]]);
      out[row] = N::Store(sum);
    }
  }

  // Columns of rows [begin, end) from `at` on, n vectors at a time, as many as there are.
  template <int n>
  FZ_BODY int64_t GatherVectors(int64_t begin, int64_t end, int64_t at) const {
    for (; at + n * kLanes <= s_.width; at += n * kLanes) {
      for (int64_t row = begin; row < end; ++row) {
        Vec sums[n] = {};
        for (int64_t p = first_[row], last = first_[row + 1]; p < last; ++p) {
          const Sum value = N::Load(a_[p]);
          const auto* const x = reinterpret_cast<const Vec*>(b_ + columns_[p] * s_.width + at);
#pragma GCC unroll 8
          for (int i = 0; i < n; ++i) sums[i] += value * x[i];
        }
        auto* const out = reinterpret_cast<Vec*>(out_ + row * s_.width + at);
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i) out[i] = sums[i];
      }
    }
    return at;
  }

  // --- entry by entry: into one row of the result each

  // Of narrow rows parts of the entries have sums of their own, where that is little beside the
  // entries; wide ones are shared by threads, each of which looks at all entries.
  void Scatter() {
    const int64_t rows = s_.transposed ? s_.columns : s_.rows, size = rows * s_.width;
    const int64_t bytes = s_.width * int64_t{sizeof(T)};
    int64_t parts = 1;
    if (bytes < kWideRow && rows > 0)
      parts = std::clamp<int64_t>(s_.entries / (8 * rows), 1, kMostPartSums);
    constexpr bool kInPlace = std::is_same_v<Sum, T>;
    std::vector<Sum> own(static_cast<size_t>((parts - kInPlace) * size));
    const auto sums_of = [&](int64_t part) {
      if constexpr (kInPlace) {
        if (part == 0) return out_;
        --part;
      }
      return own.data() + part * size;
    };
    if constexpr (kInPlace) std::fill(out_, out_ + size, Sum{});
    if (bytes >= kWideRow) {
      const int64_t shares = std::min<int64_t>(NumThreads(), kMostShares);
      ParallelFor(shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          Spread(0, s_.entries, rows * i / shares, rows * (i + 1) / shares, sums_of(0));
      });
    } else {
      ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          Spread(s_.entries * i / parts, s_.entries * (i + 1) / parts, 0, rows, sums_of(i));
      });
    }
    if (kInPlace && parts == 1) return;
    ParallelFor(size, cost::kPart, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Sum sum = sums_of(0)[i];
        for (int64_t part = 1; part < parts; ++part) sum += sums_of(part)[i];
        out_[i] = N::Store(sum);
      }
    });
  }

  // Entries [begin, end), into rows [low, high) of the result.
  void Spread(int64_t begin, int64_t end, int64_t low, int64_t high, Sum* sums) {
    static const bool avx2 = Cpu().avx2;
    int64_t row = s_.pairs ? 0 : std::upper_bound(first_, first_ + s_.rows, begin) - first_ - 1;
    for (int64_t at = begin; at < end && !Abandoned(); at += kChunk) {
      const int64_t last = std::min(end, at + kChunk);
      if (!Check(at, last)) return;
      row = s_.width == 1 ? SpreadAll<true>(row, at, last, low, high, sums)
            : avx2        ? SpreadAvx2(row, at, last, low, high, sums)
                          : SpreadAll<false>(row, at, last, low, high, sums);
    }
  }
  FZ_AVX2 int64_t SpreadAvx2(int64_t row, int64_t begin, int64_t end, int64_t low, int64_t high,
                             Sum* sums) const {
    return SpreadAll<false>(row, begin, end, low, high, sums);
  }

  // `row`: of the first entry, where they go by rows; returns that of the next one.
  template <bool vector>
  FZ_BODY int64_t SpreadAll(int64_t row, int64_t begin, int64_t end, int64_t low, int64_t high,
                            Sum* sums) const {
    if (s_.pairs) {
      const I* const to = s_.transposed ? columns_ : first_;
      const I* const from = s_.transposed ? first_ : columns_;
      for (int64_t p = begin; p < end; ++p) Add<vector>(p, from[p], to[p], low, high, sums);
      return row;
    }
    for (int64_t p = begin; p < end;) {
      while (first_[row + 1] <= p) ++row;
      const int64_t last = std::min<int64_t>(end, first_[row + 1]);
      for (; p < last; ++p) Add<vector>(p, row, columns_[p], low, high, sums);
    }
    return row;
  }

  template <bool vector>
  FZ_BODY void Add(int64_t p, int64_t from, int64_t to, int64_t low, int64_t high,
                   Sum* sums) const {
    const Sum value = N::Load(a_[p]);
    if constexpr (vector) {
      sums[to] += value * N::Load(b_[from]);
      return;
    }
    if (to < low || to >= high) return;
    const int64_t width = s_.width;
    const T* const x = b_ + from * width;
    Sum* const sum = sums + to * width;
    int64_t i = 0;
    if constexpr (kVectors) {
      for (; i + kLanes <= width; i += kLanes)
        *reinterpret_cast<Vec*>(sum + i) += value * *reinterpret_cast<const Vec*>(x + i);
    }
    for (; i < width; ++i) sum[i] += value * N::Load(x[i]);
  }

  // --- at the places of the entries

  FZ_BODY T Dot(int64_t row, int64_t column) const {
    const T* const x = a_ + row * s_.width;
    const T* const y = b_ + column * s_.width;
    Sum sum = {};
    int64_t i = 0;
    if constexpr (kVectors) {
      Vec sums = {};
      for (; i + kLanes <= s_.width; i += kLanes)
        sums += *reinterpret_cast<const Vec*>(x + i) * *reinterpret_cast<const Vec*>(y + i);
      for (int64_t k = 0; k < kLanes; ++k) sum += sums[k];
    }
    for (; i < s_.width; ++i) sum += N::Load(x[i]) * N::Load(y[i]);
    return N::Store(sum);
  }

  const SparseArgs s_;
  const I* const first_;  // rows of the entries, or starts of the rows
  const I* const columns_;
  const T* const a_;
  const T* const b_;
  T* const out_;
  std::atomic<bool> bad_{false};
};

template <typename T>
Status Run(const SparseArgs& args, bool sample) {
  const auto run = [&](auto product) { return sample ? product->Sample() : product->Matmul(); };
  if (args.wide) {
    Product<T, int64_t> product(args);
    return run(&product);
  }
  Product<T, int32_t> product(args);
  return run(&product);
}

Status Dispatch(const SparseArgs& args, bool sample) {
  if (args.dtype == DType::kC64) return Run<std::complex<float>>(args, sample);
  if (args.dtype == DType::kC128) return Run<std::complex<double>>(args, sample);
  return VisitDType(args.dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return NotImplementedError("[sparse] no products of bool.");
    } else if constexpr (std::is_integral_v<T>) {
      return Run<std::make_unsigned_t<T>>(args, sample);  // they wrap: the bits are the same
    } else {
      return Run<T>(args, sample);
    }
  });
}

}  // namespace

Status SparseMatmul(const SparseArgs& args) { return Dispatch(args, false); }
Status SparseSample(const SparseArgs& args) { return Dispatch(args, true); }

}  // namespace frazil
