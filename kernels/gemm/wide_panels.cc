#include "kernels/gemm/wide_panels.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "core/threads/long_work.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

constexpr int64_t kLanes = 16, kPanel = 4 * kLanes;  // columns
constexpr int64_t kRows = 6;                         // of a tile
// Of A from which laying B out is worth it, and k of which a panel stays in the second-level cache
// (bench/quantized.py).
constexpr int64_t kFewestRows = 16, kMostSteps = 8192;

#define FZ_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define FZ_INLINE FZ_VNNI __attribute__((always_inline)) inline

// The intrinsic costs copies of registers in GCC 12.
FZ_INLINE __m512i Dot(__m512i sum, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

// The intrinsics without masks read an uninitialised vector in GCC 12 (kernels/gemm/words.cc).
FZ_INLINE __m512i Low32(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi32(0xFFFF, a, b); }
FZ_INLINE __m512i High32(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi32(0xFFFF, a, b); }
FZ_INLINE __m512i Low64(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi64(0xFF, a, b); }
FZ_INLINE __m512i High64(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi64(0xFF, a, b); }
template <int lanes>
FZ_INLINE __m512i Lanes(__m512i a, __m512i b) {
  return _mm512_maskz_shuffle_i32x4(0xFFFF, a, b, lanes);
}

FZ_INLINE __mmask64 FirstBytes(int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// Up to 16 words of each of 16 columns, with 128 more in every byte, word after word to rows `apart`
// bytes from each other.
FZ_VNNI void LayOut(const int8_t* const (&columns)[kLanes], int64_t p, int64_t words, uint8_t* to,
                    int64_t apart) {
  const __m512i more = _mm512_set1_epi8(-128);
  const __mmask64 mask = FirstBytes(words * 4);
  __m512i part[4][4];  // [g][c]: word 4 L + c of columns 4 g to 4 g + 3, for lanes L of 16 bytes
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    __m512i x[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      x[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, columns[4 * g + i] + p), more);
    const __m512i low01 = Low32(x[0], x[1]), low23 = Low32(x[2], x[3]);
    const __m512i high01 = High32(x[0], x[1]), high23 = High32(x[2], x[3]);
    part[g][0] = Low64(low01, low23), part[g][1] = High64(low01, low23);
    part[g][2] = Low64(high01, high23), part[g][3] = High64(high01, high23);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even0 = Lanes<0x88>(part[0][c], part[1][c]);
    const __m512i odd0 = Lanes<0xDD>(part[0][c], part[1][c]);
    const __m512i even1 = Lanes<0x88>(part[2][c], part[3][c]);
    const __m512i odd1 = Lanes<0xDD>(part[2][c], part[3][c]);
    const __m512i turned[4] = {Lanes<0x88>(even0, even1), Lanes<0x88>(odd0, odd1),
                               Lanes<0xDD>(even0, even1), Lanes<0xDD>(odd0, odd1)};
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; ++lane) {
      if (const int64_t word = 4 * lane + c; word < words)
        _mm512_storeu_si512(to + word * apart, turned[lane]);
    }
  }
}

// `count` columns from j on, in `width` of them, those beyond as the last.
void LayOutPanel(const GemmArgs& g, int64_t j, int64_t count, int64_t width, uint8_t* to) {
  const int64_t words = g.k / 4, apart = width * 4;
  for (int64_t group = 0; group < width; group += kLanes) {
    const int8_t* columns[kLanes];
    for (int64_t i = 0; i < kLanes; ++i)
      columns[i] = static_cast<const int8_t*>(g.b.data) +
                   (j + std::min(group + i, count - 1)) * g.b.col_stride;
    for (int64_t w = 0; w < words; w += kLanes)
      LayOut(columns, 4 * w, std::min(kLanes, words - w), to + w * apart + group * 4, apart);
  }
}

