// C expressions of single instructions. Called by the CUDA printer. Invariant: an expression
// evaluates to exactly what ops.def says, given CudaPrelude().
#pragma once

#include <string>

#include "jit/kir/kir.h"

namespace frazil::jit::cuda {

std::string_view TypeText(DType type);
std::string ConstText(DType type, uint64_t bits);
// An arithmetic, comparison, bit or select instruction, or a legal conversion, on operand
// expressions.
std::string OpText(const kir::Inst& inst, DType from, const std::string& a, const std::string& b,
                   const std::string& c);
// One step of a reduction, and what it starts from.
kir::Op CombineOp(const kir::Inst& reduce);
std::string CombineText(const kir::Inst& reduce, const std::string& a, const std::string& b);
uint64_t IdentityBits(const kir::Inst& reduce);
std::string IdentityText(const kir::Inst& reduce);

}  // namespace frazil::jit::cuda
