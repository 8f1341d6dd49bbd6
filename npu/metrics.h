// Figures derived from a Timing: roofs, what bound a kernel, shares. Called by the reports only.
// Invariant: no roof is above the cycles that the model gave.
#pragma once

#include <string>
#include <vector>

#include "npu/report.h"

namespace frazil::npu {

enum class Roof : uint8_t { kMatrix, kVector, kGmRead, kGmWrite, kL1, kCount };
std::string_view Name(Roof roof);  // "MATRIX" "VECTOR" "GM READ" "GM WRITE" "L1"

// Multiply-adds a cycle of the matrix unit.
double MatrixRate(const Preset& preset, Type type);

struct Metrics {
  double seconds = 0;                               // without the launch
  std::array<double, size_t(Roof::kCount)> roof{};  // cycles that each resource alone needs
  Roof bound = Roof::kMatrix;                       // the highest
  double attained = 0;                              // that roof over the cycles
  Type matrix_type = kF16;                          // of most multiply-adds
  double matrix_share = 0;                          // of the peak, by type
  double flops = 0;      // 2 MACs, or operations of vector lanes where there is no matrix work
  double intensity = 0;  // flops a byte of device memory
  double peak = 0;       // flops a cycle of the unit that flops counts
};
Metrics Measure(const KernelReport& report);

// Where the roof of `peak` flops a cycle meets memory of this many bytes a cycle.
inline double Ridge(double peak, double rate) { return peak / rate; }

struct Stall {
  std::string what;  // "MM<-XP", "MM dependence", "dispatch-full VE"
  int64_t cycles = 0;
};
// Longest first; idle time, in which a queue had nothing to do, is none.
std::vector<Stall> Stalls(const Timing& timing);

std::string Hex(uint64_t hash);               // 16 digits
std::string Grouped(int64_t number);          // "305 035"
std::string Fixed(double value, int digits);  // "85.9"

}  // namespace frazil::npu
