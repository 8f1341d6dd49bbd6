#include "frozen/lay.h"

#include <vector>

#include "core/functions/ops.h"

namespace frazil::frozen {
namespace {

// Larger ones come from memory, which takes as long either way (a row of 1024 times 1024 x 1024),
// and to turn them while loading would be felt.
constexpr int64_t kMostBytes = 1 << 20;

// What a program does with its tensors.
class Uses {
 public:
  explicit Uses(const Program& program)
      : turned_(program.tensors.size()), otherwise_(program.tensors.size()) {
    Walk(program.block);
    for (const Number& number : program.numbers) {
      for (const Ref& ref : number.cells) Otherwise(ref);
    }
  }

  bool OnlyTurned(size_t tensor) const { return turned_[tensor] && !otherwise_[tensor]; }

 private:
  void Otherwise(const Ref& ref) {
    if (ref.kind == Ref::Kind::kTensor) otherwise_[size_t(ref.index)] = true;
  }

  void Walk(const Block& block) {
    for (const Call& call : block.calls) {
      if (Turns(call)) {
        turned_[size_t(call.operands[0].index)] = true;
        continue;
      }
      for (const Ref& ref : call.operands) Otherwise(ref);
      if (call.body) Walk(*call.body);
    }
    Otherwise(block.read);
    for (const Ref& ref : block.outputs) Otherwise(ref);
    for (const auto& [cell, value] : block.writes) Otherwise(cell), Otherwise(value);
    for (const Block::Case& one : block.cases) Walk(*one.block);
  }

  static bool Turns(const Call& call) {
    return call.kind == Call::Kind::kOp && static_cast<OpId>(call.op) == OpId::k_permute_dims &&
           call.operands[0].kind == Ref::Kind::kTensor && call.attrs.size() == 2 &&
           call.attrs[0].is_constant() && call.attrs[0].constant() == 1;
  }

  std::vector<bool> turned_, otherwise_;
};

}  // namespace

Status LayWeights(const Program& program, absl::Span<Tensor> tensors) {
  const Uses uses(program);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor& t = tensors[i];
    if (!uses.OnlyTurned(i) || !(t.device() == Device()) ||
        t.size() * SizeOf(t.dtype()) > kMostBytes)
      continue;
    const Tensor turned = ops::permute_dims(t, {1, 0});
    const Tensor laid = ops::permute_dims(Apply(OpId::k_copy, {&turned}), {1, 0});
    FZ_RETURN_IF_ERROR(laid.status());
    t.SetValue(laid.value_ref());
  }
  return absl::OkStatus();
}

}  // namespace frazil::frozen
