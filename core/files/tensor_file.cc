#include "core/files/tensor_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "core/backend.h"
#include "core/files/new_file.h"
#include "core/files/system_error.h"
#include "core/files/tensor_header.h"
#include "core/functions/ops.h"

namespace frazil {
namespace {

static_assert(std::endian::native == std::endian::little, "files of tensors are little-endian");

constexpr std::string_view kPairs = "frazil.complex128 ";
constexpr std::string_view kOldFormat = "FZT1";  // of frazil before it wrote safetensors
constexpr uint64_t kLength = 8;                  // bytes of the header's length

// Elements that lie one after another in the CPU's memory.
StatusOr<ValueRef> Elements(const Tensor& t) {
  FZ_RETURN_IF_ERROR(t.status());
  const Tensor dense = t.layout()->dense ? t : Apply(OpId::k_copy, {&t});
  FZ_RETURN_IF_ERROR(dense.status());
  FZ_RETURN_IF_ERROR(Read(*dense.value()));
  return OnHost(*dense.value());
}

bool HasWrongBools(const char* data, size_t size) {
  return std::any_of(data, data + size, [](char c) { return (c & ~1) != 0; });
}

// Memory that keeps its keeper.
StorageRef StorageIn(char* data, const std::shared_ptr<void>& keeper) {
  StorageRef storage = WrapForeign(
      data, [](void* context) { delete static_cast<std::shared_ptr<void>*>(context); },
      new std::shared_ptr<void>(keeper));
  // Ours alone, as memory that was allocated: ops that read it may be deferred, and it may be
  // written in place.
  storage->foreign = false;
  return storage;
}

StatusOr<Tensor> TensorOf(const files::Row& row, DType dtype, char* data,
                          const std::shared_ptr<void>& keeper) {
  const size_t axes = row.shape.size() - (dtype == row.dtype ? 0 : 1);
  const Layout* layout = Dense(Dims(row.shape.data(), axes));
  data += row.begin;
  const size_t bytes = row.end - row.begin;
  const size_t aligned = std::min<size_t>(SizeOf(row.dtype), alignof(double));
  if (bytes > 0 && std::bit_cast<uintptr_t>(data) % aligned == 0) {
    StorageRef storage = StorageIn(data, keeper);
    return Tensor(Value::Make(dtype, Device(), layout, std::move(storage), data));
  }
  FZ_ASSIGN_OR_RETURN(ValueRef value, Value::Allocate(dtype, Device(), layout));
  if (bytes > 0) std::memcpy(value->data, data, bytes);
  return Tensor(std::move(value));
}

// Whether the rows, in the order of their places, fill `size` bytes.
Status CheckPlaces(const std::vector<files::Row>& rows, uint64_t size) {
  uint64_t end = 0;
  for (const files::Row& row : rows) {
    if (row.end > size)
      return ValueError("'", row.name, "' has data_offsets [", row.begin, ", ", row.end, "], and ",
                        size, " bytes of elements are there");
    if (row.begin < end)
      return ValueError("'", row.name, "' begins at byte ", row.begin,
                        " of the elements, where another tensor is until ", end);
    if (row.begin > end)
      return ValueError("bytes ", end, " to ", row.begin, " of the elements belong to no tensor");
    end = row.end;
  }
  if (end != size) return ValueError("its tensors take ", end, " bytes, and ", size, " follow");
  return absl::OkStatus();
}

StatusOr<TensorFile> FileIn(char* data, size_t size, const std::shared_ptr<void>& keeper) {
  if (std::string_view(data, std::min(size, kOldFormat.size())) == kOldFormat)
    return ValueError("it is of frazil's old format ", kOldFormat,
                      ": load it with a version from before safetensors, and save it anew");
  if (size < kLength)
    return ValueError("it has ", size, " bytes, and the length of its header takes ", kLength);
  uint64_t length;
  std::memcpy(&length, data, sizeof length);
  if (length > size - kLength)
    return ValueError("its header is said to take ", length, " bytes, after ", kLength, " of ",
                      size);
  if (length > files::kLongestHeader)
    return ValueError("its header takes ", length, " bytes, more than ", files::kLongestHeader);
  FZ_ASSIGN_OR_RETURN(files::Header header, files::ParseHeader({data + kLength, length}));
  std::stable_sort(header.rows.begin(), header.rows.end(),
                   [](const files::Row& a, const files::Row& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  FZ_RETURN_IF_ERROR(CheckPlaces(header.rows, size - kLength - length));
  TensorFile file;
  absl::flat_hash_set<std::string> pairs;
  for (auto& [key, value] : header.metadata) {
    if (std::string_view(key).starts_with(kPairs)) {
      pairs.insert(key.substr(kPairs.size()));
    } else {
      file.metadata.emplace_back(std::move(key), std::move(value));
    }
  }
  data += kLength + length;
  for (files::Row& row : header.rows) {
    if (row.dtype == DType::kBool && HasWrongBools(data + row.begin, row.end - row.begin))
      return ValueError("'", row.name, "' is of bools, and has bytes that are neither 0 nor 1");
    const bool is_pairs = pairs.erase(row.name) > 0;
    if (is_pairs && (row.dtype != DType::kF64 || row.shape.empty() || row.shape.back() != 2))
      return ValueError("'", row.name,
                        "' is complex128 by a remark, but is not F64 with a last "
                        "axis of 2");
    FZ_ASSIGN_OR_RETURN(Tensor tensor,
                        TensorOf(row, is_pairs ? DType::kC128 : row.dtype, data, keeper));
    file.tensors.emplace_back(std::move(row.name), std::move(tensor));
  }
  if (!pairs.empty())
    return ValueError("a remark names '", *pairs.begin(), "', and there is no such tensor");
  return file;
}

Status Damaged(std::string_view op, std::string_view what, const Status& why) {
  if (KindOf(why) != ErrorKind::kValue) return why;
  return ValueError("[", op, "] ", what, " is no safetensors file or is damaged: ",
                    std::string_view(why.message().data(), why.message().size()), ".");
}

// A file of its own bytes in memory: what is written there stays there.
class Mapping {
 public:
  Mapping(char* data, size_t size) : data_(data), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_) munmap(data_, size_);
  }

 private:
  char* data_;
  size_t size_;
};

}  // namespace

Status WriteTensors(std::string_view op, const NamedTensors& tensors, const Remarks& metadata,
                    absl::FunctionRef<Status(std::string_view)> write) {
  // Everything is ready and dense before anything is written.
  absl::flat_hash_set<std::string_view> names;
  files::Header header;
  for (const auto& [key, value] : metadata) header.metadata.emplace_back(key, value);
  std::vector<ValueRef> values;
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto stored = [](DType dtype) { return dtype == DType::kC128 ? DType::kF64 : dtype; };
  for (const auto& [name, t] : tensors) {
    if (name == files::kMetadata)
      return ValueError("[", op, "] '", files::kMetadata, "' is no name for a tensor.");
    if (!names.insert(name).second)
      return ValueError("[", op, "] two tensors are named '", name, "': give each its own name.");
    FZ_ASSIGN_OR_RETURN(ValueRef value, Elements(t));
    if (value->dtype == DType::kC128)
      header.metadata.emplace_back(StrCat(kPairs, name), "real and imaginary along the last axis");
    values.push_back(std::move(value));
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int rank_a = files::FormatRank(stored(values[a]->dtype)),
              rank_b = files::FormatRank(stored(values[b]->dtype));
    return rank_a != rank_b ? rank_a > rank_b : tensors[a].first < tensors[b].first;
  });
  uint64_t end = 0;
  for (const size_t i : order) {
    const Value& value = *values[i];
    const uint64_t begin = end;
    end += uint64_t(value.size()) * SizeOf(value.dtype);
    files::Row row{tensors[i].first, stored(value.dtype), {}, begin, end};
    row.shape.assign(value.dims().begin(), value.dims().end());
    if (value.dtype == DType::kC128) row.shape.push_back(2);
    header.rows.push_back(std::move(row));
  }
  const StatusOr<std::string> text = files::WriteHeader(header);
  if (!text.ok()) return ValueError("[", op, "] ", std::string(text.status().message()), ".");
  const uint64_t length = text->size();
  FZ_RETURN_IF_ERROR(write({reinterpret_cast<const char*>(&length), sizeof length}));
  FZ_RETURN_IF_ERROR(write(*text));
  for (const size_t i : order)
    FZ_RETURN_IF_ERROR(
        write({values[i]->data, size_t(values[i]->size()) * SizeOf(values[i]->dtype)}));
  return absl::OkStatus();
}

