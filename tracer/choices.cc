#include "tracer/choices.h"

namespace frazil::tracer {

std::optional<Choices>& Choices::Current() {
  static thread_local std::optional<Choices> choices;
  return choices;
}

}  // namespace frazil::tracer
