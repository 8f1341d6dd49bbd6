// Reports: fixed text (goldens/*.txt; FRAZIL_UPDATE_GOLDENS=1 writes them), and files that other
// programs read.
#include "npu/report.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "npu/asm.h"
#include "npu/live_bytes.h"
#include "npu/metrics.h"
#include "tests/npu/streams.h"

namespace frazil::npu {
namespace {

using Json = nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectGolden(const std::string& text, const std::string& name) {
  const std::string path = StrCat(FRAZIL_NPU_GOLDENS, "/", name);
  if (std::getenv("FRAZIL_UPDATE_GOLDENS")) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text, ReadFile(path)) << name << ": FRAZIL_UPDATE_GOLDENS=1 rewrites it";
}

KernelReport GemmReport() {
  GemmStream g;
  g.epilogue = 2;
  CycleOptions options;
  options.warm = GemmWindows(g);
  KernelReport report;
  report.kernel = "gemm_bias_gelu_f16";
  report.hash = 0xa1b2c3d4e5f60718;
  report.meta.kernel_class = "GEMM";
  report.meta.shape = "M1024 N1024 K1024";
  report.meta.tile = "L1 256x256x256 x2, L0C 2x128x256";
  report.op = "matmul";
  report.place = "train.py:12";
  report.preset = *FindPreset("dc16");
  report.guards = 3;
  report.timing = RunStream(Gemm(g), report.preset, options);
  return report;
}

struct Recorded {
  Program program;
  KernelReport report;
};
// The listing of relu(x * w + b) over four tiles, with every instruction recorded.
Recorded Relu() {
  Recorded r;
  const std::string listing = ReadFile(StrCat(FRAZIL_NPU_GOLDENS, "/relu_axpb.snpu.s"));
  StatusOr<Program> program = Assemble(listing);
  EXPECT_TRUE(program.ok()) << program.status();
  r.program = *program;
  r.program.sources = {{0, "mul", "", 0}, {15, "relu \"axpb\"", "model.py", 7}};
  r.program.meta.kernel_class = "EW";
  const Preset preset = *FindPreset("dc16");
  const std::vector<uint64_t> params = {kGmBase, kGmBase + (1 << 20), 4, 0x3f800000, 0};
  CycleOptions options;
  options.record = true;
  options.l2 = false;
  const std::unique_ptr<CycleModel> model = MakeCycleModel(preset, options);
  BlockContext context;
  context.program = &r.program;
  context.preset = &preset;
  context.params = params;
  Sink* const sinks[] = {model.get()};
  const BlockResult result = RunBlock(context, sinks);
  EXPECT_FALSE(result.fault) << result.fault->Text();
  r.report = MakeKernelReport(r.program, preset, model->Finish());
  return r;
}

ProgramReport SomeProgram() {
  ProgramReport program;
  program.name = "train.py";
  program.kernels = {GemmReport(), Relu().report};
  program.kernels[1].launches = 200;
  program.kernels[1].cache_hits = 199;
  program.cpu_ops = {{"sort", "train.py:20", "no kernel sorts on the NPU", 200},
                     {"matmul", "", "f64", 1}};
  program.guard_failures = 2;
  program.bytes_to_device = 6 << 20;
  program.bytes_to_host = 1234567;
  return program;
}

TEST(Report, KernelText) {
  ExpectGolden(KernelText(GemmReport()), "report_gemm.txt");
  ExpectGolden(KernelText(Relu().report), "report_relu.txt");
}

TEST(Report, ProgramText) { ExpectGolden(ProgramText(SomeProgram()), "report_program.txt"); }

TEST(Report, InstructionCsv) {
  const Recorded r = Relu();
  ExpectGolden(InstructionCsv(r.report, r.program), "report_relu.csv");
}

TEST(Report, Roofline) {
  const ProgramReport program = SomeProgram();
  ExpectGolden(RooflineText(program.kernels), "roofline.txt");
  ExpectGolden(RooflineSvg(program.kernels), "roofline.svg");
}

TEST(Report, NoKernelsAndNoCycles) {
  EXPECT_EQ(RooflineText({}), "no kernels\n");
  KernelReport empty;
  empty.preset = *FindPreset("edge16");
  EXPECT_NE(KernelText(empty).find("cycles 0 "), std::string::npos);
  EXPECT_NE(ProgramText({}).find("NPU operators 0, CPU operators 0"), std::string::npos);
  EXPECT_TRUE(Json::accept(ReportJson({})));
  EXPECT_TRUE(Json::accept(TimelineJson(empty, {})));
  const KernelReport kernels[] = {empty};
  EXPECT_NE(RooflineSvg(kernels).find("</svg>"), std::string::npos);
}

TEST(Report, EveryFormSaysWhatItIs) {
  const Recorded r = Relu();
  const ProgramReport program = SomeProgram();
  for (const std::string& text :
       {KernelText(r.report), ProgramText(program), ReportJson(program),
        InstructionCsv(r.report, r.program), TimelineJson(r.report, r.program),
        RooflineText(program.kernels), RooflineSvg(program.kernels)}) {
    EXPECT_NE(text.find(kHonesty), std::string::npos) << text.substr(0, 200);
  }
}

// Names of all fields, below names that are data.
void Fields(const Json& json, std::set<std::string>* out) {
  if (json.is_array()) {
    for (const Json& item : json) Fields(item, out);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (key.size() != 16) out->insert(key);  // hashes
    Fields(value, out);
  }
}

TEST(Report, JsonEchoesThePresetAndEveryFieldIsDocumented) {
  const Json json = Json::parse(ReportJson(SomeProgram()));
  EXPECT_EQ(json["schema"], kReportSchema);
  const Json& kernel = json["kernels"][0];
  const Json& preset = json["presets"][kernel["preset"].get<std::string>()];
  EXPECT_EQ(*PresetFromJson(preset.dump()), *FindPreset("dc16"));
  EXPECT_EQ(kernel["timing"]["macs"], int64_t{1} << 30);
  const std::string manual = ReadFile(FRAZIL_NPU_DOCS);
  std::set<std::string> fields;
  Fields(json, &fields);
  EXPECT_GT(fields.size(), 90u);
  for (const std::string& field : fields)
    EXPECT_NE(manual.find(StrCat("`", field, "`")), std::string::npos) << field;
}

TEST(Report, TableOfParametersIsUpToDate) {
  EXPECT_NE(ReadFile(FRAZIL_NPU_DOCS).find(PresetTable()), std::string::npos)
      << "docs/npu.md lacks this table:\n"
      << PresetTable();
}

TEST(Timeline, RowsArrowsAndCounters) {
  const Recorded r = Relu();
  const Json json = Json::parse(TimelineJson(r.report, r.program));
  EXPECT_EQ(json["otherData"]["left_out"], "nothing");
  std::map<std::string, int> phases;
  std::map<int, std::vector<std::pair<double, double>>> rows;
  std::map<int, double> starts, ends;
  std::set<std::string> counters;
  for (const Json& e : json["traceEvents"]) {
    ++phases[e["ph"]];
    if (e["ph"] == "X") {
      EXPECT_GT(e["dur"].get<double>(), 0);
      rows[e["tid"]].push_back({e["ts"], e["ts"].get<double>() + e["dur"].get<double>()});
    }
    if (e["ph"] == "s") starts[e["id"]] = e["ts"];
    if (e["ph"] == "f") ends[e["id"]] = e["ts"];
    if (e["ph"] == "C") counters.insert(e["name"]);
  }
  int waits = 0;
  for (const Timed& t : r.report.timing.events) waits += t.op == Op::kWAIT;
  EXPECT_EQ(phases["s"], waits);
  EXPECT_EQ(phases["f"], waits);
  for (const auto& [id, ts] : starts) EXPECT_GT(ends[id], ts);
  for (const auto& [tid, spans] : rows) {
    for (size_t i = 1; i < spans.size(); ++i)
      EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-4) << "row " << tid;
  }
  EXPECT_EQ(phases["M"], 2 * (1 + 14));
  EXPECT_TRUE(counters.count("UB live KiB") && counters.count("GM read B/cycle") &&
              counters.count("VE queue"));
}

