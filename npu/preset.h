// The parameters of a machine: sizes, rates, latencies. Chosen by name, from JSON, or with fields
// replaced; used by checks, the cycle model, the emitter's tile search and every report. Invariant:
// a preset's hash covers every field; equal hashes mean equal cycles. The fields, their limits and
// the values of the built-in presets stand in preset.def.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "npu/isa.h"

namespace frazil::npu {

// head + slope * beats + tail cycles.
struct VectorCost {
  int head = 0, slope = 0, tail = 0;
  bool operator==(const VectorCost&) const = default;
};
// Classes of vector instructions that cost the same.
enum class VectorClass : uint8_t {
#define NPU_VECTOR(E, ...) k##E,
#include "npu/preset.def"
#undef NPU_VECTOR
  kCount
};

// What each member means and its unit: preset.def, docs/npu.md.
struct Preset {
  std::string name;
  int id = 0;  // SCSR 7
  int cores = 1;
  double ghz = 1;
  std::array<int64_t, kNumSpaces> bytes{};  // of the local memories
  // One step of the matrix unit is tm x tn x tk and takes matrix_cycles.
  int tm = 16, tn = 16;
  int tk_f16 = 16, tk_i8 = 32, tk_f32 = 4;
  int matrix_cycles = 1, matrix_cycles_f32 = 1;
  int matrix_head = 6;
  int vector_bytes = 256;
  double gm_read = 32, gm_write = 32, gm_port_write = 64;
  double chip_read = 0;
  int64_t l2_bytes = 0;  // 0: none
  double l2_read = 32, l2_write = 32;
  double xp_l0a = 512, xp_l0b = 256, xp_ub = 128;
  double dr_ub = 256, st_l1 = 128;
  int gm_latency = 400, gm_write_latency = 0;
  int dma_setup = 64, burst = 64;
  int queue_depth = 16;
  double launch_us = 5;
  std::array<VectorCost, size_t(VectorClass::kCount)> vector{};

  bool operator==(const Preset&) const = default;
};

// "dc16", "edge16", "m310". ValueError names the known ones.
StatusOr<Preset> FindPreset(std::string_view name);
// A JSON object of fields that replace those of the preset named by "base" (default dc16); "vector"
// maps names of classes to [head, slope, tail]. ValueError for unknown fields, wrong types and
// impossible sizes.
StatusOr<Preset> PresetFromJson(std::string_view json);
// Every field; PresetFromJson reads it back.
std::string ToJson(const Preset& preset);
// Of everything but the name.
uint64_t Hash(const Preset& preset);

// Names of the built-in presets.
absl::Span<const std::string_view> PresetNames();
// The table of parameters in docs/npu.md.
std::string PresetTable();

// Key of a vector class in JSON.
std::string_view Name(VectorClass c);

}  // namespace frazil::npu
