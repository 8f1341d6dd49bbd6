#include "tests/cuda/fake/image.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace fake {
namespace {

struct Header {
  char magic[8];
  uint32_t arch, reserved;
  uint64_t bytes, sum;
};
constexpr char kMagic[] = "FAKECUBN";
constexpr char kPtx[] = "//\n// PTX of the fake NVRTC\n//\n";

uint64_t Sum(const char* bytes, size_t count) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i)
    sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  return sum;
}

int Nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

std::string MakeCubin(int arch, const std::string& library) {
  Header header{.arch = uint32_t(arch),
                .reserved = 0,
                .bytes = library.size(),
                .sum = Sum(library.data(), library.size())};
  std::memcpy(header.magic, kMagic, 8);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + library;
}

std::string MakePtx(int arch, int version, const std::string& library) {
  std::string text = kPtx;
  text += ".compiler " + std::to_string(version) + "\n.target sm_" + std::to_string(arch) + "\n//";
  constexpr char kDigits[] = "0123456789abcdef";
  for (const unsigned char c : library) {
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  text += '\n';
  text += '\0';
  return text;
}

bool ReadImage(const void* image, Image* out) {
  const char* bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, kPtx, sizeof(kPtx) - 1) == 0) {
    int used = 0;
    out->ptx = true;
    if (std::sscanf(bytes + sizeof(kPtx) - 1, ".compiler %d\n.target sm_%d\n//%n", &out->version,
                    &out->arch, &used) != 2)
      return false;
    const char* digits = bytes + sizeof(kPtx) - 1 + used;
    for (; *digits != '\n'; digits += 2) {
      if (digits[0] == 0 || digits[1] == 0) return false;
      out->library += char(Nibble(digits[0]) << 4 | Nibble(digits[1]));
    }
    return true;
  }
  Header header;
  if (std::memcmp(bytes, kMagic, 8) != 0) return false;
  std::memcpy(&header, bytes, sizeof(header));
  out->arch = int(header.arch);
  out->library.assign(bytes + sizeof(header), header.bytes);
  return Sum(out->library.data(), out->library.size()) == header.sum;
}

}  // namespace fake
