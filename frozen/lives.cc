#include "frozen/lives.h"

#include "absl/container/flat_hash_set.h"

namespace frazil::frozen {
namespace {

using Results = absl::flat_hash_set<int32_t>;

void Take(const Ref& ref, Results* wanted) {
  if (ref.kind == Ref::Kind::kResult) wanted->insert(ref.index);
}

// What the block takes of the results before it. What lives there on the way to a case and is not
// wanted by it dies as that begins.
Results Walk(Block* block) {
  Results wanted;
  std::vector<Results> of_cases;
  for (Block::Case& one : block->cases) {
    of_cases.push_back(Walk(one.block.get()));
    wanted.insert(of_cases.back().begin(), of_cases.back().end());
  }
  for (size_t i = 0; i < of_cases.size(); ++i) {
    for (const int32_t r : wanted) {
      if (!of_cases[i].contains(r)) block->cases[i].dies.push_back(r);
    }
  }
  // The number that is read is held by whoever reads it.
  const Results behind = wanted;
  Take(block->read, &wanted);
  if (block->end == Block::End::kRead && block->read.kind == Ref::Kind::kResult &&
      !behind.contains(block->read.index)) {
    for (Block::Case& one : block->cases) one.dies.push_back(block->read.index);
  }
  for (const Ref& ref : block->outputs) Take(ref, &wanted);
  for (const auto& [cell, value] : block->writes) Take(value, &wanted);
  for (size_t i = block->calls.size(); i-- > 0;) {
    Call& call = block->calls[i];
    for (int32_t r = call.first_result; r < call.first_result + call.results; ++r) {
      if (!wanted.erase(r)) call.dies.push_back(r);
    }
    for (const Ref& ref : call.operands) {
      if (ref.kind == Ref::Kind::kResult && wanted.insert(ref.index).second)
        call.dies.push_back(ref.index);
    }
  }
  return wanted;
}

}  // namespace

void FindLives(Block* block) { Walk(block); }

}  // namespace frazil::frozen
