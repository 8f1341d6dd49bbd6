// QuickCall: what it takes to run an op of two operands by one small kernel on the CPU, which most
// eager calls are. Made from a plan when it is compiled, run by the eager door.
// Invariant: running it does what the plan does.
#pragma once

#include <array>

#include "core/fp_mode.h"
#include "core/storage.h"
#include "core/tensor.h"
#include "jit/kir/kir.h"
#include "jit/runtime/counters.h"

namespace frazil::jit {

struct QuickCall {
  static constexpr int kResult = 2;  // as a buffer's source; 0 and 1 are the operands

  kir::KernelFn fn = nullptr;  // null: the plan has to run
  const int64_t* extents = nullptr;
  const int64_t* strides = nullptr;
  int64_t rows = 0, cols = 0;
  std::array<uint8_t, 3> buffers{};  // where each comes from
  std::array<uint8_t, 2> scalars{};  // the operand that each is
  DType dtype{};
  const Layout* layout = nullptr;
  size_t bytes = 0;

  Tensor Run(const Value& a, const Value& b) const {
    StatusOr<StorageRef> storage = Allocate(bytes);
    if (!storage.ok()) return Tensor(std::move(storage).status());
    char* const data = (*storage)->data;
    const std::array<char*, 3> from = {a.data, b.data, data};
    void* const memory[3] = {from[buffers[0]], from[buffers[1]], from[buffers[2]]};
    const std::array<uint64_t, 2> numbers = {a.imm, b.imm};
    const uint64_t words[2] = {numbers[scalars[0]], numbers[scalars[1]]};
    const kir::KernelArgs args{memory, extents, strides, words};
    {
      const DefaultFpMode mode;
      ++KernelsRun();
      fn(&args, 0, rows, 0, cols);
    }
    return Tensor(Value::Make(dtype, Device(), layout, *std::move(storage), data));
  }
};

}  // namespace frazil::jit