TEST(Timeline, LeavesGroupsOutAndSaysSo) {
  GemmStream g;
  KernelReport report;
  report.preset = *FindPreset("dc16");
  CycleOptions options;
  options.record = true;
  report.timing = RunStream(Gemm(g), report.preset, options);
  TimelineOptions small;
  small.max_events = 12000;
  const std::string text = TimelineJson(report, {}, small);
  const Json json = Json::parse(text);
  EXPECT_LE(json["traceEvents"].size(), 12000u);
  EXPECT_NE(json["otherData"]["left_out"].get<std::string>().find("only the first 1000 are shown"),
            std::string::npos);
  EXPECT_GT(Json::parse(TimelineJson(report, {}))["traceEvents"].size(), 12000u);
}

TEST(LiveBytes, FromTheWriteToTheLastRead) {
  Timing t;
  const auto add = [&t](int64_t start, int64_t done, uint64_t offset, int64_t bytes, bool write) {
    Timed timed;
    timed.start = start;
    timed.done = done;
    t.touches.push_back(
        {int32_t(t.events.size()), {Address(kUB, offset), 1, bytes, bytes, 0, write}});
    t.events.push_back(timed);
  };
  add(10, 20, 0, 64, true);
  add(30, 40, 0, 32, false);  // the first half is read
  add(50, 60, 0, 64, true);   // and both are written again
  add(70, 80, 0, 64, false);
  add(75, 90, 32, 32, false);
  using Sums = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(LiveBytes(t, kUB, 0), (Sums{{10, 32}, {40, 0}, {50, 64}, {80, 32}, {90, 0}}));
  EXPECT_EQ(LiveBytes(t, kL1, 0), Sums{});
}

