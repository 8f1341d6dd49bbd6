#include "core/files/system_error.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace frazil {
namespace {

constexpr absl::string_view kPayload = "frazil/errno";

}  // namespace

Status SystemError(std::string_view op, std::string_view what, std::string_view path) {
  const int number = errno;
  Status status =
      FileError("[", op, "] cannot ", what, " '", path, "': ", std::strerror(number), ".");
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(number)));
  return status;
}

int ErrnoOf(const Status& status) {
  const auto payload = status.GetPayload(kPayload);
  int number = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &number)) return 0;
  return number;
}

}  // namespace frazil
