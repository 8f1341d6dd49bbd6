#include "tests/cuda/fake/host_text.h"

#include <cctype>

namespace fake {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The word or sign that starts at `at`, after spaces; `at` goes behind it.
std::string Token(const std::string& text, size_t& at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  const size_t begin = at;
  while (at < text.size() && IsWord(text[at])) ++at;
  if (at == begin && at < text.size()) ++at;
  return text.substr(begin, at - begin);
}

// `at` is behind an opening bracket; goes behind the one that closes it.
void SkipBrackets(const std::string& text, size_t& at) {
  for (int depth = 1; depth > 0 && at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')') --depth;
  }
}

// "extern __shared__ T name[];" becomes "T* const name = (T*)fz_context.dynamic_shared;".
std::string NameDynamicShared(std::string text) {
  const std::string words = "extern __shared__";
  for (size_t found; (found = text.find(words)) != std::string::npos;) {
    const size_t begin = found + words.size(), bracket = text.find('[', begin),
                 end = text.find(';', begin);
    if (end == std::string::npos || bracket > end) break;
    size_t name = bracket;
    while (name > begin && std::isspace(static_cast<unsigned char>(text[name - 1]))) --name;
    const size_t name_end = name;
    while (name > begin && IsWord(text[name - 1])) --name;
    std::string type = text.substr(begin, name - begin);
    if (const size_t align = type.find("__align__("); align != std::string::npos) {
      size_t behind = align + 10;
      SkipBrackets(type, behind);
      type.erase(align, behind - align);
    }
    text.replace(found, end - found,
                 type + "* const " + text.substr(name, name_end - name) + " = (" + type +
                     "*)fz_context.dynamic_shared");
  }
  return text;
}

}  // namespace

std::vector<std::string> KernelNames(const std::string& cuda) {
  std::vector<std::string> names;
  const std::string word = "__global__";
  for (size_t at = cuda.find(word); at != std::string::npos; at = cuda.find(word, at)) {
    at += word.size();
    size_t next = at;
    if (Token(cuda, next) != "void") continue;
    std::string name = Token(cuda, next);
    if (name == "__launch_bounds__") {
      Token(cuda, next);
      SkipBrackets(cuda, next);
      name = Token(cuda, next);
    }
    names.push_back(name);
  }
  return names;
}

std::string HostText(const std::string& cuda, const std::string& file) {
  std::string text = "#include \"" FAKE_CUDA_FOLDER "/shim.h\"\n#line 1 \"" + file + "\"\n";
  text += NameDynamicShared(cuda);
  text += "\nFZ_SHIM_IMAGE(";
  for (const std::string& name : KernelNames(cuda)) text += "FZ_SHIM_ENTRY(" + name + ") ";
  return text + ")\n";
}

}  // namespace fake
