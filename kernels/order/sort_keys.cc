#include "kernels/order/sort_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "core/config.h"
#include "core/cpu.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
// GCC's intrinsics leave on purpose undefined what it then warns of.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "kernels/order/vector_sort.h"

namespace frazil {
namespace {

// `n` keys in `from` and as much room in `room`; in order they are to lie in one of the two.
template <typename Key>
struct Range {
  Key *from, *room;
  int64_t n;
  bool moves;  // to `room`
  int depth;   // how often it may yet be parted

  Key* to() const { return moves ? room : from; }
};

bool HasVectors() {
  static const bool has = Cpu().avx512 && GetConfig().isa != "avx2";
  return has;
}

template <typename Key, bool equal_left>
int64_t PartHere(const Key* from, int64_t n, Key pivot, Key* left, Key* right) {
  if (HasVectors()) return vector_sort::Part<Key, equal_left>(from, n, pivot, left, right);
  Key* const begin = left;
  for (int64_t i = 0; i < n; ++i) {  // without a branch: both are written, one is kept
    const Key v = from[i];
    const bool below = equal_left ? v <= pivot : v < pivot;
    *left = v;
    *right = v;
    left += below;
    right += !below;
  }
  return left - begin;
}

// About the middle one.
template <typename Key>
Key PivotOf(const Key* keys, int64_t n) {
  constexpr int64_t kMost = 64;
  std::array<Key, kMost> sample;
  const int64_t count = n < 2048 ? 16 : kMost, apart = n / count;
  for (int64_t i = 0; i < count; ++i) sample[i] = keys[apart / 2 + i * apart];
  if (HasVectors()) {
    vector_sort::SortShort(sample.data(), count, sample.data());
  } else {
    std::nth_element(sample.begin(), sample.begin() + count / 2, sample.begin() + count);
  }
  return sample[count / 2];
}

// Parts a range in two, each with the room that the other leaves. Where the smallest key is the
// pivot, what equals it is in order already, and but one is left.
template <typename Key>
std::array<Range<Key>, 2> Split(const Range<Key>& r) {
  const Key pivot = PivotOf(r.from, r.n);
  Key* const left = r.to();  // where the lower half stays
  Key* const right = r.moves ? r.from : r.room;
  int64_t below = PartHere<Key, false>(r.from, r.n, pivot, left, right);
  const bool least = below == 0;
  if (least) {
    // All are in `right`, in their order.
    if (right != r.from) std::copy(right, right + r.n, r.from);
    below = PartHere<Key, true>(r.from, r.n, pivot, left, right);
  }
  const int64_t above = r.n - below;
  return {Range<Key>{left, right + above, least ? 0 : below, false, r.depth - 1},
          Range<Key>{right, left + below, above, true, r.depth - 1}};
}

// By digits from the lowest, those that all keys share left out.
template <typename Key>
void SortDigits(const Range<Key>& r) {
  using Bits = std::make_unsigned_t<Key>;
  constexpr int kDigit = 8, kDigits = sizeof(Key) * 8 / kDigit;
  constexpr Bits kSign = Bits{1} << (sizeof(Key) * 8 - 1);
  std::vector<std::array<int64_t, 1 << kDigit>> counts(kDigits);
  for (int64_t i = 0; i < r.n; ++i) {
    Bits v = static_cast<Bits>(r.from[i]) ^ kSign;
    for (int d = 0; d < kDigits; ++d, v >>= kDigit) ++counts[d][v & 255];
  }
  Key *from = r.from, *to = r.room;
  for (int d = 0; d < kDigits; ++d) {
    auto& places = counts[d];
    int64_t at = 0;
    bool same = false;
    for (int64_t& place : places) {
      same |= place == r.n;
      at += std::exchange(place, at);
    }
    if (same) continue;
    for (int64_t i = 0; i < r.n; ++i)
      to[places[((static_cast<Bits>(from[i]) ^ kSign) >> (d * kDigit)) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != r.to()) std::copy(from, from + r.n, r.to());
}

template <typename Key>
void SortRange(Range<Key> r) {
  const bool vectors = HasVectors();
  while (vectors && r.depth > 0 && r.n > vector_sort::kNetwork<Key>) {
    const auto [low, high] = Split(r);
    SortRange(low);
    r = high;
  }
  if (r.n == 0) return;
  if (vectors && r.n <= vector_sort::kNetwork<Key>)
    return vector_sort::SortShort(r.from, r.n, r.to());
  if (!vectors && r.n > tuned::kFewKeys) return SortDigits(r);
  if (r.moves) std::copy(r.from, r.from + r.n, r.room);
  std::sort(r.to(), r.to() + r.n);
}

template <typename Key>
void SortAll(Key* keys, int64_t n, Key* scratch) {
  const int depth = 2 * std::bit_width(static_cast<uint64_t>(n));
  const Range<Key> all{keys, scratch, n, false, depth};
  const int threads = NumThreads();
  if (threads == 1 || n < tuned::kSharedKeys) return SortRange(all);
  std::vector<Range<Key>> ranges = {all};
  for (size_t wanted = 2; wanted < 8 * static_cast<size_t>(threads); wanted *= 2) {
    std::vector<Range<Key>> parts(2 * ranges.size());
    ParallelFor(static_cast<int64_t>(ranges.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto halves = ranges[i].n < tuned::kSharedKeys / 4
                                ? std::array<Range<Key>, 2>{ranges[i], Range<Key>{}}
                                : Split(ranges[i]);
        parts[2 * i] = halves[0];
        parts[2 * i + 1] = halves[1];
      }
    });
    std::erase_if(parts, [](const Range<Key>& part) { return part.n == 0; });
    ranges = std::move(parts);
  }
  ParallelFor(static_cast<int64_t>(ranges.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) SortRange(ranges[i]);
  });
}

}  // namespace

void SortKeys(int32_t* keys, int64_t n, int32_t* scratch) { SortAll(keys, n, scratch); }
void SortKeys(int64_t* keys, int64_t n, int64_t* scratch) { SortAll(keys, n, scratch); }

}  // namespace frazil
