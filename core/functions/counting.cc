// How often numbers occur, and how far neighbours lie apart.
#include "core/functions/counting.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/functions/composite.h"
#include "core/functions/parts.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

// Elements in row-major order, in memory of their own or x's.
Tensor Rows(const Tensor& x) {
  const bool dense = x.ok() && x.layout()->dense && !x.value()->immediate;
  return dense ? x.Detach() : copy(x.Detach());
}

constexpr int64_t kTables = 4;  // an addition to the same count waits for the one before

Tensor Negative(int64_t least) {
  return ValueError("[bincount] elements must not be negative, got ", least, ".");
}

// Of `count` tables, `apart` from each other, the first n elements.
void AddTables(const int64_t* tables, int64_t count, int64_t apart, int64_t n, int64_t* counts) {
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t i = 0; i < n; ++i) counts[i] += tables[t * apart + i];
  }
}

// counts[v] of x += how often v occurs.
void Count(const int64_t* x, int64_t size, int64_t n, int64_t* counts) {
  if (size < kTables * n) {
    for (int64_t i = 0; i < size; ++i) ++counts[x[i]];
    return;
  }
  std::vector<int64_t> tables(static_cast<size_t>(kTables * n));
  int64_t i = 0;
  for (; i + kTables <= size; i += kTables) {
    for (int64_t t = 0; t < kTables; ++t) ++tables[t * n + x[i + t]];
  }
  for (; i < size; ++i) ++counts[x[i]];
  AddTables(tables.data(), kTables, n, n, counts);
}

void CountOnThreads(const int64_t* x, int64_t size, int64_t n, int64_t* counts) {
  const int64_t parts = std::min<int64_t>(NumThreads(), size / std::max(n, tuned::kSortGrain));
  if (parts < 2) return Count(x, size, n, counts);
  std::vector<int64_t> tables(static_cast<size_t>(parts * n));
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = size * p / parts, last = size * (p + 1) / parts;
      Count(x + first, last - first, n, tables.data() + p * n);
    }
  });
  AddTables(tables.data(), parts, n, n, counts);
}

// The same without looking at what is counted but for the largest of it: a call that is followed can
// be skipped where this is the same.
Tensor CountByOps(const Tensor& x, const Tensor& weights, int64_t least) {
  int64_t n = least;
  if (x.size() > 0) {
    const auto negative = IsAny(less(x, 0));
    if (!negative.ok()) return Tensor(negative.status());
    const auto extreme = *negative ? Integer(min(x)) : Integer(max(x));
    if (!extreme.ok()) return Tensor(extreme.status());
    if (*negative) return Negative(*extreme);
    n = std::max(n, *extreme + 1);
  }
  const Tensor ones = filled(x.dims(), Scalar::Int(1), DType::kI64, x.device());
  const Tensor& updates = weights.defined() ? weights : ones;
  return index_add(filled({n}, Scalar::Int(0), updates.dtype(), x.device()), x, updates);
}

}  // namespace

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t least) {
  if (!x.ok()) return x;
  const bool weighs = weights.defined();
  if (weighs && !weights.ok()) return weights;
  if (least < 0) return ValueError("[bincount] minlength must be at least 0, got ", least, ".");
  if (x.rank() != 1)
    return ValueError("[bincount] needs a vector, got shape ", ToString(x.dims()), ".");
  if (IsInexact(x.dtype()) && x.size() > 0)
    return TypeError("[bincount] takes integers, got ", Name(x.dtype()), ".");
  if (weighs && weights.dims() != x.dims()) {
    return ValueError("[bincount] weights have shape ", ToString(weights.dims()), ", not ",
                      ToString(x.dims()), ".");
  }
  const Tensor w = !weighs || IsFloat(weights.dtype()) ? weights : astype(weights, DType::kF64);
  const Tensor whole = Rows(astype(x, DType::kI64));
  if (!whole.ok()) return whole;
  if (State().door) return CountByOps(whole, w, least);
  if (Status s = Read(*whole.value()); !s.ok()) return Tensor(std::move(s));
  const auto host = OnHost(*whole.value());
  if (!host.ok()) return Tensor(host.status());
  const auto* const data = reinterpret_cast<const int64_t*>((*host)->data);
  const int64_t size = whole.size();
  std::atomic<int64_t> signs{0}, high{-1};
  ParallelFor(size, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
    int64_t some = 0, largest = -1;
    for (int64_t i = begin; i < end; ++i) {
      some |= data[i];
      largest = std::max(largest, data[i]);
    }
    signs.fetch_or(some);
    for (int64_t seen = high.load();
         largest > seen && !high.compare_exchange_weak(seen, largest);) {
    }
  });
  if (signs.load() < 0) return Negative(*std::min_element(data, data + size));
  const int64_t n = std::max(least, high.load() + 1);
  if (weighs) return index_add(filled({n}, Scalar::Int(0), w.dtype(), x.device()), whole, w);
  auto out = Value::Allocate(DType::kI64, Device(), Dense({n}));
  if (!out.ok()) return Tensor(std::move(out).status());
  auto* const counts = reinterpret_cast<int64_t*>((*out)->data);
  std::fill(counts, counts + n, 0);
  CountOnThreads(data, size, n, counts);
  return to_device(Tensor(*std::move(out)), x.device());
}

