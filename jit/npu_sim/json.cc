#include "jit/npu_sim/json.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace frazil::npu {
namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return uint8_t(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = size_t(std::countl_one(byte(0)));
  if (length < 2 || length > 4 || text.size() < length) return 0;
  uint32_t code = byte(0) & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[length] || code > 0x10ffff || surrogate ? 0 : length;
}

void Escape(uint8_t byte, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  out->append("\\u00");
  out->push_back(kHex[byte >> 4]);
  out->push_back(kHex[byte & 15]);
}

}  // namespace

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const char c = text[0];
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (length == 0 || uint8_t(c) < 0x20 || c == 0x7f) {
      Escape(uint8_t(c), &out);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out.push_back('"');
  return out;
}

}  // namespace frazil::npu
