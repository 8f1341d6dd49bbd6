#include "kernels/order/partition.h"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "core/cpu.h"
#include "core/threads/long_work.h"
#include "kernels/order/rows.h"
#include "kernels/order/sort_keys.h"

namespace frazil {
namespace {

constexpr int64_t kBlock = 256;  // elements whose keys are made at a time
constexpr int64_t kFew = 4096;   // keys that std::nth_element takes
constexpr int64_t kSample = 2048;

// The keys from `low` to `high` are those among which the one that is looked for should be.
template <typename Key>
struct Bounds {
  Key low = std::numeric_limits<Key>::min(), high = std::numeric_limits<Key>::max();
};

// A part of a row, which one thread takes.
struct Part {
  int64_t begin, end;
  int64_t below = 0, between = 0;  // keys under the bounds and within them
  int64_t less = 0, equal = 0;     // elements before the chosen one and equal to it
};

// From a sample of keys in order, of which each stands for n / kSample: the bounds are some four
// standard deviations of the sample's rank away.
template <typename Key>
Bounds<Key> BoundsOf(const Key* sample, int64_t n, int64_t kth) {
  constexpr int64_t kAside = 96;
  const auto rank = static_cast<int64_t>(double(kth) / double(n) * kSample);
  Bounds<Key> out;
  if (rank >= kAside) out.low = sample[rank - kAside];
  if (rank + kAside < kSample) out.high = sample[rank + kAside];
  return out;
}

// -- Vectors of keys

struct Narrow {
  using Key = int32_t;
  static constexpr int kLanes = 16;
  FZ_VECTORS static __m512i All(Key k) { return _mm512_set1_epi32(k); }
  FZ_VECTORS static unsigned Less(__m512i a, __m512i b) { return _mm512_cmplt_epi32_mask(a, b); }
  FZ_VECTORS static unsigned Equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi32_mask(a, b); }
  // The elements of `mask` to `to`, behind which it returns.
  FZ_VECTORS static char* Put(__m512i v, unsigned mask, char* to) {
    const int n = __builtin_popcount(mask);
    const __m512i packed = _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), v);
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1U << n) - 1), packed);
    return to + n * 4;
  }
};

struct Wide {
  using Key = int64_t;
  static constexpr int kLanes = 8;
  FZ_VECTORS static __m512i All(Key k) { return _mm512_set1_epi64(k); }
  FZ_VECTORS static unsigned Less(__m512i a, __m512i b) { return _mm512_cmplt_epi64_mask(a, b); }
  FZ_VECTORS static unsigned Equal(__m512i a, __m512i b) { return _mm512_cmpeq_epi64_mask(a, b); }
  FZ_VECTORS static char* Put(__m512i v, unsigned mask, char* to) {
    const int n = __builtin_popcount(mask);
    const __m512i packed = _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), v);
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1U << n) - 1), packed);
    return to + n * 8;
  }
};

template <typename Key>
using LanesOf = std::conditional_t<sizeof(Key) == 8, Wide, Narrow>;

// Elements as they are, of the size of their keys.
template <typename Keys>
constexpr bool kWhole = sizeof(typename Keys::Key) == sizeof(typename Keys::Element);

// -- The keys within bounds

// The keys of n elements that lie within the bounds to `to`, how many into part.between, and into
// part.below how many lie under them.
template <typename Keys>
void FindPlain(const typename Keys::Element* x, int64_t n, const Bounds<typename Keys::Key>& bounds,
               typename Keys::Key* to, Part* part) {
  for (int64_t i = 0; i < n; ++i) {
    const auto key = Keys::Of(x[i], 0);
    to[part->between] = key;
    part->between += key >= bounds.low && key <= bounds.high;
    part->below += key < bounds.low;
  }
}

template <typename Keys>
FZ_VECTORS void FindByVectors(const typename Keys::Element* x, int64_t n,
                              const Bounds<typename Keys::Key>& bounds, typename Keys::Key* to,
                              Part* part) {
  using Key = typename Keys::Key;
  using Lanes = LanesOf<Key>;
  const __m512i low = Lanes::All(bounds.low), high = Lanes::All(bounds.high);
  auto* out = reinterpret_cast<char*>(to);
  Key keys[kBlock];
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    MakeHere<Keys>(x + i, kBlock, false, keys);
    for (int64_t j = 0; j < kBlock; j += Lanes::kLanes) {
      const __m512i v = _mm512_loadu_si512(keys + j);
      const unsigned under = Lanes::Less(v, low), over = Lanes::Less(high, v);
      part->below += __builtin_popcount(under);
      const unsigned between = ~(under | over) & ((1U << Lanes::kLanes) - 1);
      if (between) out = Lanes::Put(v, between, out);
    }
  }
  part->between = reinterpret_cast<Key*>(out) - to;
  FindPlain<Keys>(x + i, n - i, bounds, to, part);
}

