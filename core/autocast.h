// Autocast: in which dtype functions compute while a block of `with amp.autocast(...)` runs. Asked
// where Python calls a function (bindings/python/args.cc, number_protocol.cc): what the library
// calls itself (bodies of composites, gradient rules) computes in the dtypes that it is given, so a
// backward pass follows its forward pass. Invariant: an op never asks; the casts are calls of astype
// like the program's own, with gradients, and part of what is recorded. The setting is part of the
// keys of calls whose body is skipped (tracer/promise_key.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor.h"
#include "core/threads/tls.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class CastRule : uint8_t { kNone, kLower, kRaise, kKeep };

// Which of PyTorch's two lists of functions rules.
enum class CastList : uint8_t { kCpu, kCuda };

struct Autocast {
  bool on = false;
  CastList list = CastList::kCpu;
  DType dtype = DType::kBF16;
};
extern FZ_HOT_TLS Autocast t_autocast;  // this thread's

// The setting as a few bits, 0 if it is off.
inline uint64_t AutocastWord() {
  const Autocast& now = t_autocast;
  return now.on ? uint64_t{1} | static_cast<uint64_t>(now.list) << 1 |
                      static_cast<uint64_t>(now.dtype == DType::kF16) << 2
                : 0;
}

// The rule of the function that Python calls by this name, of a list.
CastRule CastRuleOf(std::string_view name, CastList list);

// Whether a rule wants an operand in another dtype: float32 and 16-bit floats are converted, others
// stay.
bool Converts(CastRule rule, const Tensor& x);
// An operand as a rule wants it.
Tensor Cast(CastRule rule, const Tensor& x);

}  // namespace frazil
#pragma GCC visibility pop
