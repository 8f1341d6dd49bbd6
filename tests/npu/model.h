// What vector instructions do, written a second time: one element at a time, in double, with its
// own rounding. Called by the tests of the machine. Invariant: shares no arithmetic with jit/.
#pragma once

#include <cstdint>
#include <vector>

#include "npu/issue.h"

namespace frazil::npu::model {

// Values of elements. Bits of NaN are not told apart.
double Decode(Type type, uint32_t bits);
// Rounds to nearest even; integers must be in range.
uint32_t Encode(Type type, double value);
// 32 bits of an element at `at`.
uint32_t Get(Type type, const uint8_t* at);
void Put(Type type, uint32_t bits, uint8_t* at);
// Equal bits, or both NaN.
bool Same(Type type, uint32_t a, uint32_t b);

uint32_t Binary(Bin fn, Type type, uint32_t x, uint32_t y);
uint32_t Unary(Un fn, Type type, uint32_t x);
bool Supports(Bin fn, Type type);
bool Supports(Un fn, Type type);

// The instruction on an image of UB; addresses are offsets into it.
void Run(const Issue& issue, std::vector<uint8_t>* ub);

}  // namespace frazil::npu::model
