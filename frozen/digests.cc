#include "frozen/digests.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/progress.h"
#include "core/threads/parallel.h"
#include "frozen/digest.h"

namespace frazil::frozen {
namespace {

constexpr std::string_view kDigests = "frazil.digests";

// What a digest is of, by the name in its line, and where its bytes are to be.
struct Part {
  std::string_view name, bytes, digest;
  char* to = nullptr;
};

// Of a tensor of the file, which lies there row-major.
std::string_view BytesOf(const Tensor& tensor) {
  const Value& value = *tensor.value();
  return {value.data, static_cast<size_t>(value.size()) * SizeOf(value.dtype)};
}

// "<64 digits> <name>" a line, of every metadata but the digests and of every tensor.
Status PairDigests(const TensorFile& file, std::string_view lines, const FileMemory& memory,
                   std::vector<Part>* parts) {
  std::map<std::string_view, Part> wanted;
  for (const auto& [name, text] : file.metadata) {
    if (name != kDigests) wanted[name] = {name, text, {}};
  }
  for (const auto& [name, tensor] : file.tensors) {
    const Part part = {name, BytesOf(tensor), {}, memory.at(name)->data};
    if (!wanted.emplace(name, part).second)
      return ValueError("'", name, "' is a tensor and metadata");
  }
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.size() < 66 || line[64] != ' ') return ValueError("its digests are no digests");
    const auto part = wanted.find(line.substr(65));
    if (part == wanted.end())
      return ValueError("a digest is of '", line.substr(65), "', which is not there");
    part->second.digest = line.substr(0, 64);
    parts->push_back(part->second);
    wanted.erase(part);
  }
  if (!wanted.empty()) return ValueError("'", wanted.begin()->first, "' has no digest");
  return absl::OkStatus();
}

}  // namespace

StatusOr<FileMemory> MemoryFor(const TensorFile& file) {
  FileMemory values;
  for (const auto& [name, tensor] : file.tensors) {
    const Value& from = *tensor.value();
    FZ_ASSIGN_OR_RETURN(values[name], Value::Allocate(from.dtype, Device(), from.layout));
  }
  return values;
}

Status TakeAndCheck(const TensorFile& file, const FileMemory& memory) {
  std::string_view lines;
  for (const auto& [name, text] : file.metadata) {
    if (name == kDigests) lines = text;
  }
  std::vector<Part> parts;
  FZ_RETURN_IF_ERROR(PairDigests(file, lines, memory, &parts));
  absl::c_stable_sort(parts,
                      [](const Part& a, const Part& b) { return a.bytes.size() > b.bytes.size(); });
  std::atomic<size_t> next{0};
  std::atomic<const Part*> wrong{nullptr};
  ProgressLine progress("loading weights", int64_t(parts.size()));
  ParallelFor(NumThreads(), 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < parts.size(); i = next++) {
      std::string_view bytes = parts[i].bytes;
      if (parts[i].to && !bytes.empty()) {
        std::memcpy(parts[i].to, bytes.data(), bytes.size());
        bytes = {parts[i].to, bytes.size()};
      }
      if (Digest(bytes) != parts[i].digest) wrong = &parts[i];
      progress.Advance();
    }
  });
  if (const Part* part = wrong)
    return ValueError("the digest of '", part->name, "' is not that of its bytes");
  return absl::OkStatus();
}

}  // namespace frazil::frozen
