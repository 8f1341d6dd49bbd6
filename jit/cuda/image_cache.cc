#include "jit/cuda/image_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/config.h"
#include "core/str.h"

namespace frazil::cuda {
namespace {

constexpr char kMagic[8] = {'f', 'z', 'c', 'u', 'd', 'a', '0', '1'};

// FNV-1a, twice with different starts: names files and finds torn ones; the key itself decides.
uint64_t Hash(std::string_view bytes, uint64_t h) {
  for (const char c : bytes) h = (h ^ uint8_t(c)) * 1099511628211u;
  return h ^ h >> 29;
}

bool MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return MakeFolder(path.substr(0, slash)) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

bool IsOurs(const struct stat& s) {
  return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Empty: no files.
std::string Folder() {
  const std::string& set = GetConfig().cache_dir;
  if (set == "none") return "";
  std::string folder = set;
  if (folder.empty()) {
    const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (xdg && *xdg == '/')
      folder = StrCat(xdg, "/frazil");
    else if (home && *home == '/')
      folder = StrCat(home, "/.cache/frazil");
    else
      return "";
  }
  struct stat s;
  if (!MakeFolder(folder) || stat(folder.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || !IsOurs(s))
    return "";
  return folder;
}

std::string PathOf(const std::string& folder, const std::string& key) {
  return StrCat(folder, "/", absl::Hex(Hash(key, 14695981039346656037u), absl::kZeroPad16),
                absl::Hex(Hash(key, 1), absl::kZeroPad16), ".cubin");
}

void AppendWord(std::string* out, uint64_t word) {
  out->append(reinterpret_cast<const char*>(&word), sizeof word);
}
bool TakeWord(std::string_view* in, uint64_t* word) {
  if (in->size() < sizeof *word) return false;
  std::memcpy(word, in->data(), sizeof *word);
  in->remove_prefix(sizeof *word);
  return true;
}

bool ReadAll(int file, size_t bytes, std::string* out) {
  out->resize(bytes);
  for (size_t at = 0; at < bytes;) {
    const ssize_t n = read(file, out->data() + at, bytes - at);
    if (n <= 0) return false;
    at += size_t(n);
  }
  return true;
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

// magic, lengths of key and image, hash of the image, key, image.
std::optional<std::string> ImageIn(std::string_view file, const std::string& key) {
  uint64_t key_bytes = 0, image_bytes = 0, hash = 0;
  if (file.substr(0, sizeof kMagic) != std::string_view(kMagic, sizeof kMagic)) return std::nullopt;
  file.remove_prefix(sizeof kMagic);
  if (!TakeWord(&file, &key_bytes) || !TakeWord(&file, &image_bytes) || !TakeWord(&file, &hash))
    return std::nullopt;
  if (key_bytes > file.size() || image_bytes != file.size() - key_bytes) return std::nullopt;
  if (file.substr(0, key_bytes) != key) return std::nullopt;
  const std::string_view image = file.substr(key_bytes);
  if (Hash(image, 2) != hash) return std::nullopt;
  return std::string(image);
}

}  // namespace

std::optional<std::string> LoadImage(const std::string& key, bool* rejected) {
  const std::string folder = Folder();
  if (folder.empty()) return std::nullopt;
  const int file = open(PathOf(folder, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  struct stat s;
  std::string text;
  std::optional<std::string> image;
  if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && IsOurs(s) &&
      ReadAll(file, size_t(s.st_size), &text))
    image = ImageIn(text, key);
  close(file);
  if (!image && rejected) *rejected = true;
  return image;
}

void StoreImage(const std::string& key, const std::string& image) {
  const std::string folder = Folder();
  if (folder.empty()) return;
  std::string head(kMagic, sizeof kMagic);
  AppendWord(&head, key.size());
  AppendWord(&head, image.size());
  AppendWord(&head, Hash(image, 2));
  std::string temporary = StrCat(folder, "/.new-XXXXXX");
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return;
  const bool whole = WriteAll(file, head) && WriteAll(file, key) && WriteAll(file, image);
  if (close(file) != 0 || !whole ||
      std::rename(temporary.c_str(), PathOf(folder, key).c_str()) != 0)
    unlink(temporary.c_str());
}

}  // namespace frazil::cuda
