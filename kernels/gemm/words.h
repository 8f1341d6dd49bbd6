// Matrices of words: four bytes that hold consecutive k of a row of A or of a column of B, as the
// instructions for short integers and the tiles of AMX multiply them.
// Called by kernels/gemm/word_gemm.cc and tile_gemm.cc. Invariant: exact copies of bits; k steps
// that do not fill a word, and words beyond k, are zero. Words stand in floats, which nobody
// computes with.
#pragma once

#include <cstdint>

#include "kernels/gemm/convert.h"

namespace frazil::gemm {

// How many k steps a word holds.
template <typename S>
inline constexpr int64_t kInWord = 4 / int64_t(sizeof(S));

template <typename S>
int64_t WordsOf(int64_t k) {
  return (k + kInWord<S> - 1) / kInWord<S>;
}

// dst[row * ld + w] for `words` words of every row. S is uint8_t, uint16_t or uint32_t.
template <typename S>
void RowWords(View<S> src, int64_t rows, int64_t k, int64_t words, float* dst, int64_t ld);

// Where columns go: panels of `width` columns, `apart` words from each other.
struct Panels {
  float* data;
  int64_t width;  // a multiple of 16, or no fewer than there are columns
  int64_t apart;
  float* At(int64_t word, int64_t column) const {
    return column < width ? data + word * width + column
                          : data + column / width * apart + word * width + column % width;
  }
};

// Word w of every column to dst.At(w, column), for `words` words.
template <typename S>
void ColumnWords(View<S> src, int64_t cols, int64_t k, int64_t words, const Panels& dst);

}  // namespace frazil::gemm
