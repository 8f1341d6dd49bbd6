// QuickCall: what it takes to run one small kernel on the CPU, which most eager calls and short
// segments are. Made from a plan when it is compiled, run by the eager door and by the plan itself.
// Invariant: running it does what the plan does.
#pragma once

#include <array>

#include "core/profile.h"
#include "core/threads/fp_mode.h"
#include "core/value.h"
#include "jit/kir/kir.h"
#include "jit/run/counters.h"

namespace frazil::jit {

class Plan;

// What a kernel reads of an operand: where its elements are, or an immediate's bits.
struct QuickOperand {
  char* data;
  const uint64_t* bits;

  QuickOperand(const Value& v) : data(v.data), bits(&v.imm) {}  // NOLINT
  explicit QuickOperand(const uint64_t* number) : data(nullptr), bits(number) {}
};

struct QuickCall {
  static constexpr size_t kArgs = 6;         // buffers and scalars, at most
  static constexpr uint8_t kResult = kArgs;  // as a buffer's source; others are operands

  kir::KernelFn fn = nullptr;  // null: the plan has to run
  const int64_t* extents = nullptr;
  const int64_t* strides = nullptr;
  int64_t rows = 0, cols = 0;
  std::array<uint8_t, kArgs> buffers{};  // where each comes from
  std::array<uint8_t, kArgs> scalars{};  // the operand that each is
  uint8_t num_operands = 0, num_buffers = 0, num_scalars = 0;
  int8_t donor = -1;      // operand whose memory is the result's if nobody else sees it
  bool in_order = false;  // the buffers are both operands and the result, and there are no scalars
  int8_t block_class = -1;  // of a small result (Value::NewSmall), or -1
  uint32_t kind = 0;        // Value::kind() of the result
  DType dtype{};
  const Layout* layout = nullptr;
  size_t bytes = 0;
  const Plan* plan = nullptr;  // that it was made from, and that lives as long as it is used

  bool IsForTwo() const { return fn && num_operands <= 2 && donor < 0; }

  // For one or two operands. The caller's own. An error if there is no memory.
  Value* Run(const QuickOperand& a, const QuickOperand& b) const {
    Value* const out = __builtin_expect(block_class >= 0, 1)
                           ? Value::NewSmall(kind, layout, block_class)
                           : NewLarge();
    if (__builtin_expect(out->is_error(), 0)) return out;
    void* memory[kArgs] = {a.data, b.data, out->data};
    uint64_t words[kArgs];
    if (!in_order) {
      for (size_t i = 0; i < num_buffers; ++i)
        memory[i] = buffers[i] == kResult ? out->data : buffers[i] ? b.data : a.data;
      for (size_t i = 0; i < num_scalars; ++i) words[i] = *(scalars[i] ? b : a).bits;
    }
    Launch(memory, words);
    return out;
  }

  // The same for any number of operands, none of them a donor. Null: there is no memory.
  template <typename Operand>  // points to a value
  Value* Make(const Operand* operands) const {
    Value* const out = __builtin_expect(block_class >= 0, 1)
                           ? Value::NewSmall(kind, layout, block_class)
                           : NewLarge();
    if (__builtin_expect(out->is_error(), 0)) return Value::Free(out), nullptr;
    LaunchInto(operands, out->data);
    return out;
  }

  // The same for any number of operands, into the memory of a deferred value. False: nothing has
  // happened, and the plan has to run.
  template <typename Operand>  // points to a value
  bool Fill(const Operand* operands, Value* deferred) const {
    if (block_class < 0 || (donor >= 0 && operands[donor]->holders() == 1) || deferred->ready() ||
        deferred->layout != layout || !(deferred->dtype == dtype))
      return false;
    Storage* const out = NewSmallStorage(block_class);
    LaunchInto(operands, out->data);
    deferred->Fill(StorageRef::Adopt(out), out->data);
    return true;
  }

 private:
  template <typename Operand>
  void LaunchInto(const Operand* operands, char* result) const {
    void* memory[kArgs];
    uint64_t words[kArgs];
    for (size_t i = 0; i < num_buffers; ++i)
      memory[i] = buffers[i] == kResult ? result : operands[buffers[i]]->data;
    for (size_t i = 0; i < num_scalars; ++i) words[i] = operands[scalars[i]]->imm;
    Launch(memory, words);
  }
  void Launch(void* const* memory, const uint64_t* words) const {
    const kir::KernelArgs args{memory, extents, strides, words};
    const DefaultFpMode mode;
    ++KernelsRun();
    if (Profiling()) return LaunchProfiled(args);
    fn(&args, 0, rows, 0, cols);
  }
  __attribute__((cold)) void LaunchProfiled(const kir::KernelArgs& args) const;  // plan.cc
  __attribute__((noinline)) Value* NewLarge() const {
    StatusOr<StorageRef> storage = Allocate(bytes);
    if (!storage.ok()) return Value::Error(std::move(storage).status()).release();
    char* const data = (*storage)->data;
    return Value::Make(dtype, Device(), layout, *std::move(storage), data).release();
  }
};

}  // namespace frazil::jit
