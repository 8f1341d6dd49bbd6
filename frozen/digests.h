// The digests of a .frz file, "<64 digits> <name>" a line of its metadata "frazil.digests": of every
// other metadata and of every tensor. Called by frozen/loaded.cc. Invariant: what is checked has been
// taken before, so that nobody who writes to the file meanwhile changes it any more.
#pragma once

#include <map>
#include <string_view>

#include "core/files/tensor_file.h"
#include "core/tensor.h"

namespace frazil::frozen {

// By the names of tensors, which `file` keeps.
using FileMemory = std::map<std::string_view, ValueRef>;

// Memory of the program's own, for each tensor of the file.
StatusOr<FileMemory> MemoryFor(const TensorFile& file);

// Takes the elements out of the file and checks what has been taken, and the metadata. Long parts
// first, side by side.
Status TakeAndCheck(const TensorFile& file, const FileMemory& memory);

}  // namespace frazil::frozen
