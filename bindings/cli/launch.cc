#include "bindings/cli/launch.h"

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "absl/strings/numbers.h"
#include "bindings/cli/files.h"
#include "npu/lanes.h"

namespace frazil::cli {
namespace {

constexpr uint64_t kPage = 4096;  // buffers begin at multiples, with a page between them
constexpr uint64_t kMaxBytes = uint64_t{1} << 34;

bool IsMemory(npu::ParamKind kind) {
  return kind == npu::ParamKind::kGmRead || kind == npu::ParamKind::kGmWrite;
}

const std::string* Find(const Settings& settings, const std::string& name) {
  for (const auto& [key, value] : settings) {
    if (key == name) return &value;
  }
  return nullptr;
}

// Each name is a parameter of the kind that the option sets, and stands once.
Status CheckNames(const npu::Program& program, std::string_view option, const Settings& settings,
                  bool memory, bool once) {
  std::set<std::string_view> seen;
  for (const auto& setting : settings) {
    const std::string& name = setting.first;
    const auto is_it = [&](const npu::Param& p) {
      return p.name == name && IsMemory(p.kind) == memory;
    };
    if (std::none_of(program.params.begin(), program.params.end(), is_it))
      return ValueError("[frazil-npu] ", option, " ", name, ": kernel '", program.name,
                        "' has no such parameter that is ", memory ? "memory" : "a number", ".");
    if (once && !seen.insert(name).second)
      return ValueError("[frazil-npu] ", option, " ", name, " stands twice.");
  }
  return absl::OkStatus();
}

std::string RandomBytes(uint64_t count, std::mt19937_64* random) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = char((*random)() >> 32);
  return bytes;
}

// Floats in [-1, 1).
std::string RandomFloats(npu::Type type, uint64_t count, std::mt19937_64* random) {
  std::string bytes(count, '\0');
  const int64_t size = npu::SizeOf(type);
  for (int64_t i = 0; i < int64_t(count) / size; ++i) {
    const float x = float(int64_t((*random)() >> 40) - (1 << 23)) / float(1 << 23);
    npu::StoreLanes(type, &x, 1, bytes.data() + i * size);
  }
  return bytes;
}

// "random.f32" -> f32
StatusOr<npu::Type> TypeOf(std::string_view word) {
  std::string names;
  for (int t = 0; t < npu::kNumTypes; ++t) {
    const std::string_view name = npu::Name(npu::Type(t));
    if (word == name) return npu::Type(t);
    StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return ValueError("[frazil-npu] random.", word, ", expected a type: one of ", names, ".");
}

StatusOr<std::string> MakeBytes(const std::string& data, std::mt19937_64* random) {
  constexpr std::string_view kZeros = "zeros:", kRandom = "random:", kTyped = "random.";
  const bool zeros = data.starts_with(kZeros), typed = data.starts_with(kTyped);
  if (!zeros && !typed && !data.starts_with(kRandom)) return ReadFile("frazil-npu", data);
  const size_t colon = data.find(':');
  if (colon == data.npos)
    return ValueError("[frazil-npu] '", data, "', expected random.TYPE:BYTES.");
  FZ_ASSIGN_OR_RETURN(const uint64_t count, ParseU64("bytes", data.substr(colon + 1)));
  if (count > kMaxBytes)
    return ValueError("[frazil-npu] '", data, "' is ", count, " bytes, expected at most ",
                      kMaxBytes, ".");
  if (zeros) return std::string(count, '\0');
  if (!typed) return RandomBytes(count, random);
  FZ_ASSIGN_OR_RETURN(const npu::Type type,
                      TypeOf(std::string_view(data).substr(kTyped.size(), colon - kTyped.size())));
  return npu::IsFloat(type) ? RandomFloats(type, count, random) : RandomBytes(count, random);
}

StatusOr<uint64_t> NumberOf(const npu::Param& param, const std::string& text) {
  if (param.kind == npu::ParamKind::kU64) return ParseU64(StrCat("--set ", param.name), text);
  float value = 0;
  if (absl::SimpleAtof(text, &value)) return std::bit_cast<uint32_t>(value);
  return ValueError("[frazil-npu] --set ", param.name, " '", text, "', expected a number.");
}

}  // namespace

Status Arguments::AddMemory(const npu::Param& param, const std::string& data, uint64_t seed) {
  std::mt19937_64 random(seed * npu::kMaxParams + buffers_.size());
  Buffer buffer{npu::kGmBase};
  FZ_ASSIGN_OR_RETURN(buffer.bytes, MakeBytes(data, &random));
  if (!buffers_.empty()) {
    const Buffer& last = buffers_.back();
    buffer.address = (last.address + last.bytes.size() + 2 * kPage - 1) / kPage * kPage;
  }
  by_name_[param.name] = buffers_.size();
  params_.push_back(buffer.address);
  buffer.writable = param.kind == npu::ParamKind::kGmWrite;
  buffers_.push_back(std::move(buffer));
  return absl::OkStatus();
}

Status Arguments::Share(const npu::Param& param, const std::string& with) {
  const auto at = by_name_.find(with);
  if (at == by_name_.end())
    return ValueError("[frazil-npu] --gm ", param.name, "=@", with,
                      ": no parameter of that name has memory before this one.");
  Buffer& buffer = buffers_[at->second];
  buffer.writable |= param.kind == npu::ParamKind::kGmWrite;
  params_.push_back(buffer.address);
  by_name_[param.name] = at->second;
  return absl::OkStatus();
}

StatusOr<Arguments> Arguments::Make(const npu::Program& program, const Options& options) {
  FZ_RETURN_IF_ERROR(CheckNames(program, "--gm", options.gm, true, true));
  FZ_RETURN_IF_ERROR(CheckNames(program, "--set", options.set, false, true));
  FZ_RETURN_IF_ERROR(CheckNames(program, "--dump", options.dump, true, false));
  Arguments arguments;
  for (const npu::Param& param : program.params) {
    const bool memory = IsMemory(param.kind);
    const std::string* value = Find(memory ? options.gm : options.set, param.name);
    if (!value)
      return ValueError("[frazil-npu] parameter '", param.name, "' (", npu::Name(param.kind),
                        ") is missing: add ", memory ? "--gm " : "--set ", param.name, "=...");
    if (memory && value->starts_with('@')) {
      FZ_RETURN_IF_ERROR(arguments.Share(param, value->substr(1)));
    } else if (memory) {
      FZ_RETURN_IF_ERROR(arguments.AddMemory(param, *value, options.launch.seed));
    } else {
      FZ_ASSIGN_OR_RETURN(const uint64_t number, NumberOf(param, *value));
      arguments.params_.push_back(number);
    }
  }
  return arguments;
}

std::vector<npu::Window> Arguments::Windows() {
  std::vector<npu::Window> windows;
  for (Buffer& buffer : buffers_)
    windows.push_back(
        {buffer.address, int64_t(buffer.bytes.size()), buffer.bytes.data(), buffer.writable});
  return windows;
}

}  // namespace frazil::cli
