#include "bindings/cli/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "bindings/cli/files.h"
#include "bindings/cli/npy.h"
#include "bindings/cpp/frazil.h"
#include "core/threads/parallel.h"
#include "frozen/loaded.h"

namespace frazil::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsage =
    "usage: frazil-run MODEL.frz [options]\n"
    "\n"
    "Runs a program that fz.export wrote. Without options it tells what the program takes.\n"
    "\n"
    "  --input FILE.npy        the next input, in their order\n"
    "  --input NAME=FILE.npy   the input of that name\n"
    "  --output FILE.npy       where the next result goes; results without one are printed as "
    "types\n"
    "  --size NAME=N           a dynamic size: inputs without a file are then made up\n"
    "  --bench                 time of loading, of the first calls and of a call afterwards\n"
    "  --profile               time by line and operation, run one by one\n"
    "  --seconds S             how long --bench runs (1)\n"
    "  --device NAME           cpu (default), cuda, npu\n"
    "  --threads N             how many threads kernels use (all cores)\n"
    "  --version               that of frazil-run itself\n";

struct Options {
  std::string model, device = "cpu";
  std::vector<std::pair<std::string, std::string>> inputs;  // name or "", path
  std::vector<std::string> outputs;
  std::map<std::string, int64_t> sizes;
  bool bench = false, profile = false;
  double seconds = 1;
};

Status WrongOption(std::string_view what) { return ValueError("[frazil-run] ", what, "."); }

StatusOr<Options> ParseArguments(absl::Span<const std::string> args) {
  Options options;
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t joined = args[i].starts_with("--") ? args[i].find('=') : std::string::npos;
    const std::string arg = args[i].substr(0, joined);  // of --option=value, too
    if (joined == std::string::npos && (arg == "--bench" || arg == "--profile")) {
      (arg == "--bench" ? options.bench : options.profile) = true;
      continue;
    }
    if (!arg.starts_with("-")) {
      if (!options.model.empty())
        return WrongOption(StrCat("there is a second program '", arg, "'"));
      options.model = arg;
      continue;
    }
    static constexpr std::string_view kWithValue[] = {"--input",   "--output", "--size",
                                                      "--seconds", "--device", "--threads"};
    if (std::find(std::begin(kWithValue), std::end(kWithValue), arg) == std::end(kWithValue))
      return WrongOption(StrCat("'", arg, "' is no option"));
    if (joined == std::string::npos && i + 1 == args.size())
      return WrongOption(StrCat(arg, " needs a value"));
    const std::string value = joined == std::string::npos ? args[++i] : args[i].substr(joined + 1);
    const size_t equals = value.find('=');
    const bool named = equals != value.npos && equals > 0;
    if (arg == "--input") {
      options.inputs.emplace_back(named ? value.substr(0, equals) : "",
                                  named ? value.substr(equals + 1) : value);
    } else if (arg == "--output") {
      options.outputs.push_back(value);
    } else if (arg == "--device") {
      options.device = value;
    } else if (arg == "--seconds") {
      if (!absl::SimpleAtod(value, &options.seconds) || !(options.seconds > 0) ||
          std::isinf(options.seconds))
        return WrongOption(StrCat("--seconds '", value, "' is no time"));
    } else {
      int64_t number;
      const std::string text = arg == "--size" && named ? value.substr(equals + 1) : value;
      if (!absl::SimpleAtoi(text, &number) || number < 1 || (arg == "--size" && !named))
        return WrongOption(
            StrCat(arg, " '", value, "' is no ", arg == "--size" ? "NAME=N" : "number above 0"));
      if (arg == "--size") {
        options.sizes[value.substr(0, equals)] = number;
      } else {
        SetNumThreads(static_cast<int>(std::min<int64_t>(number, kMostThreads)));
      }
    }
  }
  if (options.model.empty()) return WrongOption("it needs a program");
  return options;
}

// Integers are 0, floats are between -1 and 1: what a program makes of them is not looked at.
StatusOr<Tensor> MadeUp(const frozen::Loaded& program, int input,
                        const std::map<std::string, int64_t>& sizes) {
  FZ_ASSIGN_OR_RETURN(const auto type, program.InputType(input, sizes));
  const auto& [dtype, dims] = type;
  FZ_RETURN_IF_ERROR(CheckDims("frazil-run", dims, SizeOf(dtype)));
  if (!IsFloat(dtype)) {
    const Tensor zeros = ops::filled(dims, Scalar::Int(0), dtype);
    FZ_RETURN_IF_ERROR(zeros.status());
    return zeros;
  }
  Tensor generator = ops::random_state(static_cast<uint64_t>(input));
  const Tensor x = ops::random_uniform(&generator, dims, DType::kF32);
  const Tensor made = ops::astype(ops::subtract(ops::multiply(x, 2.0), 1.0), dtype);
  FZ_RETURN_IF_ERROR(made.status());
  return made;
}

