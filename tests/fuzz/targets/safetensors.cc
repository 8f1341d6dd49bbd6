// Files of tensors: what is taken is written and read again as it was.
#include <cstring>
#include <memory>

#include "core/check.h"
#include "core/files/tensor_file.h"
#include "tests/fuzz/targets/target.h"

namespace {

using namespace frazil;  // NOLINT

StatusOr<TensorFile> Read(std::string_view bytes) {
  const auto copy = std::make_shared<std::string>(bytes);
  return TensorsIn("fuzz", "the input", copy->data(), copy->size(), copy);
}

std::string Write(const TensorFile& file) {
  std::string bytes;
  FZ_CHECK(WriteTensors("fuzz", file.tensors, file.metadata, [&](std::string_view part) {
             bytes.append(part);
             return absl::OkStatus();
           }).ok());
  return bytes;
}

}  // namespace

FZ_FUZZ_TARGET(safetensors) {
  const StatusOr<TensorFile> file = Read(TextOf(data, size));
  if (!file.ok()) return 0;
  const std::string written = Write(*file);
  const StatusOr<TensorFile> again = Read(written);
  FZ_CHECK(again.ok());
  FZ_CHECK(again->tensors.size() == file->tensors.size());
  FZ_CHECK(again->metadata == file->metadata);
  FZ_CHECK(Write(*again) == written);
  return 0;
}
