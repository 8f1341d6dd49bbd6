#include "bindings/cli/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace frazil::cli {
namespace {

struct Closer {
  void operator()(FILE* f) const {
    if (f != stdin) std::fclose(f);
  }
};

Status Failed(std::string_view what, const std::string& path) {
  return FileError("[frazil-npu] cannot ", what, " '", path, "': ", std::strerror(errno), ".");
}

}  // namespace

StatusOr<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<FILE, Closer> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!file) return Failed("open", path);
  std::string bytes;
  char buffer[65536];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) bytes.append(buffer, n);
  if (std::ferror(file.get())) return Failed("read", path);
  return bytes;
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return Failed("open", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written) return Failed("write", path);
  return absl::OkStatus();
}

}  // namespace frazil::cli
