#include "jit/cuda/image_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/disk/private_files.h"
#include "core/str.h"

namespace frazil::cuda {
namespace {

constexpr char kMagic[8] = {'f', 'z', 'c', 'u', 'd', 'a', '0', '2'};

std::string NameOf(const std::string& key) {
  return StrCat(absl::Hex(StableHash(key), absl::kZeroPad16),
                absl::Hex(StableHash(key, 1), absl::kZeroPad16), ".cubin");
}

bool TakeWord(std::string_view* in, uint64_t* word) {
  if (in->size() < sizeof *word) return false;
  std::memcpy(word, in->data(), sizeof *word);
  in->remove_prefix(sizeof *word);
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
  if (StableHash(image, 2) != hash) return std::nullopt;
  return std::string(image);
}

}  // namespace

std::optional<std::string> LoadImage(const std::string& key, bool* rejected) {
  const OpenFile folder = OpenPrivateFolder(KeptFolder(), true);
  if (!folder) return std::nullopt;
  const OpenFile file = OpenPrivateFile(folder, NameOf(key), O_RDONLY);
  struct stat s;
  std::optional<std::string> image;
  if (file && fstat(file.get(), &s) == 0) {
    std::string text(size_t(s.st_size), '\0');
    if (ReadAt(file.get(), text.data(), text.size(), 0)) image = ImageIn(text, key);
  }
  if (!image && rejected)
    *rejected = faccessat(folder.get(), NameOf(key).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  return image;
}

void StoreImage(const std::string& key, const std::string& image) {
  const std::string path = KeptFolder();
  const OpenFile folder = OpenPrivateFolder(path, true);
  if (!folder) return;
  std::string text(kMagic, sizeof kMagic);
  AppendWord(&text, key.size());
  AppendWord(&text, image.size());
  AppendWord(&text, StableHash(image, 2));
  std::string temporary = StrCat(path, "/.new-XXXXXX");
  OpenFile file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return;
  const bool whole = WriteAt(file.get(), text + key + image, 0);
  if (close(file.Release()) != 0 || !whole ||
      std::rename(temporary.c_str(), StrCat(path, "/", NameOf(key)).c_str()) != 0)
    unlink(temporary.c_str());
}

}  // namespace frazil::cuda
