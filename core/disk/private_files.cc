#include "core/disk/private_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/config.h"
#include "core/str.h"

namespace frazil {
namespace {

bool MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return MakeFolder(path.substr(0, slash)) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

bool IsOurs(int file, mode_t kind) {
  struct stat s;
  return fstat(file, &s) == 0 && (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() &&
         (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

OpenFile::~OpenFile() {
  if (file_ >= 0) close(file_);
}

std::string KeptFolder() {
  const std::string& set = GetConfig().cache_dir;
  if (set == "none") return "";
  if (!set.empty()) return set;
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (xdg && *xdg == '/') return StrCat(xdg, "/frazil");
  if (home && *home == '/') return StrCat(home, "/.cache/frazil");
  return "";
}

OpenFile OpenPrivateFolder(const std::string& path, bool make) {
  if (path.empty() || (make && !MakeFolder(path))) return OpenFile();
  OpenFile folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || !IsOurs(folder.get(), S_IFDIR)) return OpenFile();
  return folder;
}

OpenFile OpenPrivateFile(const OpenFile& folder, const std::string& name, int flags) {
  // Not blocking: should it be a pipe.
  flags |= O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  OpenFile file(openat(folder.get(), name.c_str(), flags, 0600));
  if (!file || !IsOurs(file.get(), S_IFREG)) return OpenFile();
  return file;
}

uint64_t BytesOf(int file) {
  struct stat s;
  return fstat(file, &s) == 0 ? uint64_t(s.st_size) : 0;
}

bool ReadAt(int file, void* to, size_t bytes, uint64_t offset) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t n = pread(file, static_cast<char*>(to) + at, bytes - at, off_t(offset + at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += size_t(n);
  }
  return true;
}

bool WriteAt(int file, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
    offset += uint64_t(n);
  }
  return true;
}

void AppendWord(std::string* out, uint64_t word) {
  out->append(reinterpret_cast<const char*>(&word), sizeof word);
}

// Eight bytes a step, each made part of all bits.
uint64_t StableHash(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u, kOther = 0xd6e8feb86659fd93u;
  uint64_t h = (seed ^ bytes.size()) * kOdd;
  const auto mix = [&h](uint64_t word) { h = std::rotl((h ^ word) * kOdd, 29) * kOther; };
  uint64_t word;
  for (; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  mix(word);
  h = (h ^ h >> 32) * kOdd;
  h = (h ^ h >> 29) * kOther;
  return h ^ h >> 32;
}

}  // namespace frazil
