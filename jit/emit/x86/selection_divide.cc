// Which divisions and square roots do without the divider (divide.cc, root.cc).
#include <asmjit/core.h>

#include <algorithm>

#include "core/check.h"
#include "core/tuned.h"
#include "jit/emit/x86/selection.h"

namespace frazil::jit {

using kir::Inst;

// Divisors that are computed outside of where they divide, if the divider is what the body of a
// loop or of the points waits for: in the time of a division the two ports for vectors do other
// work.
void Selection::FindDivisors() {
  if (!z_ || repeats_) return;
  for (size_t begin = 0; begin < k_.body.size();) {
    size_t end = begin + 1;
    while (end < k_.body.size() && info_[end].region == info_[begin].region) ++end;
    FindDivisors(Id(begin), Id(end));
    begin = end;
  }
}

void Selection::FindDivisors(Id begin, Id end) {
  double divider = 0, saved = 0;       // cycles
  int operations = 0, additional = 0;  // two a cycle
  std::vector<Id> quick, roots;
  const bool panels = space_ && HasPanels();  // they keep no registers of a column
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (!InVectorRange(info_[i].level) || info_[i].form == Form::kDropped ||
        info_[i].form == Form::kTakenBack || inst.op == Op::kLoad || inst.op == Op::kStore)
      continue;
    const bool divides = inst.op == Op::kDiv && IsFloat(inst.type);
    if (!divides && inst.op != Op::kSqrt) {
      operations += CostOf(inst);
      continue;
    }
    const double cycles = (divides ? 10.5 : 12.5) * (SizeOf(inst.type) == 8 ? 1.7 : 1);
    divider += cycles;
    operations += 3;
    if (!divides && RegBytes(inst.type) == 64 && inst.type == DType::kF32) roots.push_back(i);
    if (!divides || RegBytes(inst.type) != 64) continue;
    const int level = k_.body[inst.b].op == Op::kReduce ? int{kPointLevel} : info_[inst.b].level;
    if (level >= info_[i].level || (panels && level == kPointLevel)) continue;
    quick.push_back(i);
    saved += cycles;
    additional += 5;
  }
  const double now = std::max(divider, operations / 2.0);
  const double then = std::max(divider - saved, (operations + additional) / 2.0);
  if (then <= 0.9 * now) {
    for (const Id i : quick) {
      info_[i].form = Form::kQuick;
      Also& also = info_[k_.body[i].b].also;
      FZ_CHECK(also != Also::kPark);  // that is of a loop's level, and divisors are not
      also = Also::kDivisor;
    }
    divider -= saved;
    operations += additional;
  }
  FindRoots(roots, divider, operations);
}

// Of the roots of a body, which spends so many cycles in the divider beside operations, two a
// cycle, as many as the body clearly gains by: a chain of ten more instructions costs some of what
// is saved.
void Selection::FindRoots(const std::vector<Id>& roots, double divider, int operations) {
  if (!asmjit::CpuInfo::host().isVendor("INTEL")) return;
  for (const Id id : roots) {
    const double now = std::max(divider, operations / 2.0);
    const double then =
        std::max(divider - tuned::kDividerCycles,
                 (operations + tuned::kRootOperations - tuned::kRootReplaced) / 2.0);
    if (then > 0.7 * now) return;
    info_[id].form = Form::kQuick;
    divider -= tuned::kDividerCycles;
    operations += tuned::kRootOperations - tuned::kRootReplaced;
  }
}

}  // namespace frazil::jit
