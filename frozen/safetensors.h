// The format safetensors, read: named tensors and remarks in one file. Called by frozen/loaded.cc
// and the fuzz targets; Python has a reader of its own (frazil/_safetensors.py), with the same
// rules. Invariant: nothing that the bytes say is believed before it is checked, and no memory is
// taken for what they only claim.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/dtype.h"
#include "core/status.h"

namespace frazil::frozen {

struct Safetensors {
  struct Entry {
    std::string name;
    DType dtype{};
    std::vector<int64_t> dims;
    std::string_view bytes;  // of the elements, row-major; part of what was parsed
  };
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;  // in the order of their bytes
};

// The message begins with what is wrong, without a name in brackets.
StatusOr<Safetensors> ParseSafetensors(std::string_view file);

// A file's bytes, mapped while it lives.
class MappedFile {
 public:
  static StatusOr<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& o) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(char* data, size_t size) : data_(data), size_(size) {}

  char* data_;
  size_t size_;
};

}  // namespace frazil::frozen
