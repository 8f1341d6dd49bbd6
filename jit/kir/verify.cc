#include <algorithm>
#include <set>

#include "core/str.h"
#include "jit/kir/const.h"
#include "jit/kir/fn_table.h"
#include "jit/kir/kir.h"
#include "jit/kir/verify_repeat.h"
#include "kernels/fn_tables.h"

namespace frazil::kir {
namespace {

bool IsArithmetic(DType t) { return !IsBool(t) && !IsHalf(t) && SizeOf(t) >= 4; }
bool IsWideInt(DType t) { return IsInt(t) && SizeOf(t) >= 4; }
bool IsWideFloat(DType t) { return t == DType::kF32 || t == DType::kF64; }

bool IsIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  }
  return true;
}

// Where a value may be used: regions are numbered by the loop or repeat that opens them; code
// outside is region -1.
constexpr int kOutside = -1;

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel) {}

  Status Run() {
    FZ_RETURN_IF_ERROR(Header());
    visible_.assign(k_.body.size(), kOutside);
    for (at_ = 0; at_ < Id(k_.body.size()); ++at_) {
      const Inst& inst = k_.body[at_];
      if (IsComplex(inst.type)) return Fail("values are real, not ", Name(inst.type));
      FZ_RETURN_IF_ERROR(OperandShape(inst));
      FZ_RETURN_IF_ERROR(Check(inst));
      if (inst.op == Op::kBarrier) phase_ = at_;
      visible_[at_] = inst.op == Op::kReduce || inst.op == Op::kCarry ? kOutside : region_;
    }
    if (region_ != kOutside) {
      return ValueError("[kir] ", k_.name, ": the ", OpenName(), " at %", region_, " has no ",
                        Name(k_.body[region_].op == Op::kLoop ? Op::kEnd : Op::kDone), ".");
    }
    return CheckRepeats(k_);
  }

 private:
  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[kir] ", k_.name, " at %", at_, " ", Name(k_.body[at_].op), ": ", args...,
                      ".");
  }

  std::string_view OpenName() const { return Name(k_.body[region_].op); }

  Status Header() const {
    const auto fail = [&](const auto&... args) {
      return ValueError("[kir] ", k_.name, ": ", args..., ".");
    };
    if (!IsIdentifier(k_.name))
      return ValueError("[kir] the kernel name '", k_.name, "' is not an identifier.");
    if (k_.rank < 1) return fail("the space has rank ", k_.rank, ", at least 1 is needed");
    if (k_.chunked && !k_.has_loop) return fail("chunked without a loop axis");
    if (k_.long_rows && (k_.chunked || k_.vec != VecAxis::kLoop))
      return fail("long rows need vec loop, and are not chunked");
    if (k_.vec == VecAxis::kLoop && !k_.has_loop) return fail("vec loop without a loop axis");
    if (k_.vec == VecAxis::kNone && k_.has_loop) return fail("vec none with a loop axis");
    if (k_.moves && k_.has_loop) return fail("moves with a loop axis");
    const auto repeats = [](const Inst& inst) { return inst.op == Op::kRepeat; };
    if (const auto n = std::count_if(k_.body.begin(), k_.body.end(), repeats); k_.moves && n != 1)
      return fail("moves with ", n, " repeats, not one");
    if (k_.chunked && k_.vec == VecAxis::kSpace && k_.rank < 2) {
      return fail("chunked with vec space needs rank 2, the chunk axis has no lanes");
    }
    std::set<std::string_view> names;
    for (const Buffer& buffer : k_.buffers) {
      if (int(buffer.strides.size()) != k_.axes()) {
        return fail("buffer ", buffer.name, " has ", buffer.strides.size(), " strides, the kernel ",
                    k_.axes(), " axes");
      }
      if (!IsIdentifier(buffer.name))
        return fail("the buffer name '", buffer.name, "' is not an identifier");
      if (!names.insert(buffer.name).second)
        return fail("the name ", buffer.name, " is used twice");
    }
    for (const Scalar& scalar : k_.scalars) {
      if (!IsIdentifier(scalar.name))
        return fail("the scalar name '", scalar.name, "' is not an identifier");
      if (!names.insert(scalar.name).second)
        return fail("the name ", scalar.name, " is used twice");
      if (&scalar != k_.scalars.data() && !scalar.each && (&scalar)[-1].each)
        return fail("the plain scalar ", scalar.name, " stands behind ", (&scalar)[-1].name,
                    ", which has a value for each iteration");
    }
    return absl::OkStatus();
  }

  // Which operands must, may and must not be there; those there precede and are visible.
  Status OperandShape(const Inst& inst) const {
    int required = NumOperands(inst.op);
    const bool optional = inst.op == Op::kLoad || inst.op == Op::kStore || inst.op == Op::kDone;
    if (inst.op == Op::kLoad || inst.op == Op::kDone) required = 0;
    if (inst.op == Op::kStore) required = 1;
    if (inst.op == Op::kCall) {
      if (inst.imm >= kNumFns) return Fail("there is no function number ", inst.imm);
      required = kFns[inst.imm].operands;
    }
    const Id operands[3] = {inst.a, inst.b, inst.c};
    for (int i = 0; i < 3; ++i) {
      const Id id = operands[i];
      if (id == kNone) {
        if (i < required) return Fail("operand ", i, " is missing");
        continue;
      }
      if (i >= required && !(optional && i < NumOperands(inst.op)))
        return Fail("operand ", i, " is not allowed");
      if (id < 0 || id >= at_) return Fail("operand %", id, " does not precede its use");
      if (id < phase_) return Fail("operand %", id, " was made before the barrier at %", phase_);
      if (!HasValue(k_.body[id].op))
        return Fail("operand %", id, " is a ", Name(k_.body[id].op), ", not a value");
      if (k_.body[id].op == Op::kReduce && reduced_in_ <= id && region_ != kOutside) {
        return Fail("operand %", id, " is a reduce of this loop, visible after its end only");
      }
      if (visible_[id] != kOutside && visible_[id] != region_) {
        return Fail("operand %", id, " is visible inside its ", Name(k_.body[visible_[id]].op),
                    " only");
      }
    }
    if (inst.lanes && inst.op != Op::kReduce) return Fail("lanes are for reduce only");
    return absl::OkStatus();
  }

  DType TypeOf(Id id) const { return k_.body[id].type; }

  Status Typed(const Inst& inst, bool allowed) const {
    return allowed ? absl::OkStatus() : Fail("not defined for ", ShortName(inst.type));
  }
  Status OperandIs(Id id, DType want) const {
    if (id == kNone || TypeOf(id) == want) return absl::OkStatus();
    return Fail("operand %", id, " is ", ShortName(TypeOf(id)), ", ", ShortName(want),
                " is needed");
  }
  Status AllAre(const Inst& inst, DType want) const {
    for (Id id : {inst.a, inst.b, inst.c}) FZ_RETURN_IF_ERROR(OperandIs(id, want));
    return absl::OkStatus();
  }

  Status Check(const Inst& inst) {
    const DType t = inst.type;
    switch (inst.op) {
      case Op::kParam:
        return CheckParam(inst);
      case Op::kConst:
        if (TruncateBits(t, inst.imm) != inst.imm)
          return Fail("the bits do not fit ", ShortName(t));
        return absl::OkStatus();
      case Op::kIndex:
        return CheckIndex(inst);
      case Op::kLoad:
      case Op::kStore:
        return CheckAccess(inst);
      case Op::kCast:
        if (TypeOf(inst.a) == t) return Fail("the operand is ", ShortName(t), " already");
        return absl::OkStatus();
      case Op::kBitcast:
        if (IsBool(t) || IsBool(TypeOf(inst.a)) || SizeOf(t) != SizeOf(TypeOf(inst.a)) ||
            t == TypeOf(inst.a)) {
          return Fail(ShortName(TypeOf(inst.a)), " has no bits to read as ", ShortName(t));
        }
        return absl::OkStatus();
      case Op::kNeg:
      case Op::kAbs:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMin:
      case Op::kMax:
        FZ_RETURN_IF_ERROR(Typed(inst, IsArithmetic(t)));
        return AllAre(inst, t);
      case Op::kScale:
        FZ_RETURN_IF_ERROR(Typed(inst, IsWideFloat(t)));
        return AllAre(inst, t);
      case Op::kLookup:
        FZ_RETURN_IF_ERROR(Typed(inst, t == DType::kF32));
        if (inst.imm >= uint64_t(fn::kNumTables)) return Fail("there is no table ", inst.imm);
        return OperandIs(inst.a, DType::kU32);
      case Op::kMulhi:
      case Op::kRem:
      case Op::kShl:
      case Op::kShr:
        FZ_RETURN_IF_ERROR(Typed(inst, IsWideInt(t)));
        return AllAre(inst, t);
      case Op::kFma:
      case Op::kSqrt:
      case Op::kFloor:
      case Op::kCeil:
      case Op::kTrunc:
      case Op::kRint:
      case Op::kCall:
        FZ_RETURN_IF_ERROR(Typed(inst, IsWideFloat(t)));
        return AllAre(inst, t);
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor:
      case Op::kNot:
        FZ_RETURN_IF_ERROR(Typed(inst, IsWideInt(t) || IsBool(t)));
        return AllAre(inst, t);
      case Op::kLt:
      case Op::kLe:
      case Op::kEq:
      case Op::kNe:
        return CheckCompare(inst);
      case Op::kSelect:
        FZ_RETURN_IF_ERROR(Typed(inst, IsArithmetic(t) || IsBool(t)));
        FZ_RETURN_IF_ERROR(OperandIs(inst.a, DType::kBool));
        FZ_RETURN_IF_ERROR(OperandIs(inst.b, t));
        return OperandIs(inst.c, t);
      case Op::kReduce:
        return CheckReduce(inst);
      case Op::kLoop:
      case Op::kEnd:
      case Op::kBarrier:
      case Op::kRepeat:
      case Op::kDone:
        return CheckRegion(inst);
      case Op::kCarry:
        FZ_RETURN_IF_ERROR(Typed(inst, IsArithmetic(t) || IsBool(t)));
        return AllAre(inst, t);
      case Op::kNext:
        return AllAre(inst, t);
    }
    return Fail("unknown instruction ", int(inst.op));
  }

  Status CheckParam(const Inst& inst) const {
    if (inst.imm >= k_.scalars.size()) return Fail("there is no scalar number ", inst.imm);
    const DType have = k_.scalars[inst.imm].dtype;
    if (have == inst.type) return absl::OkStatus();
    return Fail("scalar ", k_.scalars[inst.imm].name, " is ", ShortName(have), ", not ",
                ShortName(inst.type));
  }

  Status CheckIndex(const Inst& inst) const {
    if (inst.type != DType::kI64) return Fail("an index is i64, not ", ShortName(inst.type));
    if (inst.imm >= uint64_t(k_.axes())) return Fail("axis ", inst.imm, " of ", k_.axes());
    if (inst.imm == uint64_t(k_.rank) && k_.moves) return Fail("iterations have no index");
    if (inst.imm == uint64_t(k_.rank) && region_ == kOutside)
      return Fail("the loop axis outside a loop");
    return absl::OkStatus();
  }

  Status CheckAccess(const Inst& inst) const {
    if (inst.imm >= k_.buffers.size()) return Fail("there is no buffer number ", inst.imm);
    const Buffer& buffer = k_.buffers[inst.imm];
    const bool store = inst.op == Op::kStore;
    if (store && !buffer.out) return Fail("buffer ", buffer.name, " is an input");
    if (!store && buffer.out && phase_ == kNone) {
      return Fail("output ", buffer.name, " is loaded before a barrier");
    }
    if (inst.type != buffer.dtype) {
      return Fail("buffer ", buffer.name, " is ", ShortName(buffer.dtype), ", not ",
                  ShortName(inst.type));
    }
    if (store && region_ != kOutside && OpenName() == Name(Op::kRepeat) &&
        (!k_.moves || buffer.strides.back() == Stride::kZero))
      return Fail("inside the repeat at %", region_, ", where ", buffer.name, " does not move");
    if (store) FZ_RETURN_IF_ERROR(OperandIs(inst.a, buffer.dtype));
    const Id offset = store ? inst.b : inst.a;
    FZ_RETURN_IF_ERROR(OperandIs(offset, DType::kI64));
    FZ_RETURN_IF_ERROR(OperandIs(store ? inst.c : inst.b, DType::kBool));
    if (store && region_ != kOutside && offset == kNone && buffer.strides.back() == Stride::kZero) {
      return Fail("every pass of the loop would write the same element of ", buffer.name);
    }
    return absl::OkStatus();
  }

  Status CheckCompare(const Inst& inst) const {
    if (!IsBool(inst.type)) return Fail("a comparison gives bool, not ", ShortName(inst.type));
    const DType t = TypeOf(inst.a);
    const bool ordered = inst.op == Op::kLt || inst.op == Op::kLe;
    if (!IsArithmetic(t) && (ordered || !IsBool(t))) return Fail("not defined for ", ShortName(t));
    return OperandIs(inst.b, t);
  }

  Status CheckReduce(const Inst& inst) {
    if (region_ == kOutside) return Fail("outside a loop");
    if (inst.imm > uint64_t(ReduceKind::kOr)) return Fail("there is no kind ", inst.imm);
    const ReduceKind kind = ReduceKind(inst.imm);
    const bool logical = kind == ReduceKind::kAnd || kind == ReduceKind::kOr;
    const bool laned =
        IsWideFloat(inst.type) && (kind == ReduceKind::kSum || kind == ReduceKind::kProd);
    FZ_RETURN_IF_ERROR(Typed(inst, logical ? IsBool(inst.type) : IsArithmetic(inst.type)));
    if (laned && inst.lanes != 64 && inst.lanes != 8)
      return Fail("a float ", Name(kind), " has 64 or 8 lanes, not ", inst.lanes);
    if (!laned && inst.lanes)
      return Fail("lanes are for float sum and prod, this is ", Name(kind), " of ",
                  ShortName(inst.type));
    if (inst.lanes == 8 && k_.vec != VecAxis::kSpace) return Fail("8 lanes need vec space");
    if (laned && lanes_ && inst.lanes != lanes_)
      return Fail("another reduce has ", lanes_, " lanes, not ", inst.lanes);
    if (laned) lanes_ = inst.lanes;
    return AllAre(inst, inst.type);
  }

  Status CheckRegion(const Inst& inst) {
    const bool inside = region_ != kOutside;
    if (inst.op == Op::kEnd || inst.op == Op::kDone) {
      const Op opens = inst.op == Op::kEnd ? Op::kLoop : Op::kRepeat;
      if (!inside || k_.body[region_].op != opens) return Fail("no ", Name(opens), " is open");
      if (inst.a != kNone && k_.vec != VecAxis::kNone)
        return Fail("ends early, where points have lanes");
      FZ_RETURN_IF_ERROR(OperandIs(inst.a, DType::kI32));
      region_ = kOutside;
      return absl::OkStatus();
    }
    if (inside) return Fail("inside the ", OpenName(), " at %", region_);
    if (inst.op == Op::kLoop) {
      if (!k_.has_loop) return Fail("the kernel has no loop axis");
      region_ = reduced_in_ = at_;
    }
    if (inst.op == Op::kRepeat) {
      if (k_.has_loop) return Fail("the kernel has a loop axis");
      FZ_RETURN_IF_ERROR(OperandIs(inst.a, DType::kI64));
      region_ = at_;
    }
    return absl::OkStatus();
  }

  const Kernel& k_;
  Id at_ = 0;
  int region_ = kOutside;
  int lanes_ = 0;             // of the reduces that have any
  Id phase_ = kNone;          // the latest barrier
  Id reduced_in_ = 0;         // the latest loop: a reduce behind it is not visible while it is open
  std::vector<int> visible_;  // per value, the region it is visible in
};

}  // namespace

Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace frazil::kir
