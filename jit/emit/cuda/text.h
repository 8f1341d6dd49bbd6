// Lines of C with indentation, and the user's line before each of them. Used by the CUDA printer.
#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "core/str.h"

namespace frazil::jit::cuda {

// Whether `text` has the name `word`: names that are declared and not used are warned of.
inline bool HasWord(const std::string& text, const std::string& word) {
  const auto letter = [](char c) { return c == '_' || absl::ascii_isalnum(c); };
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
    if ((at == 0 || !letter(text[at - 1])) && !letter(text[at + word.size()])) return true;
  }
  return false;
}

class Text {
 public:
  template <typename... Args>
  void Line(const Args&... args) {
    StrAppend(&text_, mark_);
    text_.append(2 * depth_, ' ');
    StrAppend(&text_, args..., "\n");
  }
  // At the left margin.
  template <typename... Args>
  void Directive(const Args&... args) {
    StrAppend(&text_, args..., "\n");
  }
  template <typename... Args>
  void Open(const Args&... args) {
    Line(args..., " {");
    ++depth_;
  }
  void Close(const char* end = "}") {
    --depth_;
    Line(end);
  }

  // "train.py:12": what follows belongs to that line. Empty: to the text itself.
  void Mark(const std::string& line) {
    const size_t colon = line.rfind(':');
    mark_.clear();
    if (colon == std::string::npos) return;
    std::string file;
    for (char c : line.substr(0, colon)) {
      if (c == '"' || c == '\\') file += '\\';
      if (c != '\n') file += c;
    }
    mark_ = StrCat("#line ", line.substr(colon + 1), " \"", file, "\"\n");
  }

  // What `write` writes, as a string of its own, for so many braces further in.
  template <typename F>
  std::string Capture(const F& write, int deeper = 0) {
    std::string outer;
    outer.swap(text_);
    depth_ += deeper;
    write();
    depth_ -= deeper;
    outer.swap(text_);
    return outer;
  }
  void Append(const std::string& text) { text_ += text; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_, mark_;
  int depth_ = 0;
};

}  // namespace frazil::jit::cuda
