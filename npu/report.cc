#include "npu/report.h"

#include <algorithm>

#include "core/str.h"
#include "nlohmann/json.hpp"
#include "npu/metrics.h"

namespace frazil::npu {
namespace {

using Json = nlohmann::ordered_json;

// Of the words; two kernels of equal words take the same parameters.
uint64_t HashOf(const Program& program) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const Instr& instr : program.code) {
    hash = (hash ^ Encode(instr)) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

Json QueueJson(const QueueTotals& q) {
  Json json;
  json["busy"] = q.busy;
  json["sync"] = q.sync;
  json["idle"] = q.idle;
  json["instructions"] = q.instructions;
  for (int from = 0; from < kNumQueues; ++from) {
    if (q.flag_stall[from]) json["flag_stall"][std::string(Name(Queue(from)))] = q.flag_stall[from];
  }
  json["dependence_stall"] = q.dependence_stall;
  json["barrier_stall"] = q.barrier_stall;
  json["channel_stall"] = q.channel_stall;
  json["slot_stall"] = q.slot_stall;
  return json;
}

Json TimingJson(const Timing& t) {
  Json json;
  json["cycles"] = t.cycles;
  json["launch_cycles"] = t.launch_cycles;
  for (int q = 0; q < kNumQueues; ++q) {
    const std::string name(Name(Queue(q)));
    json["queues"][name] = QueueJson(t.queues[q]);
    json["critical_path"][name] = t.critical[q];
    if (q != kS) json["dispatch_full"][name] = t.dispatch_full[q];
  }
  json["gm_read"] = t.gm_read;
  json["gm_write"] = t.gm_write;
  json["l2"] = t.l2;
  json["gm_read_l2"] = t.gm_read_l2;
  json["macs"] = t.macs;
  json["vector_beats"] = t.vector_beats;
  json["flag_instructions"] = t.flag_instructions;
  for (int s = kL1; s < kNumSpaces; ++s)
    json["scratch_peak"][std::string(Name(Space(s)))] = t.scratch_peak[s];
  return json;
}

Json KernelJson(const KernelReport& k) {
  const Metrics m = Measure(k);
  Json json;
  json["kernel"] = k.kernel;
  json["hash"] = Hex(k.hash);
  json["op"] = k.op;
  json["place"] = k.place;
  json["class"] = k.meta.kernel_class;
  json["shape"] = k.meta.shape;
  json["tile"] = k.meta.tile;
  json["preset"] = Hex(Hash(k.preset));
  json["blocks"] = k.blocks;
  json["cores"] = k.cores;
  json["l2_warm"] = k.l2_warm;
  json["guards"] = k.guards;
  json["launches"] = k.launches;
  json["cache_hits"] = k.cache_hits;
  json["seconds"] = m.seconds;
  json["bound"] = Name(m.bound);
  json["attained"] = m.attained;
  json["matrix_share"] = m.matrix_share;
  json["flops"] = m.flops;
  json["intensity"] = m.intensity;
  for (size_t r = 0; r < m.roof.size(); ++r) json["roofs"][std::string(Name(Roof(r)))] = m.roof[r];
  json["timing"] = TimingJson(k.timing);
  return json;
}

}  // namespace

namespace {

// Names of the ops that were fused, each once, and the first line that is known.
void Name(const Program& program, KernelReport* report) {
  constexpr size_t kShown = 4;
  std::vector<std::string_view> ops;
  for (const SourceEntry& source : program.sources) {
    if (report->place.empty() && !source.file.empty())
      report->place = StrCat(source.file, ":", source.line);
    if (source.op.empty() || std::find(ops.begin(), ops.end(), source.op) != ops.end()) continue;
    ops.push_back(source.op);
    if (ops.size() <= kShown) StrAppend(&report->op, ops.size() > 1 ? " + " : "", source.op);
  }
  if (ops.size() > kShown) StrAppend(&report->op, " + ", ops.size() - kShown, " more");
}

}  // namespace

KernelReport MakeKernelReport(const Program& program, const Preset& preset, Timing timing) {
  KernelReport report;
  report.kernel = program.name;
  report.hash = HashOf(program);
  report.meta = program.meta;
  report.preset = preset;
  report.cores = timing.cores;
  report.timing = std::move(timing);
  Name(program, &report);
  return report;
}

std::string ReportJson(const ProgramReport& report) {
  Json json;
  json["schema"] = kReportSchema;
  json["model"] = "cycle-approximate";
  json["model_version"] = kModelVersion;
  json["note"] = kHonesty;
  json["program"] = report.name;
  json["presets"] = Json::object();
  json["kernels"] = Json::array();
  for (const KernelReport& k : report.kernels) {
    Json& preset = json["presets"][Hex(Hash(k.preset))];
    if (preset.is_null()) preset = Json::parse(ToJson(k.preset));
    json["kernels"].push_back(KernelJson(k));
  }
  json["cpu_ops"] = Json::array();
  for (const CpuOp& op : report.cpu_ops)
    json["cpu_ops"].push_back(
        {{"op", op.op}, {"place", op.place}, {"reason", op.reason}, {"count", op.count}});
  json["guard_failures"] = report.guard_failures;
  json["bytes_to_device"] = report.bytes_to_device;
  json["bytes_to_host"] = report.bytes_to_host;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace frazil::npu
