// A whole number in decimal digits. Called where text from outside is a number (core/config.cc,
// core/settings.cc). Invariant: the text is nothing else: no blanks, no plus sign, and it fits.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace frazil {

inline std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t value;
  const char* end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || behind != end) return {};
  return value;
}

}  // namespace frazil
