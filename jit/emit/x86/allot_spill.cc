// What finds no register: it lives on the stack, or is a constant of the pool, and is in a register
// only within each instruction that needs one.
#include <algorithm>

#include "jit/emit/x86/allot.h"

namespace frazil::jit {

using asmjit::InstNode;
using asmjit::Operand;
namespace I = x86::Inst;

namespace {

bool IsFromPool(const InstNode& node) {
  switch (node.id()) {
    case I::kIdVbroadcastss:
    case I::kIdVbroadcastsd:
    case I::kIdVmovups:
      break;
    default:
      return false;
  }
  return node.op(1).isMem() && node.op(1).as<x86::Mem>().hasBaseLabel() &&
         !node.op(1).as<x86::Mem>().hasIndexReg() && !node.extraReg().isReg();
}

}  // namespace

asmjit::InstId Allotter::MoveOf(int reg) const {
  constexpr asmjit::InstId kMoves[kGroups] = {I::kIdMov, I::kIdVmovups, I::kIdKmovw};
  return kMoves[lives_[size_t(reg)].group];
}

// Where the registers that were marked live from now on.
std::vector<Allotter::Home> Allotter::FindHomes(std::vector<int>* home_of) {
  std::vector<Home> homes;
  home_of->assign(lives_.size(), kNowhere);
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (!lives_[i].spilled) continue;
    (*home_of)[i] = int(homes.size());
    homes.push_back({int(i), {}});
  }
  std::vector<int> writes(homes.size());
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int r = steps_[s].first_ref; r < EndOfRefs(s); ++r) {
      const Ref& ref = refs_[size_t(r)];
      const int home = (*home_of)[size_t(ref.reg)];
      if (home == kNowhere || !ref.write) continue;
      ++writes[size_t(home)];
      homes[size_t(home)].made = ref.read ? nullptr : steps_[s].node;
    }
  }
  for (size_t i = 0; i < homes.size(); ++i) {
    Home& home = homes[i];
    const InstNode* made = home.made;
    if (writes[i] == 1 && made && (IsFromPool(*made) || IsConstantOfItself(*made))) continue;
    home.made = nullptr;
    const uint32_t bytes = cc_.virtRegs()[uint32_t(home.reg)]->virtSize();
    home.mem = cc_.newStack(bytes, bytes);
    home.mem.setSize(bytes);
  }
  return homes;
}

void Allotter::Spill() {
  std::vector<int> home_of;
  const std::vector<Home> homes = FindHomes(&home_of);
  for (size_t s = 0; s < steps_.size(); ++s) SpillIn(s, home_of, homes);
  for (const Home& home : homes) {
    if (home.made) cc_.removeNode(home.made);
  }
  for (uint32_t i = 0; i < fn_->argCount(); ++i) {
    const asmjit::RegOnly& arg = fn_->argPack(i)[0];
    if (!arg.isReg()) continue;
    const auto reg = Operand::virtIdToIndex(arg.id());
    if (reg >= home_of.size() || home_of[reg] == kNowhere) continue;
    cc_.setCursor(fn_);
    cc_.emit(MoveOf(int(reg)), homes[size_t(home_of[reg])].mem, arg.toReg<x86::Gp>());
    stays_[reg] = true;
  }
}

// A register for what `home` holds, loaded before `node` if it is read there.
asmjit::BaseReg Allotter::Fetch(InstNode* node, const Home& home, bool load) {
  asmjit::BaseReg reg;
  cc_._newReg(&reg, cc_.virtRegs()[uint32_t(home.reg)]->typeId(), "s");
  stays_.resize(cc_.virtRegs().size(), false);
  stays_[Operand::virtIdToIndex(reg.id())] = true;
  if (!load) return reg;
  cc_.setCursor(node->prev());
  if (!home.made) {
    cc_.emit(MoveOf(home.reg), reg, home.mem);
  } else if (home.made->id() == I::kIdXor) {
    cc_.emit(I::kIdMov, reg, 0);  // which leaves the flags
  } else if (home.made->op(1).isMem()) {
    cc_.emit(home.made->id(), reg, home.made->op(1));
  } else if (home.made->opCount() == 2) {
    cc_.emit(home.made->id(), reg, reg);
  } else {
    cc_.emit(home.made->id(), reg, reg, reg);
  }
  return reg;
}

// The last operand of many instructions may lie in memory.
bool Allotter::TakeFromMemory(InstNode* node, const Home& home) const {
  if (home.made || node->opCount() < 2 || node->opCount() > 3) return false;
  if (node->id() == I::kIdVmovq || node->id() == I::kIdVmovd || lives_[size_t(home.reg)].group == 2)
    return false;
  const uint32_t last = node->opCount() - 1, id = Operand::indexToVirtId(uint32_t(home.reg));
  for (uint32_t i = 0; i < last; ++i) {
    if (!node->op(i).isReg() || node->op(i).id() == id) return false;
  }
  if (!node->op(last).isReg() || node->op(last).id() != id) return false;
  if (node->op(last).as<asmjit::BaseReg>().size() != home.mem.size()) return false;
  asmjit::InstRWInfo rw;
  asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node->baseInst(), node->operands(),
                               node->opCount(), &rw);
  const asmjit::OpRWInfo& op = rw.operand(last);
  if (!op.isReadOnly() || !op.isRm() || op.rmSize() != home.mem.size()) return false;
  node->op(last) = home.mem;
  return true;
}

void Allotter::SpillIn(size_t step, const std::vector<int>& home_of,
                       const std::vector<Home>& homes) {
  InstNode& node = *steps_[step].node;
  for (int r = steps_[step].first_ref; r < EndOfRefs(step); ++r) {
    const Ref ref = refs_[size_t(r)];
    if (home_of[size_t(ref.reg)] == kNowhere) continue;
    const Home& home = homes[size_t(home_of[size_t(ref.reg)])];
    if (home.made == &node || TakeFromMemory(&node, home)) continue;
    const asmjit::BaseReg reg = Fetch(&node, home, ref.read);
    const uint32_t old = Operand::indexToVirtId(uint32_t(ref.reg));
    for (uint32_t i = 0; i < node.opCount(); ++i) {
      Operand& op = node.op(i);
      if (op.isReg() && op.id() == old) op.as<asmjit::BaseReg>().setId(reg.id());
      if (!op.isMem()) continue;
      auto& mem = op.as<x86::Mem>();
      if (mem.hasBaseReg() && mem.baseId() == old) mem.setBaseId(reg.id());
      if (mem.hasIndexReg() && mem.indexId() == old) mem.setIndexId(reg.id());
    }
    if (node.extraReg().isReg() && node.extraReg().id() == old) node.extraReg().setId(reg.id());
    if (!ref.write) continue;
    cc_.setCursor(&node);
    cc_.emit(MoveOf(ref.reg), home.mem, reg);
  }
}

}  // namespace frazil::jit
