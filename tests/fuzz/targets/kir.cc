// Kernels as text: what is taken is printed and taken again as it was.
#include "jit/kir/kir.h"

#include "core/check.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(kir) {
  using namespace frazil;  // NOLINT
  const StatusOr<kir::Kernel> kernel = kir::Parse(TextOf(data, size));
  if (!kernel.ok() || !kir::Verify(*kernel).ok()) return 0;
  const std::string text = Print(*kernel);
  const StatusOr<kir::Kernel> again = kir::Parse(text);
  FZ_CHECK(again.ok());
  FZ_CHECK(Print(*again) == text);
  FZ_CHECK(ContentKey(*again) == ContentKey(*kernel));
  return 0;
}
