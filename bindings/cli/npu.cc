#include "bindings/cli/npu.h"

#include <algorithm>

#include "bindings/cli/files.h"
#include "bindings/cli/launch.h"
#include "bindings/cli/options.h"
#include "npu/asm.h"
#include "npu/file.h"
#include "npu/lint.h"
#include "npu/manual.h"
#include "npu/report.h"

namespace frazil::cli {
namespace {

using npu::LaunchResult;
using npu::Preset;
using npu::Program;
using npu::ProgramFile;

constexpr std::string_view kDefaultPreset = "dc16";

bool IsBinary(std::string_view bytes) { return bytes.substr(0, 4) == "SNPU"; }

// Either form; what it returns passes Validate.
StatusOr<ProgramFile> LoadProgram(const std::string& path) {
  FZ_ASSIGN_OR_RETURN(const std::string bytes, ReadFile("frazil-npu", path));
  if (IsBinary(bytes)) return npu::ReadProgram(bytes);
  ProgramFile file;
  FZ_ASSIGN_OR_RETURN(file.program, npu::Assemble(bytes));
  FZ_RETURN_IF_ERROR(npu::Validate(file.program));
  return file;
}

StatusOr<Preset> LoadPreset(const std::string& name) {
  if (!name.ends_with(".json")) return npu::FindPreset(name);
  FZ_ASSIGN_OR_RETURN(const std::string json, ReadFile("frazil-npu", name));
  return npu::PresetFromJson(json);
}

// The machine a program runs on: the one that was asked for, or its own.
StatusOr<Preset> PresetOf(const Options& options, ProgramFile* file) {
  std::string& own = file->program.preset;
  if (!options.preset.empty()) {
    FZ_ASSIGN_OR_RETURN(Preset preset, LoadPreset(options.preset));
    own = preset.name;
    return preset;
  }
  if (own.empty()) own = kDefaultPreset;
  FZ_ASSIGN_OR_RETURN(Preset preset, npu::FindPreset(own));
  if (file->preset_hash && file->preset_hash != npu::Hash(preset))
    return ValueError("[frazil-npu] the program was made for other parameters of '", own,
                      "' than this version has: name a machine with --preset.");
  return preset;
}

class Command {
 public:
  explicit Command(const Options& options) : options_(options) {}

  Status Run() {
    if (options_.command == "manual") return Deliver(npu::Manual());
    FZ_ASSIGN_OR_RETURN(file_, LoadProgram(options_.input));
    if (options_.command == "as") return As();
    if (options_.command == "dis")
      return Deliver(npu::Disassemble(file_.program, {.words = options_.words}));
    FZ_ASSIGN_OR_RETURN(preset_, PresetOf(options_, &file_));
    if (options_.command == "lint") return DoLint();
    return options_.command == "run" ? DoRun() : Report();
  }
  Outcome* outcome() { return &outcome_; }

 private:
  Status Deliver(const std::string& bytes) {
    if (options_.output != "-") return WriteFile("frazil-npu", options_.output, bytes);
    outcome_.out += bytes;
    return absl::OkStatus();
  }

  Status As() {
    std::string& name = file_.program.preset;
    if (!options_.preset.empty() || !name.empty()) {
      FZ_ASSIGN_OR_RETURN(const Preset preset,
                          LoadPreset(options_.preset.empty() ? name : options_.preset));
      name = preset.name;
      file_.preset_hash = npu::Hash(preset);
    }
    return Deliver(npu::WriteProgram(file_));
  }

  Status DoLint() {
    for (const npu::Finding& finding : npu::Lint(file_.program, preset_)) {
      StrAppend(&outcome_.out, npu::Text(finding, file_.program), "\n");
      outcome_.status = 1;
    }
    return absl::OkStatus();
  }

