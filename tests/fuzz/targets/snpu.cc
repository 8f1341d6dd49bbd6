// Programs of the NPU as bytes. The checksum is put right first, or no changed file would be looked
// at behind it; what is taken is written and taken again as it was, and has a text.
#include <cstring>

#include "core/check.h"
#include "npu/asm.h"
#include "npu/file.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(snpu) {
  using namespace frazil;  // NOLINT
  constexpr size_t kChecksum = 32;
  std::string bytes(TextOf(data, size));
  if (bytes.size() >= kChecksum + 4) {
    std::memset(bytes.data() + kChecksum, 0, 4);
    const uint32_t checksum = npu::Crc32c(bytes);
    std::memcpy(bytes.data() + kChecksum, &checksum, 4);
  }
  const StatusOr<npu::ProgramFile> file = npu::ReadProgram(bytes);
  if (!file.ok()) return 0;
  const std::string written = npu::WriteProgram(*file);
  const StatusOr<npu::ProgramFile> again = npu::ReadProgram(written);
  FZ_CHECK(again.ok());
  FZ_CHECK(npu::WriteProgram(*again) == written);
  FZ_CHECK(npu::Assemble(npu::Disassemble(file->program)).ok());
  return 0;
}
