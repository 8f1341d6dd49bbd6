// Recorded programs as text: what is taken is printed and taken again as it was.
#include "core/check.h"
#include "tests/fuzz/targets/target.h"
#include "tracer/program_text.h"

FZ_FUZZ_TARGET(program) {
  using namespace frazil;  // NOLINT
  const StatusOr<tracer::Program> program = tracer::ParseProgram(TextOf(data, size));
  if (!program.ok()) return 0;
  const StatusOr<std::string> text = tracer::Print(*program);
  FZ_CHECK(text.ok());
  const StatusOr<tracer::Program> again = tracer::ParseProgram(*text);
  FZ_CHECK(again.ok());
  const StatusOr<std::string> text_again = tracer::Print(*again);
  FZ_CHECK(text_again.ok() && *text_again == *text);
  return 0;
}
