#include "bindings/cli/options.h"

#include "absl/strings/numbers.h"
#include "core/str.h"

namespace frazil::cli {
namespace {

// Commands as bits of a mask.
constexpr std::string_view kCommands[] = {"as", "dis", "lint", "run", "report", "manual"};
enum : unsigned { kAs = 1, kDis = 2, kLint = 4, kRun = 8, kReport = 16, kManual = 32 };
constexpr unsigned kLaunching = kRun | kReport;

using Handler = Status (*)(Options*, const std::string& value);

Status Append(Settings* settings, const std::string& value, std::string_view what) {
  const size_t at = value.find('=');
  if (at == value.npos || at == 0)
    return ValueError("[frazil-npu] '", value, "', expected ", what, ".");
  settings->emplace_back(value.substr(0, at), value.substr(at + 1));
  return absl::OkStatus();
}

Status Assign(std::string* field, const std::string& value) {
  *field = value;
  return absl::OkStatus();
}

// The number of the text among `choices`.
StatusOr<int> Choose(const std::string& value, absl::Span<const std::string_view> choices) {
  std::string all;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (value == choices[i]) return int(i);
    StrAppend(&all, all.empty() ? "" : ", ", choices[i]);
  }
  return ValueError("[frazil-npu] '", value, "', expected one of ", all, ".");
}

// In the order of npu::Mode and npu::Schedule.
constexpr std::string_view kModes[] = {"run", "check", "time", "time-only"};
constexpr std::string_view kSchedules[] = {"program", "timing", "eager", "lazy", "random"};
constexpr std::string_view kRunFormats[] = {"text", "json"};
constexpr std::string_view kReportFormats[] = {"text",     "json",     "csv",
                                               "perfetto", "roofline", "svg"};

Status SetMode(Options* o, const std::string& value) {
  FZ_ASSIGN_OR_RETURN(const int mode, Choose(value, kModes));
  o->launch.mode = npu::Mode(mode);
  if (o->command == "report" && o->launch.mode < npu::Mode::kTime)
    return ValueError("[frazil-npu] report --mode '", value, "', expected time or time-only.");
  return absl::OkStatus();
}

Status SetSchedule(Options* o, const std::string& value) {
  FZ_ASSIGN_OR_RETURN(const int schedule, Choose(value, kSchedules));
  o->launch.schedule = npu::Schedule(schedule);
  return absl::OkStatus();
}

Status SetFormat(Options* o, const std::string& value) {
  const absl::Span<const std::string_view> formats =
      o->command == "run" ? absl::MakeConstSpan(kRunFormats) : absl::MakeConstSpan(kReportFormats);
  FZ_RETURN_IF_ERROR(Choose(value, formats).status());
  return Assign(&o->format, value);
}

Status SetBlocks(Options* o, const std::string& value) {
  if (absl::SimpleAtoi(value, &o->launch.blocks) && o->launch.blocks > 0) return absl::OkStatus();
  return ValueError("[frazil-npu] --blocks '", value, "', expected a number above 0.");
}

Status SetSeed(Options* o, const std::string& value) {
  FZ_ASSIGN_OR_RETURN(o->launch.seed, ParseU64("--seed", value));
  return absl::OkStatus();
}

struct Option {
  std::string_view name, value, doc;  // value: empty for switches
  unsigned commands;
  Handler handle;
};

constexpr Option kOptions[] = {
    {"-o", "FILE", "where the result goes; - is standard output, the default",
     kAs | kDis | kReport | kManual,
     [](Options* o, const std::string& v) { return Assign(&o->output, v); }},
    {"--words", "", "pc and word of every instruction as a comment", kDis,
     [](Options* o, const std::string&) {
       o->words = true;
       return absl::OkStatus();
     }},
    {"--preset", "NAME|FILE.json", "the machine; default: the one the program names, else dc16",
     kAs | kLint | kLaunching,
     [](Options* o, const std::string& v) { return Assign(&o->preset, v); }},
    {"--gm", "NAME=DATA",
     "memory behind a parameter: FILE, zeros:BYTES, random:BYTES, random.TYPE:BYTES (floats in "
     "[-1, 1)), @NAME (that of another parameter)",
     kLaunching, [](Options* o, const std::string& v) { return Append(&o->gm, v, "NAME=DATA"); }},
    {"--set", "NAME=NUMBER", "a parameter that is a number", kLaunching,
     [](Options* o, const std::string& v) { return Append(&o->set, v, "NAME=NUMBER"); }},
    {"--blocks", "N", "blocks of the launch", kLaunching, SetBlocks},
    {"--seed", "N", "of random data and the random schedule", kLaunching, SetSeed},
    {"--mode", "MODE", "run (default), check, time (default of report) or time-only", kLaunching,
     SetMode},
    {"--schedule", "ORDER",
     "in which effects take place: program (default), timing, eager, lazy, random; mode check "
     "compares it with program",
     kRun, SetSchedule},
    {"--any-flag-order", "",
     "a WAIT may stand before its SET: runs through bounded queues, which may stand still", kRun,
     [](Options* o, const std::string&) {
       o->launch.flag_order = false;
       return absl::OkStatus();
     }},
    {"--dump", "NAME=FILE", "writes the memory behind a parameter after the run", kRun,
     [](Options* o, const std::string& v) { return Append(&o->dump, v, "NAME=FILE"); }},
    {"--format", "FORMAT", "text (default), json; report: csv, perfetto, roofline, svg", kLaunching,
     SetFormat},
    {"--cold", "", "L2 holds nothing at the start", kLaunching,
     [](Options* o, const std::string&) {
       o->launch.l2_warm = false;
       return absl::OkStatus();
     }},
};

int FindCommand(std::string_view name) {
  for (size_t i = 0; i < std::size(kCommands); ++i) {
    if (kCommands[i] == name) return int(i);
  }
  return -1;
}

}  // namespace

