#include <algorithm>

#include "core/str.h"
#include "npu/metrics.h"

namespace frazil::npu {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kTera = 1e12;

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// The rate of a unit in words, with the other rate it is a share of.
std::string Rate(double flops, double peak) {
  const bool tera = peak >= kTera;
  const double unit = tera ? kTera : 1e9;
  return StrCat(Fixed(flops / unit, 2), " of ", Fixed(peak / unit, 2), tera ? " T" : " G",
                "FLOP/s");
}

std::string HeadLines(const KernelReport& r) {
  const Preset& p = r.preset;
  std::string text =
      StrCat("kernel ", r.kernel, " #", Hex(r.hash).substr(0, 6), "   preset ", p.name, " (",
             Fixed(p.ghz, 2), " GHz, ", r.cores, r.cores == 1 ? " core" : " cores",
             ")   model: cycle-approximate, no NoC/DRAM-bank contention\n");
  StrAppend(&text, "shape  ", r.meta.shape.empty() ? "-" : r.meta.shape, "   tile ",
            r.meta.tile.empty() ? "-" : r.meta.tile, "   class ",
            r.meta.kernel_class.empty() ? "-" : r.meta.kernel_class, "   guards ", r.guards,
            "   blocks ", r.blocks, "\n");
  if (!r.op.empty()) StrAppend(&text, "from   ", r.op, r.place.empty() ? "" : "  ", r.place, "\n");
  return text;
}

std::string RoofLines(const KernelReport& r, const Metrics& m) {
  const Preset& p = r.preset;
  const double seconds = std::max(m.seconds, 1e-12), clock = p.ghz * 1e9 * r.cores;
  std::string text =
      StrCat("cycles ", Grouped(r.timing.cycles), "   time ", Fixed(m.seconds * 1e3, 4),
             " ms   launch ", Fixed(p.launch_us, 1), " us more   ");
  if (r.timing.macs > 0) {
    StrAppend(&text, "matrix ", Fixed(100 * m.matrix_share, 1), " % of peak (",
              Rate(m.flops / seconds, m.peak * clock), " ", Name(m.matrix_type), ")\n");
  } else {
    StrAppend(&text, "vector ",
              Fixed(Percent(double(r.timing.queues[kVE].busy), double(r.timing.cycles)), 1),
              " % busy\n");
  }
  StrAppend(&text, "bound by  ", Name(m.bound), " (AI ",
            Fixed(m.intensity, m.intensity < 10 ? 2 : 0), " FLOP/B; ridge GM ",
            Fixed(Ridge(m.peak, p.gm_read), 0));
  if (r.timing.l2) StrAppend(&text, ", L2 ", Fixed(Ridge(m.peak, p.l2_read), 0));
  StrAppend(&text, ")   attained ", Fixed(100 * m.attained, 0), " % of the roof",
            m.attained < 0.5 ? ": latency, fill and drain decide" : "", "\n");
  return text;
}

std::string UnitLines(const Timing& t) {
  const double cycles = double(t.cycles);
  std::string text = "unit busy     ";
  for (int q = 0; q < kNumQueues; ++q)
    StrAppend(&text, Name(Queue(q)), " ", Fixed(Percent(double(t.queues[q].busy), cycles), 1),
              "  ");
  StrAppend(&text, " (% of cycles)\nstall, top    ");
  constexpr size_t kShown = 5;
  const std::vector<Stall> stalls = Stalls(t);
  for (size_t i = 0; i < std::min(kShown, stalls.size()); ++i)
    StrAppend(&text, i ? "  " : "", stalls[i].what, " ",
              Fixed(Percent(double(stalls[i].cycles), cycles), 1));
  StrAppend(&text, stalls.empty() ? "none\n" : "\n", "critical path ");
  std::array<int, kNumQueues> order{};
  for (int q = 0; q < kNumQueues; ++q) order[q] = q;
  std::stable_sort(order.begin(), order.end(),
                   [&t](int a, int b) { return t.critical[a] > t.critical[b]; });
  bool first = true;
  for (int q : order) {
    if (t.critical[q] == 0) continue;
    StrAppend(&text, first ? "" : ", ", Fixed(Percent(double(t.critical[q]), cycles), 1), " % ",
              q == kS ? std::string_view("dispatch") : Name(Queue(q)));
    first = false;
  }
  return text + "\n";
}

std::string MemoryLines(const KernelReport& r) {
  const Timing& t = r.timing;
  std::string text = StrCat("GM read ", Fixed(double(t.gm_read) / kMiB, 2), " MiB (");
  if (t.l2) {
    StrAppend(&text, "L2 hit ", Fixed(Percent(double(t.gm_read_l2), double(t.gm_read)), 0), " %, ",
              r.l2_warm ? "warm" : "cold");
  } else {
    StrAppend(&text, "no L2");
  }
  StrAppend(&text, ")  write ", Fixed(double(t.gm_write) / kMiB, 2), " MiB   MAC ", Grouped(t.macs),
            "\nscratch peak  ");
  static constexpr std::string_view kUpper[] = {"GM", "L1", "L0A", "L0B", "L0C", "UB"};
  for (int s = kL1; s < kNumSpaces; ++s)
    StrAppend(&text, s > kL1 ? "  " : "", kUpper[s], " ", (t.scratch_peak[s] + 1023) / 1024, "/",
              r.preset.bytes[s] / 1024, s == kL1 ? " KiB" : "");
  int64_t all = 0;
  for (const QueueTotals& q : t.queues) all += q.instructions;
  StrAppend(&text, "\ninstr ", Grouped(all), "   per queue");
  for (int q = 0; q < kNumQueues; ++q)
    StrAppend(&text, " ", Name(Queue(q)), " ", t.queues[q].instructions - t.queues[q].sync);
  return StrCat(text, " flags ", Grouped(t.flag_instructions), "\n");
}

// A table of text on the left and at the end, and right-aligned numbers between.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Columns below `left` and the last are text.
  std::string Text(size_t left) const {
    std::vector<size_t> width(rows_[0].size());
    for (const auto& row : rows_) {
      for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    }
    std::string all;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t c = 0; c < row.size(); ++c) {
        const std::string pad(width[c] - row[c].size(), ' ');
        const bool text = c < left || c + 1 == row.size();
        StrAppend(&line, c ? "  " : "", text ? row[c] + pad : pad + row[c]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      StrAppend(&all, line, "\n");
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string OpText(const std::string& op, const std::string& place, const std::string& otherwise) {
  std::string text = op.empty() ? otherwise : op;
  if (!place.empty()) StrAppend(&text, " (", place, ")");
  return text;
}

std::vector<std::string> KernelRow(const KernelReport& k, double all_cycles) {
  const Metrics m = Measure(k);
  const Timing& t = k.timing;
  const double cycles = double(t.cycles) * double(k.launches);
  return {OpText(k.op, k.place, k.kernel),
          k.meta.kernel_class,
          "NPU",
          std::string(Name(m.bound)),
          Grouped(t.cycles * k.launches),
          Fixed(Percent(cycles, all_cycles), 1),
          t.macs > 0 ? Fixed(100 * m.matrix_share, 1) : "-",
          Fixed(double(t.gm_read + t.gm_write) * double(k.launches) / kMiB, 2),
          StrCat((t.scratch_peak[kUB] + 1023) / 1024, "/", (t.scratch_peak[kL1] + 1023) / 1024),
          StrCat(k.launches),
          StrCat(k.cache_hits),
          ""};
}

}  // namespace

std::string KernelText(const KernelReport& report) {
  const Metrics m = Measure(report);
  return StrCat(HeadLines(report), RoofLines(report, m), UnitLines(report.timing),
                MemoryLines(report), kHonesty, "\n");
}

std::string ProgramText(const ProgramReport& report) {
  Table table({"op", "class", "device", "bound", "cycles", "%", "MAC %", "GM MiB", "UB/L1 KiB",
               "launches", "cached", "why not the NPU"});
  double cycles = 0, launch_us = 0;
  int64_t launches = 0, cpu = 0;
  for (const KernelReport& k : report.kernels) cycles += double(k.timing.cycles * k.launches);
  for (const KernelReport& k : report.kernels) {
    table.Add(KernelRow(k, cycles));
    launches += k.launches;
    launch_us += double(k.launches) * k.preset.launch_us;
  }
  for (const CpuOp& op : report.cpu_ops) {
    table.Add({OpText(op.op, op.place, "-"), "-", "CPU", "-", "-", "-", "-", "-", "-",
               StrCat(op.count), "-", op.reason});
    cpu += op.count;
  }
  std::string text = report.name.empty() ? "" : StrCat("program ", report.name, "\n");
  StrAppend(&text, table.Text(4));
  StrAppend(&text, "NPU operators ", launches, ", CPU operators ", cpu, ", guard failures ",
            report.guard_failures, ", bytes to the NPU ", Grouped(report.bytes_to_device),
            ", to the host ", Grouped(report.bytes_to_host), "\n");
  StrAppend(&text, "cycles ", Grouped(int64_t(cycles)), ", launches add ", Fixed(launch_us, 1),
            " us\n", kHonesty, "\n");
  return text;
}

}  // namespace frazil::npu
