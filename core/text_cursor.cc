#include "core/text_cursor.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

namespace frazil {
namespace {

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '-' ||
         c == '.';
}

void AppendDevice(std::string* out, Device device) {
  if (!(device == Device())) StrAppend(out, "@", Name(device));
}

}  // namespace

void AppendType(std::string* out, const ArrayType& type, Strides strides) {
  StrAppend(out, ShortName(type.dtype), ToString(type.layout->dims()));
  AppendDevice(out, type.device);
  if (strides == Strides::kAlways || !type.layout->dense)
    StrAppend(out, " strides ", ToString(type.layout->strides()));
}

void AppendScalarType(std::string* out, DType dtype, Device device) {
  StrAppend(out, "scalar ", ShortName(dtype));
  AppendDevice(out, device);
}

void TextCursor::SkipSpace(size_t* at, int* line) const {
  while (*at < text_.size()) {
    const char c = text_[*at];
    if (c == '#') {
      *at = std::min(text_.find('\n', *at), text_.size());
    } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      *line += c == '\n';
      ++*at;
    } else {
      return;
    }
  }
}

std::string_view TextCursor::Word(size_t at) const {
  size_t end = at;
  while (end < text_.size() && IsWord(text_[end])) ++end;
  return text_.substr(at, end > at ? end - at : (at < text_.size() ? 1 : 0));
}

std::string_view TextCursor::Peek() const {
  size_t at = at_;
  int line = line_;
  SkipSpace(&at, &line);
  return Word(at);
}

std::string_view TextCursor::Take() {
  SkipSpace(&at_, &line_);
  const std::string_view word = Word(at_);
  at_ += word.size();
  return word;
}

bool TextCursor::TakeIf(std::string_view word) {
  if (Peek() != word) return false;
  Take();
  return true;
}

Status TextCursor::Expect(std::string_view word) {
  const std::string_view have = Take();
  if (have == word) return absl::OkStatus();
  if (have.empty()) return Fail("'", word, "' is missing at the end");
  return Fail("'", word, "' is needed, not '", have, "'");
}

StatusOr<int64_t> TextCursor::TakeInt() {
  const std::string_view word = Take();
  int64_t value;
  if (absl::SimpleAtoi(AbslView(word), &value)) return value;
  return Fail("'", word, "' is no integer");
}

StatusOr<std::string> TextCursor::TakeQuoted() {
  FZ_RETURN_IF_ERROR(Expect("\""));
  size_t end = at_;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n')
    end += text_[end] == '\\' ? 2 : 1;
  std::string text;
  if (end >= text_.size() || text_[end] != '"' ||
      !absl::CUnescape(AbslView(text_.substr(at_, end - at_)), &text))
    return Fail("a quoted text does not end");
  at_ = end + 1;
  return text;
}

StatusOr<Attrs> TextCursor::TakeList(std::string_view open, std::string_view close) {
  FZ_RETURN_IF_ERROR(Expect(open));
  Attrs list;
  while (!TakeIf(close)) {
    if (!list.empty()) FZ_RETURN_IF_ERROR(Expect(","));
    FZ_ASSIGN_OR_RETURN(const int64_t value, TakeInt());
    list.push_back(value);
  }
  return list;
}

StatusOr<ArrayType> TextCursor::TakeType(bool scalar) {
  ArrayType type;
  const std::string_view name = Take();
  const auto dtype = ParseDType(name);
  if (!dtype) return Fail("'", name, "' is no dtype");
  type.dtype = *dtype;
  Attrs dims;
  if (!scalar) {
    FZ_ASSIGN_OR_RETURN(dims, TakeList("[", "]"));
  }
  FZ_RETURN_IF_ERROR(CheckDims(what_, dims, SizeOf(*dtype)));
  if (TakeIf("@")) {
    std::string device(Take());
    if (TakeIf(":")) StrAppend(&device, ":", Take());
    FZ_ASSIGN_OR_RETURN(type.device, ParseDevice(device));
  }
  type.layout = Dense(dims);
  if (!scalar && TakeIf("strides")) {
    FZ_ASSIGN_OR_RETURN(const Attrs strides, TakeList("[", "]"));
    if (strides.size() != dims.size())
      return Fail(strides.size(), " strides for ", dims.size(), " axes");
    type.layout = Intern(dims, strides);
  }
  return type;
}

std::optional<std::string_view> TextCursor::TakeComment() {
  const size_t at = text_.find_first_not_of(" \t", at_);
  if (at == std::string_view::npos || text_[at] != '#') return std::nullopt;
  at_ = std::min(text_.find('\n', at), text_.size());
  std::string_view comment = text_.substr(at + 1, at_ - at - 1);
  comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
  return comment;
}

}  // namespace frazil
