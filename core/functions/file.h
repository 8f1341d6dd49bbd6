// Named tensors in one file: what Python writes, C++ reads and back. Called by bindings/python
// (fz.io) and frazil.h.
//
// Format FZT1, little-endian: "FZT1", u32 count; per tensor: u32 length and bytes of the name, u8
// length and bytes of the dtype's short name, u8 rank, i64 extents, then the elements in row-major
// order. Invariant: a file is checked before memory is taken for it; a damaged one is a clear
// error, never a crash.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

Status SaveTensors(const std::string& path, const NamedTensors& tensors);
StatusOr<NamedTensors> LoadTensors(const std::string& path);

}  // namespace frazil
#pragma GCC visibility pop
