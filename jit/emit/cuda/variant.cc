// Which text a launch gets, how many blocks it takes, and what it is passed.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ceil_div.h"
#include "core/check.h"
#include "core/str.h"
#include "core/tuned.h"
#include "jit/emit/cuda/cuda.h"
#include "jit/emit/cuda/held.h"
#include "kernels/fn.h"

namespace frazil::jit::cuda {
namespace {

using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;
using kir::Stride;

// Offsets and counts below this leave room for what a thread adds before it compares.
constexpr int64_t kNarrowLimit = (int64_t{1} << 31) - (int64_t{1} << 20);
constexpr int kAccessBytes = 16;  // of one instruction

// What a kernel does with a buffer.
struct Use {
  bool plain = false;  // at the current indices, always
  bool predicated = false;
  bool offset = false;  // at an element that is computed
};

// Instructions, about; those of double precision need two registers each.
int WorkOf(const Inst& inst) {
  const int wide = inst.type == DType::kF64 ? 2 : 1;
  if (inst.op == Op::kCall) return (Fn(inst.imm) == Fn::kPow ? 120 : 40) * wide;
  if (inst.op == Op::kLoad || inst.op == Op::kStore) return 2 * wide;
  if (inst.op == Op::kDiv || inst.op == Op::kSqrt || inst.op == Op::kRem) return 10 * wide;
  return wide;
}

class Chooser {
 public:
  Chooser(const Kernel& kernel, absl::Span<const int64_t> extents,
          absl::Span<const int64_t> strides, absl::Span<const uint64_t> addresses,
          const CudaTarget& target)
      : k_(kernel),
        extents_(extents),
        strides_(strides),
        addresses_(addresses),
        target_(target),
        uses_(kernel.buffers.size()) {
    for (int a = 0; a < k_.rank; ++a) points_ *= extents_[a];
    for (const Inst& inst : k_.body) {
      if (inst.op == Op::kLoad || inst.op == Op::kStore) {
        const bool store = inst.op == Op::kStore;
        Use& use = uses_[inst.imm];
        const bool offset = (store ? inst.b : inst.a) != kNone;
        const bool predicated = (store ? inst.c : inst.b) != kNone;
        use.offset |= offset;
        use.predicated |= predicated;
        use.plain |= !offset && !predicated;
      }
      work_ += WorkOf(inst);
      laned_ |= inst.lanes != 0;
      if (inst.op == Op::kReduce) partial_bytes_ += kPartials * SizeOf(inst.type);
    }
  }

  CudaVariant Run() {
    v_.narrow = Narrow();
    v_.apart = Apart();
    if (!k_.has_loop) {
      v_.vec = uint8_t(Vector());
    } else if (k_.vec == kir::VecAxis::kLoop) {
      Row();
    } else {
      // Few columns: eight threads for each, one a lane.
      if (Passes(8) > 1 && points_ < int64_t{target_.multiprocessors} * 2048) v_.team = 8;
    }
    return v_;
  }

 private:
  int64_t StrideOf(size_t buffer, int axis) const { return strides_[buffer * k_.axes() + axis]; }

  // Bytes from the first to the last element at positive and negative strides.
  std::pair<int64_t, int64_t> Reach(size_t buffer) const {
    int64_t low = 0, high = 0;
    for (int a = 0; a < k_.axes(); ++a) {
      const int64_t reach = StrideOf(buffer, a) * std::max<int64_t>(extents_[a] - 1, 0);
      (reach < 0 ? low : high) += reach;
    }
    return {low, high};
  }

  bool Narrow() const {
    int64_t points = 1;
    for (int a = 0; a < k_.rank; ++a) {
      if (extents_[a] >= kNarrowLimit ||
          (points *= std::max<int64_t>(extents_[a], 1)) >= kNarrowLimit)
        return false;
    }
    if (k_.has_loop && extents_[k_.rank] >= kNarrowLimit) return false;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const auto [low, high] = Reach(b);
      if (high - low >= kNarrowLimit) return false;
      // A stride is passed also where its extent is 1.
      for (int a = 0; a < k_.axes(); ++a) {
        if (std::abs(StrideOf(b, a)) >= kNarrowLimit) return false;
      }
    }
    return true;
  }