StatusOr<std::vector<Tensor>> InputsOf(const frozen::Loaded& program, const Options& options) {
  const std::vector<std::string> names = program.input_names();
  std::vector<Tensor> inputs(names.size());
  size_t next = 0;
  for (const auto& [name, path] : options.inputs) {
    int at = program.InputNamed(name);
    if (name.empty()) {
      while (next < inputs.size() && inputs[next].defined()) ++next;
      at = next < inputs.size() ? static_cast<int>(next) : -1;
    }
    if (at < 0)
      return WrongOption(
          StrCat("the program has no input ", name.empty() ? "left" : name, " for '", path, "'"));
    if (inputs[at].defined()) return WrongOption(StrCat("'", names[at], "' has two --input"));
    FZ_ASSIGN_OR_RETURN(const std::string bytes, ReadFile("frazil-run", path));
    FZ_ASSIGN_OR_RETURN(inputs[at], ParseNpy(bytes, path));
  }
  for (const auto& size : options.sizes) {
    const auto sizes = program.sizes();
    if (std::none_of(sizes.begin(), sizes.end(),
                     [&](const auto& known) { return known.name == size.first; }))
      return WrongOption(StrCat("the program has no dynamic size ", size.first, " for --size"));
  }
  FZ_ASSIGN_OR_RETURN(const Device device, ParseDevice(options.device));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      if (!options.inputs.empty() && options.sizes.empty())
        return WrongOption(StrCat("'", names[i], "' has no --input"));
      FZ_ASSIGN_OR_RETURN(inputs[i], MadeUp(program, static_cast<int>(i), options.sizes));
    }
    inputs[i] = ops::to_device(inputs[i], device);
    FZ_RETURN_IF_ERROR(inputs[i].status());
  }
  return inputs;
}

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Session {
 public:
  Session(std::shared_ptr<frozen::Loaded> program, std::vector<Tensor> inputs)
      : program_(std::move(program)), inputs_(std::move(inputs)) {}

  Status Call(std::vector<Tensor>* results) {
    std::vector<Tensor*> cells;
    for (Tensor& t : inputs_) cells.push_back(&t);
    results->clear();
    FZ_RETURN_IF_ERROR(program_->Call(cells, results));
    for (const Tensor& t : *results) FZ_RETURN_IF_ERROR(Read(*t.value()));
    return absl::OkStatus();
  }

  // Sorted, in seconds.
  StatusOr<std::vector<double>> Times(double seconds) {
    std::vector<double> times;
    std::vector<Tensor> results;
    for (const auto start = Clock::now(); Since(start) < seconds || times.size() < 10;) {
      const auto before = Clock::now();
      FZ_RETURN_IF_ERROR(Call(&results));
      times.push_back(Since(before));
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  frozen::Loaded& program() { return *program_; }
  std::vector<Tensor>& inputs() { return inputs_; }

 private:
  std::shared_ptr<frozen::Loaded> program_;
  std::vector<Tensor> inputs_;
};

Status Bench(Session* session, double loading, double seconds, std::string* out) {
  std::vector<Tensor> results;
  absl::StrAppendFormat(out, "load     %10.3f ms\n", loading * 1e3);
  for (int i = 1; i <= 3; ++i) {
    const auto start = Clock::now();
    FZ_RETURN_IF_ERROR(session->Call(&results));
    absl::StrAppendFormat(out, "call %d   %10.3f ms\n", i, Since(start) * 1e3);
  }
  FZ_ASSIGN_OR_RETURN(const std::vector<double> times, session->Times(seconds));
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))] * 1e6;
  };
  absl::StrAppendFormat(out, "then     best %.2f us, median %.2f us, 90 %% %.2f us, of %d calls\n",
                        at(0), at(0.5), at(0.9), times.size());
  const tracer::TraceStats stats = session->program().stats();
  absl::StrAppendFormat(out, "kernels  %d a call, %d of %d calls were one plan\n",
                        stats.last_kernels, stats.skipped, stats.calls);
  return absl::OkStatus();
}

