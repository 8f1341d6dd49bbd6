#include "core/precision.h"

#include <iterator>

namespace frazil {

std::optional<Precision> PrecisionNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(kPrecisions); ++i) {
    if (kPrecisions[i].name == name) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

std::string PrecisionNames() {
  std::string names;
  for (size_t i = 0; i < std::size(kPrecisions); ++i) {
    if (i > 0) names += i + 1 < std::size(kPrecisions) ? ", " : " or ";
    names.append("\"").append(kPrecisions[i].name).append("\"");
  }
  return names;
}

}  // namespace frazil
