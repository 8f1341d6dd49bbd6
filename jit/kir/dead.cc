#include "jit/kir/dead.h"

namespace frazil::kir {

Kernel RemoveDead(const Kernel& kernel) {
  std::vector<bool> live(kernel.body.size(), false);
  for (size_t i = kernel.body.size(); i-- > 0;) {
    const Inst& inst = kernel.body[i];
    live[i] = live[i] || !HasValue(inst.op);
    for (const Id id : {inst.a, inst.b, inst.c}) {
      if (live[i] && id != kNone) live[size_t(id)] = true;
    }
  }
  Kernel out = kernel;
  out.body.clear();
  std::vector<Id> now(kernel.body.size(), kNone);
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    if (!live[i]) continue;
    Inst inst = kernel.body[i];
    for (Id* id : {&inst.a, &inst.b, &inst.c}) {
      if (*id != kNone) *id = now[size_t(*id)];
    }
    now[i] = Id(out.body.size());
    out.body.push_back(inst);
  }
  return out;
}

}  // namespace frazil::kir
