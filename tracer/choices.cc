#include "tracer/choices.h"

namespace frazil::tracer {

std::unique_ptr<Choices>& Choices::Current() {
  static thread_local std::unique_ptr<Choices> choices;
  return choices;
}

}  // namespace frazil::tracer