// The kth of n keys, which lose their places.
template <typename Key>
Key Select(Key* keys, int64_t n, int64_t kth) {
  Key sample[kSample], room[kSample];
  while (n > kFew) {
    for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[n / kSample * i];
    SortKeys(sample, kSample, room);
    const Bounds<Key> bounds = BoundsOf(sample, n, kth);
    int64_t below = 0, between = 0;
    for (int64_t i = 0; i < n; ++i) {
      below += keys[i] < bounds.low;
      between += keys[i] >= bounds.low && keys[i] <= bounds.high;
    }
    // A sample may tell nothing, or mislead.
    if (kth < below || kth >= below + between || between > n / 2) break;
    Key* to = keys;
    for (int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      *to = key;
      to += key >= bounds.low && key <= bounds.high;
    }
    n = between;
    kth -= below;
  }
  std::nth_element(keys, keys + kth, keys + n);
  return keys[kth];
}

// -- The elements before the chosen one, equal to it and behind it

template <typename Keys, typename Out, typename Element>
void PlacePlain(const typename Keys::Element* x, int64_t n, typename Keys::Key chosen,
                const Element& element, Out* less, Out* equal, Out* more) {
  for (int64_t i = 0; i < n; ++i) {
    const auto key = Keys::Of(x[i], 0);
    Out** const to = key < chosen ? &less : key == chosen ? &equal : &more;
    *(*to)++ = element(i);
  }
}

template <typename Keys>
FZ_VECTORS void PlaceByVectors(const typename Keys::Element* x, int64_t n,
                               typename Keys::Key chosen, typename Keys::Element* less,
                               typename Keys::Element* equal, typename Keys::Element* more) {
  using Key = typename Keys::Key;
  using Element = typename Keys::Element;
  using Lanes = LanesOf<Key>;
  const __m512i middle = Lanes::All(chosen);
  auto *a = reinterpret_cast<char*>(less), *b = reinterpret_cast<char*>(equal);
  auto* c = reinterpret_cast<char*>(more);
  Key keys[kBlock];
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    MakeHere<Keys>(x + i, kBlock, false, keys);
    for (int64_t j = 0; j < kBlock; j += Lanes::kLanes) {
      const __m512i v = _mm512_loadu_si512(keys + j), own = _mm512_loadu_si512(x + i + j);
      const unsigned under = Lanes::Less(v, middle), same = Lanes::Equal(v, middle);
      a = Lanes::Put(own, under, a);
      if (same) b = Lanes::Put(own, same, b);
      c = Lanes::Put(own, ~(under | same) & ((1U << Lanes::kLanes) - 1), c);
    }
  }
  PlacePlain<Keys>(
      x + i, n - i, chosen, [&](int64_t at) { return x[i + at]; }, reinterpret_cast<Element*>(a),
      reinterpret_cast<Element*>(b), reinterpret_cast<Element*>(c));
}

// -- Rows

template <typename Keys>
class Row {
 public:
  using Element = typename Keys::Element;
  using Key = typename Keys::Key;

  // `scratch` has room for n keys.
  Row(const Element* x, int64_t n, Key* scratch) : x_(x), n_(n), scratch_(scratch) {
    const int64_t count = n < tuned::kSharedKeys ? 1 : std::max<int64_t>(1, NumThreads());
    for (int64_t i = 0; i < count; ++i) parts_.push_back({n * i / count, n * (i + 1) / count});
  }

