// Who is needed where: liveness over blocks, weights, neighbours.
#include <algorithm>
#include <utility>

#include "jit/emit/x86/allot.h"

namespace frazil::jit {

using asmjit::InstNode;
using asmjit::Operand;
namespace I = x86::Inst;

// Where blocks go on.
void Allotter::EndBlocks() {
  const int count = int(blocks_.size());
  for (int b = 0; b < count; ++b) {
    Block& block = blocks_[size_t(b)];
    const int behind = b + 1 < count ? b + 1 : kNowhere;
    block.next = {behind, kNowhere};
    if (block.begin == block.end) continue;
    const InstNode& last = *steps_[size_t(block.end) - 1].node;
    if (last.opCount() != 1 || !last.op(0).isLabel()) continue;
    const int target = block_of_label_[last.op(0).id()];
    block.next = {target, last.id() == I::kIdJmp ? kNowhere : behind};
  }
}

void Allotter::FindLives() {
  for (uint32_t i = 0; i < fn_->argCount(); ++i) {
    const asmjit::RegOnly& arg = fn_->argPack(i)[0];
    if (!arg.isReg()) continue;
    Life& life = lives_[Operand::virtIdToIndex(arg.id())];
    life.begin = 0;
    life.block = kMany;
    life.wish = int(fn_->detail().arg(i).regId());
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int r = steps_[s].first_ref; r < EndOfRefs(s); ++r) {
      const Ref& ref = refs_[size_t(r)];
      Life& life = lives_[size_t(ref.reg)];
      const int at = int(s);
      life.begin = std::min(life.begin, ref.read ? ReadAt(at) : WriteAt(at));
      life.end = std::max(life.end, ref.write ? WriteAt(at) : ReadAt(at));
    }
  }
  FindAcross();
  Weigh();
  FindNear();
}

// Lives reach over every block that they are needed behind.
void Allotter::FindAcross() {
  across_ = 0;
  std::vector<int> regs;
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (lives_[i].block != kMany || !lives_[i].used()) continue;
    lives_[i].number = across_++;
    regs.push_back(int(i));
  }
  const size_t words = (size_t(across_) + 63) / 64, count = blocks_.size();
  std::vector<uint64_t> in(count * words), own(count * words);  // needed before; written first
  const auto bit = [&](std::vector<uint64_t>* set, size_t block,
                       int number) -> std::pair<uint64_t*, uint64_t> {
    return {&(*set)[block * words + size_t(number) / 64], uint64_t{1} << number % 64};
  };
  for (size_t b = 0; b < count; ++b) {
    for (int s = blocks_[b].begin; s < blocks_[b].end; ++s) {
      for (int r = steps_[size_t(s)].first_ref; r < EndOfRefs(size_t(s)); ++r) {
        const Ref& ref = refs_[size_t(r)];
        const int number = lives_[size_t(ref.reg)].number;
        if (number == kNowhere) continue;
        const auto [written, mask] = bit(&own, b, number);
        if (ref.read && !(*written & mask)) *bit(&in, b, number).first |= mask;
        if (ref.write) *written |= mask;
      }
    }
  }
  std::vector<uint64_t> out(count * words);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = count; b-- > 0;) {
      for (size_t w = 0; w < words; ++w) {
        uint64_t behind = 0;
        for (const int next : blocks_[b].next) {
          if (next != kNowhere) behind |= in[size_t(next) * words + w];
        }
        out[b * words + w] = behind;
        const uint64_t before = in[b * words + w] | (behind & ~own[b * words + w]);
        changed |= before != in[b * words + w];
        in[b * words + w] = before;
      }
    }
  }
  for (size_t b = 0; b < count; ++b) {
    const int begin = ReadAt(blocks_[b].begin), end = WriteAt(blocks_[b].end - 1);
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t left = in [b * words + w] | out[b * words + w]; left; left &= left - 1) {
        const uint64_t mask = left & -left;
        Life& life = lives_[size_t(regs[64 * w + size_t(__builtin_ctzll(left))])];
        if (in[b * words + w] & mask) life.begin = std::min(life.begin, begin);
        if (out[b * words + w] & mask) life.end = std::max(life.end, end);
      }
    }
  }
}

void Allotter::Weigh() {
  std::vector<int> deeper(steps_.size() + 1);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (const int next : blocks_[b].next) {
      if (next == kNowhere || next > int(b)) continue;
      ++deeper[size_t(blocks_[size_t(next)].begin)];
      --deeper[size_t(blocks_[b].end)];
    }
  }
  int depth = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    depth += deeper[s];
    const auto weight = static_cast<float>(1 << 3 * std::min(depth, 8));
    for (int r = steps_[s].first_ref; r < EndOfRefs(s); ++r)
      lives_[size_t(refs_[size_t(r)].reg)].weight += weight;
  }
}

void Allotter::FindNear() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    const InstNode& node = *steps_[s].node;
    const bool moves = node.id() == I::kIdMov || node.id() == I::kIdVmovaps ||
                       node.id() == I::kIdKmovw || node.id() == I::kIdKmovb;
    if (node.extraReg().isReg()) continue;  // the rest of it comes from elsewhere
    if (!moves || !node.op(0).isReg() || !node.op(1).isReg()) continue;
    if (!Operand::isVirtId(node.op(0).id()) || !Operand::isVirtId(node.op(1).id())) continue;
    const auto to = Operand::virtIdToIndex(node.op(0).id());
    const auto from = Operand::virtIdToIndex(node.op(1).id());
    // The first is the one that its life begins with.
    if (lives_[to].group == lives_[from].group && lives_[to].near == kNowhere)
      lives_[to].near = int(from);
  }
}

}  // namespace frazil::jit
