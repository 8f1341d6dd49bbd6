#include "jit/runtime/register.h"

#include "jit/runtime/eager.h"

namespace frazil::jit {

void RegisterJit() {
  static const bool once = [] {
    GlobalRuntime().eager = EagerDoor();
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace frazil::jit
