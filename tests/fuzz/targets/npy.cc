// NumPy's files of arrays, as the command line takes them: what is taken is written and read again
// as it was.
#include "bindings/cli/npy.h"

#include "core/check.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(npy) {
  using namespace frazil;  // NOLINT
  const StatusOr<Tensor> read = cli::ParseNpy(TextOf(data, size), "the input");
  if (!read.ok()) return 0;
  const StatusOr<std::string> written = cli::PrintNpy(*read);
  FZ_CHECK(written.ok());
  const StatusOr<Tensor> again = cli::ParseNpy(*written, "what was written");
  FZ_CHECK(again.ok());
  FZ_CHECK(again->dtype() == read->dtype() && again->layout() == read->layout());
  const StatusOr<std::string> twice = cli::PrintNpy(*again);
  FZ_CHECK(twice.ok() && *twice == *written);
  return 0;
}
