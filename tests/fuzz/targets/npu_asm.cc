// Programs of the NPU as text: what is in order is printed and assembled again.
#include "core/check.h"
#include "npu/asm.h"
#include "npu/file.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(npu_asm) {
  using namespace frazil;  // NOLINT
  const StatusOr<npu::Program> program = npu::Assemble(TextOf(data, size));
  if (!program.ok() || !npu::Validate(*program).ok()) return 0;
  const std::string text = npu::Disassemble(*program);
  const StatusOr<npu::Program> again = npu::Assemble(text);
  FZ_CHECK(again.ok());
  FZ_CHECK(npu::Disassemble(*again) == text);
  const std::string bytes = npu::WriteProgram({*program, 0});
  FZ_CHECK(npu::ReadProgram(bytes).ok());
  return 0;
}
