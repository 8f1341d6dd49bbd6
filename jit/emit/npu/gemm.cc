#include "jit/emit/npu/gemm.h"

#include <algorithm>

#include "core/ceil_div.h"
#include "core/str.h"
#include "jit/emit/npu/epilogue.h"
#include "jit/kir/dead.h"

namespace frazil::npu {
namespace {

constexpr int64_t kMaxChunk = 4096;  // k of one accumulator
constexpr int64_t kMaxInstructions = int64_t{1} << 20;

int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }
Arg N(int64_t n) { return Arg::Number(n); }

// An operand in memory: rows x cols as the matrix unit wants it, stored that way or transposed.
struct Source {
  int param;
  bool transposed;
  int64_t ld;  // bytes from stored row to stored row
};

Status Describe(const MatrixRef& m, int64_t rows, int64_t cols, int64_t item, int param,
                std::string_view name, Source* out) {
  const bool plain = m.col_stride == 1 || cols == 1;
  const bool flipped = m.row_stride == 1 || rows == 1;
  const int64_t ld = plain ? m.row_stride : m.col_stride;
  if ((!plain && !flipped) || (ld < 0))
    return NotImplementedError("[npu] matmul: the elements of ", name,
                               " lie apart along both axes.");
  *out = {param, !plain, (ld == 0 && (plain ? rows : cols) == 1) ? item : ld * item};
  return absl::OkStatus();
}

// Scratch memory used in turn.
class Ring {
 public:
  bool Make(Stream* stream, Space space, int64_t bytes, int copies) {
    for (int i = 0; i < copies; ++i) {
      const auto address = stream->Alloc(space, bytes);
      if (!address) return false;
      args_.push_back(Arg::Local(*address, stream->Track()));
    }
    return true;
  }
  Arg at(int64_t turn) const { return args_[turn % int64_t(args_.size())]; }

 private:
  std::vector<Arg> args_;
};

class GemmEmission {
 public:
  GemmEmission(const GemmArgs& args, Type type, const Preset& preset, const GemmBlocks& blocks)
      : args_(args), type_(type), item_(SizeOf(type)), b_(blocks), stream_(preset) {
    for (const char* name : {"a", "b"}) stream_.AddParam(name, ParamKind::kGmRead);
  }

  void StoreProduct() { product_ = stream_.AddParam("c", ParamKind::kGmWrite); }
  // Instead: a kernel over slices of the accumulators' columns.
  void Follow(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info, int product,
              const Slicing& slicing) {
    epilogue_.emplace(kernel, plan, info, product, type_, slicing, &stream_);
    const int64_t products = CeilDiv(args_.k, b_.l0_k), slices = CeilDiv(b_.l1_n, slicing.cols);
    epilogue_->SetPace(std::max<int64_t>(1, products / slices));
  }

  Status Prepare() {
    FZ_RETURN_IF_ERROR(Describe(args_.a, args_.m, args_.k, item_, 0, "the left operand", &left_));
    FZ_RETURN_IF_ERROR(Describe(args_.b, args_.k, args_.n, item_, 1, "the right operand", &right_));
    const int copies = b_.double_buffered ? 2 : 1;
    // Every half of a block accumulates over all of k.
    const int halves = std::max(copies, int(CeilDiv(b_.l1_m, b_.half_m)));
    const int64_t n = RoundUp(b_.l1_n, 16), l0_k = RoundUp(b_.l0_k, FractalK(type_));
    const bool fits = l1_a_.Make(&stream_, kL1, Staged(left_, b_.l1_m, b_.l1_k), copies) &&
                      l1_b_.Make(&stream_, kL1, Staged(right_, b_.l1_k, b_.l1_n), copies) &&
                      l0_a_.Make(&stream_, kL0A, RoundUp(b_.half_m, 16) * l0_k * item_, copies) &&
                      l0_b_.Make(&stream_, kL0B, l0_k * n * item_, copies) &&
                      l0_c_.Make(&stream_, kL0C, RoundUp(b_.half_m, 16) * n * 4, halves);
    if (!fits || (epilogue_ && !epilogue_->MakeSlots(b_.half_m)))
      return NotImplementedError("[npu] matmul: the blocks do not fit.");
    return absl::OkStatus();
  }

