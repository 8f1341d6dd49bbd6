// Digests of the parts of a file: SHA-256 (FIPS 180-4) over the SHA-256 digests of its chunks, so
// that sixteen chunks are hashed at a time, in the lanes of vectors. Called by frozen/loaded.cc; what
// Python writes (frazil/_export_file.py) makes the same with hashlib. Invariant: it depends on the
// bytes alone.
#pragma once

#include <string>
#include <string_view>

namespace frazil::frozen {

// A multiple of 64, and so that lines of neighbouring chunks fall into different sets of a cache.
inline constexpr size_t kChunk = 64 * 257;

// 64 hexadecimal digits.
std::string Digest(std::string_view bytes);

}  // namespace frazil::frozen
