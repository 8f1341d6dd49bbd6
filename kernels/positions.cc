#include "kernels/positions.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "core/cpu.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/dense_copy.h"

namespace frazil {
namespace {

// For 8 elements of a mask as bits, the numbers of those that are set, one after the other.
constexpr auto kSetBits = [] {
  std::array<uint64_t, 256> table{};
  for (uint64_t bits = 0; bits < 256; ++bits) {
    int at = 0;
    for (uint64_t i = 0; i < 8; ++i) {
      if (bits >> i & 1) table[bits] |= i << 8 * at++;
    }
  }
  return table;
}();

// Up to 64 elements as bits.
uint64_t BitsOf(const uint8_t* mask, int64_t n) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; ++i) bits |= uint64_t{mask[i] != 0} << i;
  return bits;
}
__attribute__((target("avx2"))) inline uint64_t Bits64(const uint8_t* mask) {
  const __m256i zero = _mm256_setzero_si256();
  const auto half = [&](const uint8_t* p) __attribute__((target("avx2"))) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return uint64_t{static_cast<uint32_t>(~_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, zero)))};
  };
  return half(mask) | half(mask + 32) << 32;
}

int64_t Count(const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += mask[i] != 0;
  return count;
}
__attribute__((target("avx2,popcnt"))) int64_t CountAvx2(const uint8_t* mask, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + 64 <= n; i += 64) count += std::popcount(Bits64(mask + i));
  return count + std::popcount(BitsOf(mask + i, n - i));
}

int64_t* WriteBits(uint64_t bits, int64_t first, int64_t* out, const int64_t* end) {
  for (; bits != 0 && out != end; bits &= bits - 1) *out++ = first + std::countr_zero(bits);
  return out;
}

// first + i for every i with mask[i], but nothing from `end` on: borrowed memory may have changed
// since it was counted.
int64_t* Write(const uint8_t* mask, int64_t n, int64_t first, int64_t* out, int64_t* end) {
  for (int64_t i = 0; i < n; i += 64)
    out = WriteBits(BitsOf(mask + i, std::min<int64_t>(64, n - i)), first + i, out, end);
  return out;
}
__attribute__((target("avx2,bmi,popcnt"))) int64_t* WriteAvx2(const uint8_t* mask, int64_t n,
                                                              int64_t first, int64_t* out,
                                                              int64_t* end) {
  constexpr int64_t kEight = 8;  // are written at once, of which some are meant
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t bits = Bits64(mask + i);
    if (std::popcount(bits) <= kEight || end - out < 64 + kEight) {
      out = WriteBits(bits, first + i, out, end);
      continue;
    }
    __m256i base = _mm256_set1_epi64x(first + i);
    for (int k = 0; k < 8; ++k, bits >>= 8, base = _mm256_add_epi64(base, _mm256_set1_epi64x(8))) {
      const __m128i places = _mm_cvtsi64_si128(static_cast<int64_t>(kSetBits[bits & 255]));
      const __m256i low = _mm256_add_epi64(base, _mm256_cvtepu8_epi64(places));
      const __m256i high = _mm256_add_epi64(base, _mm256_cvtepu8_epi64(_mm_srli_si128(places, 4)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 4), high);
      out += std::popcount(bits & 255);
    }
  }
  return i == n ? out : WriteBits(BitsOf(mask + i, n - i), first + i, out, end);
}

class Writer {
 public:
  Writer(const PositionsArgs& args, const uint8_t* mask)
      : args_(args),
        mask_(mask),
        write_(Cpu().avx2 ? WriteAvx2 : Write),
        rank_(args.mask->rank),
        row_(args.split ? args.mask->extents[rank_ - 1] : args.mask->size) {}

  // Elements [begin, end) of the mask, of which those before have `at` that are true; `limit`:
  // where those behind begin.
  void Run(int64_t begin, int64_t end, int64_t at, int64_t limit) const {
    if (!args_.split) {
      write_(mask_ + begin, end - begin, begin, args_.out + at, args_.out + limit);
      return;
    }
    int64_t* const columns = args_.out + (rank_ - 1) * args_.count;
    while (begin < end) {
      const int64_t row = begin / row_, column = begin - row * row_;
      const int64_t n = std::min(row_ - column, end - begin);
      const int64_t now = write_(mask_ + begin, n, column, columns + at, columns + limit) - columns;
      int64_t rest = row;
      for (int axis = rank_ - 1; axis-- > 0; rest /= args_.mask->extents[axis]) {
        int64_t* const out = args_.out + axis * args_.count;
        std::fill(out + at, out + now, rest % args_.mask->extents[axis]);
      }
      at = now;
      begin += n;
    }
  }

 private:
  const PositionsArgs& args_;
  const uint8_t* const mask_;
  int64_t* (*const write_)(const uint8_t*, int64_t, int64_t, int64_t*, int64_t*);
  const int rank_;
  const int64_t row_;
};

}  // namespace

bool Positions(const PositionsArgs& args) {
  const int64_t size = args.mask->size;
  if (size == 0) return args.count == 0;
  std::vector<char> dense;
  const char* data = args.mask_data;
  if (!args.mask->dense) {
    dense.resize(static_cast<size_t>(size));
    CopyDense(*args.mask, 1, data, dense.data());
    data = dense.data();
  }
  const auto* mask = reinterpret_cast<const uint8_t*>(data);
  const int64_t chunks = (size + tuned::kPositionsChunk - 1) / tuned::kPositionsChunk;
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1);  // first the chunks' own counts
  const auto count = Cpu().avx2 ? CountAvx2 : Count;
  const auto length = [&](int64_t chunk) {
    return std::min(tuned::kPositionsChunk, size - chunk * tuned::kPositionsChunk);
  };
  ParallelFor(chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      starts[c + 1] = count(mask + c * tuned::kPositionsChunk, length(c));
  });
  for (int64_t c = 0; c < chunks; ++c) starts[c + 1] += starts[c];
  if (starts[chunks] != args.count) return false;
  const Writer writer(args, mask);
  ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      writer.Run(c * tuned::kPositionsChunk, c * tuned::kPositionsChunk + length(c), starts[c],
                 starts[c + 1]);
  });
  return true;
}

}  // namespace frazil