  Status DoRun() {
    FZ_ASSIGN_OR_RETURN(Arguments arguments, Arguments::Make(file_.program, options_));
    FZ_ASSIGN_OR_RETURN(const LaunchResult result, Launch(&arguments, options_.launch));
    if (options_.format == "json") {
      StrAppend(&outcome_.out, RunJson(result), "\n");
    } else {
      StrAppend(&outcome_.err, RunText(result), "\n");
    }
    if (result.fault) return absl::OkStatus();
    for (const auto& [name, path] : options_.dump) {
      if (path == "-") {
        outcome_.out += arguments.Bytes(name);
      } else {
        FZ_RETURN_IF_ERROR(WriteFile("frazil-npu", path, arguments.Bytes(name)));
      }
    }
    return absl::OkStatus();
  }

  // "72 instructions, 5120 cycles on dc16 (cycle-approximate)", or the fault.
  std::string RunText(const LaunchResult& result) const {
    if (result.fault) return result.fault->Text();
    std::string text = StrCat(result.instructions, " instructions");
    if (result.timing)
      StrAppend(&text, ", ", result.timing->cycles, " cycles on ", preset_.name,
                " (cycle-approximate)");
    return text;
  }

  static std::string RunJson(const LaunchResult& result) {
    std::string json = StrCat("{\"instructions\":", result.instructions);
    if (result.timing) StrAppend(&json, ",\"cycles\":", result.timing->cycles);
    StrAppend(&json, ",\"fault\":", result.fault ? result.fault->Json() : "null", "}");
    return json;
  }

  Status Report() {
    npu::LaunchOptions launch = options_.launch;
    if (launch.mode != npu::Mode::kTimeOnly) launch.mode = npu::Mode::kTime;
    launch.record = options_.format == "csv" || options_.format == "perfetto";
    FZ_ASSIGN_OR_RETURN(Arguments arguments, Arguments::Make(file_.program, options_));
    FZ_ASSIGN_OR_RETURN(LaunchResult result, Launch(&arguments, launch));
    if (result.fault) {
      StrAppend(&outcome_.err, result.fault->Text(), "\n");
      return absl::OkStatus();
    }
    npu::KernelReport report =
        npu::MakeKernelReport(file_.program, preset_, *std::move(result.timing));
    report.blocks = launch.blocks;
    report.cores = std::min(launch.blocks, preset_.cores);
    report.l2_warm = launch.l2_warm;
    return Deliver(Formatted(report));
  }

  std::string Formatted(const npu::KernelReport& report) const {
    const Program& program = file_.program;
    if (options_.format == "csv") return npu::InstructionCsv(report, program);
    if (options_.format == "perfetto") return npu::TimelineJson(report, program);
    if (options_.format == "roofline") return npu::RooflineText({&report, 1});
    if (options_.format == "svg") return npu::RooflineSvg({&report, 1});
    if (options_.format == "text") return npu::KernelText(report);
    return npu::ReportJson({.name = program.name, .kernels = {report}});
  }

  // A fault goes into the status.
  StatusOr<LaunchResult> Launch(Arguments* arguments, const npu::LaunchOptions& launch) {
    const std::vector<npu::Window> windows = arguments->Windows();
    FZ_ASSIGN_OR_RETURN(LaunchResult result,
                        npu::Launch(file_.program, preset_, arguments->params(), windows, launch));
    if (result.fault) outcome_.status = 1;
    return result;
  }

  const Options& options_;
  ProgramFile file_;
  Preset preset_;
  Outcome outcome_;
};

}  // namespace

Outcome RunNpu(absl::Span<const std::string> args) {
  if (args.empty() || args[0] == "-h" || args[0] == "--help" || args[0] == "help")
    return {.status = args.empty() ? 2 : 0, .out = Usage()};
  const StatusOr<Options> options = ParseOptions(args);
  if (!options.ok())
    return {.status = 2,
            .err = StrCat(std::string(options.status().message()),
                          "\n`frazil-npu help` lists commands and options.\n")};
  Command command(*options);
  const Status status = command.Run();
  Outcome outcome = *command.outcome();
  if (!status.ok()) {
    outcome.status = 1;
    StrAppend(&outcome.err, std::string(status.message()), "\n");
  }
  return outcome;
}

}  // namespace frazil::cli
