#include "jit/runtime/register.h"

#include "autograd/grad.h"
#include "jit/runtime/eager.h"
#include "jit/runtime/segment.h"

namespace frazil::jit {

void RegisterJit() {
  static const bool once = [] {
    GlobalRuntime().eager = EagerDoor();
    autograd::RegisterTape();
    RegisterSegmentCompiler();
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace frazil::jit
