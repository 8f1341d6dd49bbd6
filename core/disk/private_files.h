// Files that only this user can write, in the folder of what is kept for the next process. Called
// by whoever keeps something on disk (core/disk/disk_table, jit/cuda/image_cache). Invariant: what
// others could have written is not used; a folder or file that cannot be had is no error, only
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace frazil {

// A file descriptor, closed with it; -1: none.
class OpenFile {
 public:
  explicit OpenFile(int file = -1) : file_(file) {}
  ~OpenFile();
  OpenFile(OpenFile&& o) noexcept : file_(std::exchange(o.file_, -1)) {}
  OpenFile& operator=(OpenFile&& o) noexcept {
    std::swap(file_, o.file_);
    return *this;
  }
  explicit operator bool() const { return file_ >= 0; }
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// The folder that FRAZIL_CACHE_DIR says; empty: no files are to be kept.
std::string KeptFolder();

// None if the folder is not ours alone. `make`: with the folders above it if there is none yet.
OpenFile OpenPrivateFolder(const std::string& path, bool make);
// A regular file there; `flags` of open(2); made for us alone with O_CREAT. Links are not followed.
OpenFile OpenPrivateFile(const OpenFile& folder, const std::string& name, int flags);

// Of a file; 0 if that cannot be told.
uint64_t BytesOf(int file);

// All of it, or false.
bool ReadAt(int file, void* to, size_t bytes, uint64_t offset);
bool WriteAt(int file, std::string_view bytes, uint64_t offset);

void AppendWord(std::string* out, uint64_t word);

// The same in every process: names files, finds what is torn.
uint64_t StableHash(std::string_view bytes, uint64_t seed = 0);

}  // namespace frazil
