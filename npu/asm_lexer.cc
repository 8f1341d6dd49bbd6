#include "npu/asm_lexer.h"

#include "absl/strings/numbers.h"
#include "core/str.h"
#include "npu/isa.h"

namespace frazil::npu {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int HexDigit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads the quoted text that begins at (*at); false if it does not end on this line.
bool ReadQuoted(std::string_view line, size_t* at, std::string* out) {
  size_t i = *at + 1;
  for (; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] != '\\') {
      out->push_back(line[i]);
      continue;
    }
    const std::string_view rest = line.substr(++i);
    if (rest.empty()) return false;
    if (rest[0] != 'x') {
      out->push_back(rest[0]);
      continue;
    }
    if (rest.size() < 3 || HexDigit(rest[1]) < 0 || HexDigit(rest[2]) < 0) return false;
    out->push_back(char(HexDigit(rest[1]) * 16 + HexDigit(rest[2])));
    i += 2;
  }
  *at = i + 1;
  return i < line.size();
}

}  // namespace

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+' || c == '/';
}

bool Tokenize(std::string_view line, std::vector<Token>* tokens) {
  tokens->clear();
  for (size_t i = 0; i < line.size() && line[i] != ';';) {
    if (IsBlank(line[i])) {
      ++i;
    } else if (line[i] == '"') {
      Token token{"", true};
      if (!ReadQuoted(line, &i, &token.text)) return false;
      tokens->push_back(std::move(token));
    } else {
      size_t end = i + 1;
      if (IsWordChar(line[i]))
        while (end < line.size() && IsWordChar(line[end])) ++end;
      tokens->push_back({std::string(line.substr(i, end - i))});
      i = end;
    }
  }
  return true;
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view digits = text.substr(negative ? 1 : 0);
  uint64_t value = 0;
  if (digits.empty() || HexDigit(digits[0]) < 0) return std::nullopt;
  const bool hex = digits.size() > 2 && digits.substr(0, 2) == "0x";
  if (!(hex ? absl::SimpleHexAtoi(AbslView(digits), &value)
            : absl::SimpleAtoi(AbslView(digits), &value)))
    return std::nullopt;
  if (value >> 63) return std::nullopt;
  return negative ? -int64_t(value) : int64_t(value);
}

std::optional<int> ParseRegister(std::string_view text) {
  if (text.size() < 2 || text[0] != 's' || (text[1] == '0' && text.size() > 2)) return std::nullopt;
  const std::optional<int64_t> n = ParseNumber(text.substr(1));
  if (!n || text[1] == '-' || *n >= kRegisters) return std::nullopt;
  return int(*n);
}

bool IsLabelName(std::string_view text) {
  const char c = text.empty() ? '0' : text[0];
  const bool begins = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return begins && !ParseRegister(text);
}

}  // namespace frazil::npu
