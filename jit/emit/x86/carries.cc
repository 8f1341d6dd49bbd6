// The end of an iteration: every carry takes the value that its next names. Most values are made in
// the carry's register in the first place; the rest are moved, all as if at once.
#include <algorithm>

#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

namespace {

bool IsReg(const asmjit::Operand& op, uint32_t reg) { return op.isReg() && op.id() == reg; }

bool Indexes(const asmjit::InstNode& inst, uint32_t reg) {
  for (uint32_t i = 0; i < inst.opCount(); ++i) {
    if (inst.op(i).isMem() && inst.op(i).as<x86::Mem>().indexId() == reg) return true;
  }
  return false;
}

bool Mentions(const asmjit::InstNode& inst, uint32_t reg) {
  for (uint32_t i = 0; i < inst.opCount(); ++i) {
    if (IsReg(inst.op(i), reg)) return true;
  }
  return Indexes(inst, reg) || (inst.extraReg().isReg() && inst.extraReg().id() == reg);
}

}  // namespace

// Renames `next` to `carry` in everything behind `body`, if nothing needs the carry any more once
// the first instruction has written `next`. Labels within stand for loops, where behind is not
// later.
bool Codegen::MakeInCarry(const Operand& carry, const Operand& next, asmjit::BaseNode* body) {
  asmjit::BaseNode* const end = cc_.cursor()->next();
  asmjit::InstNode* first = nullptr;  // that writes `next`: it was not known before
  for (asmjit::BaseNode* node = body->next(); node != end; node = node->next()) {
    if (node->isLabel()) return false;
    if (!node->isInst()) continue;
    asmjit::InstNode& inst = *node->as<asmjit::InstNode>();
    if (Indexes(inst, next.id())) return false;
    if (!first && Mentions(inst, next.id())) {
      if (inst.opCount() == 0 || !IsReg(inst.op(0), next.id())) return false;
      first = &inst;
      if (IsReg(inst.op(0), carry.id())) return false;
    } else if (first && Mentions(inst, carry.id())) {
      return false;
    }
  }
  if (!first) return false;
  for (asmjit::BaseNode* node = first; node != end; node = node->next()) {
    if (!node->isInst()) continue;
    asmjit::InstNode& inst = *node->as<asmjit::InstNode>();
    for (uint32_t i = 0; i < inst.opCount(); ++i) {
      if (IsReg(inst.op(i), next.id())) inst.op(i).as<asmjit::BaseReg>().setId(carry.id());
    }
    asmjit::RegOnly& mask = inst.extraReg();
    if (mask.isReg() && mask.id() == next.id()) mask.init(mask.signature(), carry.id());
  }
  const bool moves = first->id() == I::kIdVmovaps || first->id() == I::kIdKmovw;
  if (moves && !first->extraReg().isReg() && IsReg(first->op(1), carry.id())) cc_.removeNode(first);
  return true;
}

// `known`: how many registers there were before the body.
void Codegen::AdvanceCarries(Id begin, Id end, asmjit::BaseNode* body, uint32_t known) {
  std::vector<Move> moves;
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kNext || inst.a == inst.b) continue;
    ForCopies([&] {
      const Operand from = Val(inst.b).isReg() ? Val(inst.b) : Operand(R(inst.b));
      if (from.id() != Val(inst.a).id()) moves.push_back({Val(inst.a), from});
    });
  }
  const auto wanted = [&](const Operand& reg) {
    for (const Move& move : moves) {
      if (!move.done && move.from.id() == reg.id()) return true;
    }
    return false;
  };
  for (Move& move : moves) {
    const bool made_here = Operand::virtIdToIndex(move.from.id()) >= known;
    if (!made_here || wanted(move.to)) continue;
    const Operand from = move.from;
    if (!MakeInCarry(move.to, from, body)) continue;
    move.done = true;
    for (Move& other : moves) {
      if (other.from.id() == from.id()) other.from = move.to;
    }
  }
  MoveAtOnce(std::move(moves));
}

// All of them read before any writes: what nothing else reads is written first; where they go
// round, one takes a way round of its own.
void Codegen::MoveAtOnce(std::vector<Move> moves) {
  std::erase_if(moves, [](const Move& move) { return move.done; });
  while (!moves.empty()) {
    const auto reads = [&](const Operand& reg) {
      return std::any_of(moves.begin(), moves.end(),
                         [&](const Move& move) { return move.from.id() == reg.id(); });
    };
    const auto free =
        std::find_if(moves.begin(), moves.end(), [&](const Move& move) { return !reads(move.to); });
    if (free != moves.end()) {
      MoveReg(free->to, free->from);
      moves.erase(free);
      continue;
    }
    const Operand kept = moves[0].to;
    const bool mask = kept.as<asmjit::BaseReg>().group() == asmjit::RegGroup::kX86_K;
    const Operand copy = mask ? Operand(NewK()) : Operand(NewVec(int(kept.as<Vec>().size())));
    MoveReg(copy, kept);
    for (Move& move : moves) {
      if (move.from.id() == kept.id()) move.from = copy;
    }
  }
}

}  // namespace frazil::jit
