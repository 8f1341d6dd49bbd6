#include "kernels/order/sort_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>

#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil {
namespace {

template <typename Key>
struct Run {
  const Key* from;
  int64_t n;
};

// How many of the first `count` keys of two runs together come from the first (Odeh et al. 2012,
// "Merge Path"); it has them before equal ones of the second.
template <typename Key>
int64_t FromFirst(const Run<Key>& a, const Run<Key>& b, int64_t count) {
  int64_t low = std::max<int64_t>(0, count - b.n), high = std::min(count, a.n);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (a.from[middle] <= b.from[count - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Keys `begin` to `end` of two runs together.
template <typename Key>
void Merge(const Run<Key>& a, const Run<Key>& b, int64_t begin, int64_t end, Key* to) {
  const int64_t first = FromFirst(a, b, begin), last = FromFirst(a, b, end);
  const Key *p = a.from + first, *p_end = a.from + last;
  const Key *q = b.from + (begin - first), *q_end = b.from + (end - last);
  to += begin;
  Key* to_end = to + (end - begin);
  // From both ends, which depend on nothing of each other. As many as the shorter run has are safe;
  // which is next cannot be foretold, so no branch asks.
  while (const int64_t safe = std::min(p_end - p, q_end - q)) {
    for (int64_t i = 0; i < safe; ++i) {
      const Key low_p = *p, low_q = *q, high_p = p_end[-1], high_q = q_end[-1];
      const bool low = low_p <= low_q, high = high_p > high_q;
      *to++ = low ? low_p : low_q;
      *--to_end = high ? high_p : high_q;
      p += low;
      q += !low;
      p_end -= high;
      q_end -= !high;
    }
  }
  std::copy(q, q_end, std::copy(p, p_end, to));
}

// Each key's place is how many stand before it: nothing depends on what is next, as in a sort.
template <typename Key>
void SortFew(Key* keys, int64_t n) {
  Key before[tuned::kFewKeys];
  std::copy(keys, keys + n, before);
  for (int64_t i = 0; i < n; ++i) {
    const Key key = before[i];
    int64_t place = 0;
    for (int64_t j = 0; j < i; ++j) place += before[j] <= key;
    for (int64_t j = i + 1; j < n; ++j) place += before[j] < key;
    keys[place] = key;
  }
}

template <typename Key>
void SortAll(Key* keys, int64_t n, Key* scratch) {
  if (n <= tuned::kFewKeys) return SortFew(keys, n);
  const auto sort = [](Key* from, int64_t count) {
    static const thread_local hwy::Sorter sorter;  // asks the system for a seed where it is made
    sorter(from, static_cast<size_t>(count), hwy::SortAscending());
  };
  const int threads = NumThreads();
  if (threads == 1 || n < tuned::kSharedKeys) return sort(keys, n);
  const auto runs = static_cast<int64_t>(std::bit_ceil(static_cast<unsigned>(threads)));
  const auto place = [&](int64_t i) { return n / runs * i + std::min(i, n % runs); };
  const bool odd = std::countr_zero(static_cast<uint64_t>(runs)) % 2;
  Key *from = odd ? scratch : keys, *to = odd ? keys : scratch;  // the last merge is to `keys`
  ParallelFor(runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (odd) std::copy(keys + place(i), keys + place(i + 1), scratch + place(i));
      sort(from + place(i), place(i + 1) - place(i));
    }
  });
  for (int64_t width = 1; width < runs && !Abandoned(); width *= 2) {  // else they have no order
    ParallelFor(runs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t parts = 2 * width, low = i / parts * parts, part = i - low;
        const int64_t start = place(low), middle = place(low + width), stop = place(low + parts);
        const int64_t size = stop - start;
        Merge<Key>({from + start, middle - start}, {from + middle, stop - middle},
                   size * part / parts, size * (part + 1) / parts, to + start);
      }
    });
    std::swap(from, to);
  }
}

}  // namespace

void SortKeys(int32_t* keys, int64_t n, int32_t* scratch) { SortAll(keys, n, scratch); }
void SortKeys(int64_t* keys, int64_t n, int64_t* scratch) { SortAll(keys, n, scratch); }

}  // namespace frazil