namespace {

// The bin of v, none if it lies outside: guessed by the distance from the first edge, which is wrong
// by one where that is rounded, and then corrected.
template <typename T>
class Bins {
 public:
  Bins(const T* edges, int64_t n)
      : edges_(edges), n_(n), per_width_(static_cast<double>(n) / (double{edges[n]} - edges[0])) {}

  int64_t Of(T v) const {  // n_: outside
    if (!(v >= edges_[0] && v <= edges_[n_])) return n_;
    const auto guess = static_cast<int64_t>((double{v} - edges_[0]) * per_width_);
    int64_t bin = std::clamp<int64_t>(guess, 0, n_ - 1);
    while (v < edges_[bin]) --bin;
    while (bin + 1 < n_ && v >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  const T* edges_;
  int64_t n_;
  double per_width_;
};

template <typename T>
void CountInBins(const Value& x, const Value& edges, int64_t n, int64_t* counts) {
  const Bins<T> bins(reinterpret_cast<const T*>(edges.data), n);
  const auto* const data = reinterpret_cast<const T*>(x.data);
  const int64_t size = x.size(), grain = std::max(n, tuned::kSortGrain);
  const int64_t parts = std::clamp<int64_t>(size / grain, 1, NumThreads()), places = n + 1;
  std::vector<int64_t> tables(static_cast<size_t>(parts * kTables * places));
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t* const own = tables.data() + p * kTables * places;
      for (int64_t i = size * p / parts; i < size * (p + 1) / parts; ++i)
        ++own[i % kTables * places + bins.Of(data[i])];
    }
  });
  std::fill(counts, counts + n, 0);
  AddTables(tables.data(), parts * kTables, places, n, counts);
}

}  // namespace

Tensor count_in_bins(const Tensor& given, const Tensor& given_edges) {
  const Tensor x = Rows(given), edges = Rows(given_edges);
  for (const Tensor* t : {&x, &edges}) {
    if (!t->ok()) return *t;
    if (Status s = Read(*t->value()); !s.ok()) return Tensor(std::move(s));
  }
  const auto data = OnHost(*x.value()), bounds = OnHost(*edges.value());
  if (!data.ok()) return Tensor(data.status());
  if (!bounds.ok()) return Tensor(bounds.status());
  const int64_t n = edges.size() - 1;
  auto out = Value::Allocate(DType::kI64, Device(), Dense({n}));
  if (!out.ok()) return Tensor(std::move(out).status());
  auto* const counts = reinterpret_cast<int64_t*>((*out)->data);
  if (x.dtype() == DType::kF32) {
    CountInBins<float>(**data, **bounds, n, counts);
  } else {
    CountInBins<double>(**data, **bounds, n, counts);
  }
  return to_device(Tensor(*std::move(out)), x.device());
}

namespace {

// What is put before or behind x: a number as a slice.
Tensor End(const Tensor& end, const Tensor& x, int axis) {
  if (!end.ok() || end.rank() > 0) return end;
  absl::InlinedVector<int64_t, 8> one(x.dims().begin(), x.dims().end());
  one[static_cast<size_t>(axis)] = 1;
  return broadcast_to(end, one);
}

}  // namespace

Tensor diff(const Tensor& given, int64_t n, int64_t axis, const Tensor& prepend,
            const Tensor& append) {
  if (!given.ok()) return given;
  const auto along = CheckAxis("diff", axis, given.rank());
  if (!along.ok()) return Tensor(along.status());
  if (n < 0) return ValueError("[diff] n must be at least 0, got ", n, ".");
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(End(prepend, given, *along));
  parts.push_back(given);
  if (append.defined()) parts.push_back(End(append, given, *along));
  const Tensor x = parts.size() == 1 ? given : concat(parts, *along);
  if (!x.ok()) return x;
  const int64_t times = std::min(n, x.dims()[*along]);
  if (times == 0) return x;
  return Composite(CompositeId::k_differences, {&x}, {times, *along}, [&] {
    Tensor out = x;
    for (int64_t i = 0; i < times && out.ok(); ++i) {
      Attrs here = WholeSlice(out.dims()), before = here;
      const auto at = static_cast<size_t>(3 * *along);
      here[at] = 1;
      here[at + 2] = before[at + 2] = out.dims()[*along] - 1;
      out = slice(out, here) - slice(out, before);
    }
    return out;
  });
}

}  // namespace frazil::ops
