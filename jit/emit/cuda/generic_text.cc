// The text of the generic kernel. Its arithmetic is what the printer prints, once for each
// instruction and type.
#include <map>
#include <tuple>

#include "core/check.h"
#include "jit/emit/cuda/expr.h"
#include "jit/emit/cuda/generic.h"
#include "jit/emit/cuda/text.h"
#include "jit/kir/legalize.h"

namespace frazil::jit::cuda {
namespace {

using kir::Inst;
using kir::Kernel;
using kir::Op;

// Types of the three operands of an instruction whose first has type `from`.
DType OperandType(Op op, DType type, DType from, int operand) {
  return op == Op::kSelect && operand > 0 ? type : from;
}

bool Exists(Op op, DType type, DType from) {
  Kernel kernel{.name = "one"};
  Inst inst{.op = op, .type = type};
  kir::Id* const operands[] = {&inst.a, &inst.b, &inst.c};
  for (int i = 0; i < kir::NumOperands(op); ++i) {
    const DType t = OperandType(op, type, from, i);
    kernel.buffers.push_back({StrCat("x", i), t, false, {kir::Stride::kOne}});
    kernel.body.push_back({.op = Op::kLoad, .type = t, .imm = uint64_t(i)});
    *operands[i] = i;
  }
  kernel.body.push_back(inst);
  return Verify(kernel).ok() && kir::IsLegal(inst, kernel, {});
}

// All arithmetic instructions that a legal kernel may have, found by asking what is legal.
using Ops = std::map<std::tuple<Op, DType, DType>, uint16_t>;
const Ops& AllOps() {
  static const Ops* const ops = [] {
    auto* all = new Ops;
    for (int op = int(Op::kCast); op <= int(Op::kSelect); ++op) {
      for (int type = 0; type < kNumDTypes; ++type) {
        for (int from = 0; from < kNumDTypes; ++from) {
          if (Exists(Op(op), DType(type), DType(from)))
            all->emplace(std::tuple(Op(op), DType(type), DType(from)), uint16_t(all->size()));
        }
      }
    }
    return all;
  }();
  return *ops;
}

void Arithmetic(Text& t) {
  t.Open(
      "__device__ __noinline__ void fz_op(int op, u64* out, const u64* a, const u64* b, "
      "const u64* c)");
  t.Open("switch (op)");
  for (const auto& [key, number] : AllOps()) {
    const auto [op, type, from] = key;
    constexpr std::string_view kNames[] = {"a", "b", "c"};
    std::string values[3];
    for (int i = 0; i < kir::NumOperands(op); ++i) {
      const DType operand = OperandType(op, type, from, i);
      values[i] = StrCat("fz_get<", TypeText(operand), ">(", kNames[i], ")");
    }
    t.Line("case ", number, ": return fz_put<", TypeText(type), ">(out, ",
           OpText({.op = op, .type = type}, from, values[0], values[1], values[2]), ");");
  }
  t.Close();
  t.Close();
}

constexpr std::string_view kTypes = R"(
struct fz_inst { u16 code, op; i32 out, a, b, c, strides; u64 imm; };
struct fz_generic_args {
  const fz_inst* insts;
  u64* scratch;
  i64 points;
  i32 begin, end, rank, axes, team, chunked;
  i64 words[fz_words];
};
template <class T> FZ_DEVICE T fz_get(const u64* p) {
  T x;
  memcpy(&x, p, sizeof(x));
  return x;
}
template <class T> FZ_DEVICE void fz_put(u64* p, T x) { memcpy(p, &x, sizeof(x)); }
FZ_DEVICE void fz_copy_in(u64* out, i64 address, int bytes) {
  switch (bytes) {
    case 1: return fz_put(out, *(const u8*)address);
    case 2: return fz_put(out, *(const u16*)address);
    case 4: return fz_put(out, *(const u32*)address);
    default: return fz_put(out, *(const u64*)address);
  }
}
FZ_DEVICE void fz_copy_out(i64 address, const u64* value, int bytes) {
  switch (bytes) {
    case 1: *(u8*)address = fz_get<u8>(value); return;
    case 2: *(u16*)address = fz_get<u16>(value); return;
    case 4: *(u32*)address = fz_get<u32>(value); return;
    default: *(u64*)address = *value; return;
  }
}
)";

// All threads of the block call it; the team's result.
constexpr std::string_view kHalve = R"(
FZ_DEVICE u64 fz_halve(u64* tree, int lane, int op, u64 value) {
  u64* const mine = tree + threadIdx.x;
  *mine = value;
  __syncthreads();
  for (int h = fz_team / 2; h > 0; h /= 2) {
    if (lane < h) fz_op(op, mine, mine, mine + h, mine);
    __syncthreads();
  }
  const u64 result = mine[-lane];
  __syncthreads();
  return result;
}
)";

