// NumPy's .npy files, for the command line. Called by run.cc and its tests. Invariant: what a file
// says is checked before memory is taken for it; object arrays and Fortran order are errors.
#pragma once

#include <string>
#include <string_view>

#include "core/tensor.h"

namespace frazil::cli {

// `path`: for errors.
StatusOr<Tensor> ParseNpy(std::string_view bytes, const std::string& path);
// bfloat16, which NumPy has not, is written as float32.
StatusOr<std::string> PrintNpy(const Tensor& tensor);

}  // namespace frazil::cli
