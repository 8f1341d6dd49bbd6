// The op table in C++: what every primitive op is. Expanded from core/ops.def, the only list of
// ops. Called by inference, the eager door, lowering, autograd, bindings, stubs and tests.
// Invariant: an op has one output, and its result depends on its inputs and attributes alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/dtype.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class OpId : uint8_t {
#define FZ_OP(name, ...) k_##name,
#include "core/ops.def"
};

// How an op is inferred and lowered.
enum class OpClass : uint8_t {
#define FZ_OP_CLASS(name, ...) name,
#include "core/op_classes.def"
};

enum class Work : uint8_t { kView, kPointwise, kFused, kAlone, kLibrary };
enum class Runs : uint8_t { kThere, kThereAlone, kOnCpu, kOnCpuCounted };
enum class Fails : uint8_t { kNever, kOnData };
enum class TangentBy : uint8_t { kPointwise, kLinear, kEach, kTwice };

// A row of core/op_classes.def, where the columns are explained.
struct ClassInfo {
  std::string_view text;
  Work work;
  Runs gpu, npu;
  Fails fails;
  TangentBy tangent;
};
inline constexpr ClassInfo kOpClasses[] = {
#define FZ_OP_CLASS(name, text, work, gpu, npu, fails, tangent) \
  {text, Work::work, Runs::gpu, Runs::npu, Fails::fails, TangentBy::tangent},
#include "core/op_classes.def"
};
constexpr const ClassInfo& Info(OpClass klass) { return kOpClasses[static_cast<int>(klass)]; }

// Where a convolution's attributes stand: two strides, low and high padding of either axis
// (negative: rows or columns are left out), two dilations.
enum ConvAttr { kConvStride = 0, kConvPadding = 2, kConvDilation = 6, kConvAttrs = 8 };

// Where those of a Fourier transform stand: a bit mask of axes, whether it is by exp(-2 pi i j k /
// n) or without the minus, what it is multiplied by (1, 1 / n, or its root), and the extent that the
// result has along the axis where real numbers take part (else 0): of n points n or n / 2 + 1.
enum FourierAttr { kFourierAxes, kFourierForward, kFourierNorm, kFourierExtent, kFourierAttrs };
enum FourierNorm { kNormNone, kNormWhole, kNormRoot, kFourierNorms };

// Those of a product with a sparse matrix: whether its structure is pairs or rows (kernels/sparse),
// whether its transpose is multiplied, and its shape.
enum SparseAttr { kSparsePairs, kSparseTransposed, kSparseRows, kSparseColumns, kSparseAttrs };

// All but kAny and kComplex are sets of real dtypes.
enum class TypeSet : uint8_t { kAny, kNumber, kBoolOrNumber, kFloat, kInt, kBits, kBool, kComplex };
enum class ResultType : uint8_t { kSame, kBool, kI64, kAttr, kU32, kPart, kComplex };

// What is true of an op besides its class and types: the flags of the column `traits`.
namespace traits {
enum : uint16_t {
  kPlain = 0,
  kCommutes = 1 << 0,  // its two operands may change places
  kExact = 1 << 1,     // the result is a value of its dtype if the operands are: nothing to round
  kExactFloats = 1 << 2,  // so for floats; integers may leave their range
  kSelects = 1 << 3,      // the first operand is a bool beside the others' dtype
  kIntsStay = 1 << 4,     // an op of floats: integers are their own result,
  kIntsFalse = 1 << 5,    // give false,
  kIntsTrue = 1 << 6,     // or true; without these they are converted
  kBoolsCount = 1 << 7,   // two bools are computed as int8
  kOfNone = 1 << 8,       // a reduction: it has a value where there are no elements
  kIndex = 1 << 9,        // the result is where an element stands: along one axis or all
  kWidens = 1 << 10,      // integers are accumulated in 64 bits, or in a dtype that is given
};
}  // namespace traits

// The code that an op becomes, by the type it computes in: instructions for a vector of elements,
// and the time of a vector of 64 bytes, in additions. `rounds`: 16-bit floats are rounded behind
// it.
struct OpCost {
  struct Code {
    int instructions;
    double slots;
  };
  Code f32, f64, narrow, wide;  // the last two: integers of up to 32 bits and of 64
  bool rounds;
};

struct OpInfo {
  std::string_view name;
  OpClass klass;
  int arity;  // -1: any number (concat)
  TypeSet types;
  ResultType result;
  std::string_view
      saves;  // what the gradient rule reads: letters of "abcy"; "-" if not differentiable
  uint16_t traits;
  OpCost cost;
  std::string_view doc;
  double lo, hi;  // test domain of float inputs
  int ulp;        // bound against the exact result, f32 and f64
};

inline constexpr int kNumOps =
#define FZ_OP(name, ...) +1
#include "core/ops.def"
    ;

extern const OpInfo kOps[kNumOps];
inline const OpInfo& Info(OpId op) { return kOps[static_cast<int>(op)]; }
inline const ClassInfo& ClassOf(OpId op) { return Info(Info(op).klass); }
inline bool Has(OpId op, uint16_t trait) { return Info(op).traits & trait; }
inline bool IsPointwise(OpId op) { return ClassOf(op).work == Work::kPointwise; }
inline bool IsLibrary(OpId op) { return ClassOf(op).work == Work::kLibrary; }
inline bool MayFail(OpId op) { return ClassOf(op).fails == Fails::kOnData; }
bool Accepts(TypeSet set, DType dtype);
// Whether it takes complex numbers as they lie in memory; other ops are ops on their parts.
constexpr bool TakesComplex(const OpInfo& info) {
  return info.klass == OpClass::kView || info.klass == OpClass::kConcat ||
         info.klass == OpClass::kTransfer || info.klass == OpClass::kLapack ||
         info.klass == OpClass::kFourier || info.klass == OpClass::kSparse ||
         info.klass == OpClass::kCollective || info.klass == OpClass::kCollectiveWait;
}
// Nothing for a name that is none.
std::optional<OpId> OpNamed(std::string_view name);
inline bool Differentiable(const OpInfo& info) { return info.saves != "-"; }

using Attrs = absl::InlinedVector<int64_t, 8>;
using AttrSpan = absl::Span<const int64_t>;

}  // namespace frazil
#pragma GCC visibility pop