  Status Run(absl::Span<const std::array<int64_t, 3>> batches) {
    for (const auto& offsets : batches) {
      for (int64_t m = 0; m < args_.m; m += b_.l1_m)
        for (int64_t n = 0; n < args_.n; n += b_.l1_n)
          for (int64_t k = 0; k < args_.k; k += b_.l1_k)
            steps_.push_back({offsets, m, n, k, std::min(b_.l1_m, args_.m - m),
                              std::min(b_.l1_n, args_.n - n), std::min(b_.l1_k, args_.k - k)});
    }
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (s == 0 || !b_.prefetch) Stage(s);
      if (b_.prefetch && s + 1 < steps_.size()) Stage(s + 1);
      Multiply(s);
      if (stream_.refusal()) break;
      if (stream_.size() > kMaxInstructions)
        return NotImplementedError("[npu] matmul: too long a program.");
    }
    if (epilogue_) epilogue_->Finish();
    if (epilogue_ && epilogue_->overflowed())
      return NotImplementedError("[npu] matmul: what follows it does not fit.");
    return absl::OkStatus();
  }

  Stream& stream() { return stream_; }

 private:
  // One block of k for one block of the output.
  struct Step {
    std::array<int64_t, 3> offsets;
    int64_t m, n, k;  // first element
    int64_t rows, cols, depth;
  };

  // Bytes from row to row of a staged part, and of all of it.
  int64_t Pitch(const Source& source, int64_t rows, int64_t cols) const {
    return RoundUp((source.transposed ? rows : cols) * item_, 32);
  }
  int64_t Staged(const Source& source, int64_t rows, int64_t cols) const {
    return (source.transposed ? cols : rows) * Pitch(source, rows, cols);
  }

  // Loads a rows x cols part of an operand, as stored.
  void Load(const Source& source, int64_t offset, int64_t row, int64_t col, int64_t rows,
            int64_t cols, const Arg& dst) {
    const int64_t pitch = Pitch(source, rows, cols);
    if (source.transposed) {
      std::swap(row, col);
      std::swap(rows, cols);
    }
    int64_t bytes = cols * item_;
    if (rows > 1 && source.ld == bytes && pitch == bytes) {
      bytes *= rows;
      rows = 1;
    }
    stream_.Emit(Op::kLD, 0, 0,
                 {dst, Arg::Device(source.param, offset + row * source.ld + col * item_), N(rows),
                  N(bytes), N(rows > 1 ? pitch : 0), N(source.ld)});
  }

  void Stage(size_t step) {
    const Step& s = steps_[step];
    Load(left_, s.offsets[0], s.m, s.k, s.rows, s.depth, l1_a_.at(int64_t(step)));
    Load(right_, s.offsets[1], s.k, s.n, s.depth, s.cols, l1_b_.at(int64_t(step)));
  }

  static Arg At(Arg base, int64_t bytes) {
    base.value += uint64_t(bytes);
    return base;
  }

  // One product of half_m x l0_k with l0_k x n.
  struct Part {
    int64_t row, rows, depth0, depth;
    bool last;  // of its rows in this step
  };

