// A kernel that calls one function of kernels/fn.def over contiguous buffers, and its run. Called
// by the tests of emitted functions and by bench/fn_bench.cc. Invariant: o = fn(x) or fn(x, y),
// element by element, in one type.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/kir/fn_table.h"

namespace frazil {

inline kir::Kernel CallKernel(int fn, DType type) {
  kir::Kernel kernel;
  kernel.name = "call";
  for (const char* name : {"x", "y", "o"}) {
    kernel.buffers.push_back({name, type, name[0] == 'o', {kir::Stride::kOne}});
  }
  kir::Builder builder(&kernel);
  const kir::V x = builder.Load(0);
  const kir::V y = kir::kFns[fn].operands == 2 ? builder.Load(1) : kir::V{};
  builder.Store(2, builder.Call(fn, x, y));
  return kernel;
}

// Runs such a kernel over all of `x`; `compiled` is what an emitter made of it.
template <class T, class Compiled>
void RunCall(const Compiled& compiled, std::vector<T>* x, std::vector<T>* y, std::vector<T>* out) {
  void* buffers[] = {x->data(), y->data(), out->data()};
  const int64_t size = sizeof(T), extent = static_cast<int64_t>(x->size());
  const int64_t strides[] = {size, size, size};
  compiled.Run({buffers, &extent, strides, nullptr}, 0, 1, 0, extent);
}

}  // namespace frazil
