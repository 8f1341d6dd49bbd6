#include "jit/lower/maker.h"

#include <algorithm>

#include "core/check.h"
#include "core/cost.h"
#include "core/str.h"

namespace frazil::jit {
namespace {}  // namespace

int64_t Axes::LoopExtent() const {
  int64_t n = 1;
  for (int a : loop) n *= extents[a];
  return n;
}

KernelMaker::KernelMaker(std::string name, Axes axes)
    : axes_(std::move(axes)), builder_(&launch_.kernel) {
  axes_.pinned.resize(axes_.extents.size(), false);
  kir::Kernel& k = launch_.kernel;
  k.name = std::move(name);
  k.has_loop = axes_.has_loop;
  k.chunked = axes_.chunked;
  k.long_rows = axes_.long_rows;
}

int KernelMaker::AddBuffer(int32_t node, DType dtype, bool out, int64_t offset,
                           std::vector<int64_t> strides, int64_t chunk, int64_t step) {
  strides.resize(axes_.extents.size(), 0);
  offset *= SizeOf(dtype);
  for (size_t i = 0; i < accesses_.size() && !out; ++i) {
    if (launch_.buffers[i].node == node && launch_.buffers[i].offset == offset &&
        accesses_[i].strides == strides && accesses_[i].step == step &&
        !launch_.kernel.buffers[i].out) {
      return int(i);
    }
  }
  kir::Buffer buffer;
  buffer.dtype = dtype;
  buffer.out = out;
  buffer.name = StrCat(out ? "o" : "b", accesses_.size());
  launch_.kernel.buffers.push_back(std::move(buffer));
  launch_.buffers.push_back({node, offset});
  accesses_.push_back({chunk, step, std::move(strides)});
  launch_.kernel.moves |= step != 0;
  return int(accesses_.size()) - 1;
}

// Neighbouring parallel axes that every buffer walks as one become one.
void KernelMaker::JoinParallel() {
  for (int a : axes_.parallel) {
    bool join = !runs_.empty() && !axes_.pinned[a] && !axes_.pinned[runs_.back().back()];
    for (const Access& access : accesses_) {
      join = join && access.strides[runs_.back().back()] == access.strides[a] * axes_.extents[a];
    }
    if (join) {
      runs_.back().push_back(a);
    } else {
      runs_.push_back({a});
    }
  }
}

int64_t KernelMaker::StrideOver(const Access& access, const std::vector<int>& run) const {
  return run.empty() ? 0 : access.strides[run.back()];
}

// Lanes of float sums fix the axis; otherwise the one that most inputs store next to each other.
kir::VecAxis KernelMaker::ChooseVec() const {
  if (axes_.iterations && axes_.parallel.empty()) return kir::VecAxis::kNone;
  if (!axes_.has_loop || axes_.lanes == 8 || axes_.down) return kir::VecAxis::kSpace;
  if (axes_.lanes == 64) return kir::VecAxis::kLoop;
  int along_loop = 0, along_space = 0;
  for (size_t i = 0; i < accesses_.size(); ++i) {
    if (launch_.kernel.buffers[i].out) continue;
    along_loop += StrideOver(accesses_[i], axes_.loop) == 1;
    along_space += !runs_.empty() && StrideOver(accesses_[i], runs_.back()) == 1;
  }
  return along_loop > along_space || runs_.empty() ? kir::VecAxis::kLoop : kir::VecAxis::kSpace;
}

void KernelMaker::ChooseAxes() {
  JoinParallel();
  kir::Kernel& k = launch_.kernel;
  k.vec = ChooseVec();
  const bool chunk_columns = axes_.chunked && k.vec == kir::VecAxis::kLoop;
  if (runs_.empty() && !chunk_columns) runs_.push_back({});
  k.rank = int(runs_.size()) + axes_.chunked;
  const int64_t loop = axes_.LoopExtent();
  if (axes_.chunked) launch_.extents.push_back((loop + kir::kChunk - 1) / kir::kChunk);
  for (const auto& run : runs_) {
    int64_t n = 1;
    for (int a : run) n *= axes_.extents[a];
    launch_.extents.push_back(n);
  }
  if (axes_.has_loop) launch_.extents.push_back(loop);
  if (k.moves) launch_.extents.push_back(axes_.iterations);
  const int vec = k.vec == kir::VecAxis::kNone   ? -1
                  : k.vec == kir::VecAxis::kLoop ? k.rank
                                                 : k.rank - 1;
  for (size_t i = 0; i < accesses_.size(); ++i) {
    const Access& access = accesses_[i];
    std::vector<int64_t> strides;
    if (axes_.chunked) strides.push_back(access.chunk);
    // A space without axes is one column: as a contiguous one, so that [1] needs no kernel of its
    // own.
    for (const auto& run : runs_)
      strides.push_back(run.empty() ? int64_t{vec >= 0} : StrideOver(access, run));
    if (axes_.has_loop) strides.push_back(StrideOver(access, axes_.loop));
    if (k.moves) strides.push_back(access.step);
    for (int a = 0; a < int(strides.size()); ++a) {
      k.buffers[i].strides.push_back(strides[a] == 0               ? kir::Stride::kZero
                                     : strides[a] == 1 && a == vec ? kir::Stride::kOne
                                                                   : kir::Stride::kAny);
      launch_.strides.push_back(strides[a] * SizeOf(k.buffers[i].dtype));
    }
  }
  k.stream = MayStream();
}

bool KernelMaker::MayStream() const {
  const kir::Kernel& k = launch_.kernel;
  if (k.has_loop || axes_.unrolled) return false;
  int64_t points = 1;
  for (int64_t e : launch_.extents) points *= e;
  int64_t moved = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (k.buffers[i].strides.back() != kir::Stride::kZero)
      moved += points * SizeOf(k.buffers[i].dtype);
    if (!k.buffers[i].out) continue;
    if (k.buffers[i].strides.back() != kir::Stride::kOne || launch_.buffers[i].offset % 64 != 0)
      return false;
    for (int a = 0; a + 1 < k.rank; ++a) {  // every row starts on a cache line
      if (launch_.strides[i * k.axes() + a] % 64 != 0) return false;
    }
  }
  return moved >= tuned::kStreamBytes;
}