// `active`: the thread has an element where it is; inside a loop each has its own.
constexpr std::string_view kEntry = R"(
extern "C" __global__ void __launch_bounds__(fz_threads) frazil_generic(const fz_generic_args args) {
  __shared__ u64 tree[fz_threads];
  const int t = (int)threadIdx.x, lane = t % args.team, block_points = fz_threads / args.team;
  const i64 slot = (i64)gridDim.x * fz_threads;
  u64* const own = args.scratch + (i64)blockIdx.x * fz_threads + t;
  i64 index[fz_axes + 1];
  for (i64 tile = blockIdx.x; tile * block_points < args.points; tile += gridDim.x) {
    const i64 point = tile * block_points + t / args.team;
    const bool live = point < args.points;
    i64 rest = live ? point : 0;
    for (int axis = args.rank - 1; axis >= 0; --axis) {
      index[axis] = rest % args.words[axis];
      rest /= args.words[axis];
    }
    // The elements of the loop: the point's, and how many a point may have.
    const i64 extent = args.axes > args.rank ? args.words[args.rank] : 0;
    const i64 first = args.chunked ? index[0] * fz_chunk : 0;
    const i64 last = args.chunked ? fz_min(first + fz_chunk, extent) : extent;
    const i64 count = args.chunked ? fz_min((i64)fz_chunk, extent) : extent;
    i64 at = 0;
    bool active = live, in_loop = false;
    index[args.rank] = 0;
    for (int pc = args.begin; pc < args.end; ++pc) {
      const fz_inst in = args.insts[pc];
      if (!active && in.code <= kLane) continue;
      u64* const out = own + in.out * slot;
      switch (in.code) {
        case kConst: *out = in.imm; break;
        case kParam: *out = (u64)args.words[in.imm]; break;
        case kIndex: *out = (u64)index[in.imm]; break;
        case kLoad:
        case kStore: {
          const bool store = in.code == kStore;
          const int offset = store ? in.b : in.a, predicate = store ? in.c : in.b;
          const bool there = predicate < 0 || fz_get<bool>(own + predicate * slot);
          // Outside loops the threads of a team compute the same: one of them stores.
          if (store && (!there || !(in_loop || lane == 0))) break;
          if (!there) {
            *out = 0;
            break;
          }
          i64 address = args.words[in.imm];
          for (int axis = 0; axis < args.axes; ++axis) address += index[axis] * args.words[in.strides + axis];
          if (offset >= 0) address += (i64)own[offset * slot] * in.op;
          if (store) fz_copy_out(address, own + in.a * slot, in.op);
          else fz_copy_in(out, address, in.op);
          break;
        }
        case kOp: fz_op(in.op, out, own + in.a * slot, own + in.b * slot, own + in.c * slot); break;
        case kLane: {
          u64* const mine = out + (at & (i64)in.imm) * slot;
          fz_op(in.op, mine, mine, own + in.a * slot, mine);
          break;
        }
        case kEmpty:
          if (first >= last) *out = in.imm;
          break;
        case kLoop:
          if (count <= 0) {
            pc = in.a;
            break;
          }
          at = 0;
          in_loop = true;
          index[args.rank] = first + lane;
          active = live && first + lane < last;
          break;
        case kEnd:
          at += args.team;
          in_loop = at < count;
          if (in_loop) pc = in.a;
          index[args.rank] = in_loop ? first + at + lane : 0;
          active = live && (!in_loop || first + at + lane < last);
          break;
        case kTree:
          *out = fz_halve(tree, lane, in.op, *out);
          break;
        case kChunk: {
          const bool end = at + args.team >= count;
          if (count <= fz_chunk || !(end || (at + args.team) % fz_chunk == 0)) break;
          const u64 chunk = fz_halve(tree, lane, in.op, *out);
          if (lane == at / fz_chunk % fz_team) fz_op(in.op, out + slot, out + slot, &chunk, out);
          *out = end ? out[slot] : in.imm;
          break;
        }
      }
    }
  }
}
)";

}  // namespace

uint16_t GenericOp(Op op, DType type, DType from) {
  const auto found = AllOps().find({op, type, from});
  FZ_CHECK(found != AllOps().end());
  return found->second;
}

std::string GenericText() {
  Text t;
  t.Line("enum { fz_words = ", kGenericWords, ", fz_axes = ", kGenericAxes,
         ", fz_threads = ", kGenericThreads, ", fz_team = ", kGenericTeam,
         ", fz_chunk = ", kir::kChunk, " };");
  std::string codes;
#define FZ_CODE(E) StrAppend(&codes, codes.empty() ? "" : ", ", #E);
  FZ_GENERIC_CODES(FZ_CODE)
#undef FZ_CODE
  t.Line("enum { ", codes, " };");
  t.Append(std::string(kTypes));
  Arithmetic(t);
  t.Append(std::string(kHalve));
  t.Append(std::string(kEntry));
  return t.Take();
}

}  // namespace frazil::jit::cuda
