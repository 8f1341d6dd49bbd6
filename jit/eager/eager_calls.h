// Calls that the eager door has met: what tells them apart, and how each runs. Called by
// jit/eager/eager*.cc. Invariant: a key holds everything that decides how a call runs and is
// compared in full; a thread's table points to what all threads share.
#pragma once

#include <array>
#include <memory>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "core/apply.h"
#include "core/infer.h"
#include "core/threads/tls.h"
#include "jit/run/plan.h"
#include "jit/run/quick_call.h"

namespace frazil::jit {

// What of an operand decides how a call runs: its layout's id, and its kind().
struct OperandWords {
  uint64_t layout = 0;
  uint32_t kind = ~uint32_t{0};  // of no operand

  OperandWords() = default;
  explicit OperandWords(const Value& v) : layout(v.layout->id), kind(v.kind()) {}
  static OperandWords Number(DType dtype) {
    OperandWords words;
    words.layout = Scalar0d()->id;
    words.kind = Value::KindOf(dtype, Device(), true);
    return words;
  }

  bool operator==(const OperandWords&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const OperandWords& w) {
    return H::combine(std::move(h), w.layout, w.kind);
  }
};

// What is called, an op or a composite, and how it computes.
struct Called {
  static constexpr uint64_t kComposite = uint64_t{1} << 32;

  static uint64_t Op(OpId op, Precision precision) { return uint64_t(op) | Of(precision); }
  static uint64_t Composite(uint32_t id, Precision precision) {
    return kComposite | id | Of(precision);
  }

 private:
  static uint64_t Of(Precision precision) { return uint64_t(precision) << 40; }
};

// Of a call of one or two operands and nothing else. The upper bits are the good ones.
inline uint64_t QuickHash(uint64_t what, const OperandWords& a, const OperandWords& b) {
  return a.layout * 0x9E3779B97F4A7C15u + b.layout * 0xD6E8FEB86659FD93u +
         (a.kind | uint64_t{b.kind} << 32) * 0xC2B2AE3D27D4EB4Fu + what * 0x165667B19E3779F9u;
}

struct CallKey {
  uint64_t what;
  uint64_t reusable;
  absl::InlinedVector<OperandWords, 4> inputs;
  absl::InlinedVector<int32_t, 4> operands;
  Attrs attrs;

  bool operator==(const CallKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const CallKey& k) {
    return H::combine(std::move(h), k.what, k.reusable, k.inputs, k.operands, k.attrs);
  }
};

// A call as it arrives: everything a key holds, without memory of its own.
struct CallView {
  uint64_t what;
  uint64_t reusable;
  absl::Span<Value* const> inputs;
  absl::Span<const int32_t> operands;  // input of each operand; empty: one each, in order
  AttrSpan attrs;

  // Nothing but one or two operands.
  bool quick() const {
    return inputs.size() - 1 < 2 && attrs.empty() && operands.empty() && reusable == 0;
  }
  uint64_t Hash() const;
  bool Is(const CallKey& key) const;
  CallKey Key() const;
};

// A CallKey of one or two operands and nothing else.
struct QuickKey {
  uint64_t what = ~uint64_t{0};  // of no such call
  OperandWords a, b;
};

// How a call runs.
struct PreparedCall {
  struct View {  // of the one operand
    Inferred inferred;
    LayoutRef layout;  // inferred.layout
  };
  using Op = std::shared_ptr<const Plan>;
  using Composite = std::shared_ptr<const tracer::SegmentPlan>;
  struct Body {};  // of a composite, each time
  using How = std::variant<Body, View, Op, Composite>;

  CallKey key;
  How how;
  QuickKey quick_key;
  QuickCall quick;  // of an op's plan, if there are but one or two operands

  int64_t bytes() const;
};

// What all threads share; null if there is none.
std::shared_ptr<const PreparedCall> FindShared(const CallKey& key);
// What is shared from now on: `made`, or what another thread has added meanwhile.
std::shared_ptr<const PreparedCall> Share(std::shared_ptr<const PreparedCall> made);

// Direct-mapped: a call replaces whatever lies at its hash.
constexpr int kCallTableBits = 10;
using CallTable = std::array<std::shared_ptr<const PreparedCall>, size_t{1} << kCallTableBits>;
extern FZ_HOT_TLS CallTable* t_calls;  // null before the thread's first call
void MakeCallTable();

// Where this thread keeps a call of that hash.
inline std::shared_ptr<const PreparedCall>& CallSlot(uint64_t hash) {
  if (__builtin_expect(t_calls == nullptr, 0)) MakeCallTable();
  return (*t_calls)[hash >> (64 - kCallTableBits)];
}

// The values of a call, each once. Two operands that are one value are one input.
struct DistinctInputs {
  absl::InlinedVector<Value*, 4> values;
  absl::InlinedVector<int32_t, 4> operands;  // input of each operand

  explicit DistinctInputs(absl::Span<Value* const> all);
};

}  // namespace frazil::jit
