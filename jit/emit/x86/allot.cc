#include "jit/emit/x86/allot.h"

#include <algorithm>
#include <utility>

namespace frazil::jit {

using asmjit::BaseNode;
using asmjit::InstNode;
using asmjit::NodeType;
using asmjit::Operand;
using asmjit::RegGroup;
namespace I = x86::Inst;

namespace {

constexpr int kMaxRounds = 12;
constexpr uint32_t kCallerSaved = 0x0fc7;  // general registers that need not be kept

}  // namespace

Allotter::Allotter(x86::Compiler* cc, asmjit::FuncNode* fn, const RegisterFile& file)
    : cc_(*cc), fn_(fn), file_{file.gp, file.vec, file.mask} {
  static_assert(int(RegGroup::kGp) == 0 && int(RegGroup::kVec) == 1 && int(RegGroup::kX86_K) == 2);
}

bool Allotter::Run() {
  FreeFixed();
  for (int round = 0; Collect(); ++round) {
    if (Scan()) {
      Write();
      return true;
    }
    if (round == kMaxRounds) return false;
    Spill();
  }
  return false;
}

// Machine registers that nobody else has while `life` lasts.
uint32_t Allotter::FreeFor(const Life& life, const std::array<uint32_t, kGroups>& busy) const {
  uint32_t free = file_[size_t(life.group)] & ~busy[size_t(life.group)];
  if (life.group == 0) {
    for (const Held& held : held_) {
      if (held.begin <= life.end && life.begin <= held.end) free &= ~held.regs;
    }
  }
  return free;
}

int Allotter::Choose(const Life& life, uint32_t free) const {
  const int near = life.near == kNowhere ? life.wish : lives_[size_t(life.near)].reg;
  if (near != kNowhere && free >> near & 1) return near;
  if (life.group == 0 && (free & kCallerSaved)) free &= kCallerSaved;
  return __builtin_ctz(free);
}

// True if everyone has a register. Otherwise whoever has none is marked.
bool Allotter::Scan() {
  std::vector<int> order;
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (lives_[i].used()) order.push_back(int(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Life &x = lives_[size_t(a)], &y = lives_[size_t(b)];
    return x.begin != y.begin ? x.begin < y.begin : a < b;
  });
  std::array<uint32_t, kGroups> busy = {};
  std::array<std::array<int, 32>, kGroups> holder;
  const auto price = [&](int reg) {
    const Life& life = lives_[size_t(reg)];
    return life.weight / float(life.end - life.begin + 2);
  };
  bool all = true;
  for (const int reg : order) {
    Life& life = lives_[size_t(reg)];
    const auto group = size_t(life.group);
    for (uint32_t left = busy[group]; left; left &= left - 1) {
      const int r = __builtin_ctz(left);
      if (lives_[size_t(holder[group][size_t(r)])].end < life.begin) busy[group] &= ~(1U << r);
    }
    if (const uint32_t free = FreeFor(life, busy)) {
      life.reg = Choose(life, free);
    } else {
      all = false;
      int victim = stays_[size_t(reg)] ? kNowhere : reg;
      for (uint32_t left = FreeFor(life, {}); left; left &= left - 1) {
        const int other = holder[group][size_t(__builtin_ctz(left))];
        if (!stays_[size_t(other)] && (victim == kNowhere || price(other) < price(victim)))
          victim = other;
      }
      if (victim == kNowhere) continue;  // whoever is in the way may go in the next round
      lives_[size_t(victim)].spilled = true;
      if (victim == reg) continue;
      life.reg = std::exchange(lives_[size_t(victim)].reg, kNowhere);
    }
    busy[group] |= 1U << life.reg;
    holder[group][size_t(life.reg)] = reg;
  }
  return all;
}

uint32_t Allotter::PlaceOf(uint32_t id) const {
  return Operand::isVirtId(id) ? uint32_t(lives_[Operand::virtIdToIndex(id)].reg) : id;
}

// Machine registers and stack addresses in place of virtual ones, and what calls expect.
void Allotter::Write() {
  asmjit::FuncArgsAssignment args(&fn_->detail());
  MakeFrame(&args);
  const int32_t stack = int32_t(fn_->frame().localStackOffset());
  for (const Step& step : steps_) {
    InstNode& node = *step.node;
    bool same_size = true;  // all of the registers moved
    for (uint32_t i = 0; i < node.opCount(); ++i) {
      Operand& op = node.op(i);
      if (op.isReg()) {
        if (Operand::isVirtId(op.id())) {
          const asmjit::VirtReg& reg = *cc_.virtRegByIndex(Operand::virtIdToIndex(op.id()));
          same_size &= op.as<asmjit::BaseReg>().size() == reg.regSize();
        }
        op.as<asmjit::BaseReg>().setId(PlaceOf(op.id()));
      } else if (op.isMem()) {
        auto& mem = op.as<x86::Mem>();
        if (mem.isRegHome()) {
          const asmjit::VirtReg& slot = *cc_.virtRegById(mem.baseId());
          mem.clearRegHome();
          mem.setBase(x86::rsp);
          mem.addOffset(slot.stackOffset() + stack);
        } else if (mem.hasBaseReg()) {
          mem.setBaseId(PlaceOf(mem.baseId()));
        }
        if (mem.hasIndexReg()) mem.setIndexId(PlaceOf(mem.indexId()));
      }
    }
    if (node.extraReg().isReg()) node.extraReg().setId(PlaceOf(node.extraReg().id()));
    if (same_size && IsNoMove(node)) cc_.removeNode(&node);
  }
  cc_.removeNode(fn_->exitNode()->prev());  // the return
  cc_.setCursor(fn_);
  cc_.emitProlog(fn_->frame());
  cc_.emitArgsAssignment(fn_->frame(), args);
  cc_.setCursor(fn_->exitNode());
  cc_.emitEpilog(fn_->frame());
}

bool Allotter::IsNoMove(const InstNode& node) const {
  const bool moves =
      node.id() == I::kIdMov || node.id() == I::kIdVmovaps || node.id() == I::kIdKmovw;
  return moves && !node.extraReg().isReg() && node.op(0).isReg() && node.op(1).isReg() &&
         node.op(0).signature() == node.op(1).signature() && node.op(0).id() == node.op(1).id() &&
         (node.id() != I::kIdMov || node.op(0).as<asmjit::BaseReg>().size() == 8);
}

void Allotter::MakeFrame(asmjit::FuncArgsAssignment* args) {
  asmjit::FuncFrame& frame = fn_->frame();
  for (const Life& life : lives_) {
    if (life.reg != kNowhere) frame.addDirtyRegs(RegGroup(life.group), 1U << life.reg);
  }
  for (const Held& held : held_) frame.addDirtyRegs(RegGroup::kGp, held.regs);
  // The most aligned first, so that nothing is lost between.
  std::vector<asmjit::VirtReg*> slots;
  for (asmjit::VirtReg* reg : cc_.virtRegs()) {
    if (reg->isStack()) slots.push_back(reg);
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const auto* a, const auto* b) { return a->alignment() > b->alignment(); });
  uint32_t bytes = 0;
  for (asmjit::VirtReg* slot : slots) {
    const uint32_t align = std::max(slot->alignment(), 1U);
    bytes = (bytes + align - 1) / align * align;
    slot->assignStackSlot(int32_t(bytes));
    bytes += slot->virtSize();
    frame.updateLocalStackAlignment(align);
  }
  frame.setLocalStackSize(bytes);
  for (uint32_t i = 0; i < fn_->argCount(); ++i) {
    const asmjit::RegOnly& arg = fn_->argPack(i)[0];
    const uint32_t reg = arg.isReg() ? PlaceOf(arg.id()) : ~0U;
    if (reg != ~0U) args->assignReg(i, x86::gpq(reg));
  }
  args->updateFuncFrame(frame);
  frame.finalize();
}

}  // namespace frazil::jit