Status SaveTensors(std::string_view op, const std::string& path, const NamedTensors& tensors,
                   const Remarks& metadata, Told told) {
  std::optional<NewFile> file;
  FZ_RETURN_IF_ERROR(WriteTensors(op, tensors, metadata, [&](std::string_view bytes) -> Status {
    if (!file) {
      FZ_ASSIGN_OR_RETURN(NewFile made, NewFile::Create(op, path));
      file.emplace(std::move(made));
    }
    return file->Write(bytes, told);
  }));
  return file->Commit();
}

StatusOr<TensorFile> TensorsIn(std::string_view op, std::string_view what, char* data, size_t size,
                               const std::shared_ptr<void>& keeper) {
  StatusOr<TensorFile> file = FileIn(data, size, keeper);
  if (!file.ok()) return Damaged(op, what, file.status());
  return file;
}

StatusOr<TensorFile> LoadTensors(std::string_view op, const std::string& path) {
  // Not waiting for who might write to a pipe.
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat s;
  if (!file || fstat(file.get(), &s) != 0) return SystemError(op, "open", path);
  if (!S_ISREG(s.st_mode)) {
    errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
    return SystemError(op, "map", path);
  }
  const size_t size = size_t(s.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) return SystemError(op, "map", path);
  }
  char* const bytes = static_cast<char*>(data);
  return TensorsIn(op, StrCat("'", path, "'"), bytes, size, std::make_shared<Mapping>(bytes, size));
}

}  // namespace frazil
