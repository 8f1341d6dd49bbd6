#include "core/files/tensor_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "core/layout.h"

namespace frazil::files {
namespace {

using nlohmann::json;

struct Named {
  std::string_view name;
  DType dtype;
};
// In the package's order.
constexpr std::array<Named, 14> kNames = {{{"BOOL", DType::kBool},
                                           {"U8", DType::kU8},
                                           {"I8", DType::kI8},
                                           {"I16", DType::kI16},
                                           {"U16", DType::kU16},
                                           {"F16", DType::kF16},
                                           {"BF16", DType::kBF16},
                                           {"I32", DType::kI32},
                                           {"U32", DType::kU32},
                                           {"F32", DType::kF32},
                                           {"C64", DType::kC64},
                                           {"F64", DType::kF64},
                                           {"I64", DType::kI64},
                                           {"U64", DType::kU64}}};

std::optional<DType> DTypeOf(std::string_view name) {
  for (const Named& row : kNames) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::string AllNames() {
  std::string all;
  for (const Named& row : kNames) StrAppend(&all, all.empty() ? "" : ", ", row.name);
  return all;
}

// Of what a file says, in a message.
std::string Shown(std::string_view text) {
  constexpr size_t kLongest = 80;
  const bool cut = text.size() > kLongest;
  return StrCat("'", absl::Utf8SafeCHexEscape(AbslView(text.substr(0, kLongest))),
                cut ? "...'" : "'");
}

// Takes the JSON apart as it is read: it has one form, so nothing is kept of what does not belong
// there, however large or deep it is.
class Reader : public nlohmann::json_sax<json> {
 public:
  explicit Reader(Header* header) : header_(header) {}
  const std::string& wrong() const { return wrong_; }

  bool start_object(size_t) override {
    switch (at_) {
      case At::kStart:
        return Go(At::kTop);
      case At::kTopValue:
        return Go(row_.name == kMetadata ? At::kRemarks : At::kRow);
      default:
        return Misplaced("an object");
    }
  }
  bool end_object() override {
    switch (at_) {
      case At::kTop:
        return Go(At::kEnd);
      case At::kRemarks:
        return Go(At::kTop);
      default:
        return Go(At::kTop) && FinishRow();
    }
  }
  bool start_array(size_t) override {
    if (at_ == At::kShapeValue) return Go(At::kShape);
    if (at_ == At::kPlaceValue) return Go(At::kPlace);
    return Misplaced("a list");
  }
  bool end_array() override { return Go(At::kRow); }

  bool key(std::string& key) override {
    switch (at_) {
      case At::kTop:
        if (!names_.insert(key).second) return Twice(key);
        row_ = Row();
        row_.name = std::move(key);
        kind_.reset(), shape_ = false, places_.reset();
        return Go(At::kTopValue);
      case At::kRemarks:
        if (!remarks_.insert(key).second) return Twice(key);
        header_->metadata.emplace_back(std::move(key), "");
        return Go(At::kRemark);
      default:
        return RowKey(key);
    }
  }
  bool string(std::string& text) override {
    if (at_ == At::kRemark) {
      header_->metadata.back().second = std::move(text);
      return Go(At::kRemarks);
    }
    if (at_ != At::kKind) return Misplaced(Shown(text));
    kind_ = DTypeOf(text);
    if (!kind_)
      return Fail(Shown(row_.name), " has dtype ", Shown(text), "; frazil has ", AllNames());
    return Go(At::kRow);
  }
  bool number_unsigned(uint64_t n) override {
    if (n > uint64_t(INT64_MAX)) return Misplaced(StrCat(n));
    if (at_ == At::kShape) {
      if (row_.shape.size() == kMaxRank)
        return Fail(Shown(row_.name), " has more than ", kMaxRank, " axes");
      row_.shape.push_back(int64_t(n));
      return true;
    }
    if (at_ != At::kPlace) return Misplaced(StrCat(n));
    if (*places_ == 2) return Fail(Shown(row_.name), " has data_offsets of more than two numbers");
    (*places_ == 0 ? row_.begin : row_.end) = n;
    ++*places_;
    return true;
  }
  bool number_integer(int64_t n) override { return Misplaced(StrCat(n)); }
  bool number_float(double, const std::string& text) override { return Misplaced(text); }
  bool null() override { return Misplaced("null"); }
  bool boolean(bool b) override { return Misplaced(b ? "true" : "false"); }
  bool binary(json::binary_t&) override { return Misplaced("bytes"); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string_view why = error.what();
    if (const size_t end = why.find("] "); end != std::string_view::npos)
      why.remove_prefix(end + 2);
    return Fail("its header is no JSON (", absl::Utf8SafeCHexEscape(AbslView(why.substr(0, 200))),
                ")");
  }

 private:
  enum class At {
    kStart,
    kTop,
    kTopValue,
    kRemarks,
    kRemark,
    kRow,
    kKind,
    kShapeValue,
    kShape,
    kPlaceValue,
    kPlace,
    kEnd
  };

  bool Go(At at) {
    at_ = at;
    return true;
  }
  template <typename... Args>
  bool Fail(const Args&... args) {
    wrong_ = StrCat(args...);
    return false;
  }
  bool Twice(const std::string& key) { return Fail("its header has ", Shown(key), " twice"); }

  // A value that does not belong where the reader is.
  bool Misplaced(std::string_view value) {
    switch (at_) {
      case At::kRemark:
      case At::kRemarks:
        return Fail(kMetadata, " must hold strings, got ", value);
      case At::kTopValue:
        if (row_.name == kMetadata) return Fail(kMetadata, " must hold strings, got ", value);
        return Fail(Shown(row_.name), " must have dtype, shape and data_offsets, and has ", value);
      case At::kKind:
        return Fail(Shown(row_.name), " has dtype ", value, ", which is no name");
      case At::kShape:
      case At::kShapeValue:
        return Fail(Shown(row_.name), " has ", value, " in its shape");
      case At::kPlace:
      case At::kPlaceValue:
        return Fail(Shown(row_.name), " has ", value, " in its data_offsets");
      default:
        return Fail("its header is no object but ", value);
    }
  }

  bool RowKey(const std::string& key) {
    if (key == "dtype") return kind_ ? Twice(key) : Go(At::kKind);
    if (key == "shape") {
      if (std::exchange(shape_, true)) return Twice(key);
      return Go(At::kShapeValue);
    }
    if (key == "data_offsets") {
      if (places_) return Twice(key);
      places_ = 0;
      return Go(At::kPlaceValue);
    }
    return Fail(Shown(row_.name), " must have dtype, shape and data_offsets, and has ", Shown(key));
  }

  bool FinishRow() {
    if (!kind_ || !shape_ || places_ != 2) {
      return Fail(Shown(row_.name), " must have dtype, shape and data_offsets, and lacks ",
                  !kind_    ? "dtype"
                  : !shape_ ? "shape"
                            : "data_offsets of two numbers");
    }
    row_.dtype = *kind_;
    int64_t need = SizeOf(row_.dtype);
    bool overflow = false, empty = false;
    for (const int64_t n : row_.shape) {
      empty |= n == 0;
      overflow |= __builtin_mul_overflow(need, std::max<int64_t>(n, 1), &need);
    }
    if (overflow)
      return Fail(Shown(row_.name), " has more bytes than an address can count: shape ",
                  ToString(Dims(row_.shape.data(), row_.shape.size())));
    if (empty) need = 0;
    if (row_.end < row_.begin || row_.end - row_.begin != uint64_t(need)) {
      return Fail(Shown(row_.name), " takes ", need, " bytes as ", FormatName(row_.dtype),
                  " of shape ", ToString(Dims(row_.shape.data(), row_.shape.size())),
                  ", and has data_offsets [", row_.begin, ", ", row_.end, "]");
    }
    header_->rows.push_back(std::move(row_));
    return true;
  }

  Header* header_;
  std::string wrong_;
  At at_ = At::kStart;
  absl::flat_hash_set<std::string> names_, remarks_;
  Row row_;
  std::optional<DType> kind_;
  bool shape_ = false;
  std::optional<int> places_;
};

}  // namespace

std::string_view FormatName(DType dtype) {
  for (const Named& row : kNames) {
    if (row.dtype == dtype) return row.name;
  }
  return "";
}

int FormatRank(DType dtype) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const Named& row) { return row.dtype == dtype; });
  return int(found - kNames.begin());
}

