// Kernels as programs of the generic text, and what a launch of it is passed.
#include "jit/emit/cuda/generic.h"

#include <algorithm>
#include <cstring>

#include "core/ceil_div.h"
#include "core/check.h"
#include "jit/emit/cuda/cuda.h"
#include "jit/emit/cuda/expr.h"
#include "jit/kir/legalize.h"

namespace frazil::jit::cuda {
namespace {

using kir::Id;
using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;

constexpr size_t kMostInsts = 4096;
constexpr int64_t kMostBlocks = 256;
constexpr int64_t kScratchBytes = 64 << 20;

class Encoder {
 public:
  explicit Encoder(const Kernel& legal) : k_(legal), slot_(legal.body.size(), kNone) {
    p_.rank = k_.rank;
    p_.axes = k_.axes();
    p_.buffers = int(k_.buffers.size());
    p_.scalars = int(k_.scalars.size());
    p_.chunked = k_.chunked;
    p_.team = k_.has_loop && k_.vec == kir::VecAxis::kLoop ? kGenericTeam : 1;
  }

  GenericProgram Run() {
    Id begin = 0;
    for (Id end = 0; end <= Id(k_.body.size()); ++end) {
      if (end < Id(k_.body.size()) && k_.body[end].op != Op::kBarrier) continue;
      const int32_t first = int32_t(p_.insts.size());
      next_ = 0;  // no value crosses a barrier
      for (Id i = begin; i < end; ++i) Encode(i);
      p_.phases.push_back({first, int32_t(p_.insts.size())});
      begin = end + 1;
    }
    return std::move(p_);
  }

 private:
  int Take(int slots) {
    next_ += slots;
    p_.slots = std::max(p_.slots, next_);
    return next_ - slots;
  }
  void Add(const GenericInst& inst) { p_.insts.push_back(inst); }
  int Slot(Id id) const { return id == kNone ? -1 : slot_[id]; }
  DType TypeOf(Id id) const { return k_.body[id].type; }

  // Words of a launch: extents, addresses, strides, scalars.
  int32_t Address(uint64_t buffer) const { return int32_t(p_.axes + int(buffer)); }
  int32_t Strides(uint64_t buffer) const {
    return int32_t(p_.axes + p_.buffers + int(buffer) * p_.axes);
  }
  uint64_t Scalar(uint64_t scalar) const {
    return uint64_t(p_.axes + p_.buffers * (1 + p_.axes)) + scalar;
  }

  void Encode(Id i) {
    const Inst& inst = k_.body[i];
    switch (inst.op) {
      case Op::kLoop:
        return Loop(i);
      case Op::kEnd:
        return End(i);
      case Op::kReduce:
        return Add({GenericCode::kLane, Combine(inst), slot_[i], Slot(inst.a), 0, 0, 0,
                    uint64_t(LanesOf(inst) - 1)});
      case Op::kStore:
        return Add({GenericCode::kStore, uint16_t(SizeOf(inst.type)), 0, Slot(inst.a), Slot(inst.b),
                    Slot(inst.c), Strides(inst.imm), uint64_t(Address(inst.imm))});
      default:
        break;
    }
    slot_[i] = Take(1);
    switch (inst.op) {
      case Op::kConst:
        return Add({GenericCode::kConst, 0, slot_[i], 0, 0, 0, 0, inst.imm});
      case Op::kParam:
        return Add({GenericCode::kParam, 0, slot_[i], 0, 0, 0, 0, Scalar(inst.imm)});
      case Op::kIndex:
        return Add({GenericCode::kIndex, 0, slot_[i], 0, 0, 0, 0, inst.imm});
      case Op::kLoad:
        return Add({GenericCode::kLoad, uint16_t(SizeOf(inst.type)), slot_[i], Slot(inst.a),
                    Slot(inst.b), 0, Strides(inst.imm), uint64_t(Address(inst.imm))});
      default:
        return Add({GenericCode::kOp, GenericOp(inst.op, inst.type, TypeOf(inst.a)), slot_[i],
                    Slot(inst.a), std::max(0, Slot(inst.b)), std::max(0, Slot(inst.c))});
    }
  }

  // Slots of one thread for a reduction.
  int LanesOf(const Inst& reduce) const {
    return p_.team == 1 && reduce.lanes ? int(reduce.lanes) : 1;
  }
  // Its chunks' results are reduced once more: a second slot for those.
  bool InChunks(const Inst& reduce) const { return k_.long_rows && reduce.lanes; }
  uint16_t Combine(const Inst& reduce) const {
    return GenericOp(CombineOp(reduce), reduce.type, reduce.type);
  }

  void Loop(Id loop) {
    for (Id i = loop; k_.body[i].op != Op::kEnd; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != Op::kReduce) continue;
      p_.one_chunk |= inst.lanes && !k_.chunked && !k_.long_rows;
      const int slots = LanesOf(inst) + (InChunks(inst) ? 1 : 0);
      slot_[i] = Take(slots);
      for (int lane = 0; lane < slots; ++lane)
        Add({GenericCode::kConst, 0, slot_[i] + lane, 0, 0, 0, 0, IdentityBits(inst)});
    }
    loop_ = loop;
    loop_inst_ = int32_t(p_.insts.size());
    Add({GenericCode::kLoop});
  }

