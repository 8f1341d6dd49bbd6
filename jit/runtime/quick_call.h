// QuickCall: what it takes to run an op of one or two operands by one small kernel on the CPU,
// which most eager calls are. Made from a plan when it is compiled, run by the eager door.
// Invariant: running it does what the plan does.
#pragma once

#include <array>

#include "core/fp_mode.h"
#include "core/value.h"
#include "jit/kir/kir.h"
#include "jit/runtime/counters.h"

namespace frazil::jit {

// What a kernel reads of an operand: where its elements are, or an immediate's bits.
struct QuickOperand {
  char* data;
  const uint64_t* bits;

  QuickOperand(const Value& v) : data(v.data), bits(&v.imm) {}  // NOLINT
  explicit QuickOperand(const uint64_t* number) : data(nullptr), bits(number) {}
};

struct QuickCall {
  static constexpr int kResult = 2;  // as a buffer's source; 0 and 1 are the operands

  kir::KernelFn fn = nullptr;  // null: the plan has to run
  const int64_t* extents = nullptr;
  const int64_t* strides = nullptr;
  int64_t rows = 0, cols = 0;
  std::array<uint8_t, 3> buffers{};  // where each comes from
  std::array<uint8_t, 2> scalars{};  // the operand that each is
  uint8_t num_scalars = 0;
  bool in_order = false;  // the buffers are both operands and the result, and there are no scalars
  int8_t block_class = -1;  // of a small result (Value::NewSmall), or -1
  uint32_t kind = 0;        // Value::kind() of the result
  DType dtype{};
  const Layout* layout = nullptr;
  size_t bytes = 0;

  // The caller's own. An error if there is no memory.
  Value* Run(const QuickOperand& a, const QuickOperand& b) const {
    Value* const out = __builtin_expect(block_class >= 0, 1)
                           ? Value::NewSmall(kind, layout, block_class)
                           : NewLarge();
    if (__builtin_expect(out->is_error(), 0)) return out;
    void* memory[3] = {a.data, b.data, out->data};
    uint64_t words[2];
    if (!in_order) {
      const std::array<void*, 3> from = {memory[0], memory[1], memory[2]};
      for (size_t i = 0; i < buffers.size(); ++i) memory[i] = from[buffers[i]];
      for (size_t i = 0; i < num_scalars; ++i) words[i] = *(scalars[i] ? b : a).bits;
    }
    const kir::KernelArgs args{memory, extents, strides, words};
    const DefaultFpMode mode;
    ++KernelsRun();
    fn(&args, 0, rows, 0, cols);
    return out;
  }

 private:
  __attribute__((noinline)) Value* NewLarge() const {
    StatusOr<StorageRef> storage = Allocate(bytes);
    if (!storage.ok()) return Value::Error(std::move(storage).status()).release();
    char* const data = (*storage)->data;
    return Value::Make(dtype, Device(), layout, *std::move(storage), data).release();
  }
};

}  // namespace frazil::jit