Status Profile(Session* session, std::string* out) {
  std::vector<frozen::CallTime> times;
  constexpr int kCalls = 20;
  for (int i = 0; i < kCalls; ++i) {
    std::vector<Tensor*> cells;
    for (Tensor& t : session->inputs()) cells.push_back(&t);
    std::vector<Tensor> results;
    FZ_RETURN_IF_ERROR(session->program().Profile(cells, &results, &times));
  }
  double all = 0;
  for (const frozen::CallTime& t : times) all += t.seconds;
  std::sort(times.begin(), times.end(),
            [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  absl::StrAppendFormat(out, "%10s %6s %7s  %-24s %s\n", "us a call", "%", "times", "operation",
                        "line");
  for (const frozen::CallTime& t : times) {
    absl::StrAppendFormat(out, "%10.2f %6.1f %7d  %-24s %s\n", t.seconds * 1e6 / kCalls,
                          all > 0 ? 100 * t.seconds / all : 0.0, t.times / kCalls, t.name,
                          t.origin);
  }
  absl::StrAppendFormat(out, "%10.2f  one by one, without fusion\n", all * 1e6 / kCalls);
  return absl::OkStatus();
}

std::string About(const frozen::Loaded& program) {
  std::string out = StrCat(program.name(), ", exported by frazil ", program.version(), "\n");
  const auto names = program.input_names(), types = program.input_types();
  for (size_t i = 0; i < names.size(); ++i)
    StrAppend(&out, "input   ", names[i], ": ", types[i], "\n");
  StrAppend(&out, "results ", program.results(), "\n");
  for (const auto& size : program.sizes()) StrAppend(&out, "size    ", Describe(size), "\n");
  return out;
}

Status WriteResults(const std::vector<Tensor>& results, const Options& options, std::string* out) {
  if (options.outputs.size() > results.size())
    return WrongOption(
        StrCat("there are ", options.outputs.size(), " --output for ", results.size(), " results"));
  for (size_t i = 0; i < results.size(); ++i) {
    if (i >= options.outputs.size()) {
      StrAppend(out, "result ", i, ": ", Describe(results[i]), "\n");
      continue;
    }
    FZ_ASSIGN_OR_RETURN(const std::string bytes, PrintNpy(results[i]));
    if (options.outputs[i] == "-") {
      StrAppend(out, bytes);
    } else {
      FZ_RETURN_IF_ERROR(WriteFile("frazil-run", options.outputs[i], bytes));
    }
  }
  return absl::OkStatus();
}

Status RunAll(const Options& options, std::string* out) {
  const auto start = Clock::now();
  FZ_ASSIGN_OR_RETURN(const Device device, ParseDevice(options.device));
  FZ_ASSIGN_OR_RETURN(const auto program, frozen::Loaded::Load(options.model, device));
  const double loading = Since(start);
  const bool runs = options.bench || options.profile || !options.inputs.empty() ||
                    !options.outputs.empty() || !options.sizes.empty();
  if (!runs) {
    *out = About(*program);
    return absl::OkStatus();
  }
  FZ_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, InputsOf(*program, options));
  Session session(program, std::move(inputs));
  if (options.bench) FZ_RETURN_IF_ERROR(Bench(&session, loading, options.seconds, out));
  if (options.profile) FZ_RETURN_IF_ERROR(Profile(&session, out));
  if ((options.bench || options.profile) && options.outputs.empty()) return absl::OkStatus();
  std::vector<Tensor> results;
  FZ_RETURN_IF_ERROR(session.Call(&results));
  return WriteResults(results, options, out);
}

}  // namespace

Outcome RunProgram(absl::Span<const std::string> args) {
  Outcome outcome;
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    outcome.out = kUsage;
    outcome.status = args.empty() ? 2 : 0;
    return outcome;
  }
  if (args[0] == "--version") {
    outcome.out = StrCat("frazil-run ", FRAZIL_VERSION, "\n");
    return outcome;
  }
  try {
    Initialize();
  } catch (const Error& error) {
    return {1, "", StrCat(error.what(), "\n")};
  }
  const auto options = ParseArguments(args);
  const Status status = options.ok() ? RunAll(*options, &outcome.out) : options.status();
  if (!status.ok()) {
    outcome.err = StrCat(std::string(status.message()), "\n");
    outcome.status = options.ok() ? 1 : 2;
  }
  return outcome;
}

}  // namespace frazil::cli