StatusOr<Header> ParseHeader(std::string_view text) {
  if (text.empty() || text[0] != '{') {
    return ValueError("its header begins with ", Shown(text.substr(0, 1)), ", not with '{'");
  }
  Header header;
  Reader reader(&header);
  if (!json::sax_parse(text.begin(), text.end(), &reader)) return ValueError(reader.wrong());
  // The reader of JSON takes a NUL for the end, whatever follows.
  if (text.find_last_not_of(" \t\r\n") != text.rfind('}'))
    return ValueError("its header does not end with '}'");
  return header;
}

StatusOr<std::string> WriteHeader(const Header& header) {
  std::string text = "{";
  try {
    const auto quoted = [](const std::string& s) { return json(s).dump(); };
    if (!header.metadata.empty()) {
      StrAppend(&text, "\"", kMetadata, "\":{");
      for (const auto& [key, value] : header.metadata)
        StrAppend(&text, text.back() == '{' ? "" : ",", quoted(key), ":", quoted(value));
      text += '}';
    }
    for (const Row& row : header.rows) {
      StrAppend(&text, text.size() == 1 ? "" : ",", quoted(row.name), ":{\"dtype\":\"",
                FormatName(row.dtype), "\",\"shape\":[");
      for (const int64_t n : row.shape) StrAppend(&text, text.back() == '[' ? "" : ",", n);
      StrAppend(&text, "],\"data_offsets\":[", row.begin, ",", row.end, "]}");
    }
  } catch (const json::exception&) {
    return ValueError("a name or a remark is no text in UTF-8");
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kLongestHeader) {
    return ValueError("the names and shapes take ", text.size(), " bytes, the format allows ",
                      kLongestHeader, ": write several files");
  }
  return text;
}

}  // namespace frazil::files
