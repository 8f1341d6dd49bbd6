#include "core/functions/file.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/backend.h"
#include "core/functions/ops.h"

namespace frazil {
namespace {

static_assert(std::endian::native == std::endian::little, "FZT1 files are little-endian");

constexpr char kMagic[4] = {'F', 'Z', 'T', '1'};

struct Closer {
  void operator()(FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<FILE, Closer>;

Status CannotOpen(const char* op, const std::string& path) {
  return FileError("[", op, "] cannot open '", path, "': ", std::strerror(errno), ".");
}

// Reads with a count of what is left, so that a damaged length is found before anything is
// allocated.
class Reader {
 public:
  Reader(FILE* file, std::string path) : file_(file), path_(std::move(path)) {
    std::fseek(file_, 0, SEEK_END);
    left_ = std::ftell(file_);
    std::fseek(file_, 0, SEEK_SET);
  }
  Status Bytes(void* out, size_t n) {
    if (static_cast<int64_t>(n) > left_ || std::fread(out, 1, n, file_) != n)
      return Damaged("it ends too early");
    left_ -= static_cast<int64_t>(n);
    return absl::OkStatus();
  }
  template <typename Length>
  StatusOr<std::string> Text() {
    Length n;
    FZ_RETURN_IF_ERROR(Bytes(&n, sizeof n));
    if (static_cast<int64_t>(n) > left_) return Damaged("a name is longer than the file");
    std::string s(n, '\0');
    FZ_RETURN_IF_ERROR(Bytes(s.data(), n));
    return s;
  }
  Status Damaged(const std::string& why) const {
    return ValueError("[load] '", path_, "' is no FZT1 file or is damaged: ", why, ".");
  }
  int64_t left() const { return left_; }

 private:
  FILE* file_;
  std::string path_;
  int64_t left_;
};

StatusOr<Tensor> ReadTensor(Reader* reader) {
  FZ_ASSIGN_OR_RETURN(const std::string dtype_name, reader->Text<uint8_t>());
  const auto dtype = ParseDType(dtype_name);
  if (!dtype) return reader->Damaged(absl::StrCat("unknown dtype '", dtype_name, "'"));
  uint8_t rank;
  FZ_RETURN_IF_ERROR(reader->Bytes(&rank, 1));
  if (rank > kMaxRank) return reader->Damaged(absl::StrCat("rank ", int(rank)));
  int64_t dims[kMaxRank];
  FZ_RETURN_IF_ERROR(reader->Bytes(dims, 8 * rank));
  const Dims shape(dims, rank);
  FZ_RETURN_IF_ERROR(CheckDims("load", shape, SizeOf(*dtype)));
  const Layout* layout = Dense(shape);
  const int64_t bytes = layout->size * SizeOf(*dtype);
  if (bytes > reader->left()) return reader->Damaged("an array is longer than the file");
  FZ_ASSIGN_OR_RETURN(ValueRef value, Value::Allocate(*dtype, Device(), layout));
  FZ_RETURN_IF_ERROR(reader->Bytes(value->data, bytes));
  return Tensor(std::move(value));
}

}  // namespace

Status SaveTensors(const std::string& path, const NamedTensors& tensors) {
  // Everything is ready and dense before the file is touched.
  NamedTensors ready;
  for (const auto& [name, t] : tensors) {
    const Tensor dense = t.ok() && !t.layout()->dense ? Apply(OpId::k_copy, {&t}) : t;
    FZ_RETURN_IF_ERROR(dense.status());
    FZ_RETURN_IF_ERROR(Read(*dense.value()));
    FZ_ASSIGN_OR_RETURN(ValueRef host, OnHost(*dense.value()));
    ready.emplace_back(name, Tensor(std::move(host)));
  }
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return CannotOpen("save", path);
  bool good = true;
  const auto write = [&](const void* p, size_t n) {
    good = good && std::fwrite(p, 1, n, file.get()) == n;
  };
  write(kMagic, 4);
  const auto count = static_cast<uint32_t>(ready.size());
  write(&count, 4);
  for (const auto& [name, t] : ready) {
    const auto length = static_cast<uint32_t>(name.size());
    const std::string_view dtype = ShortName(t.dtype());
    const auto dtype_length = static_cast<uint8_t>(dtype.size()),
               rank = static_cast<uint8_t>(t.rank());
    write(&length, 4);
    write(name.data(), length);
    write(&dtype_length, 1);
    write(dtype.data(), dtype_length);
    write(&rank, 1);
    write(t.dims().data(), 8 * rank);
    write(t.value()->data, t.size() * SizeOf(t.dtype()));
  }
  if (!good || std::fflush(file.get()) != 0)
    return FileError("[save] cannot write '", path, "': ", std::strerror(errno), ".");
  return absl::OkStatus();
}

StatusOr<NamedTensors> LoadTensors(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) return CannotOpen("load", path);
  Reader reader(file.get(), path);
  char magic[4];
  FZ_RETURN_IF_ERROR(reader.Bytes(magic, 4));
  if (std::memcmp(magic, kMagic, 4) != 0) return reader.Damaged("wrong first bytes");
  uint32_t count;
  FZ_RETURN_IF_ERROR(reader.Bytes(&count, 4));
  NamedTensors out;
  for (uint32_t i = 0; i < count; ++i) {
    FZ_ASSIGN_OR_RETURN(std::string name, reader.Text<uint32_t>());
    FZ_ASSIGN_OR_RETURN(Tensor t, ReadTensor(&reader));
    out.emplace_back(std::move(name), std::move(t));
  }
  return out;
}

}  // namespace frazil
