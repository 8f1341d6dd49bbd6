// The format of tensors in files, safetensors: named tensors that can be mapped into memory. Called
// by bindings/python (fz.io), frazil.h and by what holds such a part inside.
//
// Little-endian: u64 bytes of the header; the header, JSON that tells dtype, shape and place of each
// tensor, and remarks under "__metadata__", strings by name; then the elements, row-major and
// without gaps. A file is written as the package `safetensors` writes it, byte for byte. complex128
// has no name in the format: such a tensor is stored as F64 with a last axis of 2, and a remark of
// the name "frazil.complex128 NAME" says so.
//
// Invariants: nothing a file says is believed before it is checked, and no memory is taken for what
// it says alone, so a damaged or hostile one is a ValueError that tells what is wrong. A file is
// written whole or not at all (core/files/new_file.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/files/told.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Remarks = std::vector<std::pair<std::string, std::string>>;

struct TensorFile {
  NamedTensors tensors;  // in the order of their elements
  Remarks metadata;      // without what this format keeps there itself
};

// `op`: for errors. ValueError for two tensors of one name, a name or a remark that is no UTF-8.
Status SaveTensors(std::string_view op, const std::string& path, const NamedTensors& tensors,
                   const Remarks& metadata = {}, Told told = NobodyTold);
// The same bytes, part by part.
Status WriteTensors(std::string_view op, const NamedTensors& tensors, const Remarks& metadata,
                    absl::FunctionRef<Status(std::string_view)> write);

// The file is mapped: elements are read when they are used first. What is assigned to the tensors
// stays in this process.
StatusOr<TensorFile> LoadTensors(std::string_view op, const std::string& path);
// What lies in `size` bytes of memory, which `keeper` keeps and nobody else writes. `what`: for
// errors, such as "'model.safetensors'".
StatusOr<TensorFile> TensorsIn(std::string_view op, std::string_view what, char* data, size_t size,
                               const std::shared_ptr<void>& keeper);

}  // namespace frazil
#pragma GCC visibility pop
