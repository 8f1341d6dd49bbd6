// Frozen programs as text: what is taken names only what is there.
#include <set>

#include "core/check.h"
#include "frozen/program.h"
#include "tests/fuzz/targets/target.h"

namespace {

using namespace frazil::frozen;  // NOLINT

void CheckRef(const Program& program, const Ref& ref, size_t parameters, int32_t results) {
  const auto index = static_cast<size_t>(ref.index);
  switch (ref.kind) {
    case Ref::Kind::kParameter:
      FZ_CHECK(index < parameters);
      break;
    case Ref::Kind::kTensor:
      FZ_CHECK(index < program.tensors.size());
      break;
    case Ref::Kind::kNumber:
      FZ_CHECK(index < program.numbers.size());
      break;
    case Ref::Kind::kResult:
      FZ_CHECK(ref.index >= 0 && ref.index < results);
      break;
    case Ref::Kind::kNone:
      break;
  }
}

// Walks a block; `dead` are results that have died on the way to it.
void CheckBlock(const Program& program, const Block& block, size_t parameters, int32_t results,
                std::set<int32_t> dead) {
  const auto check = [&](const Ref& ref) {
    CheckRef(program, ref, parameters, results);
    FZ_CHECK(ref.kind != Ref::Kind::kResult || !dead.contains(ref.index));
  };
  for (const Call& call : block.calls) {
    for (const Ref& ref : call.operands) check(ref);
    FZ_CHECK(call.first_result == results);
    results += call.results;
    dead.insert(call.dies.begin(), call.dies.end());
    if (call.body) CheckBlock(program, *call.body, call.operands.size(), 0, {});
  }
  FZ_CHECK(block.results == results);
  if (block.end != Block::End::kReturn) check(block.read);
  for (const Ref& ref : block.outputs) check(ref);
  for (const auto& [cell, value] : block.writes) check(cell), check(value);
  for (const Block::Case& one : block.cases) {
    std::set<int32_t> gone = dead;
    gone.insert(one.dies.begin(), one.dies.end());
    CheckBlock(program, *one.block, parameters, results, std::move(gone));
  }
}

}  // namespace

FZ_FUZZ_TARGET(frozen_program) {
  const auto program = ParseProgram(frazil::TextOf(data, size));
  if (program.ok()) CheckBlock(*program, program->block, program->inputs.size(), 0, {});
  return 0;
}
