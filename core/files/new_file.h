// A file that is there whole or not at all, whatever kills the process. Called by
// core/files/tensor_file and bindings/python. Invariant: until Commit, and if it fails, what the path names stays; a
// killed process may leave a file .NAME.XXXXXX.tmp beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/disk/private_files.h"
#include "core/files/told.h"
#include "core/status.h"

namespace frazil {

class NewFile {
 public:
  // `op`: for errors.
  static StatusOr<NewFile> Create(std::string_view op, const std::string& path);
  NewFile(NewFile&& o) noexcept
      : op_(std::move(o.op_)),
        path_(std::move(o.path_)),
        folder_(std::move(o.folder_)),
        target_(std::move(o.target_)),
        temporary_(std::exchange(o.temporary_, {})),
        written_(o.written_),
        file_(std::move(o.file_)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Status Write(std::string_view bytes, Told told = NobodyTold);
  // Takes the place of what the path names, a link's target included, when it is on the disk. The
  // mode is that of the old file, or what open(2) would give.
  Status Commit();

 private:
  NewFile(std::string op, std::string path) : op_(std::move(op)), path_(std::move(path)) {}
  Status Failed(std::string_view what) const;

  std::string op_, path_;        // as the caller says
  std::string folder_, target_;  // without links
  std::string temporary_;        // empty once it has its name
  uint64_t written_ = 0;
  OpenFile file_;
};

}  // namespace frazil
