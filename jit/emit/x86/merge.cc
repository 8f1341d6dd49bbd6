// What one machine instruction does of two or three instructions of the IR. The first of them makes
// nothing of its own then (`unused`).
#include <vector>

#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;

// Whether `id` is computed for `user` alone, and where that is.
bool Codegen::OnlyFor(Id id, Id user) const {
  const Info &made = info_[id], &taken = info_[user];
  if (made.uses != 1 || made.unused || made.level != taken.level || made.region != taken.region)
    return false;
  for (Id i = id; i < user; ++i) {
    if (k_.body[i].op == Op::kLoop) return false;  // before and behind a loop
  }
  return true;
}

// vminps and vmaxps are a < b ? a : b and a > b ? a : b, with the second operand for two zeros and
// for NaN.
void Codegen::FindClamps() {
  std::vector<int> clamps(k_.body.size());
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kSelect || !IsFloat(inst.type)) continue;
    const Inst& less = k_.body[inst.a];
    if (less.op != Op::kLt || k_.body[less.a].type != inst.type) continue;
    if (!(inst.b == less.a && inst.c == less.b) && !(inst.b == less.b && inst.c == less.a))
      continue;
    info_[i].clamp = true;
    info_[inst.a].unused = ++clamps[inst.a] == info_[inst.a].uses;
  }
}

// a | (b & c) and a ^ (b & c), as signs are carried over, are one vpternlog.
void Codegen::FindSigns() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if ((inst.op != Op::kOr && inst.op != Op::kXor) || !IsInt(inst.type)) continue;
    if (k_.body[inst.b].op != Op::kAnd || !OnlyFor(inst.b, Id(i))) continue;
    info_[i].sign = info_[inst.b].unused = true;
  }
}

// A bool that becomes a number by way of a 32-bit integer, which legalisation puts between: one
// masked constant.
void Codegen::FindFlags() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kCast || SizeOf(inst.type) < 4 || info_[i].widened) continue;
    const Inst& part = k_.body[inst.a];
    if (part.op != Op::kCast || !IsBool(k_.body[part.a].type) || !OnlyFor(inst.a, Id(i))) continue;
    info_[i].flag = info_[inst.a].unused = true;
  }
}

// Comparisons of numbers; of which kNot makes the opposite.
bool Codegen::Compares(Id id) const {
  const Op op = k_.body[id].op;
  const bool compares = op == Op::kLt || op == Op::kLe || op == Op::kEq || op == Op::kNe;
  return compares && !IsBool(k_.body[k_.body[id].a].type);
}

void Codegen::FindInverted() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kNot || !IsBool(inst.type)) continue;
    if (!Compares(inst.a) || !OnlyFor(inst.a, Id(i))) continue;
    info_[i].inverted = info_[inst.a].unused = true;
  }
}

// m & (a < b) is a comparison under the mask m, in whose register it stays: nobody else wants m.
void Codegen::FindUnder() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kAnd || !IsBool(inst.type) || inst.a == inst.b) continue;
    const Op op = k_.body[inst.a].op;
    if (op == Op::kConst || op == Op::kReduce) continue;
    if (!Compares(inst.b) || !OnlyFor(inst.b, Id(i)) || !OnlyFor(inst.a, Id(i))) continue;
    info_[i].under = info_[inst.b].unused = true;
  }
}

// A carry to which every iteration adds a bool and nothing else: an addition of 1 under a mask, in
// the carry's register. Where the bool is false +0 is added, which changes -0 alone; so that is
// what the carry must not begin with (InitCarry), and then it never is -0.
void Codegen::FindTallies() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& next = k_.body[i];
    if (next.op != Op::kNext) continue;
    const Inst& sum = k_.body[next.b];
    if (sum.op != Op::kAdd || !IsFloat(sum.type) || sum.a == sum.b) continue;
    if (sum.a != next.a && sum.b != next.a) continue;
    const Id added = sum.a == next.a ? sum.b : sum.a;
    if (!info_[added].flag || !OnlyFor(added, next.b)) continue;
    bool alone = true;
    for (Id j = next.a + 1; k_.body[j].op != Op::kDone; ++j) {
      const Inst& other = k_.body[j];
      const bool takes = other.a == next.a || other.b == next.a || other.c == next.a;
      alone &= !takes || j == next.b || (j == Id(i) && other.b != next.a);
    }
    if (!alone) continue;
    info_[next.a].masked_count = info_[next.b].masked_count = info_[added].unused = true;
  }
}

Codegen::Vec Codegen::MaskedCount(const Inst& sum) {
  const Id carry = info_[sum.a].masked_count ? sum.a : sum.b;
  const Inst& number = k_.body[carry == sum.a ? sum.b : sum.a];
  const Vec d = R(carry);
  const K on = KOf(k_.body[number.a].a);
  const Mem one = ConstMem(sum.type, OneOf(sum.type));
  cc_.k(on).emit(BySize(sum.type, x86::Inst::kIdVaddps, x86::Inst::kIdVaddpd), d, d, one);
  return d;
}

}  // namespace frazil::jit
