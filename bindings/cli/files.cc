#include "bindings/cli/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/files/new_file.h"
#include "core/files/system_error.h"

namespace frazil::cli {
namespace {

struct Closer {
  void operator()(FILE* f) const {
    if (f != stdin) std::fclose(f);
  }
};

}  // namespace

StatusOr<std::string> ReadFile(std::string_view op, const std::string& path) {
  const std::unique_ptr<FILE, Closer> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!file) return SystemError(op, "open", path);
  std::string bytes;
  char buffer[65536];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) bytes.append(buffer, n);
  if (std::ferror(file.get())) return SystemError(op, "read", path);
  return bytes;
}

Status WriteFile(std::string_view op, const std::string& path, std::string_view bytes) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0 || S_ISREG(s.st_mode)) {
    FZ_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(op, path));
    FZ_RETURN_IF_ERROR(file.Write(bytes));
    return file.Commit();
  }
  // A pipe, a terminal, /dev/null.
  FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return SystemError(op, "open", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written) return SystemError(op, "write", path);
  return absl::OkStatus();
}

}  // namespace frazil::cli
