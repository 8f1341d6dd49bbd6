#include "frozen/digest.h"

#include <gtest/gtest.h>

namespace frazil::frozen {
namespace {

TEST(Digest, IsSha256OfTheDigestsOfChunks) {
  // hashlib's: sha256(b"").hexdigest(), sha256(sha256(b"abc").digest()).hexdigest(), and of 2^20
  // bytes i * 31 mod 256 in chunks of 16448.
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Digest("abc"), "4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358");
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(i * 31);
  EXPECT_EQ(Digest(bytes), "f456d4c805bbb69fe5b0d1f9aa73826d992f9cd8fa2b7b9501541b30505df0c8");
}

TEST(Digest, TellsEveryByteApart) {
  std::string bytes(3 * kChunk + 5, 'x');
  const std::string whole = Digest(bytes);
  for (size_t at = 0; at < bytes.size(); at += 997) {
    bytes[at] ^= 1;
    EXPECT_NE(Digest(bytes), whole) << at;
    bytes[at] ^= 1;
  }
  EXPECT_EQ(Digest(bytes), whole);
}

}  // namespace
}  // namespace frazil::frozen
