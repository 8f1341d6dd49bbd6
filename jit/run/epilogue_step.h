// Runs a product whose epilogue takes its rows, block by block, while the cache holds them. Called
// by plans; found by jit/plan/epilogue. Invariant: the effect is that of the steps one after
// another.
#pragma once

#include "jit/run/steps.h"

namespace frazil::jit {

// A launch goes by rows of its columns if it has one row, otherwise by its rows.
inline int64_t EpilogueParts(int64_t rows, int64_t cols) { return rows == 1 ? cols : rows; }

Status RunEpilogue(const EpilogueStep& step, char* const* slots, absl::Span<Value* const> inputs);

}  // namespace frazil::jit
