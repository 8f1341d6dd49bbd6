#include "core/autocast.h"

#include "absl/container/flat_hash_map.h"
#include "core/functions/ops.h"

namespace frazil {

FZ_HOT_TLS Autocast t_autocast;

CastRule CastRuleOf(std::string_view name, CastList list) {
  using enum CastRule;
  static const auto* const rules =  // for the life of the process
      new absl::flat_hash_map<std::string_view, std::pair<CastRule, CastRule>>{
#define FZ_CAST(name, cpu, cuda) {name, {cpu, cuda}},
#include "core/autocast.def"
#undef FZ_CAST
      };
  const auto found = rules->find(name);
  if (found == rules->end()) return kNone;
  return list == CastList::kCpu ? found->second.first : found->second.second;
}

namespace {

DType Wanted(CastRule rule) { return rule == CastRule::kLower ? t_autocast.dtype : DType::kF32; }

}  // namespace

bool Converts(CastRule rule, const Tensor& x) {
  if (rule == CastRule::kNone || !x.ok() || x.dtype() == Wanted(rule)) return false;
  return IsHalf(x.dtype()) || x.dtype() == DType::kF32;
}

Tensor Cast(CastRule rule, const Tensor& x) {
  return Converts(rule, x) ? ops::astype(x, Wanted(rule)) : x;
}

}  // namespace frazil
