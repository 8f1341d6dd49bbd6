// The parameters of a machine: sizes, rates, latencies. Chosen by name, from JSON, or with fields
// replaced; used by checks, the cycle model, the emitter's tile search and every report. Invariant:
// a preset's hash covers every field; equal hashes mean equal cycles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "jit/npu_sim/isa.h"

namespace frazil::npu {

// head + slope * beats + tail cycles.
struct VectorCost {
  int head = 0, slope = 0, tail = 0;
  bool operator==(const VectorCost&) const = default;
};
// Classes of vector instructions that cost the same.
enum class VectorClass : uint8_t {
  kAdd,
  kSub,
  kMul,
  kAddScalar,
  kMulScalar,
  kMaxMin,
  kDiv,
  kAbsNeg,
  kExp,
  kTranscendental,
  kSqrt,
  kSelect,
  kCompare,
  kConvert,
  kCopy,
  kRowReduce,
  kGroupReduce,
  kTranspose,
  kFma,
  kCount
};

struct Preset {
  std::string name;
  int id = 0;  // SCSR 7
  int cores = 1;
  double ghz = 1;
  std::array<int64_t, kNumSpaces> bytes{};  // of the local memories
  // Matrix unit: m x n x k of one step by element size class, cycles a step, and its head.
  int tm = 16, tn = 16;
  int tk_f16 = 16, tk_i8 = 32, tk_f32 = 4;
  int matrix_head = 6;
  int vector_bytes = 256;              // of one beat
  double gm_read = 32, gm_write = 32;  // bytes a cycle, L2 off
  int64_t l2_bytes = 0;                // 0: none
  double l2_read = 0, l2_write = 0;    // on a hit; stores
  double chip_read = 0;                // of all cores together; 0: cores * gm_read
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
// A JSON object of fields that replace those of the preset named by "base" (default dc16).
// ValueError for unknown fields, wrong types and impossible sizes.
StatusOr<Preset> PresetFromJson(std::string_view json);
std::string ToJson(const Preset& preset);
uint64_t Hash(const Preset& preset);

}  // namespace frazil::npu