  // Finds the element; false if the work was abandoned.
  bool Choose(int64_t kth) {
    Bounds<Key> bounds;
    if (n_ > kFew) {
      Key sample[kSample], room[kSample];
      for (int64_t i = 0; i < kSample; ++i) sample[i] = Keys::Of(x_[n_ / kSample * i], 0);
      SortKeys(sample, kSample, room);
      bounds = BoundsOf(sample, n_, kth);
    }
    int64_t below = 0, between = 0;
    for (int again = 0; again < 2; ++again) {
      Find(bounds);
      if (Abandoned()) return false;
      below = between = 0;
      for (const Part& part : parts_) below += part.below, between += part.between;
      if (below <= kth && kth < below + between) break;
      bounds = {};  // the sample misled
    }
    std::vector<Key> own;  // a copy: the parts' are counted below
    own.reserve(static_cast<size_t>(between));
    for (const Part& part : parts_)
      own.insert(own.end(), scratch_ + part.begin, scratch_ + part.begin + part.between);
    chosen_ = Select(own.data(), between, kth - below);
    for (Part& part : parts_) {
      part.less = part.below;
      for (int64_t i = 0; i < part.between; ++i) {
        part.less += scratch_[part.begin + i] < chosen_;
        part.equal += scratch_[part.begin + i] == chosen_;
      }
    }
    return true;
  }

  // place(part, less, equal, more): where a part's elements go.
  template <typename Place>
  void ForParts(const Place& place) const {
    int64_t all_less = 0, all_equal = 0;
    for (const Part& part : parts_) all_less += part.less, all_equal += part.equal;
    ParallelFor(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t less = 0, equal = all_less, more = all_less + all_equal;
        for (int64_t before = 0; before < i; ++before) {
          const Part& part = parts_[static_cast<size_t>(before)];
          less += part.less;
          equal += part.equal;
          more += part.end - part.begin - part.less - part.equal;
        }
        place(parts_[static_cast<size_t>(i)], less, equal, more);
      }
    });
  }

  Key chosen() const { return chosen_; }

 private:
  void Find(const Bounds<Key>& bounds) {
    ParallelFor(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Part& part = parts_[static_cast<size_t>(i)];
        part.below = part.between = 0;
        const auto find = Cpu().avx512 ? FindByVectors<Keys> : FindPlain<Keys>;
        find(x_ + part.begin, part.end - part.begin, bounds, scratch_ + part.begin, &part);
      }
    });
  }

  const Element* const x_;
  const int64_t n_;
  Key* const scratch_;
  Key chosen_ = 0;
  std::vector<Part> parts_;
};

// body(row, at): of every row whose element is found, which begins at element `at`.
template <typename Keys, typename Body>
void ForChosen(const SortArgs& args, int64_t kth, const Body& body) {
  const auto* x = reinterpret_cast<const typename Keys::Element*>(args.x);
  const Room room((args.rows * args.n + 1) * int64_t{sizeof(typename Keys::Key)});
  ForRows(args.rows, args.n, [&](int64_t i) {
    const int64_t at = i * args.n;
    Row<Keys> row(x + at, args.n, room.Of<typename Keys::Key>() + at);
    if (row.Choose(kth)) body(row, at);
  });
}

}  // namespace

void Partition(const SortArgs& args, int64_t kth) {
  if (args.rows * args.n == 0) return;
  WithKeys(args.dtype, [&]<typename Keys>() {
    using Element = typename Keys::Element;
    ForChosen<Keys>(args, kth, [&](const Row<Keys>& row, int64_t at) {
      const auto* x = reinterpret_cast<const Element*>(args.x) + at;
      auto* out = reinterpret_cast<Element*>(args.out) + at;
      row.ForParts([&](const Part& part, int64_t less, int64_t equal, int64_t more) {
        const Element* const from = x + part.begin;
        const int64_t n = part.end - part.begin;
        if constexpr (kWhole<Keys>) {
          if (Cpu().avx512) {
            return PlaceByVectors<Keys>(from, n, row.chosen(), out + less, out + equal, out + more);
          }
        }
        PlacePlain<Keys>(
            from, n, row.chosen(), [&](int64_t i) { return from[i]; }, out + less, out + equal,
            out + more);
      });
    });
  });
}

void ArgPartition(const SortArgs& args, int64_t kth) {
  if (args.rows * args.n == 0) return;
  WithKeys(args.dtype, [&]<typename Keys>() {
    ForChosen<Keys>(args, kth, [&](const Row<Keys>& row, int64_t at) {
      const auto* x = reinterpret_cast<const typename Keys::Element*>(args.x) + at;
      auto* out = reinterpret_cast<int64_t*>(args.out) + at;
      row.ForParts([&](const Part& part, int64_t less, int64_t equal, int64_t more) {
        PlacePlain<Keys>(
            x + part.begin, part.end - part.begin, row.chosen(),
            [&](int64_t i) { return part.begin + i; }, out + less, out + equal, out + more);
      });
    });
  });
}

}  // namespace frazil
