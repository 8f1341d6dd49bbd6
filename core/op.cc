#include "core/op.h"

namespace frazil {

namespace {

using namespace traits;  // NOLINT: the words of the table

// The column `cost`.
constexpr OpCost ByType(OpCost::Code f32, OpCost::Code f64, OpCost::Code narrow,
                        OpCost::Code wide) {
  return {f32, f64, narrow, wide, false};
}
constexpr OpCost Code(int instructions, double f32, double f64) {
  const OpCost::Code code{instructions, f32};
  return {code, {instructions, f64}, code, code, false};
}
constexpr OpCost Instr(int more, double f32, double f64) {
  OpCost cost = Code(more, f32, f64);
  cost.rounds = true;
  return cost;
}
constexpr OpCost Poly(double f32, double f64) {
  OpCost cost = Instr(25, f32, f64);
  cost.f64.instructions = 40;
  return cost;
}
constexpr OpCost ONE = Instr(0, 1, 1);
constexpr OpCost LIBRARY = ONE;  // in a kernel it never is

}  // namespace

constexpr OpInfo kOps[kNumOps] = {
#define FZ_OP(name, klass, arity, types, result, forward, saves, gradient, traits, cost, doc, lo, \
              hi, ulp)                                                                            \
  {#name,                                                                                         \
   OpClass::klass,                                                                                \
   arity,                                                                                         \
   TypeSet::types,                                                                                \
   ResultType::result,                                                                            \
   saves,                                                                                         \
   traits,                                                                                        \
   cost,                                                                                          \
   doc,                                                                                           \
   lo,                                                                                            \
   hi,                                                                                            \
   ulp},
#include "core/ops.def"
};

std::optional<OpId> OpNamed(std::string_view name) {
  for (int i = 0; i < kNumOps; ++i) {
    if (kOps[i].name == name) return static_cast<OpId>(i);
  }
  return std::nullopt;
}

bool Accepts(TypeSet set, DType dtype) {
  if (IsComplex(dtype)) return set == TypeSet::kAny || set == TypeSet::kComplex;
  switch (set) {
    case TypeSet::kAny:
    case TypeSet::kBoolOrNumber:
      return true;
    case TypeSet::kNumber:
      return !IsBool(dtype);
    case TypeSet::kFloat:
      return IsFloat(dtype);
    case TypeSet::kInt:
      return IsInt(dtype);
    case TypeSet::kBits:
      return !IsFloat(dtype);
    case TypeSet::kBool:
      return IsBool(dtype);
    case TypeSet::kComplex:
      break;
  }
  return false;
}

}  // namespace frazil
