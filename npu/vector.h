// The vector unit by kind of instruction. Called by npu/vector.cc; the kernels work on
// blocks of at most kBlock lanes (npu/lanes.h). Invariant: a kernel touches its n lanes
// alone, and its output may be one of its inputs.
#pragma once

#include "npu/lanes.h"
#include "npu/machine.h"

namespace frazil::npu {

// d = f(x) or d = f(x, y) on lanes. Null: the function does not exist for the type.
using UnaryKernel = void (*)(const void* x, int64_t n, void* d);
using BinaryKernel = void (*)(const void* x, const void* y, int64_t n, void* d);
UnaryKernel UnaryFor(Un fn, Type type);     // vector_unary.cc
BinaryKernel BinaryFor(Bin fn, Type type);  // vector_binary.cc
// d (bytes) = x cc y.
BinaryKernel CompareFor(Cmp cc, Type type);  // vector_binary.cc
// d = fma(x, y, d) on f32.
void FusedMultiplyAdd(const void* x, const void* y, int64_t n, void* d);

// VRED.
bool Reduce(const Issue& issue, const Pointers& p, Fault* fault);  // vector_reduce.cc

}  // namespace frazil::npu