kir::V KernelMaker::Param(int32_t node, DType dtype) {
  size_t i = 0;
  while (i < launch_.scalars.size() && launch_.scalars[i] != node) ++i;
  if (i == launch_.scalars.size()) {
    launch_.scalars.push_back(node);
    launch_.kernel.scalars.push_back({StrCat("s", i), dtype});
  }
  return builder_.Param(int(i));
}

// Numbered from kEach on until all plain scalars are known.
constexpr uint64_t kEach = uint64_t{1} << 32;

kir::V KernelMaker::Each(absl::Span<const int32_t> nodes, DType dtype) {
  each_.emplace_back(nodes.begin(), nodes.end());
  each_types_.push_back(dtype);
  kir::Inst param{kir::Op::kParam, dtype};
  param.imm = kEach + each_.size() - 1;
  return builder_.Copy(param);
}

void KernelMaker::AppendEach() {
  if (each_.empty()) return;
  kir::Kernel& k = launch_.kernel;
  const size_t plain = k.scalars.size();
  for (size_t i = 0; i < each_.size(); ++i)
    k.scalars.push_back({StrCat("e", i), each_types_[i], true});
  for (size_t t = 0; t < each_[0].size(); ++t) {
    for (const std::vector<int32_t>& nodes : each_) launch_.scalars.push_back(nodes[t]);
  }
  for (kir::Inst& inst : k.body) {
    if (inst.op == kir::Op::kParam && inst.imm >= kEach) inst.imm += plain - kEach;
  }
}

kir::V KernelMaker::Literal(int64_t word) {
  launch_.literals.push_back(uint64_t(word));
  return Param(-int32_t(launch_.literals.size()), DType::kI64);
}

kir::V KernelMaker::Index(int axis) {
  if (!axes_.loop.empty() && axes_.loop.back() == axis) return LoopIndex();
  for (size_t r = 0; r < runs_.size(); ++r) {
    if (runs_[r] == std::vector<int>{axis}) return builder_.Index(int(r) + axes_.chunked);
  }
  return builder_.ConstBits(DType::kI64, 0);  // an axis of extent 1
}

// Whether there are loads where indices say: their lanes are as wide as these, so that narrower
// outputs are written in parts of cache lines, with loads that wait between them, of which
// memory would see each.
bool KernelMaker::WritesParts() const {
  const kir::Kernel& k = launch_.kernel;
  const auto chosen = [&](const kir::Inst& inst) {
    return inst.op == kir::Op::kLoad && inst.a != kir::kNone &&
           k.body[inst.a].op != kir::Op::kConst;
  };
  const auto narrow = [](const kir::Buffer& b) { return b.out && SizeOf(b.dtype) < 8; };
  return std::ranges::any_of(k.body, chosen) && std::ranges::any_of(k.buffers, narrow);
}

Launch KernelMaker::Finish(double time) {
  AppendEach();
  kir::Kernel& k = launch_.kernel;
  k.stream = k.stream && !WritesParts();
  launch_.cols = launch_.extents[k.rank - 1];
  for (int a = 0; a + 1 < k.rank; ++a) launch_.rows *= launch_.extents[a];
  launch_.work = cost::Whole(time + double(cost::kLaunch));
  return std::move(launch_);
}

}  // namespace frazil::jit
