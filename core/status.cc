#include "core/status.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "core/check.h"

namespace frazil {
namespace {

constexpr absl::string_view kPayload = "frazil/kind";

// Indexed by ErrorKind.
constexpr std::array<absl::StatusCode, size_t(ErrorKind::kInterrupted) + 1> kCodes = {
    absl::StatusCode::kInvalidArgument,   absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kOutOfRange,        absl::StatusCode::kUnimplemented,
    absl::StatusCode::kResourceExhausted, absl::StatusCode::kOutOfRange,
    absl::StatusCode::kNotFound,          absl::StatusCode::kFailedPrecondition,
    absl::StatusCode::kInvalidArgument,   absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kInternal,          absl::StatusCode::kUnknown,
    absl::StatusCode::kCancelled};
// Fewer rows than kinds would leave the last ones OK.
static_assert(kCodes.back() != absl::StatusCode::kOk);

}  // namespace

Status MakeError(ErrorKind kind, std::string_view message) {
  Status status(kCodes[static_cast<size_t>(kind)],
                absl::string_view(message.data(), message.size()));
  const char tag = static_cast<char>(kind);
  status.SetPayload(kPayload, absl::Cord(absl::string_view(&tag, 1)));
  return status;
}

std::string Renamed(std::string_view message, std::string_view op) {
  const size_t end = message.find("] ");
  if (message.empty() || message[0] != '[' || end == std::string_view::npos || end < 2 ||
      !std::all_of(message.begin() + 1, message.begin() + end, [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '.';
      })) {
    return std::string(message);
  }
  return absl::StrCat("[", std::string(op), std::string(message.substr(end)));
}

ErrorKind KindOf(const Status& status) {
  FZ_CHECK(!status.ok());
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return ErrorKind::kRuntime;
  return static_cast<ErrorKind>(std::string(*payload)[0]);
}

}  // namespace frazil
