// Quicksort of integers by AVX-512: a vector is parted by a mask, what is short is sorted by a
// network in registers (Bramas 2017, "A novel hybrid quicksort algorithm vectorized using
// AVX-512"). Called by kernels/order/sort_keys.cc where the processor has it.
//
// A part and as many elements of room lie in two places. What is below the pivot is moved together
// in one of them and the rest goes to the other, so nothing is copied back: either half has room
// where the other was.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#define FZ_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,popcnt")))

namespace frazil::vector_sort {

template <typename Key>
struct Lanes;

template <>
struct Lanes<int32_t> {
  static constexpr int kCount = 16;
  using Mask = __mmask16;
  FZ_AVX512 static __m512i Min(__m512i a, __m512i b) { return _mm512_min_epi32(a, b); }
  FZ_AVX512 static __m512i Max(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
  FZ_AVX512 static __m512i All(int32_t v) { return _mm512_set1_epi32(v); }
  FZ_AVX512 static Mask Less(__m512i a, __m512i b) { return _mm512_cmplt_epi32_mask(a, b); }
  // The smaller one of each lane, the larger one where `m` is set.
  FZ_AVX512 static __m512i Both(Mask m, __m512i a, __m512i b) {
    return _mm512_mask_max_epi32(_mm512_min_epi32(a, b), m, a, b);
  }
  FZ_AVX512 static __m512i Compress(Mask m, __m512i v) { return _mm512_maskz_compress_epi32(m, v); }
  FZ_AVX512 static __m512i Load(__m512i rest, Mask m, const int32_t* p) {
    return _mm512_mask_loadu_epi32(rest, m, p);
  }
  FZ_AVX512 static void Store(int32_t* p, Mask m, __m512i v) { _mm512_mask_storeu_epi32(p, m, v); }
};

template <>
struct Lanes<int64_t> {
  static constexpr int kCount = 8;
  using Mask = __mmask8;
  FZ_AVX512 static __m512i Min(__m512i a, __m512i b) { return _mm512_min_epi64(a, b); }
  FZ_AVX512 static __m512i Max(__m512i a, __m512i b) { return _mm512_max_epi64(a, b); }
  FZ_AVX512 static __m512i All(int64_t v) { return _mm512_set1_epi64(v); }
  FZ_AVX512 static Mask Less(__m512i a, __m512i b) { return _mm512_cmplt_epi64_mask(a, b); }
  FZ_AVX512 static __m512i Both(Mask m, __m512i a, __m512i b) {
    return _mm512_mask_max_epi64(_mm512_min_epi64(a, b), m, a, b);
  }
  FZ_AVX512 static __m512i Compress(Mask m, __m512i v) { return _mm512_maskz_compress_epi64(m, v); }
  FZ_AVX512 static __m512i Load(__m512i rest, Mask m, const int64_t* p) {
    return _mm512_mask_loadu_epi64(rest, m, p);
  }
  FZ_AVX512 static void Store(int64_t* p, Mask m, __m512i v) { _mm512_mask_storeu_epi64(p, m, v); }
};

template <typename Key>
constexpr typename Lanes<Key>::Mask FirstLanes(int64_t n) {
  return static_cast<typename Lanes<Key>::Mask>((1u << n) - 1);
}

// Lane i from lane i ^ bits.
template <typename Key, int bits, int... lane>
FZ_AVX512 inline __m512i Transposed(__m512i v, std::integer_sequence<int, lane...>) {
  typedef Key Vec __attribute__((vector_size(64)));
  const auto lanes = (Vec)v;
  return (__m512i)__builtin_shufflevector(lanes, lanes, (lane ^ bits)...);
}

// Lane i and lane i ^ bits in order.
template <typename Key, int bits>
FZ_AVX512 inline __m512i Exchange(__m512i v) {
  using L = Lanes<Key>;
  constexpr unsigned kTop = std::bit_floor(static_cast<unsigned>(bits));
  constexpr auto kUpper = [] {
    unsigned mask = 0;
    for (unsigned i = 0; i < L::kCount; ++i) mask |= (i & kTop ? 1u : 0u) << i;
    return static_cast<typename L::Mask>(mask);
  }();
  return L::Both(kUpper, v, Transposed<Key, bits>(v, std::make_integer_sequence<int, L::kCount>()));
}

// A vector that rises and then falls, or the other way round, in order.
template <typename Key>
FZ_AVX512 inline __m512i MergeLanes(__m512i v) {
  if constexpr (Lanes<Key>::kCount == 16) v = Exchange<Key, 8>(v);
  return Exchange<Key, 1>(Exchange<Key, 2>(Exchange<Key, 4>(v)));
}
template <typename Key>
FZ_AVX512 inline __m512i SortLanes(__m512i v) {
  v = Exchange<Key, 1>(v);
  v = Exchange<Key, 1>(Exchange<Key, 3>(v));
  v = Exchange<Key, 1>(Exchange<Key, 2>(Exchange<Key, 7>(v)));
  if constexpr (Lanes<Key>::kCount == 16)
    v = Exchange<Key, 1>(Exchange<Key, 2>(Exchange<Key, 4>(Exchange<Key, 15>(v))));
  return v;
}

// Two runs of `half` vectors each, in order, become one (Batcher's bitonic merge).
template <typename Key, int half>
FZ_AVX512 inline void MergeRuns(__m512i* v) {
  using L = Lanes<Key>;
  using Lane = std::make_integer_sequence<int, L::kCount>;
  __m512i upper[half];
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) {
    const __m512i other = Transposed<Key, L::kCount - 1>(v[2 * half - 1 - i], Lane());
    upper[i] = L::Max(v[i], other);
    v[i] = L::Min(v[i], other);
  }
#pragma GCC unroll 16
  for (int i = 0; i < half; ++i) v[half + i] = upper[i];
#pragma GCC unroll 16
  for (int apart = half / 2; apart > 0; apart /= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < 2 * half; ++i) {
      if (i & apart) continue;
      const __m512i low = L::Min(v[i], v[i + apart]);
      v[i + apart] = L::Max(v[i], v[i + apart]);
      v[i] = low;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < 2 * half; ++i) v[i] = MergeLanes<Key>(v[i]);
}

template <typename Key, int count>
FZ_AVX512 inline void SortVectors(__m512i* v) {
  if constexpr (count == 1) {
    v[0] = SortLanes<Key>(v[0]);
  } else {
    SortVectors<Key, count / 2>(v);
    SortVectors<Key, count / 2>(v + count / 2);
    MergeRuns<Key, count / 2>(v);
  }
}

// More than half of `count` vectors of keys, and at most as many.
template <typename Key, int count>
FZ_AVX512 void SortFew(const Key* from, int64_t n, Key* to) {
  using L = Lanes<Key>;
  const __m512i most = L::All(std::numeric_limits<Key>::max());
  __m512i v[count];
  constexpr int kFull = count / 2;
  typename L::Mask mask[count];
#pragma GCC unroll 16
  for (int i = 0; i < kFull; ++i) v[i] = _mm512_loadu_si512(from + i * L::kCount);
#pragma GCC unroll 16
  for (int i = kFull; i < count; ++i) {
    mask[i] = FirstLanes<Key>(std::clamp<int64_t>(n - i * L::kCount, 0, L::kCount));
    v[i] = L::Load(most, mask[i], from + i * L::kCount);
  }
  SortVectors<Key, count>(v);
#pragma GCC unroll 16
  for (int i = 0; i < kFull; ++i) _mm512_storeu_si512(to + i * L::kCount, v[i]);
#pragma GCC unroll 16
  for (int i = kFull; i < count; ++i) L::Store(to + i * L::kCount, mask[i], v[i]);
}

template <typename Key>
constexpr int64_t kNetwork = 16 * Lanes<Key>::kCount;  // what fits into registers

template <typename Key>
FZ_AVX512 void SortShort(const Key* from, int64_t n, Key* to) {
  constexpr int kCount = Lanes<Key>::kCount;
  if (n <= kCount) return SortFew<Key, 1>(from, n, to);
  if (n <= 2 * kCount) return SortFew<Key, 2>(from, n, to);
  if (n <= 4 * kCount) return SortFew<Key, 4>(from, n, to);
  if (n <= 8 * kCount) return SortFew<Key, 8>(from, n, to);
  return SortFew<Key, 16>(from, n, to);
}

// Keys below the pivot, or not above it, to `left`, the others to `right`; one of the two may be
// where they are. How many go to the left.
template <typename Key, bool equal_left>
FZ_AVX512 int64_t Part(const Key* from, int64_t n, Key pivot, Key* left, Key* right) {
  using L = Lanes<Key>;
  const __m512i middle = L::All(pivot);
  Key* const begin = left;
  int64_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount) {
    const __m512i v = _mm512_loadu_si512(from + i);
    const auto below =
        static_cast<typename L::Mask>(equal_left ? ~L::Less(middle, v) : L::Less(v, middle));
    const int count = std::popcount(static_cast<unsigned>(below));
    _mm512_storeu_si512(left, L::Compress(below, v));
    _mm512_storeu_si512(right, L::Compress(static_cast<typename L::Mask>(~below), v));
    left += count;
    right += L::kCount - count;
  }
  if (i < n) {
    const auto there = FirstLanes<Key>(n - i);
    const __m512i v = L::Load(middle, there, from + i);
    const auto below = static_cast<typename L::Mask>(
        there & (equal_left ? ~L::Less(middle, v) : L::Less(v, middle)));
    const int count = std::popcount(static_cast<unsigned>(below));
    L::Store(left, FirstLanes<Key>(count), L::Compress(below, v));
    L::Store(right, FirstLanes<Key>(n - i - count),
             L::Compress(static_cast<typename L::Mask>(there & ~below), v));
    left += count;
  }
  return left - begin;
}

}  // namespace frazil::vector_sort
