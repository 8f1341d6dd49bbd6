#include "core/files/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "core/files/system_error.h"

namespace frazil {
namespace {

// The file that `path` names, links followed; if there is none yet, where open(2) would make it.
std::string WithoutLinks(std::string path) {
  constexpr int kMostLinks = 40;  // as the system's
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat s;
    if (lstat(path.c_str(), &s) != 0 || !S_ISLNK(s.st_mode)) break;
    std::string to(4096, '\0');
    const ssize_t n = readlink(path.c_str(), to.data(), to.size());
    if (n <= 0 || size_t(n) == to.size()) break;
    to.resize(size_t(n));
    const size_t slash = path.rfind('/');
    path = to[0] == '/' || slash == std::string::npos ? to : path.substr(0, slash + 1) + to;
  }
  return path;
}

mode_t ModeFor(const std::string& target) {
  struct stat s;
  if (stat(target.c_str(), &s) == 0) return s.st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Status NewFile::Failed(std::string_view what) const { return SystemError(op_, what, path_); }

StatusOr<NewFile> NewFile::Create(std::string_view op, const std::string& path) {
  NewFile made{std::string(op), path};
  made.target_ = WithoutLinks(path);
  struct stat s;
  if (stat(made.target_.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) {
    errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
    return made.Failed("replace");
  }
  const size_t slash = made.target_.rfind('/');
  const std::string name = made.target_.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty()) {
    errno = path.empty() ? ENOENT : EISDIR;
    return made.Failed("write");
  }
  made.folder_ = slash == std::string::npos ? "." : made.target_.substr(0, slash + 1);
  constexpr size_t kLongest = 240;  // of 255, with what is added
  std::string temporary = StrCat(made.folder_, "/.", name.substr(0, kLongest), ".XXXXXX.tmp");
  made.file_ = OpenFile(mkostemps(temporary.data(), 4, O_CLOEXEC));
  if (!made.file_) return made.Failed("write");
  made.temporary_ = std::move(temporary);
  return made;
}

NewFile::~NewFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status NewFile::Write(std::string_view bytes, Told told) {
  constexpr size_t kAtOnce = size_t{1} << 23;
  while (!bytes.empty()) {
    const ssize_t n = write(file_.get(), bytes.data(), std::min(bytes.size(), kAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("write");
    bytes.remove_prefix(size_t(n));
    written_ += uint64_t(n);
    FZ_RETURN_IF_ERROR(told(written_));
  }
  return absl::OkStatus();
}

Status NewFile::Commit() {
  if (fchmod(file_.get(), ModeFor(target_)) != 0 || fsync(file_.get()) != 0) return Failed("write");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return Failed("replace");
  temporary_.clear();
  // The name, too, is on the disk.
  const OpenFile folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return Failed("write the folder of");
  return absl::OkStatus();
}

}  // namespace frazil