  void Multiply(size_t step) {
    const Step& s = steps_[step];
    std::vector<Part> parts;
    for (int64_t row = 0; row < s.rows; row += b_.half_m) {
      for (int64_t k = 0; k < s.depth; k += b_.l0_k) {
        parts.push_back({row, std::min(b_.half_m, s.rows - row), k, std::min(b_.l0_k, s.depth - k),
                         k + b_.l0_k >= s.depth});
      }
    }
    for (size_t p = 0; p < parts.size(); ++p) {
      if (p == 0 || !b_.prefetch) Unpack(s, step, parts[p], turn_ + int64_t(p));
      if (b_.prefetch && p + 1 < parts.size())
        Unpack(s, step, parts[p + 1], turn_ + int64_t(p) + 1);
      const Part& part = parts[p];
      const int64_t half = part.row / b_.half_m;
      const bool first = s.k == 0 && part.depth0 == 0;
      if (first && epilogue_) epilogue_->Release(l0_c_.at(half));
      stream_.Emit(Op::kMMUL, type_, first ? 0 : kMatrixAcc,
                   {l0_c_.at(half), l0_a_.at(turn_ + int64_t(p)), l0_b_.at(turn_ + int64_t(p)),
                    N(part.rows), N(part.depth), N(s.cols)});
      if (part.last && s.k + s.depth == args_.k) Drain(s, part, half);
      if (epilogue_) epilogue_->AfterProduct();
    }
    turn_ += int64_t(parts.size());
  }

  void Unpack(const Step& s, size_t step, const Part& p, int64_t turn) {
    const Arg a = l1_a_.at(int64_t(step)), b = l1_b_.at(int64_t(step));
    const int64_t a_ld = Pitch(left_, s.rows, s.depth);
    const int64_t a_offset =
        left_.transposed ? p.depth0 * a_ld + p.row * item_ : p.row * a_ld + p.depth0 * item_;
    stream_.Emit(Op::kXA, type_, left_.transposed ? kTransposed : 0,
                 {l0_a_.at(turn), At(a, a_offset), N(p.rows), N(p.depth), N(a_ld)});
    const int64_t b_ld = Pitch(right_, s.depth, s.cols);
    const int64_t b_offset = right_.transposed ? p.depth0 * item_ : p.depth0 * b_ld;
    stream_.Emit(Op::kXB, type_, right_.transposed ? kTransposed : 0,
                 {l0_b_.at(turn), At(b, b_offset), N(p.depth), N(s.cols), N(b_ld)});
  }

  void Drain(const Step& s, const Part& p, int64_t half) {
    if (epilogue_) return epilogue_->Push(l0_c_.at(half), s.m + p.row, s.n, p.rows, s.cols);
    const int64_t ld = args_.c.row_stride * item_;
    const int64_t offset = s.offsets[2] + (s.m + p.row) * ld + s.n * item_;
    stream_.Emit(
        Op::kDR, type_, DrainFn(type_),
        {Arg::Device(product_, offset), l0_c_.at(half), N(p.rows), N(s.cols), N(ld), N(0)});
  }

  const GemmArgs& args_;
  const Type type_;
  const int64_t item_;
  const GemmBlocks b_;
  Stream stream_;
  Source left_{}, right_{};
  Ring l1_a_, l1_b_, l0_a_, l0_b_, l0_c_;
  std::vector<Step> steps_;
  int64_t turn_ = 0;  // products so far
  int product_ = -1;  // parameter
  std::optional<EpilogueQueue> epilogue_;
};

}  // namespace

std::optional<Type> MatrixTypeOf(DType dtype) {
  const auto type = TypeOf(dtype);
  if (!type || dtype == DType::kBool || *type == kI32 || *type == kU32) return std::nullopt;
  return type;
}

GemmBlocks ChooseBlocks(const Preset& preset, Type type, int64_t m, int64_t n, int64_t k) {
  const int64_t item = SizeOf(type), k0 = FractalK(type);
  GemmBlocks b;
  // Two accumulators of half_m x n.
  b.l1_n = std::min<int64_t>(256, RoundUp(n, 16));
  // Bytes of a transposed operand are staged so that the second half begins on a 32-byte boundary.
  b.half_m = std::min<int64_t>(128, RoundUp(m, m > 16 ? 32 : 16));
  while (2 * b.half_m * b.l1_n * 4 > preset.bytes[kL0C]) {
    int64_t& larger = b.l1_n > b.half_m ? b.l1_n : b.half_m;
    if (larger <= 16) break;  // Prepare will say that they do not fit
    larger = larger > 32 ? RoundUp(larger / 2, 32) : 16;
  }
  b.l1_m = b.half_m >= 32 ? 2 * b.half_m : b.half_m;
  b.l0_k = std::min<int64_t>(64, RoundUp(k, k0));
  while (b.l0_k > k0 && (2 * b.l0_k * b.l1_n * item > preset.bytes[kL0B] ||
                         2 * b.l0_k * b.half_m * item > preset.bytes[kL0A]))
    b.l0_k = std::max(k0, b.l0_k / 2 / k0 * k0);
  b.l1_k = b.l0_k;
  const auto staged = [&](int64_t depth) { return 2 * depth * (b.l1_m + b.l1_n) * item; };
  while (b.l1_k < 256 && b.l1_k < k && staged(2 * b.l1_k) <= preset.bytes[kL1]) b.l1_k *= 2;
  return b;
}

