// The op table in C++: what every primitive op is. Expanded from core/ops.def, the only list of
// ops. Called by inference, the eager door, lowering, autograd, bindings, stubs and tests.
// Invariant: an op has one output, and its result depends on its inputs and attributes alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/dtype.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class OpId : uint8_t {
#define FZ_OP(name, ...) k_##name,
#include "core/ops.def"
#undef FZ_OP
};

// How an op is inferred and lowered.
enum class OpClass : uint8_t {
  kElementwise,  // broadcasting; inputs of one dtype (where: the last two)
  kCast,         // elementwise, attrs {dtype}
  kReduce,       // attrs {axis bit mask, keepdims}
  kView,         // same storage, another layout (reshape copies where it must)
  kConcat,       // attrs {axis}
  kPad,          // attrs {low, high} per axis; input 1 is the 0-d fill value
  kTake,         // attrs {axis}; inputs x, indices (i32/i64, in range and non-negative)
  kPut,        // attrs {axis, add, axes}; inputs x, indices, updates shaped like take(x, indices);
               // indices are positions in `axes` axes from `axis` on, in row-major order
  kPositions,  // attrs {count, split}; bool; i64 [count] in row-major order, or [rank, count]
  kSort,       // attrs {descending}; along the last axis, stable, NaN last
  kScan,       // attrs {axis}
  kMatmul,     // [..., m, k] x [..., k, n], equal ranks >= 2, batch axes broadcast
  kAttention,  // attrs {causal}; q [..., t, d], k [..., s, d], v [..., s, w] of equal batch axes,
               // f32 or f64; flat: the results [..., t, w], then the rows' logsumexp [..., t]
  kAttentionGrad,  // attrs {causal}; q, k, v, gradient [..., t, w], logsumexp [..., t] and delta
                   // [..., t]; flat: the gradients of q, k and v
  kConv,           // attrs: ConvAttr; [n, h, w, c] x [kh, kw, c, o]
  kConvWeights,    // attrs: ConvAttr and {kh, kw}; [n, h, w, c] x [n, oh, ow, o] -> [kh, kw, c, o]
  kIota,           // attrs {dtype, n}
  kTransfer,       // attrs {to, from}: words of devices; dense
  kRandomBits,     // attrs {dims...}; input u64[2] = {key, counter}; u32 words
};

// Where a convolution's attributes stand: two strides, low and high padding of either axis
// (negative: rows or columns are left out), two dilations.
enum ConvAttr { kConvStride = 0, kConvPadding = 2, kConvDilation = 6, kConvAttrs = 8 };

enum class TypeSet : uint8_t { kAny, kNumber, kBoolOrNumber, kFloat, kInt, kBits, kBool };
enum class ResultType : uint8_t { kSame, kBool, kI64, kAttr, kU32 };

struct OpInfo {
  std::string_view name;
  OpClass klass;
  int arity;  // -1: any number (concat)
  TypeSet types;
  ResultType result;
  std::string_view
      saves;  // what the gradient rule reads: letters of "abcy"; "-" if not differentiable
  std::string_view doc;
  double lo, hi;  // test domain of float inputs
  int ulp;        // bound against the exact result, f32 and f64
  bool may_fail;  // on data: checked before the call, ends a segment
};

inline constexpr int kNumOps =
#define FZ_OP(name, ...) +1
#include "core/ops.def"
#undef FZ_OP
    ;

extern const OpInfo kOps[kNumOps];
inline const OpInfo& Info(OpId op) { return kOps[static_cast<int>(op)]; }
bool Accepts(TypeSet set, DType dtype);
inline bool Differentiable(const OpInfo& info) { return info.saves != "-"; }

using Attrs = absl::InlinedVector<int64_t, 8>;
using AttrSpan = absl::Span<const int64_t>;

}  // namespace frazil
#pragma GCC visibility pop
