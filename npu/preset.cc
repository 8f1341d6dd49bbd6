#include "npu/preset.h"

#include <bit>
#include <cstring>

#include "nlohmann/json.hpp"

namespace frazil::npu {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kNames[] = {"dc16", "edge16", "m310"};
constexpr std::string_view kVectorKeys[] = {
#define NPU_VECTOR(E, key, ...) #key,
#include "npu/preset.def"
#undef NPU_VECTOR
};

Preset Dc16() {
  Preset p;
  p.name = kNames[0];
#define NPU_FIELD(type, key, member, min, max, dc16, ...) p.member = dc16;
#define NPU_VECTOR(E, key, head, slope, tail, from) \
  p.vector[size_t(VectorClass::k##E)] = {head, slope, tail};
#include "npu/preset.def"
#undef NPU_FIELD
#undef NPU_VECTOR
  return p;
}

Preset Edge16() {
  Preset p = Dc16();
  p.name = kNames[1];
#define NPU_FIELD(type, key, member, min, max, dc16, from, edge16, ...) p.member = edge16;
#include "npu/preset.def"
#undef NPU_FIELD
  constexpr int kEdgeHead = 8, kEdgeTail = 8;  // C
  for (VectorCost& cost : p.vector) cost = {kEdgeHead, cost.slope, kEdgeTail};
  return p;
}

Preset M310() {
  Preset p = Dc16();
  p.name = kNames[2];
#define NPU_FIELD(type, key, member, min, max, dc16, f0, edge16, f1, m310, ...) p.member = m310;
#include "npu/preset.def"
#undef NPU_FIELD
  return p;
}

std::string Known() {
  std::string text;
  for (std::string_view name : kNames) StrAppend(&text, text.empty() ? "" : ", ", name);
  return text;
}

// Reads a field; false: another type, or outside of [min, max].
template <typename T>
bool Read(const Json& value, T min, T max, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return false;
    *out = value.get<double>();
  } else {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)) return false;
    const int64_t wide = value.get<int64_t>();
    if (wide < int64_t(min) || wide > int64_t(max)) return false;
    *out = T(wide);
  }
  return *out >= min && *out <= max;
}

Status ReadVector(const Json& value, Preset* preset) {
  if (!value.is_object())
    return ValueError(
        "[npu preset] \"vector\" must map names to [head, slope, tail]: ", value.dump(), ".");
  for (const auto& [key, cost] : value.items()) {
    size_t i = 0;
    while (i < std::size(kVectorKeys) && kVectorKeys[i] != key) ++i;
    if (i == std::size(kVectorKeys))
      return ValueError("[npu preset] no class of vector instructions has this name: ", key, ".");
    VectorCost& out = preset->vector[i];
    constexpr int kMax = 1 << 20;
    if (!cost.is_array() || cost.size() != 3 || !Read(cost[0], 0, kMax, &out.head) ||
        !Read(cost[1], 1, kMax, &out.slope) || !Read(cost[2], 0, kMax, &out.tail))
      return ValueError("[npu preset] \"", key,
                        "\" must be [head, slope, tail] with a slope from 1 "
                        "and none above ",
                        kMax, ": ", cost.dump(), ".");
  }
  return absl::OkStatus();
}

Status ReadField(const std::string& key, const Json& value, Preset* preset) {
  if (key == "name") {
    if (!value.is_string())
      return ValueError("[npu preset] \"name\" must be a string: ", value.dump(), ".");
    preset->name = value.get<std::string>();
    return absl::OkStatus();
  }
  if (key == "vector") return ReadVector(value, preset);
#define NPU_FIELD(type, name, member, min, max, ...)                                            \
  if (key == #name) {                                                                           \
    if (Read<type>(value, type(min), type(max), &preset->member)) return absl::OkStatus();      \
    return ValueError("[npu preset] \"" #name "\" must be a ",                                  \
                      std::is_integral_v<type> ? "whole " : "", "number in [", type(min), ", ", \
                      type(max), "]: ", value.dump(), ".");                                     \
  }
#include "npu/preset.def"
#undef NPU_FIELD
  return ValueError("[npu preset] there is no field of this name: ", key, ".");
}

}  // namespace

absl::Span<const std::string_view> PresetNames() { return kNames; }
std::string_view Name(VectorClass c) { return kVectorKeys[size_t(c)]; }

StatusOr<Preset> FindPreset(std::string_view name) {
  if (name == kNames[0]) return Dc16();
  if (name == kNames[1]) return Edge16();
  if (name == kNames[2]) return M310();
  return ValueError("[npu preset] no preset has this name: ", name, " (known: ", Known(), ").");
}

StatusOr<Preset> PresetFromJson(std::string_view json) {
  const Json object = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return ValueError("[npu preset] this is no JSON object: ", json.substr(0, 80), ".");
  std::string base(kNames[0]);
  if (const auto it = object.find("base"); it != object.end()) {
    if (!it->is_string())
      return ValueError("[npu preset] \"base\" must be a string: ", it->dump(), ".");
    base = it->get<std::string>();
  }
  FZ_ASSIGN_OR_RETURN(Preset preset, FindPreset(base));
  for (const auto& [key, value] : object.items()) {
    if (key != "base") FZ_RETURN_IF_ERROR(ReadField(key, value, &preset));
  }
  if (preset.l2_bytes % 512 != 0)
    return ValueError("[npu preset] \"l2_bytes\" must be a multiple of 512: ", preset.l2_bytes,
                      ".");
  return preset;
}

std::string ToJson(const Preset& preset) {
  Json object;
  object["name"] = preset.name;
#define NPU_FIELD(type, key, member, ...) object[#key] = preset.member;
#include "npu/preset.def"
#undef NPU_FIELD
  for (size_t i = 0; i < std::size(kVectorKeys); ++i) {
    const VectorCost& cost = preset.vector[i];
    object["vector"][std::string(kVectorKeys[i])] = {cost.head, cost.slope, cost.tail};
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace);
}

uint64_t Hash(const Preset& preset) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over 64-bit words, then mixed
  const auto add = [&hash](auto value) {
    uint64_t word;
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      word = std::bit_cast<uint64_t>(value);
    } else {
      word = uint64_t(value);
    }
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  };
#define NPU_FIELD(type, key, member, ...) add(preset.member);
#include "npu/preset.def"
#undef NPU_FIELD
  for (const VectorCost& cost : preset.vector) {
    add(cost.head);
    add(cost.slope);
    add(cost.tail);
  }
  return hash;
}

std::string PresetTable() {
  std::string text =
      "| field | meaning | dc16 | from | edge16 | from | m310 | from |\n"
      "|---|---|---:|---|---:|---|---:|---|\n";
#define NPU_FIELD(type, key, member, min, max, dc16, f0, edge16, f1, m310, f2, meaning)          \
  StrAppend(&text, "| `" #key "` | ", meaning, " | ", type(dc16), " | " #f0 " | ", type(edge16), \
            " | " #f1 " | ", type(m310), " | " #f2 " |\n");
#include "npu/preset.def"
#undef NPU_FIELD
  StrAppend(&text, "\n| `vector` | head | slope | tail | from |\n|---|---:|---:|---:|---|\n");
#define NPU_VECTOR(E, key, head, slope, tail, from) \
  StrAppend(&text, "| `" #key "` | ", head, " | ", slope, " | ", tail, " | " #from " |\n");
#include "npu/preset.def"
#undef NPU_VECTOR
  return text;
}

}  // namespace frazil::npu