StatusOr<Program> EmitGemm(const GemmArgs& args,
                           absl::Span<const std::array<int64_t, 3>> batch_offsets,
                           const Preset& preset, const GemmBlocks& blocks,
                           const EmitOptions& options, const Epilogue* epilogue) {
  const auto type = MatrixTypeOf(args.dtype);
  if (!type)
    return NotImplementedError("[npu] matmul of ", ShortName(args.dtype),
                               ": the matrix unit has f32, f16, bf16, i8 and u8.");
  if (args.m < 1 || args.n < 1 || args.k < 1)
    return NotImplementedError("[npu] matmul: an empty product, m ", args.m, " n ", args.n, " k ",
                               args.k, ".");
  if (args.k > kMaxChunk)
    return NotImplementedError("[npu] matmul: k = ", args.k, " is not in [1, ", kMaxChunk, "].");
  Program program;
  const auto emit = [&](GemmEmission* emission) -> Status {
    FZ_RETURN_IF_ERROR(emission->Prepare());
    if (!options.op.empty()) emission->stream().MarkSource(options.op, options.file, options.line);
    FZ_RETURN_IF_ERROR(emission->Run(batch_offsets));
    FZ_ASSIGN_OR_RETURN(program,
                        emission->stream().Finish(StrCat("matmul_", ShortName(args.dtype))));
    return absl::OkStatus();
  };
  if (!epilogue) {
    GemmEmission emission(args, *type, preset, blocks);
    emission.StoreProduct();
    FZ_RETURN_IF_ERROR(emit(&emission));
  } else {
    FZ_ASSIGN_OR_RETURN(const kir::Kernel whole, kir::Legalize(*epilogue->kernel, NpuLegalCaps()));
    const kir::Kernel legal = kir::RemoveDead(whole);
    const SpacePlan plan(legal, epilogue->shape);
    FZ_ASSIGN_OR_RETURN(const BodyInfo info, Analyse(legal, plan));
    FZ_ASSIGN_OR_RETURN(const bool apart, LiesApart(legal, plan, info));
    if (apart || legal.has_loop || legal.rank != 2 || batch_offsets.size() != 1)
      return NotImplementedError("[npu] matmul: kernel ", legal.name, " cannot follow it.");
    Status status;
    for (const Slicing& slicing : kSlicings) {
      GemmEmission emission(args, *type, preset, blocks);
      emission.Follow(legal, plan, info, epilogue->product, slicing);
      status = emit(&emission);
      if (status.ok()) break;
    }
    FZ_RETURN_IF_ERROR(status);
    program.name += StrCat("_", legal.name);
  }
  program.meta.kernel_class = "GEMM";
  program.meta.shape = StrCat("M", args.m, " N", args.n, " K", args.k);
  program.meta.tile = StrCat("L1 ", blocks.l1_m, "x", blocks.l1_n, "x", blocks.l1_k, " L0 ",
                             blocks.half_m, "x", blocks.l1_n, "x", blocks.l0_k);
  program.meta.macs =
      uint64_t(args.m) * uint64_t(args.n) * uint64_t(args.k) * uint64_t(batch_offsets.size());
  return program;
}

}  // namespace frazil::npu
