#include "kernels/order/sort.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "core/cpu.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/order/rows.h"
#include "kernels/order/sort_keys.h"

namespace frazil {
namespace {

// Zeros have one key; those of a row come out in the order in which they went in.
template <typename Keys>
void PlaceZeros(const typename Keys::Element* x, int64_t n, typename Keys::Element* first) {
  for (int64_t i = 0; i < n; ++i) {
    if (Keys::IsZero(x[i])) *first++ = x[i];
  }
}

// Keys of elements, and elements of keys, by the vectors that there are.
template <typename Keys>
FZ_VECTORS bool MakeByVectors(const typename Keys::Element* x, int64_t n, bool descending,
                              typename Keys::Key* keys) {
  return MakeHere<Keys>(x, n, descending, keys);
}
template <typename Keys>
bool MakeKeys(const typename Keys::Element* x, int64_t n, bool descending,
              typename Keys::Key* keys) {
  return Cpu().avx512 ? MakeByVectors<Keys>(x, n, descending, keys)
                      : MakeHere<Keys>(x, n, descending, keys);
}

template <typename Keys>
__attribute__((always_inline)) inline void TakeHere(const typename Keys::Key* keys, int64_t n,
                                                    bool descending, typename Keys::Element* out) {
  const typename Keys::Key flip = descending ? -1 : 0;
  for (int64_t i = 0; i < n; ++i) out[i] = Keys::Value(keys[i], flip);
}
template <typename Keys>
FZ_VECTORS void TakeByVectors(const typename Keys::Key* keys, int64_t n, bool descending,
                              typename Keys::Element* out) {
  TakeHere<Keys>(keys, n, descending, out);
}
template <typename Keys>
void TakeElements(const typename Keys::Key* keys, int64_t n, bool descending,
                  typename Keys::Element* out) {
  if (Cpu().avx512) return TakeByVectors<Keys>(keys, n, descending, out);
  TakeHere<Keys>(keys, n, descending, out);
}

template <typename Keys>
void SortRow(const typename Keys::Element* x, int64_t n, bool descending,
             typename Keys::Key* scratch, typename Keys::Key* keys, typename Keys::Element* out) {
  if (n <= tuned::kSortGrain) {
    const bool mixed = MakeKeys<Keys>(x, n, descending, keys);
    SortKeys(keys, n, scratch);
    const auto zero = Keys::Of(0, descending ? -1 : 0);
    const int64_t first = mixed ? std::lower_bound(keys, keys + n, zero) - keys : 0;
    if (!Keys::kSame || descending) TakeElements<Keys>(keys, n, descending, out);
    if (mixed) PlaceZeros<Keys>(x, n, out + first);
    return;
  }
  std::atomic<bool> minus_zero{false};
  ParallelFor(n, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
    if (MakeKeys<Keys>(x + begin, end - begin, descending, keys + begin))
      minus_zero.store(true, std::memory_order_relaxed);
  });
  SortKeys(keys, n, scratch);
  const auto zero = Keys::Of(0, descending ? -1 : 0);
  const int64_t first = minus_zero.load() ? std::lower_bound(keys, keys + n, zero) - keys : 0;
  if (Keys::kSame && !descending) return;
  ParallelFor(n, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
    TakeElements<Keys>(keys + begin, end - begin, descending, out + begin);
  });
  if (minus_zero.load()) PlaceZeros<Keys>(x, n, out + first);
}

// Keys of elements of their size lie where the result will.
template <typename Keys>
void SortAll(const SortArgs& args) {
  using Element = typename Keys::Element;
  using Key = typename Keys::Key;
  constexpr bool kThere = sizeof(Key) == sizeof(Element);
  const auto* x = reinterpret_cast<const Element*>(args.x);
  auto* out = reinterpret_cast<Element*>(args.out);
  const int64_t n = args.n, size = args.rows * n;
  const Room room((kThere ? 1 : 2) * size * int64_t{sizeof(Key)});
  Key* const scratch = room.Of<Key>();
  Key* const keys = kThere ? reinterpret_cast<Key*>(out) : scratch + size;
  ForRows(args.rows, n, [&](int64_t row) {
    const int64_t at = row * n;
    SortRow<Keys>(x + at, n, args.descending, scratch + at, keys + at, out + at);
  });
}

// The positions of `n` keys in their order. A key's upper bits and its position are sorted as one
// number; where not all bits find room, those of equal upper bits are ordered by themselves.
void OrderOf(const int64_t* keys, int64_t n, int64_t* scratch, int64_t* out) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();  // NaN: beyond the others
  int64_t low = kHighest, high = std::numeric_limits<int64_t>::min();
  for (int64_t i = 0; i < n; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i] == kHighest ? high : keys[i]);
  }
  const auto range = high < low ? 0 : static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const int place = std::max<int>(1, std::bit_width(static_cast<uint64_t>(n - 1)));
  const int room = 62 - place, shift = std::max<int>(0, std::bit_width(range) - room);
  ParallelFor(n, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t above = static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(low);
      const uint64_t upper = keys[i] == kHighest ? uint64_t{1} << room : above >> shift;
      out[i] = static_cast<int64_t>(upper << place | static_cast<uint64_t>(i));
    }
  });
  SortKeys(out, n, scratch);
  if (Abandoned()) return;  // they may hold anything
  const int64_t mask = (int64_t{1} << place) - 1;
  if (shift > 0) {
    for (int64_t begin = 0, end; begin < n; begin = end) {
      for (end = begin + 1; end < n && out[end] >> place == out[begin] >> place;) ++end;
      const int64_t count = end - begin;
      if (count == 1 || keys[out[begin] & mask] == kHighest) continue;
      std::vector<int64_t> some(static_cast<size_t>(3 * count)), places(out + begin, out + end);
      for (int64_t i = 0; i < count; ++i) some[i] = keys[places[i] & mask];
      OrderOf(some.data(), count, some.data() + count, some.data() + 2 * count);
      for (int64_t i = 0; i < count; ++i) out[begin + i] = places[some[2 * count + i]];
    }
  }
  ParallelFor(n, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] &= mask;
  });
}

template <typename Keys>
void ArgSortAll(const SortArgs& args) {
  const auto* x = reinterpret_cast<const typename Keys::Element*>(args.x);
  auto* out = reinterpret_cast<int64_t*>(args.out);
  const int64_t n = args.n, size = args.rows * n;
  const typename Keys::Key flip = args.descending ? -1 : 0;
  const Room room(2 * size * int64_t{sizeof(int64_t)});
  ForRows(args.rows, n, [&](int64_t row) {
    const int64_t at = row * n;
    int64_t* const keys = room.Of<int64_t>() + at;
    ParallelFor(n, tuned::kSortGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) keys[i] = Keys::Of(x[at + i], flip);
    });
    OrderOf(keys, n, keys + size, out + at);
  });
}

}  // namespace

void Sort(const SortArgs& args) {
  if (args.rows * args.n > 0) WithKeys(args.dtype, [&]<typename Keys>() { SortAll<Keys>(args); });
}
void ArgSort(const SortArgs& args) {
  if (args.rows * args.n > 0)
    WithKeys(args.dtype, [&]<typename Keys>() { ArgSortAll<Keys>(args); });
}

}  // namespace frazil
