// The header of a file of tensors (core/files/tensor_file.h) as rows. Called by tensor_file.
// Invariant: a header that ParseHeader takes has each name once, shapes of at most kMaxRank axes
// whose bytes can be counted, and places that are those bytes long; whether the places fill the
// file is for the caller to see.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/dtype.h"
#include "core/status.h"

namespace frazil::files {

inline constexpr std::string_view kMetadata = "__metadata__";
inline constexpr uint64_t kLongestHeader = 100'000'000;  // the package's

struct Row {
  std::string name;
  DType dtype{};
  absl::InlinedVector<int64_t, 6> shape;
  uint64_t begin = 0, end = 0;  // of its elements, behind the header
};

struct Header {
  std::vector<Row> rows;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Name of a dtype in the format, such as "F32"; empty for complex128, which has none.
std::string_view FormatName(DType dtype);
// Files begin with the tensors of the highest rank, as the package writes them.
int FormatRank(DType dtype);

// What is wrong is a ValueError without op and file, and without its full stop.
StatusOr<Header> ParseHeader(std::string_view text);

// The text of a header, filled up to a multiple of 8 bytes. ValueError as above.
StatusOr<std::string> WriteHeader(const Header& header);

}  // namespace frazil::files
