// The rules of selection.def: what one machine instruction does of two or three instructions of the
// IR. The first of them makes nothing of its own then (Form::kNothing).
#include "jit/emit/x86/selection.h"

namespace frazil::jit {

using kir::Inst;

// Whether `id` is computed for `user` alone, and where that is.
bool Selection::OnlyFor(Id id, Id user) const {
  const Info &made = info_[id], &taken = info_[user];
  if (made.uses != 1 || made.form == Form::kNothing || made.level != taken.level ||
      made.region != taken.region)
    return false;
  for (Id i = id; i < user; ++i) {
    if (k_.body[i].op == Op::kLoop) return false;  // before and behind a loop
  }
  return true;
}

// Comparisons of numbers; of which kNot makes the opposite.
bool Selection::Compares(Id id) const {
  const Op op = k_.body[id].op;
  const bool compares = op == Op::kLt || op == Op::kLe || op == Op::kEq || op == Op::kNe;
  return compares && !IsBool(k_.body[k_.body[id].a].type);
}

// vminps and vmaxps are a < b ? a : b and a > b ? a : b, with the second operand for two zeros and
// for NaN.
bool Selection::Clamp(Id id) {
  const Inst& inst = k_.body[id];
  if (inst.op != Op::kSelect || !IsFloat(inst.type)) return false;
  const Inst& less = k_.body[inst.a];
  if (less.op != Op::kLt || k_.body[less.a].type != inst.type) return false;
  if (!(inst.b == less.a && inst.c == less.b) && !(inst.b == less.b && inst.c == less.a))
    return false;
  if (++info_[inst.a].clamps == info_[inst.a].uses) info_[inst.a].form = Form::kNothing;
  return true;
}

// A bool that becomes a number by way of a 32-bit integer, which legalisation puts between: one
// masked constant.
bool Selection::Flag(Id id) {
  const Inst& inst = k_.body[id];
  if (inst.op != Op::kCast || SizeOf(inst.type) < 4 || info_[id].form == Form::kWidened)
    return false;
  const Inst& part = k_.body[inst.a];
  return part.op == Op::kCast && IsBool(k_.body[part.a].type) && TakeIn(inst.a, id);
}

bool Selection::Inverted(Id id) {
  const Inst& inst = k_.body[id];
  return inst.op == Op::kNot && IsBool(inst.type) && Compares(inst.a) && TakeIn(inst.a, id);
}

// A carry to which every iteration adds a bool and nothing else: an addition of 1 under a mask, in
// the carry's register. Where the bool is false +0 is added, which changes -0 alone; so that is
// what the carry must not begin with (InitCarry), and then it never is -0.
bool Selection::MaskedCount(Id id) {
  const Inst& sum = k_.body[id];
  if (sum.op != Op::kAdd || !IsFloat(sum.type) || sum.a == sum.b) return false;
  for (const auto& [carry, added] : {std::pair(sum.a, sum.b), std::pair(sum.b, sum.a)}) {
    if (k_.body[carry].op != Op::kCarry || info_[added].form != Form::kFlag ||
        !OnlyFor(added, id) || !IsAlone(carry, id))
      continue;
    info_[added].form = Form::kNothing;
    info_[carry].form = Form::kMaskedCount;
    return true;
  }
  return false;
}

// Nothing but `sum`, which becomes the next one, takes the carry.
bool Selection::IsAlone(Id carry, Id sum) const {
  bool next = false;
  for (Id i = carry + 1; k_.body[i].op != Op::kDone; ++i) {
    const Inst& inst = k_.body[i];
    const bool takes = inst.a == carry || inst.b == carry || inst.c == carry;
    const bool is_next = inst.op == Op::kNext && inst.a == carry && inst.b == sum;
    if (takes && i != sum && !is_next) return false;
    next |= is_next;
  }
  return next;
}

// a | (b & c) and a ^ (b & c), as signs are carried over, are one vpternlog.
bool Selection::Sign(Id id) {
  const Inst& inst = k_.body[id];
  return (inst.op == Op::kOr || inst.op == Op::kXor) && IsInt(inst.type) &&
         k_.body[inst.b].op == Op::kAnd && TakeIn(inst.b, id);
}

// m & (a < b) is a comparison under the mask m, in whose register it stays: nobody else wants m.
bool Selection::Under(Id id) {
  const Inst& inst = k_.body[id];
  if (inst.op != Op::kAnd || !IsBool(inst.type) || inst.a == inst.b) return false;
  const Op op = k_.body[inst.a].op;
  return op != Op::kConst && op != Op::kReduce && Compares(inst.b) && OnlyFor(inst.a, id) &&
         TakeIn(inst.b, id);
}

}  // namespace frazil::jit