// What the 128 more of B add to the sums of a row of A, negated.
FZ_VNNI int32_t Less(const int8_t* a, int64_t k) {
  __m512i sum = _mm512_setzero_si512();
  for (int64_t p = 0; p < k; p += 64)
    sum = Dot(sum, _mm512_set1_epi8(1), _mm512_maskz_loadu_epi8(FirstBytes(k - p), a + p));
  uint32_t lanes[kLanes], all = 0;
  _mm512_storeu_si512(lanes, sum);
  for (const uint32_t lane : lanes) all += lane;
  return static_cast<int32_t>(all * -128u);
}

// Where a tile reads and writes; `less` is of its rows, `last` the columns of its last vector.
struct TileCall {
  const int8_t* a;
  int64_t lda;
  const uint8_t* b;
  int64_t words;
  const int32_t* less;
  uint32_t* c;
  int64_t ldc;
  __mmask16 last;
};

template <int R, int V>
FZ_VNNI void Tile(const TileCall& call) {
  __m512i sums[R][V];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[r][v] = _mm512_set1_epi32(call.less[r]);
  }
  const int8_t* a = call.a;
  const uint8_t* b = call.b;
  const int64_t lda = call.lda;
  for (int64_t w = call.words; w > 0; --w, a += 4, b += V * 64) {
    __m512i columns[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) columns[v] = _mm512_loadu_si512(b + v * 64);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      int32_t word;
      std::memcpy(&word, a + r * lda, sizeof word);
      const __m512i row = _mm512_set1_epi32(word);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[r][v] = Dot(sums[r][v], columns[v], row);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
      _mm512_mask_storeu_epi32(call.c + r * call.ldc + v * kLanes, v + 1 < V ? 0xFFFF : call.last,
                               sums[r][v]);
  }
}

template <int V>
void Tiles(TileCall call, int64_t rows) {
  const auto some = [&]<int R>() {
    Tile<R, V>(call);
    call.a += R * call.lda, call.c += R * call.ldc, call.less += R, rows -= R;
  };
  while (rows >= kRows) some.template operator()<kRows>();
  if (rows >= 3) some.template operator()<3>();
  if (rows == 2) return some.template operator()<2>();
  if (rows == 1) some.template operator()<1>();
}

}  // namespace

bool TryWidePanels(const GemmArgs& g, Isa units) {
  if (units != Isa::kAvx512Vnni || g.m < kFewestRows || g.n < kLanes || g.a.col_stride != 1 ||
      g.b.row_stride != 1 || g.c.col_stride != 1 || g.k < 4 || g.k % 4 != 0 || g.k > kMostSteps)
    return false;
  Scratch& scratch = Scratch::ThisThread();
  const auto* const a = static_cast<const int8_t*>(g.a.data);
  auto* const less = scratch.Get<int32_t>(Scratch::kOutput, g.m);
  for (int64_t i = 0; i < g.m; ++i) less[i] = Less(a + i * g.a.row_stride, g.k);
  auto* const panel = scratch.Get<uint8_t>(Scratch::kWordsB, kPanel * g.k);
  for (int64_t j = 0; j < g.n; j += kPanel) {
    if (Abandoned()) return true;
    const int64_t count = std::min(kPanel, g.n - j);
    const int64_t vectors = (count + kLanes - 1) / kLanes;
    LayOutPanel(g, j, count, vectors * kLanes, panel);
    TileCall call{a,
                  g.a.row_stride,
                  panel,
                  g.k / 4,
                  less,
                  static_cast<uint32_t*>(g.c.data) + j,
                  g.c.row_stride,
                  0};
    call.last = static_cast<__mmask16>((1u << (count - (vectors - 1) * kLanes)) - 1);
    constexpr void (*kTiles[])(TileCall, int64_t) = {Tiles<1>, Tiles<2>, Tiles<3>, Tiles<4>};
    kTiles[vectors - 1](call, g.m);
  }
  return true;
}

}  // namespace frazil::gemm
