// The function as steps in blocks, and which registers each step reads and writes.
#include <algorithm>

#include "jit/emit/x86/allot.h"

namespace frazil::jit {

using asmjit::BaseNode;
using asmjit::InstNode;
using asmjit::NodeType;
using asmjit::Operand;
using asmjit::Operand_;
namespace I = x86::Inst;

namespace {

bool IsVirtual(const Operand_& op) { return op.isReg() && Operand::isVirtId(op.id()); }

asmjit::InstRWInfo QueryRW(const InstNode& node) {
  asmjit::InstRWInfo rw;
  asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node.baseInst(), node.operands(), node.opCount(),
                               &rw);
  return rw;
}

}  // namespace

// Writes the same whatever the register holds.
bool Allotter::IsConstantOfItself(const InstNode& node) {
  switch (node.id()) {
    case I::kIdXor:
    case I::kIdVpxor:
    case I::kIdVpxord:
    case I::kIdVpxorq:
    case I::kIdVxorps:
    case I::kIdVpcmpeqd:
    case I::kIdKxorb:
    case I::kIdKxorw:
    case I::kIdKxnorb:
    case I::kIdKxnorw:
      break;
    default:
      return false;
  }
  if (node.extraReg().isReg()) return false;
  for (uint32_t i = 0; i < node.opCount(); ++i) {
    if (!IsVirtual(node.op(i)) || node.op(i).id() != node.op(0).id()) return false;
  }
  return true;
}

// Instructions that take or give values in certain registers (division) get these, with moves
// before and after.
void Allotter::FreeFixed() {
  for (BaseNode* at = fn_->next(); at != fn_->exitNode(); at = at->next()) {
    if (at->type() != NodeType::kInst) continue;
    InstNode& node = *at->as<InstNode>();
    const auto id = node.id();
    if (id != I::kIdIdiv && id != I::kIdDiv && id != I::kIdMul && id != I::kIdImul &&
        id != I::kIdCqo && id != I::kIdCdq)
      continue;
    const asmjit::InstRWInfo rw = QueryRW(node);
    Held held{at, at, 0};
    for (uint32_t i = 0; i < node.opCount(); ++i) {
      const asmjit::OpRWInfo& op = rw.operand(i);
      if (!op.hasPhysId() || !IsVirtual(node.op(i))) continue;
      const auto own = node.op(i).as<x86::Gp>();
      auto fixed = own;
      fixed.setId(op.physId());
      held.regs |= 1U << op.physId();
      if (op.isRead()) {
        cc_.setCursor(held.from->prev());
        cc_.mov(fixed, own);
        held.from = cc_.cursor();
      }
      if (op.isWrite()) {
        cc_.setCursor(const_cast<BaseNode*>(held.to));
        cc_.mov(own, fixed);
        held.to = cc_.cursor();
      }
      node.op(i).as<x86::Gp>().setId(op.physId());
    }
    if (held.regs) held_.push_back(held);
    at = const_cast<BaseNode*>(held.to);
  }
}

// False if there is something that this does not know.
bool Allotter::Collect() {
  steps_.clear();
  refs_.clear();
  blocks_.assign(1, {0, 0});
  block_of_label_.assign(cc_.code()->labelCount(), kNowhere);
  const size_t count = cc_.virtRegs().size();
  lives_.assign(count, Life());
  stays_.resize(count, false);
  for (size_t i = 0; i < count; ++i) {
    const asmjit::VirtReg& reg = *cc_.virtRegs()[i];
    lives_[i].group = static_cast<int8_t>(reg.group());
    if (!reg.isStack() && lives_[i].group >= kGroups) return false;
  }
  const auto begin_block = [&] {
    const int at = int(steps_.size());
    blocks_.back().end = at;
    if (blocks_.back().begin != at) blocks_.push_back({at, at});
  };
  for (BaseNode* node = fn_->next(); node != fn_->exitNode(); node = node->next()) {
    switch (node->type()) {
      case NodeType::kLabel:
        begin_block();
        block_of_label_[node->as<asmjit::LabelNode>()->labelId()] = int(blocks_.size()) - 1;
        break;
      case NodeType::kInst:
        AddStep(node->as<InstNode>());
        for (Held& held : held_) {
          if (node == held.from) held.begin = ReadAt(int(steps_.size()) - 1);
          if (node == held.to) held.end = WriteAt(int(steps_.size()) - 1);
        }
        if (node->as<InstNode>()->op(0).isLabel()) begin_block();
        break;
      case NodeType::kFuncRet:
        if (node->next() != fn_->exitNode()) return false;
        break;
      case NodeType::kComment:
        break;
      default:
        return false;
    }
  }
  blocks_.back().end = int(steps_.size());
  EndBlocks();
  FindLives();
  return true;
}

void Allotter::Touch(uint32_t id, bool read, bool write) {
  if (!Operand::isVirtId(id)) return;
  const auto reg = static_cast<int32_t>(Operand::virtIdToIndex(id));
  for (size_t i = size_t(steps_.back().first_ref); i < refs_.size(); ++i) {
    if (refs_[i].reg != reg) continue;
    refs_[i].read |= read;
    refs_[i].write |= write;
    return;
  }
  refs_.push_back({reg, read, write});
  Life& life = lives_[size_t(reg)];
  const int block = int(blocks_.size()) - 1;
  life.block = life.block == kNowhere || life.block == block ? block : kMany;
}

void Allotter::AddStep(InstNode* node) {
  steps_.push_back({node, int(refs_.size())});
  if (IsConstantOfItself(*node)) return Touch(node->op(0).id(), false, true);
  const asmjit::InstRWInfo rw = QueryRW(*node);
  for (uint32_t i = 0; i < node->opCount(); ++i) {
    const Operand& op = node->op(i);
    if (op.isMem()) {
      const auto& mem = op.as<x86::Mem>();
      if (mem.hasBaseReg() && !mem.isRegHome()) Touch(mem.baseId(), true, false);
      if (mem.hasIndexReg()) Touch(mem.indexId(), true, false);
    } else if (IsVirtual(op)) {
      const asmjit::OpRWInfo& info = rw.operand(i);
      // What is not written stays, and is needed.
      const asmjit::VirtReg& reg = *cc_.virtRegByIndex(Operand::virtIdToIndex(op.id()));
      const uint64_t all = ~uint64_t{0} >> (64 - std::min<uint32_t>(reg.virtSize(), 64));
      const bool part = (all & ~(info.writeByteMask() | info.extendByteMask())) != 0;
      Touch(op.id(), info.isRead() || (info.isWrite() && part), info.isWrite());
    }
  }
  if (node->extraReg().isReg()) Touch(node->extraReg().id(), true, rw.extraReg().isWrite());
}

}  // namespace frazil::jit