  // An output at computed offsets may reach anywhere.
  bool Apart() const {
    for (size_t o = 0; o < k_.buffers.size(); ++o) {
      if (!k_.buffers[o].out) continue;
      if (uses_[o].offset) return false;
      const auto [low, high] = Reach(o);
      const uint64_t begin = addresses_[o] + low,
                     end = addresses_[o] + high + SizeOf(k_.buffers[o].dtype);
      for (size_t b = 0; b < k_.buffers.size(); ++b) {
        if (b == o) continue;
        const auto [from, to] = Reach(b);
        if (addresses_[b] + from < end &&
            begin < addresses_[b] + to + SizeOf(k_.buffers[b].dtype)) {
          return false;
        }
      }
    }
    return true;
  }

  // The most elements, a power of two up to `most`, that every buffer which is contiguous along
  // `axis` allows to be accessed at once.
  int Aligned(int axis, int most) const {
    for (; most > 1; most /= 2) {
      bool aligned = true;
      for (size_t b = 0; b < k_.buffers.size() && aligned; ++b) {
        if (k_.buffers[b].strides[axis] != Stride::kOne || !uses_[b].plain) continue;
        const int64_t unit = std::min<int64_t>(kAccessBytes, most * SizeOf(k_.buffers[b].dtype));
        aligned = addresses_[b] % unit == 0;
        for (int a = 0; a < k_.axes(); ++a) {
          if (a != axis && extents_[a] > 1) aligned = aligned && StrideOf(b, a) % unit == 0;
        }
      }
      if (aligned) return most;
    }
    return 1;
  }

  int Vector() const {
    int64_t smallest = 0, largest = 1, most = 8;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const int64_t size = SizeOf(k_.buffers[b].dtype);
      if (k_.buffers[b].strides.back() == Stride::kAny) most = 4;  // one by one, an address each
      if (k_.buffers[b].strides.back() != Stride::kOne || !uses_[b].plain) continue;
      smallest = smallest ? std::min(smallest, size) : size;
      largest = std::max(largest, size);
    }
    if (smallest == 0) return 1;
    most = std::min({most, kAccessBytes / smallest, tuned::kGpuVectorBytes / largest});
    const int64_t columns = extents_[k_.rank - 1];
    while (most > 1 && (most * work_ > tuned::kGpuUnrolledWork || columns % most != 0)) most /= 2;
    return Aligned(k_.rank - 1, int(most));
  }

  int64_t Passes(int64_t elements) const {
    const int64_t n = extents_[k_.rank];
    return CeilDiv(k_.chunked ? std::min(n, kir::kChunk) : n, elements);
  }

  void Row() {
    v_.team = 32;
    while (v_.team > 4 && extents_[k_.rank] <= v_.team) v_.team /= 2;
    v_.vec = uint8_t(extents_[k_.rank] % 2 == 0 ? Aligned(k_.rank, 2) : 1);
    const int64_t passes = Passes(64);
    const int64_t chunk = kir::kChunk / 64;
    if (laned_) {
      v_.warps = uint8_t(std::clamp<int64_t>(CeilDiv(passes, chunk), k_.long_rows ? 2 : 1, 16));
    } else {
      // Order does not matter: rows that are too few for the device are cut.
      while (v_.warps < 32 && passes >= 16 * v_.warps &&
             points_ * v_.warps < int64_t{target_.multiprocessors} * 16) {
        v_.warps *= 2;
      }
    }
    if (v_.warps > 1) v_.team = 32;
    v_.threads = uint16_t(v_.warps > 1 ? 32 * v_.warps : 128);
    Keep(passes);
  }

  void Keep(int64_t passes) {
    if (passes > 1024) return;
    const HeldValues held = FindHeld(k_);
    if (held.values.empty()) return;
    const int64_t keep = passes > 64
                             ? CeilDiv(passes, 64) * 64
                             : std::max<int64_t>(1, int64_t(std::bit_ceil(uint64_t(passes))));
    if (v_.warps == 1 && keep <= tuned::kGpuRowPasses &&
        2 * keep * held.registers <= tuned::kGpuHeldRegisters) {
      v_.keep = uint16_t(keep);
      v_.full = !k_.chunked && extents_[k_.rank] == keep * 64;
      return;
    }
    const int64_t row = keep * 64 * held.bytes;
    if (row + (v_.warps > 1 ? partial_bytes_ : 0) > target_.shared_bytes) return;
    v_.keep = uint16_t(keep);
    v_.keep_shared = true;
    while (v_.threads > v_.team * v_.warps &&
           row * (v_.threads / (v_.team * v_.warps)) > (48 << 10))
      v_.threads /= 2;
  }

