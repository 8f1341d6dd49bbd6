// Appends instructions to a kernel: the `V` over which ops.def forward expressions and kernels/fn.h
// templates are written. Called by jit/lower and legalisation. Invariant: equal instructions in one
// region (a loop, a repeat, or all that stands outside) are made once (local value numbering), and
// operations on constants are not folded here (folding is jit/graph's).
#pragma once

#include <map>
#include <tuple>

#include "jit/kir/kir.h"

namespace frazil::kir {

class Builder;

// A value being built. Copyable; all operators append to the builder it came from.
struct V {
  Builder* builder = nullptr;
  Id id = kNone;
  DType type = DType::kBool;
};

class Builder {
 public:
  explicit Builder(Kernel* kernel) : kernel_(kernel) {}

  V Param(int scalar);
  V Const(DType type, double value);  // converted to type; exact bits for floats by ConstBits
  V ConstBits(DType type, uint64_t bits);
  V Index(int axis);
  V Load(int buffer, V offset = {}, V pred = {});
  void Store(int buffer, V value, V offset = {}, V pred = {});
  V Unary(Op op, V a);
  V Binary(Op op, V a, V b);
  V Fma(V a, V b, V c);
  V Select(V cond, V a, V b);
  V Cast(DType to, V a);  // no instruction if a already has that type
  V Bitcast(DType to, V a);
  V Call(int fn, V a, V b = {});
  V Lookup(int table, V index);
  V Reduce(ReduceKind kind, V a, int lanes);
  void Loop();
  void End();
  void Barrier();
  void Repeat(V count);         // opens a repeat: carries first, nexts last
  V Carry(V init);              // a new one every time, also for equal inits
  void Next(V carry, V value);  // what the carry is in the next iteration
  // From here on the carries are their final values. `goes_on`: a carry that ends the repeat as soon
  // as it is 0.
  void Done(V goes_on = {});
  V Copy(const Inst& inst);  // an instruction with a value, its operands already of this kernel

  Kernel* kernel() { return kernel_; }

  // Which of the instructions that stand for several others functions may be made of.
  void Allow(bool scale, bool lookup) { scale_ = scale, lookup_ = lookup; }
  bool has_scale() const { return scale_; }
  bool has_lookup() const { return lookup_; }

 private:
  V Append(const Inst& inst);

  Kernel* kernel_;
  bool scale_ = false, lookup_ = false;
  int region_ = 0;   // 0 outside, otherwise the number of the open loop or repeat; values are
                     // shared within a region
  int regions_ = 0;  // and from outside into it, loads into a loop apart
  bool in_loop_ = false;
  std::map<std::tuple<int, Op, DType, uint8_t, Id, Id, Id, uint64_t>, Id> seen_;
};

// Operators on V: both sides have the same type. A double on one side becomes a constant of the
// other's type.
V operator+(V a, V b);
V operator-(V a, V b);
V operator*(V a, V b);
V operator/(V a, V b);
V operator-(V a);
V operator<(V a, V b);
V operator<=(V a, V b);
V operator>(V a, V b);
V operator>=(V a, V b);
V operator==(V a, V b);
V operator!=(V a, V b);
V operator&(V a, V b);
V operator|(V a, V b);
V operator^(V a, V b);
V operator~(V a);
V operator<<(V a, V b);
V operator>>(V a, V b);
V K(V like, double value);       // constant of like's type
V KBits(V like, uint64_t bits);  // the same by its bits
V fma(V a, V b, V c);
V select(V cond, V a, V b);
V cast(DType to, V a);
V bitcast(DType to, V a);
V abs(V a);
V sqrt(V a);
V floor(V a);
V ceil(V a);
V trunc(V a);
V rint(V a);
V min(V a, V b);
V max(V a, V b);
V rem(V a, V b);
V mulhi(V a, V b);
inline bool HasScale(V like) { return like.builder->has_scale(); }
V scale(V a, V exponent);
inline bool HasLookup(V like) { return like.builder->has_lookup(); }
V lookup(int table, V index);

#define FZ_KIR_MIXED(op)                                \
  inline V op(V a, double b) { return op(a, K(a, b)); } \
  inline V op(double a, V b) { return op(K(b, a), b); }
FZ_KIR_MIXED(operator+)
FZ_KIR_MIXED(operator-)
FZ_KIR_MIXED(operator*)
FZ_KIR_MIXED(operator/)
FZ_KIR_MIXED(operator<)
FZ_KIR_MIXED(operator<=)
FZ_KIR_MIXED(operator>)
FZ_KIR_MIXED(operator>=)
FZ_KIR_MIXED(operator==)
FZ_KIR_MIXED(operator!=)
FZ_KIR_MIXED(operator&)
FZ_KIR_MIXED(operator|)
FZ_KIR_MIXED(operator^)
FZ_KIR_MIXED(operator<<)
FZ_KIR_MIXED(operator>>)
FZ_KIR_MIXED(min)
FZ_KIR_MIXED(max)
#undef FZ_KIR_MIXED

}  // namespace frazil::kir
