#include "bindings/cli/npy.h"

#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/backend.h"
#include "core/functions/ops.h"

namespace frazil::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Kind {
  std::string_view text;
  DType dtype;
};
constexpr Kind kKinds[] = {
    {"|b1", DType::kBool}, {"|i1", DType::kI8},  {"<i2", DType::kI16}, {"<i4", DType::kI32},
    {"<i8", DType::kI64},  {"|u1", DType::kU8},  {"<u2", DType::kU16}, {"<u4", DType::kU32},
    {"<u8", DType::kU64},  {"<f2", DType::kF16}, {"<f4", DType::kF32}, {"<f8", DType::kF64},
    {"<c8", DType::kC64},  {"<c16", DType::kC128}};

// What follows 'key': in a dictionary as NumPy prints it, up to `end`.
std::optional<std::string_view> Entry(std::string_view header, std::string_view key,
                                      std::string_view end) {
  const size_t at = header.find(StrCat("'", key, "':"));
  if (at == header.npos) return std::nullopt;
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const size_t stop = value.find(end);
  if (stop == value.npos) return std::nullopt;
  return value.substr(0, stop);
}

}  // namespace

StatusOr<Tensor> ParseNpy(std::string_view bytes, const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return ValueError("[npy] '", path, "' is no .npy file or is damaged: ", why, ".");
  };
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return wrong("its first bytes");
  const bool wide = bytes[6] >= 2;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
  const size_t start = (wide ? 12 : 10) + size_t{length};
  if (bytes[6] < 1 || bytes[6] > 3 || start > bytes.size()) return wrong("its header");
  const std::string_view header = bytes.substr(wide ? 12 : 10, length);
  const auto descr = Entry(header, "descr", ","), order = Entry(header, "fortran_order", ","),
             shape = Entry(header, "shape", ")");
  if (!descr || !order || !shape || !shape->starts_with('(')) return wrong("its header");
  std::optional<DType> dtype;
  for (const Kind& kind : kKinds) {
    if (*descr == StrCat("'", kind.text, "'")) dtype = kind.dtype;
  }
  if (!dtype) return wrong(StrCat("its dtype is ", *descr));
  if (*order != "False") return wrong("it is in Fortran order: write np.ascontiguousarray(x)");
  Attrs dims;
  for (absl::string_view part : absl::StrSplit(AbslView(shape->substr(1)), ',')) {
    int64_t extent;
    if (absl::StripAsciiWhitespace(part).empty()) continue;
    if (!absl::SimpleAtoi(part, &extent)) return wrong("its shape");
    dims.push_back(extent);
  }
  FZ_RETURN_IF_ERROR(CheckDims("npy", dims, SizeOf(*dtype)));
  const Layout* layout = Dense(dims);
  const auto size = static_cast<size_t>(layout->size * SizeOf(*dtype));
  if (bytes.size() - start != size)
    return wrong(StrCat("its array takes ", size, " bytes, and ", bytes.size() - start, " follow"));
  if (IsBool(*dtype)) {
    for (const char c : bytes.substr(start)) {
      if (c != 0 && c != 1) return wrong("a bool is neither 0 nor 1");
    }
  }
  FZ_ASSIGN_OR_RETURN(ValueRef value, Value::Allocate(*dtype, Device(), layout));
  if (size > 0) std::memcpy(value->data, bytes.data() + start, size);
  return Tensor(std::move(value));
}

StatusOr<std::string> PrintNpy(const Tensor& tensor) {
  const Tensor known =
      tensor.dtype() == DType::kBF16 ? ops::astype(tensor, DType::kF32) : tensor;
  const Tensor dense = known.layout()->dense ? known : Apply(OpId::k_copy, {&known});
  FZ_RETURN_IF_ERROR(dense.status());
  FZ_RETURN_IF_ERROR(Read(*dense.value()));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*dense.value()));
  std::string_view descr;
  for (const Kind& kind : kKinds) {
    if (kind.dtype == dense.dtype()) descr = kind.text;
  }
  std::string header =
      StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
             absl::StrJoin(dense.dims(), ", "), dense.rank() == 1 ? "," : "", "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  out += header;
  out.append(host->data, static_cast<size_t>(dense.size() * SizeOf(dense.dtype())));
  return out;
}

}  // namespace frazil::cli