StatusOr<uint64_t> ParseU64(std::string_view what, std::string_view text) {
  uint64_t value = 0;
  int64_t negative = 0;
  const bool hex = text.substr(0, 2) == "0x";
  if (hex ? absl::SimpleHexAtoi(AbslView(text), &value) : absl::SimpleAtoi(AbslView(text), &value))
    return value;
  if (absl::SimpleAtoi(AbslView(text), &negative)) return uint64_t(negative);
  return ValueError("[frazil-npu] ", what, " '", text, "', expected a number of 64 bits.");
}

StatusOr<Options> ParseOptions(absl::Span<const std::string> args) {
  Options options;
  if (args.empty()) return ValueError("[frazil-npu] a command is missing.");
  options.command = args[0];
  const int command = FindCommand(args[0]);
  if (command < 0) return ValueError("[frazil-npu] there is no command '", args[0], "'.");
  for (size_t i = 1; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "-" || arg.empty() || arg[0] != '-') {
      if (!options.input.empty())
        return ValueError("[frazil-npu] '", arg, "' is a second program, after '", options.input,
                          "'.");
      options.input = arg;
      continue;
    }
    const Option* found = nullptr;
    for (const Option& option : kOptions) {
      if (option.name == arg && (option.commands >> command & 1)) found = &option;
    }
    if (!found) return ValueError("[frazil-npu] ", options.command, " has no option '", arg, "'.");
    if (!found->value.empty() && i + 1 == args.size())
      return ValueError("[frazil-npu] ", arg, " needs ", found->value, ".");
    FZ_RETURN_IF_ERROR(found->handle(&options, found->value.empty() ? "" : args[++i]));
  }
  if (options.input.empty() != ((kManual >> command & 1) != 0))
    return options.input.empty() ? ValueError("[frazil-npu] ", options.command, " needs a program.")
                                 : ValueError("[frazil-npu] manual takes no program.");
  return options;
}

std::string Usage() {
  std::string text =
      R"(frazil-npu: programs of the simulated NPU (cycle-approximate; a hypothetical machine)

  frazil-npu as PROGRAM      text to a binary file (.snpu)
  frazil-npu dis PROGRAM     back to text
  frazil-npu lint PROGRAM    what will go wrong, found without running
  frazil-npu run PROGRAM     runs it on memory from files or made up
  frazil-npu report PROGRAM  cycles, utilisation, stalls, timeline
  frazil-npu manual          the manual of the instruction set, as Markdown

PROGRAM is text or binary, - standard input. The status is 0, 1 after an error, a fault or a
finding, 2 for a wrong command line. Options:

)";
  for (const Option& option : kOptions) {
    std::string left = StrCat("  ", option.name, option.value.empty() ? "" : " ", option.value);
    left.resize(std::max<size_t>(left.size() + 1, 26), ' ');
    std::string commands;
    for (size_t i = 0; i < std::size(kCommands); ++i) {
      if (option.commands >> i & 1)
        StrAppend(&commands, commands.empty() ? "" : ", ", kCommands[i]);
    }
    StrAppend(&text, left, "(", commands, ") ", option.doc, "\n");
  }
  return text;
}

}  // namespace frazil::cli