TEST(Metrics, NoRoofIsAboveTheCycles) {
  for (const KernelReport& k : SomeProgram().kernels) {
    const Metrics m = Measure(k);
    for (double roof : m.roof) EXPECT_LE(roof, double(k.timing.cycles));
    EXPECT_GT(m.attained, 0.5);
  }
}

TEST(Metrics, Numbers) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1 000");
  EXPECT_EQ(Grouped(-1234567), "-1 234 567");
  EXPECT_EQ(Hex(0xab), "00000000000000ab");
}

// The ridge, found by running kernels of rising intensity: where the slope of those that memory
// binds meets the level of those that the matrix unit binds.
TEST(Metrics, RidgeFoundBySweeping) {
  const auto flops_a_cycle = [](const Preset& p, int64_t bytes, int products, double* intensity) {
    Stream s;
    for (int b = 0; b < 2; ++b) s.Set(kMM, kLD, b);
    const auto load = [&](int b) {
      s.Wait(kMM, kLD, b);
      s.Add(Op::kLD, kLD,
            {Address(kL1, uint64_t(b * bytes)), kGmBase, 1, uint64_t(bytes), 0, 0, 0});
      s.Set(kLD, kMM, b);
    };
    load(0);
    for (int i = 0; i < 40; ++i) {
      const int b = i % 2;
      if (i + 1 < 40) load(1 - b);
      s.Wait(kLD, kMM, b);
      for (int j = 0; j < products; ++j)
        s.Add(
            Op::kMMUL, kMM,
            {Address(kL0C, uint64_t(j % 2) << 15), Address(kL0A, 0), Address(kL0B, 0), 64, 64, 64},
            0, kF16);
      s.Set(kMM, kLD, b);
    }
    for (int b = 0; b < 2; ++b) s.Wait(kMM, kLD, b);
    s.Halt();
    CycleOptions options;
    options.l2 = false;
    const Timing t = RunStream(s.issues(), p, options);
    *intensity = 2.0 * double(t.macs) / double(t.gm_read);
    return 2.0 * double(t.macs) / double(t.cycles);
  };
  const auto ridge = [&](const Preset& p, int64_t bytes) {
    double low = 0, high = 0;
    const double slope = flops_a_cycle(p, bytes, 2, &low) / low;
    return flops_a_cycle(p, bytes, 2000, &high) / slope;
  };
  EXPECT_NEAR(ridge(*FindPreset("dc16"), 512 << 10), 256, 256 * 0.05);
  EXPECT_NEAR(ridge(*FindPreset("edge16"), 128 << 10), 68, 68 * 0.05);
}

}  // namespace
}  // namespace frazil::npu
