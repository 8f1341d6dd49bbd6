#include "core/op.h"

namespace frazil {

constexpr OpInfo kOps[kNumOps] = {
#define FZ_OP(name, klass, arity, types, result, forward, saves, gradient, doc, lo, hi, ulp, \
              may_fail)                                                                      \
  {#name, OpClass::klass, arity, TypeSet::types, ResultType::result, saves, doc, lo, hi,     \
   ulp,   may_fail},
#include "core/ops.def"
#undef FZ_OP
};

bool Accepts(TypeSet set, DType dtype) {
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
  }
  return false;
}

}  // namespace frazil
