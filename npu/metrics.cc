#include "npu/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/str.h"

namespace frazil::npu {
namespace {

constexpr double kLaneBytes = 4;  // of the lanes that vector flops are counted in

}  // namespace

std::string_view Name(Roof roof) {
  static constexpr std::string_view kNames[] = {"MATRIX", "VECTOR", "GM READ", "GM WRITE", "L1"};
  return kNames[size_t(roof)];
}

double MatrixRate(const Preset& p, Type type) {
  const int tk = SizeOf(type) == 1 ? p.tk_i8 : SizeOf(type) == 2 ? p.tk_f16 : p.tk_f32;
  return double(p.tm) * p.tn * tk / (SizeOf(type) == 4 ? p.matrix_cycles_f32 : p.matrix_cycles);
}

Metrics Measure(const KernelReport& report) {
  const Timing& t = report.timing;
  const Preset& p = report.preset;
  Metrics m;
  m.seconds = double(t.cycles) / (p.ghz * 1e9);
  const double cores = std::max(1, report.cores);
  double matrix = 0;
  for (int type = 0; type < kNumTypes; ++type) {
    matrix += double(t.macs_of[type]) / MatrixRate(p, Type(type)) / cores;
    if (t.macs_of[type] > t.macs_of[m.matrix_type]) m.matrix_type = Type(type);
  }
  m.roof[size_t(Roof::kMatrix)] = matrix;
  m.roof[size_t(Roof::kVector)] = double(t.queues[kVE].busy);
  m.roof[size_t(Roof::kGmRead)] =
      (double(t.gm_read_l2) / p.l2_read + double(t.gm_read - t.gm_read_l2) / p.gm_read) / cores;
  const double write = std::min(p.gm_port_write, t.l2 ? p.l2_write : p.gm_write);
  m.roof[size_t(Roof::kGmWrite)] = double(t.gm_write) / write / cores;
  m.roof[size_t(Roof::kL1)] = double(t.queues[kXP].busy);
  m.bound = Roof(std::max_element(m.roof.begin(), m.roof.end()) - m.roof.begin());
  const double cycles = double(std::max<int64_t>(1, t.cycles));
  m.attained = m.roof[size_t(m.bound)] / cycles;
  m.matrix_share = matrix / cycles;
  if (t.macs > 0) {
    m.flops = 2.0 * double(t.macs);
    m.peak = 2 * MatrixRate(p, m.matrix_type);
  } else {
    m.flops = double(t.vector_beats) * p.vector_bytes / kLaneBytes;
    m.peak = p.vector_bytes / kLaneBytes;
  }
  const double bytes = double(t.gm_read + t.gm_write);
  m.intensity = bytes > 0 ? m.flops / bytes : 0;
  return m;
}

std::vector<Stall> Stalls(const Timing& timing) {
  std::vector<Stall> stalls;
  const auto add = [&stalls](std::string what, int64_t cycles) {
    if (cycles > 0) stalls.push_back({std::move(what), cycles});
  };
  for (int q = 0; q < kNumQueues; ++q) {
    const QueueTotals& totals = timing.queues[q];
    const std::string_view name = Name(Queue(q));
    for (int from = 0; from < kNumQueues; ++from)
      add(StrCat(name, "<-", Name(Queue(from))), totals.flag_stall[from]);
    add(StrCat(name, " dependence"), totals.dependence_stall);
    add(StrCat(name, " barrier"), totals.barrier_stall);
    add(StrCat(name, " channel"), totals.channel_stall);
    add(StrCat("dispatch-full ", name), timing.dispatch_full[q]);
  }
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.cycles > b.cycles; });
  return stalls;
}

std::string Hex(uint64_t hash) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string Grouped(int64_t number) {
  std::string digits = StrCat(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, 1, ' ');
  return digits;
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace frazil::npu
