#include "frozen/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include "nlohmann/json.hpp"
#include <set>
#include <utility>

#include "core/layout.h"

namespace frazil::frozen {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLongestHeader = 100'000'000;  // the format's
constexpr size_t kMostEntries = 1 << 20;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, DType> kNames[] = {
    {"BOOL", DType::kBool}, {"U8", DType::kU8},   {"I8", DType::kI8},   {"I16", DType::kI16},
    {"U16", DType::kU16},   {"F16", DType::kF16}, {"BF16", DType::kBF16}, {"I32", DType::kI32},
    {"U32", DType::kU32},   {"F32", DType::kF32}, {"C64", DType::kC64}, {"F64", DType::kF64},
    {"I64", DType::kI64},   {"U64", DType::kU64}};

// The header as it is read, value by value: nothing else than what the format has gets further.
class Header : public Json::json_sax_t {
 public:
  struct Row {
    std::string name, dtype;
    std::vector<int64_t> dims, place;
    int parts = 0;  // a bit for each that was there
  };
  std::map<std::string, std::string> metadata;
  std::vector<Row> rows;
  std::string wrong;

  bool start_object(std::size_t) override {
    if (depth_ == 1 && !in_metadata_ && has_key_) rows.push_back({.name = name_});
    if (depth_ == 1 && !has_key_) return Fail("it is nested in a way that the format lacks");
    if (++depth_ > 2) return Fail("it is nested in a way that the format lacks");
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) {
      if (!in_metadata_ && rows.back().parts != 7)
        return Fail("'" + name_ + "' lacks dtype, shape or data_offsets");
      in_metadata_ = has_key_ = false;
    }
    return true;
  }
  bool key(std::string& key) override {
    has_key_ = true;
    if (depth_ == 1) {
      name_ = key;
      in_metadata_ = key == kMetadata;
      if (!names_.insert(key).second) return Fail("'" + key + "' is there twice");
      if (names_.size() > kMostEntries) return Fail("it has too many entries");
      return true;
    }
    key_ = key;
    if (in_metadata_) return !metadata.contains(key) || Fail("'" + key + "' is there twice");
    const int part = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
    if (!part || rows.back().parts & part) return Fail("'" + name_ + "' has a wrong '" + key + "'");
    rows.back().parts |= part;
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ != 2 || in_list_) return Fail("a string stands in a wrong place");
    if (in_metadata_) {
      metadata[key_] = value;
      return true;
    }
    if (key_ != "dtype") return Fail("'" + name_ + "' has a wrong '" + key_ + "'");
    rows.back().dtype = value;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_list_ || in_metadata_ || key_ == "dtype")
      return Fail("a list stands in a wrong place");
    return in_list_ = true;
  }
  bool end_array() override { return in_list_ = false, true; }
  bool number_unsigned(uint64_t value) override {
    if (!in_list_ || value > INT64_MAX) return Fail("'" + name_ + "' has a wrong size");
    auto& list = key_ == "shape" ? rows.back().dims : rows.back().place;
    if (list.size() == static_cast<size_t>(kMaxRank)) return Fail("'" + name_ + "' has many axes");
    list.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool number_integer(int64_t) override { return Fail("a size is negative"); }
  bool number_float(double, const std::string&) override { return Fail("a size is no integer"); }
  bool null() override { return Fail("null stands in it"); }
  bool boolean(bool) override { return Fail("a bool stands in it"); }
  bool binary(Json::binary_t&) override { return Fail("it is no JSON"); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    return Fail("it is no JSON from byte " + std::to_string(at) + " on");
  }

 private:
  bool Fail(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
    return false;
  }

  int depth_ = 0;
  bool in_metadata_ = false, in_list_ = false, has_key_ = false;
  std::string name_, key_;
  std::set<std::string> names_;
};

StatusOr<Safetensors::Entry> EntryOf(Header::Row& row, std::string_view data) {
  Safetensors::Entry entry;
  const auto* known = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const auto& pair) { return pair.first == row.dtype; });
  if (known == std::end(kNames))
    return ValueError("'", row.name, "' has dtype '", row.dtype, "', which frazil has not");
  entry.dtype = known->second;
  if (row.place.size() != 2 || row.place[0] > row.place[1] ||
      row.place[1] > static_cast<int64_t>(data.size()))
    return ValueError("'", row.name, "' has wrong data_offsets, and ", data.size(),
                      " bytes of elements are there");
  int64_t bytes = SizeOf(entry.dtype);
  for (const int64_t n : row.dims) {
    if (__builtin_mul_overflow(bytes, n, &bytes)) return ValueError("'", row.name, "' is too large");
  }
  const int64_t begin = row.place[0], end = row.place[1];
  if (bytes != end - begin)
    return ValueError("'", row.name, "' takes ", bytes, " bytes, and its data_offsets hold ",
                      end - begin);
  entry.bytes = data.substr(static_cast<size_t>(begin), static_cast<size_t>(bytes));
  if (IsBool(entry.dtype) && std::any_of(entry.bytes.begin(), entry.bytes.end(),
                                         [](char c) { return c != 0 && c != 1; }))
    return ValueError("'", row.name, "' is of bools, and has bytes that are neither 0 nor 1");
  entry.name = std::move(row.name);
  entry.dims = std::move(row.dims);
  return entry;
}

}  // namespace

StatusOr<Safetensors> ParseSafetensors(std::string_view file) {
  uint64_t length;
  if (file.size() < sizeof length) return ValueError("it has ", file.size(), " bytes");
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length || length > kLongestHeader)
    return ValueError("its header is said to take ", length, " bytes, after 8 of ", file.size());
  const std::string_view text = file.substr(sizeof length, length);
  const std::string_view data = file.substr(sizeof length + length);
  const size_t last = text.find_last_not_of(' ');
  if (!text.starts_with('{') || text[last] != '}')
    return ValueError("its header is not between '{' and '}'");
  Header header;
  if (!Json::sax_parse(text.begin(), text.end(), &header) || !header.wrong.empty())
    return ValueError("its header: ", header.wrong.empty() ? "it is no JSON" : header.wrong);
  Safetensors out;
  out.metadata = std::move(header.metadata);
  std::stable_sort(header.rows.begin(), header.rows.end(),
                   [](const auto& a, const auto& b) { return a.place < b.place; });
  const char* end = data.data();
  for (Header::Row& row : header.rows) {
    FZ_ASSIGN_OR_RETURN(Safetensors::Entry entry, EntryOf(row, data));
    if (entry.bytes.data() != end)
      return ValueError("'", entry.name, "' does not begin where the tensor before it ends");
    end += entry.bytes.size();
    out.entries.push_back(std::move(entry));
  }
  if (end != data.data() + data.size())
    return ValueError("its tensors take ", end - data.data(), " bytes, and ", data.size(),
                      " follow the header");
  return out;
}

StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const auto failed = [&] {
    return FileError("[load_program] cannot open '", path, "': ", std::strerror(errno), ".");
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  struct stat about;
  if (fstat(file, &about) != 0 || S_ISDIR(about.st_mode)) {
    if (S_ISDIR(about.st_mode)) errno = EISDIR;
    close(file);
    return failed();
  }
  const auto size = static_cast<size_t>(about.st_size);
  void* const data =
      size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  close(file);
  if (data == MAP_FAILED) return failed();
  return MappedFile(static_cast<char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
}

}  // namespace frazil::frozen
