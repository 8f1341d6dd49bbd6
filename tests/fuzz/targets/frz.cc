// .frz files: an error, or a program that tells its inputs.
#include "core/check.h"
#include "frozen/loaded.h"

#ifdef FRAZIL_FUZZ
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
#else
int Fuzz_frz(const uint8_t* data, size_t size) {
#endif
  const auto loaded =
      frazil::frozen::Loaded::Parse({reinterpret_cast<const char*>(data), size}, "the input");
  if (loaded.ok()) FZ_CHECK((*loaded)->input_names().size() == (*loaded)->input_types().size());
  return 0;
}
