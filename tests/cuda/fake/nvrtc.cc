// The fake NVRTC: compiles CUDA text for the host. Invariant: knows the options that frazil may
// give and refuses any other, as the real one does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "jit/cuda/types.h"
#include "tests/cuda/fake/host_text.h"
#include "tests/cuda/fake/image.h"
#include "tests/cuda/fake/recorder.h"

FAKE_EXPORT_RECORDER(fake_nvrtc)

namespace fake {

using namespace frazil::cuda;

extern "C" {
#define FZ_NVRTC(symbol, name, parameters) \
  __attribute__((visibility("default"))) NvrtcResult symbol parameters;
#include "jit/cuda/nvrtc.def"
#undef FZ_NVRTC
}

namespace {

// nvrtcResult.
constexpr NvrtcResult kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6;

struct Program {
  std::string source, name, log, cubin, ptx;
};

std::mutex mutex;
std::set<Program*>& Programs() {
  static auto* const programs = new std::set<Program*>;
  return *programs;
}

Program* Find(NvrtcProgram handle) {
  std::lock_guard lock(mutex);
  Program* const program = reinterpret_cast<Program*>(handle);
  return Programs().count(program) ? program : nullptr;
}

std::vector<int> Archs() {
  const char* text = std::getenv("FAKE_NVRTC_ARCHS");
  if (text == nullptr || *text == 0) return {75, 80, 86, 87, 89, 90, 100, 103, 120};
  std::vector<int> archs;
  for (char* at = const_cast<char*>(text); *at != 0; at += *at == ',')
    archs.push_back(int(std::strtol(at, &at, 10)));
  return archs;
}

void ReadVersion(int* major, int* minor) {
  const char* text = std::getenv("FAKE_NVRTC_VERSION");
  *major = 12;
  *minor = 9;
  if (text != nullptr) std::sscanf(text, "%d.%d", major, minor);
}

struct Target {
  int arch = 0;
  bool real = false;  // sm_, not compute_
};

// Without a value, with a value behind "=" or in the next text.
constexpr const char* kFlags[] = {"--fmad",
                                  "--ftz",
                                  "--prec-div",
                                  "--prec-sqrt",
                                  "--std",
                                  "--maxrregcount",
                                  "--define-macro",
                                  "--device-as-default-execution-space",
                                  "--generate-line-info",
                                  "-lineinfo",
                                  "--use_fast_math",
                                  "--extra-device-vectorization",
                                  "--restrict",
                                  "--diag-suppress",
                                  "--display-error-number",
                                  "--no-display-error-number",
                                  "--disable-warnings",
                                  "-w",
                                  "--split-compile",
                                  "--minimal",
                                  "-default-device",
                                  "--extensible-whole-program",
                                  "--warning-as-error"};

// The result and, for an option that is not known, the log.
NvrtcResult ReadOptions(int count, const char* const* texts, Target* target, std::string* log) {
  for (int i = 0; i < count; ++i) {
    const std::string text = texts[i], key = text.substr(0, text.find('='));
    if (key == "--gpu-architecture" || key == "-arch") {
      const std::string value = text.substr(std::min(text.size(), key.size() + 1));
      const auto archs = Archs();
      const size_t digits = value.find('_') + 1;
      target->arch = std::atoi(value.c_str() + digits);
      target->real = value.rfind("sm_", 0) == 0;
      if ((!target->real && value.rfind("compute_", 0) != 0) ||
          std::find(archs.begin(), archs.end(), target->arch) == archs.end()) {
        *log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
        return kInvalidOption;
      }
      continue;
    }
    const bool known = std::find(std::begin(kFlags), std::end(kFlags), key) != std::end(kFlags) ||
                       key.rfind("-D", 0) == 0;
    if (known) continue;
    *log = "nvrtc: error: unrecognized option " + text + " found\n";
    return kInvalidOption;
  }
  return 0;
}

// A result's bytes.
NvrtcResult CopyOut(NvrtcProgram handle, std::string Program::*what, const char* function,
                    size_t* bytes, char* to, bool terminated) {
  if (const int error = Recorder::Get().Call(function, "")) return error;
  const Program* const program = Find(handle);
  if (program == nullptr) return kInvalidProgram;
  const std::string& text = program->*what;
  if (bytes != nullptr) *bytes = text.size() + terminated;
  if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + terminated);
  return 0;
}

// As long as FAKE_NVRTC_DELAY_MS says, or until it is gone.
void WaitForDelay() {
  for (int waited = 0;; ++waited) {
    const char* delay = std::getenv("FAKE_NVRTC_DELAY_MS");
    if (delay == nullptr || waited >= std::atoi(delay)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

NvrtcResult nvrtcVersion(int* major, int* minor) {
  if (const int error = Recorder::Get().Call("nvrtcVersion", "")) return error;
  ReadVersion(major, minor);
  return 0;
}

NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (const int error = Recorder::Get().Call("nvrtcGetNumSupportedArchs", "")) return error;
  *count = int(Archs().size());
  return 0;
}

NvrtcResult nvrtcGetSupportedArchs(int* archs) {
  if (const int error = Recorder::Get().Call("nvrtcGetSupportedArchs", "")) return error;
  for (int arch : Archs()) *archs++ = arch;
  return 0;
}

NvrtcResult nvrtcCreateProgram(NvrtcProgram* program, const char* source, const char* name,
                               int headers, const char* const*, const char* const*) {
  const std::string file = name == nullptr || *name == 0 ? "default_program" : name;
  if (const int error = Recorder::Get().Call("nvrtcCreateProgram", file)) return error;
  if (headers != 0) return kInvalidInput;  // not needed so far
  auto* const made = new Program{.source = source, .name = file};
  std::lock_guard lock(mutex);
  Programs().insert(made);
  *program = reinterpret_cast<NvrtcProgram>(made);
  return 0;
}

NvrtcResult nvrtcCompileProgram(NvrtcProgram handle, int options, const char* const* texts) {
  std::string line;
  for (int i = 0; i < options; ++i) line.append(i ? " " : "").append(texts[i]);
  if (const int error = Recorder::Get().Call("nvrtcCompileProgram", line)) return error;
  Program* const program = Find(handle);
  if (program == nullptr) return kInvalidProgram;
  Target target;
  target.arch = Archs().front();
  if (const NvrtcResult error = ReadOptions(options, texts, &target, &program->log)) return error;
  WaitForDelay();
  // Compiled programs are not in the way of each other: no lock is held.
  const HostLibrary library = CompileHost(program->source, program->name);
  program->log = library.log;
  if (library.bytes.empty()) return kCompilation;
  int major, minor;
  ReadVersion(&major, &minor);
  if (target.real) program->cubin = MakeCubin(target.arch, library.bytes);
  program->ptx = MakePtx(target.arch, major * 1000 + minor * 10, library.bytes);
  return 0;
}

NvrtcResult nvrtcGetCUBINSize(NvrtcProgram program, size_t* bytes) {
  return CopyOut(program, &Program::cubin, "nvrtcGetCUBINSize", bytes, nullptr, false);
}
NvrtcResult nvrtcGetCUBIN(NvrtcProgram program, char* image) {
  return CopyOut(program, &Program::cubin, "nvrtcGetCUBIN", nullptr, image, false);
}
NvrtcResult nvrtcGetPTXSize(NvrtcProgram program, size_t* bytes) {
  return CopyOut(program, &Program::ptx, "nvrtcGetPTXSize", bytes, nullptr, false);
}
NvrtcResult nvrtcGetPTX(NvrtcProgram program, char* text) {
  return CopyOut(program, &Program::ptx, "nvrtcGetPTX", nullptr, text, false);
}
NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram program, size_t* bytes) {
  return CopyOut(program, &Program::log, "nvrtcGetProgramLogSize", bytes, nullptr, true);
}
NvrtcResult nvrtcGetProgramLog(NvrtcProgram program, char* text) {
  return CopyOut(program, &Program::log, "nvrtcGetProgramLog", nullptr, text, true);
}

NvrtcResult nvrtcDestroyProgram(NvrtcProgram* program) {
  if (const int error = Recorder::Get().Call("nvrtcDestroyProgram", "")) return error;
  Program* const real = Find(*program);
  if (real == nullptr) return kInvalidProgram;
  std::lock_guard lock(mutex);
  Programs().erase(real);
  delete real;
  *program = nullptr;
  return 0;
}

// A function that a table names and nothing here defines does not link.
[[gnu::used]] const void* const kAllFunctions[] = {
#define FZ_NVRTC(symbol, name, parameters) reinterpret_cast<const void*>(&symbol),
#include "jit/cuda/nvrtc.def"
#undef FZ_NVRTC
};

}  // namespace fake
