// Bytes of binary formats, one number behind another: little-endian words and DWARF's LEB128.
// Used by unwind.cc, elf_object.cc and code_names.cc. Invariant: none beyond the formats' own.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace frazil::jit {

class Bytes {
 public:
  template <typename T>
  Bytes& Word(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    text_.append(raw, sizeof(T));
    return *this;
  }
  Bytes& Byte(int value) { return Word(static_cast<uint8_t>(value)); }
  Bytes& Text(std::string_view text) {  // with its end
    text_.append(text).push_back('\0');
    return *this;
  }
  Bytes& Raw(std::string_view bytes) {
    text_.append(bytes);
    return *this;
  }
  Bytes& Unsigned(uint64_t value) {
    for (; value > 127; value >>= 7) Byte(int(value & 127) | 128);
    return Byte(int(value));
  }
  Bytes& Signed(int64_t value) {
    for (; value < -64 || value > 63; value >>= 7) Byte(int(value & 127) | 128);
    return Byte(int(value & 127));
  }
  Bytes& Align(size_t to, char with = '\0') {
    text_.append((to - text_.size() % to) % to, with);
    return *this;
  }
  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Behind its own length, as DWARF's parts are.
inline std::string WithLength(const Bytes& part) {
  return Bytes().Word(static_cast<uint32_t>(part.size())).Raw(part.text()).text();
}

}  // namespace frazil::jit