  void End(Id end) {
    for (Id i = loop_; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op == Op::kReduce && InChunks(inst))
        Add({GenericCode::kChunk, Combine(inst), slot_[i], 0, 0, 0, 0, IdentityBits(inst)});
    }
    p_.insts[loop_inst_].a = int32_t(p_.insts.size());
    Add({GenericCode::kEnd, 0, 0, loop_inst_});
    for (Id i = loop_; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != Op::kReduce) continue;
      if (p_.team > 1) Add({GenericCode::kTree, Combine(inst), slot_[i]});
      for (int half = LanesOf(inst) / 2; half > 0; half /= 2) {
        for (int lane = slot_[i]; lane < slot_[i] + half; ++lane)
          Add({GenericCode::kOp, Combine(inst), lane, lane, lane + half});
      }
      // The identity of a float sum is -0, an empty sum is +0.
      if (IsFloat(inst.type) && kir::ReduceKind(inst.imm) == kir::ReduceKind::kSum)
        Add({GenericCode::kEmpty, 0, slot_[i]});
    }
  }

  const Kernel& k_;
  GenericProgram p_;
  std::vector<int32_t> slot_;
  int next_ = 0;
  Id loop_ = kNone;
  int32_t loop_inst_ = 0;
};

}  // namespace

StatusOr<GenericProgram> EncodeGeneric(const Kernel& kernel) {
  FZ_RETURN_IF_ERROR(Verify(kernel));
  if (kernel.has_repeat()) return NotImplementedError("[cuda] ", kernel.name, " has a repeat.");
  FZ_ASSIGN_OR_RETURN(const Kernel legal, kir::Legalize(kernel));
  GenericProgram program = Encoder(legal).Run();
  const size_t words =
      size_t(program.axes + program.buffers * (1 + program.axes)) + kernel.scalars.size();
  if (program.insts.size() > kMostInsts || words > size_t(kGenericWords) ||
      program.axes > kGenericAxes) {
    return NotImplementedError("[cuda] ", kernel.name, " has ", program.insts.size(),
                               " instructions, ", words, " words of arguments and ", program.axes,
                               " axes, the generic kernel takes ", kMostInsts, ", ", kGenericWords,
                               " and ", kGenericAxes, ".");
  }
  return program;
}

StatusOr<GenericLaunch> GenericShape(const GenericProgram& program,
                                     absl::Span<const int64_t> extents) {
  if (program.one_chunk && extents[program.rank] > kir::kChunk) {
    return NotImplementedError("[cuda] the generic kernel reduces ", kir::kChunk,
                               " elements in order, not ", extents[program.rank], ".");
  }
  int64_t points = 1;
  for (int a = 0; a < program.rank; ++a) points *= extents[a];
  const int64_t block_points = kGenericThreads / program.team;
  const int64_t tiles = CeilDiv(points, block_points);
  const int64_t block_bytes = int64_t(std::max(program.slots, 1)) * 8 * kGenericThreads;
  const int64_t blocks =
      std::min({tiles, kMostBlocks, std::max<int64_t>(1, kScratchBytes / block_bytes)});
  if (blocks == 0) return GenericLaunch{};
  int64_t passes = 1;
  if (program.axes > program.rank) {
    const int64_t n = extents[program.rank];
    passes = CeilDiv(program.chunked ? std::min(n, kir::kChunk) : n, program.team);
  }
  return GenericLaunch{
      unsigned(blocks), kGenericThreads, blocks * block_bytes,
      CeilDiv(tiles, blocks) * std::max<int64_t>(passes, 1) * int64_t(program.insts.size())};
}

std::vector<uint8_t> PackGeneric(const GenericProgram& program, const GenericProgram::Phase& phase,
                                 const kir::KernelArgs& args, uint64_t insts, uint64_t scratch) {
  GenericHead head{.insts = insts,
                   .scratch = scratch,
                   .points = 1,
                   .begin = phase.begin,
                   .end = phase.end,
                   .rank = program.rank,
                   .axes = program.axes,
                   .team = program.team,
                   .chunked = program.chunked};
  for (int a = 0; a < program.rank; ++a) head.points *= args.extents[a];
  std::vector<uint8_t> bytes(sizeof(GenericHead) + kGenericWords * 8);
  std::memcpy(bytes.data(), &head, sizeof(head));
  uint8_t* at = bytes.data() + sizeof(head);
  const auto append = [&](const void* words, int count) {
    if (count > 0) std::memcpy(at, words, size_t(count) * 8);
    at += count * 8;
  };
  append(args.extents, program.axes);
  append(args.buffers, program.buffers);
  append(args.strides, program.buffers * program.axes);
  append(args.scalars, program.scalars);
  return bytes;
}

}  // namespace frazil::jit::cuda
