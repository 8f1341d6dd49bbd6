// Graphs and groupings as bytes, as the disk keeps them: whatever the bytes are, a graph whose ids,
// types and ops are in range, or nothing. The first byte is a number of origins.
#include "jit/graph/pack.h"

#include "core/check.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(pack) {
  using namespace frazil;  // NOLINT
  std::string_view bytes = TextOf(data, size);
  if (bytes.empty()) return 0;
  const std::vector<std::string> origins(uint8_t(bytes[0]) % 8, "a.py:1");
  bytes.remove_prefix(1);
  const auto graph = jit::UnpackGraph(&bytes, origins);
  if (!graph) return 0;
  // What is in order is packed as it was; the text, too, can be made of it.
  const std::string packed = jit::Pack(*graph);
  std::string_view left = packed;
  FZ_CHECK(jit::UnpackGraph(&left, origins).has_value());
  if (const auto grouping = jit::UnpackGrouping(&bytes, *graph)) {
    const std::string groups = jit::Pack(*grouping);
    left = groups;
    FZ_CHECK(jit::UnpackGrouping(&left, *graph).has_value());
  }
  return 0;
}
