// The words of a line of assembly. Called by the assembler. Invariant: what Tokenize accepts holds
// no byte of a comment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace frazil::npu {

struct Token {
  std::string text;
  bool quoted = false;
};

// Words, quoted text and single punctuation characters up to a comment; false if quoted text does
// not end.
bool Tokenize(std::string_view line, std::vector<Token>* tokens);
bool IsWordChar(char c);

// A decimal or hexadecimal number with an optional sign.
std::optional<int64_t> ParseNumber(std::string_view text);
// "s0" to "s31"
std::optional<int> ParseRegister(std::string_view text);
// A name that is no register.
bool IsLabelName(std::string_view text);

}  // namespace frazil::npu
