// .frz files: an error, or a program that tells its inputs.
#include "core/check.h"
#include "frozen/loaded.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(frz) {
  const auto loaded = frazil::frozen::Loaded::Parse(frazil::TextOf(data, size), "the input");
  if (loaded.ok()) FZ_CHECK((*loaded)->input_names().size() == (*loaded)->input_types().size());
  return 0;
}
