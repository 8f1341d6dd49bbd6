#include "jit/emit/npu/body_info.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/str.h"
#include "jit/kir/fn_table.h"

namespace frazil::npu {
namespace {

using kir::Id;
using kir::Inst;
using kir::kNone;

class Analysis {
 public:
  Analysis(const kir::Kernel& kernel, const SpacePlan& plan) : k_(kernel), plan_(plan) {}

  StatusOr<BodyInfo> Run() {
    if (k_.has_repeat()) return NotImplementedError("[npu] kernel ", k_.name, " has a repeat.");
    info_.insts.resize(k_.body.size());
    bool in_loop = false;
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      InstInfo& info = info_.insts[i];
      if (inst.op == kir::Op::kLoop) in_loop = true;
      if (inst.op == kir::Op::kEnd) {
        in_loop = false;
        ++info_.regions;
      }
      info.in_loop = in_loop;
      if (in_loop) info.region = info_.regions;
      info.root = i;
      FZ_RETURN_IF_ERROR(Look(i));
      FindTwin(i);
    }
    ExtendLifetimes();
    FindStores();
    return std::move(info_);
  }

 private:
  const InstInfo& At(Id id) const { return info_.insts[id]; }

  Status Refuse(Id id, std::string_view why) const {
    return NotImplementedError("[npu] kernel ", k_.name, ": ", kir::Name(k_.body[id].op), " of ",
                               ShortName(k_.body[id].type), " ", why, ".");
  }

  Status Look(Id i) {
    const Inst& inst = k_.body[i];
    InstInfo& info = info_.insts[i];
    if (inst.op == kir::Op::kLoop || inst.op == kir::Op::kEnd) return absl::OkStatus();
    const auto type = TypeOf(inst.type);
    if (!type) return Refuse(i, "is of a type that the NPU does not compute with");
    info.type = *type;
    for (Id id : {inst.a, inst.b, inst.c}) {
      if (id != kNone) info.shape = Union(info.shape, At(id).shape);
    }
    switch (inst.op) {
      case kir::Op::kParam:
      case kir::Op::kConst:
        info.uniform = true;
        return absl::OkStatus();
      case kir::Op::kLoad:
        if (inst.a != kNone || inst.b != kNone) return Refuse(i, "has an offset or a predicate");
        info.shape = {plan_.VariesOverRows(int(inst.imm), info.in_loop),
                      plan_.VariesOverCols(int(inst.imm), info.in_loop)};
        return absl::OkStatus();
      case kir::Op::kStore:
        if (inst.b != kNone || inst.c != kNone) return Refuse(i, "has an offset or a predicate");
        return absl::OkStatus();
      case kir::Op::kCast:
      case kir::Op::kBitcast: {
        const bool same_bits = info.type == At(inst.a).type || inst.op == kir::Op::kBitcast ||
                               (info.type == kI32 && At(inst.a).type == kU32) ||
                               (info.type == kU32 && At(inst.a).type == kI32);
        if (same_bits) {
          info.root = At(inst.a).root;
          info.uniform = At(inst.a).uniform;
        }
        return absl::OkStatus();
      }
      case kir::Op::kReduce:
        info.shape = plan_.loop_is_cols() ? Shape{true, false} : Shape{false, true};
        return absl::OkStatus();
      case kir::Op::kIndex:
      case kir::Op::kMulhi:
      case kir::Op::kBarrier:
        return Refuse(i, "has no instruction");
      case kir::Op::kDiv:
      case kir::Op::kRem:
      default:
        return absl::OkStatus();
    }
  }

  // Loops of the kernel IR compute values anew that an earlier one had; with the whole loop in a
  // tile they are still there.
  void FindTwin(Id i) {
    const Inst& inst = k_.body[i];
    if (!kir::HasValue(inst.op) || At(i).root != i) return;
    const auto operand = [&](Id id) {
      return id == kNone ? std::make_pair(kNone, kNumTypes)
                         : std::make_pair(At(id).root, At(id).type);
    };
    const bool load = inst.op == kir::Op::kLoad;
    const Key key{inst.op,
                  inst.type,
                  inst.imm,
                  operand(inst.a),
                  operand(inst.b),
                  operand(inst.c),
                  load && At(i).in_loop};
    const auto [first, fresh] = twins_.try_emplace(key, i);
    if (fresh) return;
    info_.insts[i].root = first->second;
    info_.insts[i].uniform = At(first->second).uniform;
  }

  // A value made outside of a loop and used inside lives until its end: the loop may run in parts.
  void ExtendLifetimes() {
    std::vector<Id> end_of(info_.regions);
    int region = 0;
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      if (k_.body[i].op == kir::Op::kEnd) end_of[region++] = i;
    }
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      for (Id id : {inst.a, inst.b, inst.c}) {
        if (id == kNone) continue;
        InstInfo& root = info_.insts[At(id).root];
        const bool from_outside = At(i).region >= 0 && root.region != At(i).region;
        root.last_use = std::max(root.last_use, from_outside ? end_of[At(i).region] : i);
      }
    }
  }

  void FindStores() {
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != kir::Op::kStore) continue;
      const InstInfo& value = At(inst.a);
      const Shape out = StoreShape(plan_, inst, At(i).in_loop);
      // A row may be written again and again; anything else must have the output's shape.
      info_.insts[i].as_it_is =
          !value.uniform && value.shape.cols == out.cols && (out.cols || value.shape == out);
    }
  }

  using Key = std::tuple<kir::Op, DType, uint64_t, std::pair<Id, Type>, std::pair<Id, Type>,
                         std::pair<Id, Type>, bool>;

  const kir::Kernel& k_;
  const SpacePlan& plan_;
  BodyInfo info_;
  std::map<Key, Id> twins_;
};

}  // namespace

std::optional<Type> TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kF32;
    case DType::kF16:
      return kF16;
    case DType::kBF16:
      return kBF16;
    case DType::kI8:
      return kI8;
    case DType::kU8:
    case DType::kBool:
      return kU8;
    case DType::kI32:
      return kI32;
    case DType::kU32:
      return kU32;
    default:
      return std::nullopt;
  }
}

Shape StoreShape(const SpacePlan& plan, const kir::Inst& store, bool in_loop) {
  return {plan.VariesOverRows(int(store.imm), in_loop),
          plan.VariesOverCols(int(store.imm), in_loop)};
}

StatusOr<BodyInfo> Analyse(const kir::Kernel& kernel, const SpacePlan& plan) {
  return Analysis(kernel, plan).Run();
}

}  // namespace frazil::npu
