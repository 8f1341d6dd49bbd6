#include "frozen/digest.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace frazil::frozen {
namespace {

constexpr size_t kBlock = 64, kLanes = 16, kDigest = 32;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the
// cube roots of the first 64.
constexpr uint32_t kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// One number for each lane: a vector of the compiler's, or one number.
template <int kCount>
struct LanesOf {
  typedef uint32_t Type __attribute__((vector_size(4 * kCount)));
};
template <>
struct LanesOf<1> {
  using Type = uint32_t;
};

uint32_t BigEndian(const char* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return __builtin_bswap32(word);
}

// A block of each lane, `stride` bytes apart (0: the same). By a macro, so that the code stands in
// functions for different processors.
#define FZ_ROTATED(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define FZ_HASH_BLOCK(kCount, state, data, stride)                                      \
  do {                                                                                  \
    using V = typename LanesOf<kCount>::Type;                                           \
    const char* const at = (data);                                                      \
    V w[64];                                                                            \
    for (int i = 0; i < 16; ++i) {                                                      \
      uint32_t words[kCount];                                                           \
      for (size_t lane = 0; lane < (kCount); ++lane)                                    \
        words[lane] = BigEndian(at + lane * (stride) + 4 * static_cast<size_t>(i));     \
      std::memcpy(&w[i], words, sizeof(V));                                             \
    }                                                                                   \
    for (int i = 16; i < 64; ++i) {                                                     \
      const V x = w[i - 15], y = w[i - 2];                                              \
      w[i] = w[i - 16] + w[i - 7] + (FZ_ROTATED(x, 7) ^ FZ_ROTATED(x, 18) ^ (x >> 3)) + \
             (FZ_ROTATED(y, 17) ^ FZ_ROTATED(y, 19) ^ (y >> 10));                       \
    }                                                                                   \
    V a = (state)[0], b = (state)[1], c = (state)[2], d = (state)[3];                   \
    V e = (state)[4], f = (state)[5], g = (state)[6], h = (state)[7];                   \
    for (int i = 0; i < 64; ++i) {                                                      \
      const V one = h + (FZ_ROTATED(e, 6) ^ FZ_ROTATED(e, 11) ^ FZ_ROTATED(e, 25)) +    \
                    ((e & f) ^ (~e & g)) + kRound[i] + w[i];                            \
      const V two = (FZ_ROTATED(a, 2) ^ FZ_ROTATED(a, 13) ^ FZ_ROTATED(a, 22)) +        \
                    ((a & b) ^ (a & c) ^ (b & c));                                      \
      h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;             \
    }                                                                                   \
    const V after[8] = {a, b, c, d, e, f, g, h};                                        \
    for (int i = 0; i < 8; ++i) (state)[i] += after[i];                                 \
  } while (false)

// The block behind whole ones: a one, zeros, and how many bits there were.
std::array<char, kBlock> EndOf(uint64_t bytes) {
  std::array<char, kBlock> end{};
  end[0] = static_cast<char>(0x80);
  const uint64_t bits = __builtin_bswap64(bytes * 8);
  std::memcpy(end.data() + kBlock - 8, &bits, 8);
  return end;
}

void Store(uint32_t word, char* out) {
  word = __builtin_bswap32(word);
  std::memcpy(out, &word, 4);
}

void HashOne(std::string_view bytes, char* digest) {
  uint32_t state[8];
  std::memcpy(state, kStart, sizeof state);
  const size_t whole = bytes.size() / kBlock, rest = bytes.size() % kBlock;
  for (size_t i = 0; i < whole; ++i) FZ_HASH_BLOCK(1, state, bytes.data() + i * kBlock, 0);
  std::array<char, kBlock> end = EndOf(bytes.size());
  if (rest > 0) {
    std::array<char, kBlock> first{};
    std::memcpy(first.data(), bytes.data() + whole * kBlock, rest);
    first[rest] = static_cast<char>(0x80);
    end[0] = 0;
    if (rest + 9 <= kBlock) {
      std::memcpy(first.data() + kBlock - 8, end.data() + kBlock - 8, 8);
      end = first;
    } else {
      FZ_HASH_BLOCK(1, state, first.data(), 0);
    }
  }
  FZ_HASH_BLOCK(1, state, end.data(), 0);
  for (size_t i = 0; i < 8; ++i) Store(state[i], digest + 4 * i);
}

// Which of several it is gets chosen before the thread sanitizer is there, whose code that would call.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#endif
void HashChunks(const char* data, char* digests) {
  using V = LanesOf<kLanes>::Type;
  V state[8];
  for (int i = 0; i < 8; ++i) state[i] = V{} + kStart[i];
  for (size_t i = 0; i < kChunk / kBlock; ++i)
    FZ_HASH_BLOCK(kLanes, state, data + i * kBlock, kChunk);
  const std::array<char, kBlock> end = EndOf(kChunk);
  FZ_HASH_BLOCK(kLanes, state, end.data(), 0);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      Store(state[i][lane], digests + lane * kDigest + 4 * i);
  }
}

}  // namespace

std::string Digest(std::string_view bytes) {
  const size_t chunks = (bytes.size() + kChunk - 1) / kChunk;
  std::string digests(chunks * kDigest, '\0');
  size_t i = 0;
  for (; (i + kLanes) * kChunk <= bytes.size(); i += kLanes)
    HashChunks(bytes.data() + i * kChunk, digests.data() + i * kDigest);
  for (; i < chunks; ++i) HashOne(bytes.substr(i * kChunk, kChunk), digests.data() + i * kDigest);
  char digest[kDigest];
  HashOne(digests, digest);
  std::string text;
  for (const char c : digest) {
    text += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

}  // namespace frazil::frozen
