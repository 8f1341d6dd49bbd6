// Functions of frazil.npu: the simulated NPU's settings, and what ran on it.
#include "bindings/cli/npu.h"
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/memory/transfers.h"
#include "jit/run/npu/account.h"

namespace frazil::python {
namespace {

using jit::NpuDevice;
using jit::NpuWork;

constexpr std::pair<const char*, npu::Mode> kModes[] = {{"run", npu::Mode::kRun},
                                                        {"check", npu::Mode::kCheck}};

// configure(preset, mode): a preset's name or JSON; None leaves what is.
FZ_FAST(Configure) {
  FZ_ARGS(2, "configure(preset=None, mode=None)");
  NpuDevice& device = NpuDevice::Get();
  npu::Preset preset = device.preset();
  npu::Mode mode = device.mode();
  if (Given(a[0])) {
    const char* text = PyUnicode_AsUTF8(a[0]);
    if (!text) return nullptr;
    auto found = text[0] == '{' ? npu::PresetFromJson(text) : npu::FindPreset(text);
    if (!found.ok()) return Raise(found.status());
    preset = *std::move(found);
  }
  if (Given(a[1])) {
    const char* text = PyUnicode_AsUTF8(a[1]);
    if (!text) return nullptr;
    bool known = false;
    for (const auto& [name, value] : kModes) {
      if (std::string_view(name) != text) continue;
      mode = value;
      known = true;
    }
    if (!known)
      return Raise(
          ValueError("[device] the NPU's mode is \"run\" or \"check\", got \"", text, "\"."));
  }
  device.Configure(preset, mode);
  Py_RETURN_NONE;
}

// check(name): an error if it names no device.
FZ_FAST(Check) {
  FZ_ARGS(1, "check(name, /)");
  Device device;
  if (!ToDevice(a[0], "device", &device)) return nullptr;
  Py_RETURN_NONE;
}

// settings() -> (preset as JSON, mode)
FZ_FAST(Settings) {
  FZ_ARGS(0, "settings()");
  const NpuDevice& device = NpuDevice::Get();
  const char* mode = "run";
  for (const auto& [name, value] : kModes) {
    if (value == device.mode()) mode = name;
  }
  return Py_BuildValue("(ss)", npu::ToJson(device.preset()).c_str(), mode);
}

FZ_FAST(Report) {
  FZ_ARGS(1, "report(format, /)");
  const char* format = PyUnicode_AsUTF8(a[0]);
  if (!format) return nullptr;
  auto report = jit::MakeReport(NpuDevice::Get());
  if (!report.ok()) return Raise(report.status());
  const std::string_view f = format;
  std::string text;
  if (f == "text") {
    text = npu::ProgramText(*report);
  } else if (f == "json") {
    text = npu::ReportJson(*report);
  } else if (f == "kernels") {
    for (const auto& kernel : report->kernels) text += npu::KernelText(kernel) + "\n";
  } else if (f == "roofline") {
    text = npu::RooflineText(report->kernels);
  } else if (f == "svg") {
    text = npu::RooflineSvg(report->kernels);
  } else {
    return Raise(
        ValueError("[npu.report] format is \"text\", \"json\", \"kernels\", \"roofline\" or "
                   "\"svg\", got \"",
                   f, "\"."));
  }
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// Of the n-th kernel of the report, instruction by instruction.
FZ_FAST(Instructions) {
  FZ_ARGS(2, "instructions(kernel, format, /)");
  int64_t n;
  if (!ToInt(a[0], "npu.instructions", "kernel", &n)) return nullptr;
  const char* format = PyUnicode_AsUTF8(a[1]);
  if (!format) return nullptr;
  for (const NpuWork& work : NpuDevice::Get().account()) {
    if (!work.program || n-- > 0) continue;
    auto report = jit::TimeKernel(work, true);
    if (!report.ok()) return Raise(report.status());
    const std::string_view f = format;
    std::string text;
    if (f == "csv") {
      text = npu::InstructionCsv(*report, work.program->program);
    } else if (f == "timeline") {
      text = npu::TimelineJson(*report, work.program->program);
    } else {
      return Raise(
          ValueError("[npu.instructions] format is \"csv\" or \"timeline\", got \"", f, "\"."));
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  return Raise(IndexError("[npu.instructions] the report has no such kernel."));
}

// account() -> (on the NPU: [(name, origin, launches)], on the CPU: [(name, origin, reason,
// count)])
FZ_FAST(Account) {
  FZ_ARGS(0, "account()");
  Object ran = Object::Steal(PyList_New(0)), cpu = Object::Steal(PyList_New(0));
  if (!ran || !cpu) return nullptr;
  for (const NpuWork& w : NpuDevice::Get().account()) {
    Object row = Object::Steal(w.program ? Py_BuildValue("(ssL)", w.name.c_str(), w.origin.c_str(),
                                                         static_cast<long long>(w.launches))
                                         : Py_BuildValue("(sssL)", w.name.c_str(), w.origin.c_str(),
                                                         w.reason.c_str(),
                                                         static_cast<long long>(w.launches)));
    if (!row || PyList_Append(w.program ? ran.get() : cpu.get(), row.get()) < 0) return nullptr;
  }
  const TransferStats moved = GetTransfers(Device(DeviceKind::kNpu, 0));
  return Py_BuildValue("(NNLL)", ran.release(), cpu.release(),
                       static_cast<long long>(moved.in_bytes),
                       static_cast<long long>(moved.out_bytes));
}

FZ_FAST(Reset) {
  FZ_ARGS(0, "reset()");
  NpuDevice::Get().ResetAccount();
  ResetTransfers(Device(DeviceKind::kNpu, 0));
  Py_RETURN_NONE;
}

// command(arguments) -> (status, what it says, what it says of errors)
FZ_FAST(Command) {
  FZ_ARGS(1, "command(arguments, /)");
  const Object list = Object::Steal(PySequence_List(a[0]));
  if (!list) return nullptr;
  std::vector<std::string> arguments;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list.get(), i));
    if (!text) return nullptr;
    arguments.emplace_back(text);
  }
  const cli::Outcome outcome = cli::RunNpu(arguments);
  return Py_BuildValue("(is#s#)", outcome.status, outcome.out.data(),
                       (Py_ssize_t)outcome.out.size(), outcome.err.data(),
                       (Py_ssize_t)outcome.err.size());
}

}  // namespace

std::vector<FunctionRow> NpuFunctions() {
  return {
      {"configure(preset=None, mode=None)", "Chooses the NPU's parameters and mode.", Configure},
      {"check(name, /)", "Raises if it names no device.", Check},
      {"settings()", "The preset as JSON, and the mode.", Settings},
      {"report(format, /)", "What ran, as text.", Report},
      {"instructions(kernel, format, /)", "A kernel instruction by instruction.", Instructions},
      {"account()", "What ran on the NPU, what on the CPU, bytes to and from the device.", Account},
      {"reset()", "Forgets what ran.", Reset},
      {"command(arguments, /)", "frazil-npu: the exit status and both outputs.", Command},
  };
}

}  // namespace frazil::python
