#include "jit/run/npu/program_for.h"

#include <cstdio>
#include <cstdlib>

#include "core/check.h"
#include "core/config.h"
#include "npu/lint.h"

namespace frazil::jit {

npu::EmitOptions OptionsFor(const std::string& op, const std::string& origin) {
  npu::EmitOptions options;
  options.op = op;
  const size_t colon = origin.rfind(':');
  options.file = origin.substr(0, colon);
  if (colon != std::string::npos) options.line = atoi(origin.c_str() + colon + 1);
  return options;
}

void VerifyProgram(const npu::Program& program, const npu::Preset& preset) {
  if (GetConfig().verify != "1") return;
  const std::string wrong = npu::Errors(program, preset);
  if (wrong.empty()) return;
  std::fprintf(stderr, "frazil: NPU program %s:\n%s", program.name.c_str(), wrong.c_str());
  FZ_CHECK(!"an emitted program passes Validate and Lint");
}

}  // namespace frazil::jit