  const Kernel& k_;
  const absl::Span<const int64_t> extents_, strides_;
  const absl::Span<const uint64_t> addresses_;
  const CudaTarget& target_;
  std::vector<Use> uses_;
  int64_t points_ = 1, work_ = 0;
  int64_t partial_bytes_ = 0;  // of shared memory, where several warps share a row
  bool laned_ = false;
  CudaVariant v_;
};

// Points that one block works on; a thread's vector counts as one.
int64_t PointsOfBlock(const CudaVariant& v) { return v.threads / (v.team * v.warps); }

struct Magic {
  uint32_t factor, shift;
};
// x / d == (mulhi(x, factor) + x) >> shift for x < 2^31, 0 < d < 2^31.
Magic MagicOf(int64_t d) {
  const int shift = std::bit_width(uint64_t(d - 1));
  return {uint32_t((((uint64_t{1} << shift) - d) << 32) / d + 1), uint32_t(shift)};
}

}  // namespace

std::string CudaVariant::Text() const {
  return StrCat("n", int(narrow), "a", int(apart), "v", int(vec), "t", int(team), "w", int(warps),
                keep_shared ? "s"
                : full      ? "f"
                            : "k",
                keep, "b", threads);
}

CudaVariant ChooseVariant(const Kernel& kernel, absl::Span<const int64_t> extents,
                          absl::Span<const int64_t> strides, absl::Span<const uint64_t> addresses,
                          const CudaTarget& target) {
  return Chooser(kernel, extents, strides, addresses, target).Run();
}

CudaGrid LaunchShape(const CudaSource& source, absl::Span<const int64_t> extents) {
  const CudaVariant& v = source.variant;
  int64_t points = 1;
  for (int a = 0; a < source.rank; ++a)
    points *= a == source.rank - 1 && v.team == 1 ? extents[a] / v.vec : extents[a];
  // Wide texts go on where the grid ends.
  const int64_t blocks = std::min<int64_t>(CeilDiv(points, PointsOfBlock(v)), INT32_MAX);
  return {unsigned(blocks), unsigned(v.threads), unsigned(source.shared_bytes)};
}

std::vector<uint8_t> PackArgs(const CudaSource& source, const kir::KernelArgs& args) {
  const CudaVariant& v = source.variant;
  const int last = source.rank - 1;
  const auto columns = [&](int axis) {
    const int64_t n = args.extents[axis];
    return axis == last && v.team == 1 ? n / v.vec : n;
  };
  std::vector<uint8_t> bytes(source.args_bytes);
  size_t at = 0;
  for (const CudaArg& arg : source.args) {
    uint64_t word = 0;
    switch (arg.kind) {
      case CudaArg::kAddress:
        word = reinterpret_cast<uintptr_t>(args.buffers[arg.index]);
        break;
      case CudaArg::kExtent:
        word = uint64_t(args.extents[arg.index]);
        break;
      case CudaArg::kStride:
        word = uint64_t(args.strides[arg.index * source.axes + arg.axis]);
        break;
      case CudaArg::kScalar:
        word = args.scalars[arg.index];
        break;
      case CudaArg::kPoints:
        word = 1;
        for (int a = 0; a < source.rank; ++a) word *= uint64_t(columns(a));
        break;
      case CudaArg::kColumns:
        word = uint64_t(columns(arg.index));
        break;
      case CudaArg::kMagic:
        word = MagicOf(std::max<int64_t>(columns(arg.index), 1)).factor;
        break;
      case CudaArg::kShift:
        word = MagicOf(std::max<int64_t>(columns(arg.index), 1)).shift;
        break;
    }
    std::memcpy(&bytes[at], &word, arg.bytes);
    at += arg.bytes;
  }
  FZ_CHECK(at <= bytes.size());
  return bytes;
}

int AddressOffset(const CudaSource& source, int index) {
  int at = 0;
  for (const CudaArg& arg : source.args) {
    if (arg.kind == CudaArg::kAddress && arg.index == index) return at;
    at += arg.bytes;
  }
  return -1;
}

std::vector<std::string> NvrtcOptions(int arch, bool ptx) {
  return {StrCat("--gpu-architecture=", ptx ? "compute_" : "sm_", arch),
          "--std=c++17",
          "--fmad=false",
          "--ftz=false",
          "--prec-div=true",
          "--prec-sqrt=true",
          "--generate-line-info",
          "--device-as-default-execution-space"};
}

}  // namespace frazil::jit::cuda
