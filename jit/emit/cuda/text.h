// Lines of C with indentation, and the user's line before each of them. Used by the CUDA printer.
#pragma once

#include <string>

#include "core/str.h"

namespace frazil::jit::cuda {

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

  // What `write` writes, as a string of its own.
  template <typename F>
  std::string Capture(const F& write) {
    std::string outer;
    outer.swap(text_);
    write();
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
