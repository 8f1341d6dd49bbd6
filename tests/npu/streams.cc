#include "tests/npu/streams.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>

namespace frazil::npu {
namespace {

constexpr uint64_t kX = kGmBase, kY = kGmBase + (uint64_t{1} << 32),
                   kZ = kGmBase + (uint64_t{2} << 32);

uint64_t At(Space space, int64_t offset) { return Address(space, uint64_t(offset)); }

}  // namespace

void Stream::Add(Op op, Queue queue, std::initializer_list<uint64_t> v, int fn, Type type) {
  Issue issue;
  for (int i = 0; queue != kS && Info(op).cost != CostClass::kFlag && i < scalars_; ++i) {
    issue.op = Op::kSALU;
    issue.pc = uint32_t(issues_.size());
    issues_.push_back(issue);
  }
  issue.pc = uint32_t(issues_.size());
  issue.op = op;
  issue.queue = queue;
  issue.fn = uint8_t(fn);
  issue.dt = type;
  std::copy(v.begin(), v.end(), issue.v.begin());
  issues_.push_back(issue);
}

void Stream::Sync(Op op, Queue queue, Queue from, Queue to, int id) {
  Add(op, queue, {from, to, uint64_t(id)});
}

Timing RunStream(const std::vector<Issue>& issues, const Preset& preset,
                 const CycleOptions& options) {
  const std::unique_ptr<CycleModel> model = MakeCycleModel(preset, options);
  Fault fault;
  for (const Issue& issue : issues) {
    if (model->On(issue, false, &fault)) continue;
    std::fprintf(stderr, "%u %s: %s\n", issue.pc, std::string(Info(issue.op).name).c_str(),
                 fault.detail.c_str());
    std::abort();
  }
  return model->Finish();
}

std::vector<std::pair<uint64_t, int64_t>> GemmWindows(const GemmStream& g) {
  const int es = SizeOf(g.type);
  return {{kX, g.m * g.k * es}, {kY, g.k * g.n * es}, {kZ, g.m * g.n * es}};
}

namespace {

// Flags of the matmul: per buffer one "full" from producer to consumer and one "free" back.
class GemmWriter {
 public:
  explicit GemmWriter(const GemmStream& g)
      : g_(g), s_(g.scalars), es_(SizeOf(g.type)), halves_(int(g.tm / g.l0m)) {}

  std::vector<Issue> Write() {
    const int64_t chunks = g_.k / g_.tk;
    const int64_t steps = (g_.m / g_.tm) * (g_.n / g_.tn) * chunks;
    Credits(&Stream::Set);
    if (g_.load_ahead) Load(0);
    for (int64_t j = 0; j < steps; ++j) {
      if (g_.load_ahead && j + 1 < steps) Load(j + 1);
      if (!g_.load_ahead) Load(j);
      Compute(j, j % chunks == 0, j % chunks == chunks - 1);
    }
    while (!later_.empty()) Later();
    Credits(&Stream::Wait);
    s_.Halt();
    return s_.issues();
  }

 private:
  // All buffers are free at the start, and again at the end.
  void Credits(void (Stream::*op)(Queue, Queue, int)) {
    for (int b = 0; b < g_.buffers; ++b) {
      (s_.*op)(kXP, kLD, b);
      (s_.*op)(kMM, kXP, b);
      (s_.*op)(kST, kDR, b);
    }
    for (int h = 0; h < halves_; ++h) (s_.*op)(kDR, kMM, h);
  }

  void Load(int64_t j) {
    const int64_t chunks = g_.k / g_.tk, across = g_.n / g_.tn;
    const int64_t tile = j / chunks, k = j % chunks * g_.tk;
    const int64_t m = tile / across * g_.tm, n = tile % across * g_.tn;
    const int b = int(j % g_.buffers);
    s_.Wait(kXP, kLD, b);
    s_.Add(Op::kLD, kLD,
           {At(kL1, L1A(b)), kX + uint64_t((m * g_.k + k) * es_), uint64_t(g_.tm),
            uint64_t(g_.tk * es_), 0, uint64_t(g_.k * es_), 0});
    s_.Add(Op::kLD, kLD,
           {At(kL1, L1B(b)), kY + uint64_t((k * g_.n + n) * es_), uint64_t(g_.tk),
            uint64_t(g_.tn * es_), 0, uint64_t(g_.n * es_), 0});
    s_.Set(kLD, kXP, b);
  }

  // The halves take turns step by step, so that no accumulation waits for the one before; in the
  // last chunk one half follows the other: the first leaves while the second is computed. So they
  // do in the first chunk if parts of the tile before are still to be written in between.
  void Compute(int64_t j, bool first, bool last) {
    const int b = int(j % g_.buffers);
    const int64_t steps = g_.tk / g_.l0k;
    s_.Wait(kLD, kXP, b);
    const bool in_turn = !last && !(first && g_.interleave) && g_.shared_b;
    for (int64_t i = 0; i < steps * halves_; ++i) {
      const int64_t step = in_turn ? i / halves_ : i % steps;
      const int half = int(in_turn ? i % halves_ : i / steps);
      const bool new_b = !in_turn || half == 0;
      Step(b, half, step, new_b, first && step == 0);
      if (i + 1 == steps * halves_) s_.Set(kXP, kLD, b);
      if (last && step == steps - 1) Drain(j / (g_.k / g_.tk), half);
      if (!later_.empty()) Later();
    }
  }

  void Step(int b, int half, int64_t step, bool new_b, bool fresh) {
    while (fresh && Waits(half)) Later();
    const int a0 = int(step_a_++ % g_.buffers);
    if (new_b) ++step_b_;
    const int b0 = int(step_b_ % g_.buffers);
    s_.Wait(kMM, kXP, a0);
    s_.Add(
        Op::kXA, kXP,
        {At(kL0A, a0 * L0ABytes()), At(kL1, L1A(b) + (half * g_.l0m * g_.tk + step * g_.l0k) * es_),
         uint64_t(g_.l0m), uint64_t(g_.l0k), uint64_t(g_.tk * es_)},
        0, g_.type);
    if (new_b) {
      s_.Add(Op::kXB, kXP,
             {At(kL0B, b0 * L0BBytes()), At(kL1, L1B(b) + step * g_.l0k * g_.tn * es_),
              uint64_t(g_.l0k), uint64_t(g_.tn), uint64_t(g_.tn * es_)},
             0, g_.type);
    }
    s_.Set(kXP, kMM, a0);
    s_.Wait(kXP, kMM, a0);
    if (fresh) s_.Wait(kDR, kMM, half);
    s_.Add(Op::kMMUL, kMM,
           {At(kL0C, half * g_.l0m * g_.tn * 4), At(kL0A, a0 * L0ABytes()),
            At(kL0B, b0 * L0BBytes()), uint64_t(g_.l0m), uint64_t(g_.l0k), uint64_t(g_.tn)},
           fresh ? 0 : kMatrixAcc, g_.type);
    s_.Set(kMM, kXP, a0);
  }

  // A half goes to UB and out in parts of 32 rows.
  void Drain(int64_t tile, int half) {
    constexpr int64_t kRows = 32;
    s_.Set(kMM, kDR, half);
    for (int64_t r = 0; r < g_.l0m; r += kRows) {
      const bool begin = r == 0, end = r + kRows >= g_.l0m;
      const int64_t row = half * g_.l0m + r;
      later_.push_back({half, [=, this] {
                          if (begin) s_.Wait(kMM, kDR, half);
                          Part(tile, half, row, kRows);
                          if (end) s_.Set(kDR, kMM, half);
                        }});
    }
    while (!g_.interleave && !later_.empty()) Later();
  }

  void Part(int64_t tile, int half, int64_t row, int64_t rows) {
    const Type out = g_.type == kI8 ? kF16 : g_.type;
    const int64_t es = SizeOf(out), across = g_.n / g_.tn, bytes = rows * g_.tn * es;
    const int64_t m = tile / across * g_.tm + row, n = tile % across * g_.tn;
    const int b = int(part_++ % g_.buffers);
    const uint64_t ub = At(kUB, b * bytes);
    const Queue last = g_.epilogue > 0 ? kVE : kDR;
    s_.Wait(kST, kDR, b);
    const int64_t within = (row - half * g_.l0m) / 16 * 1024;
    s_.Add(
        Op::kDR, kDR,
        {ub, At(kL0C, half * g_.l0m * g_.tn * 4 + within), uint64_t(rows), uint64_t(g_.tn), 0, 0},
        0, out);
    if (g_.epilogue > 0) {
      s_.Set(kDR, kVE, b);
      s_.Wait(kDR, kVE, b);
      for (int i = 0; i < g_.epilogue; ++i)
        s_.Add(Op::kVBINS, kVE, {ub, ub, 0, 1, uint64_t(rows * g_.tn), 0, 0}, kBinAdd, out);
    }
    s_.Set(last, kST, b);
    s_.Wait(last, kST, b);
    s_.Add(Op::kST, kST,
           {kZ + uint64_t((m * g_.n + n) * es), ub, uint64_t(rows), uint64_t(g_.tn * es),
            uint64_t(g_.n * es), uint64_t(g_.tn * es)});
    s_.Set(kST, kDR, b);
  }

  // A part that is still in L0C.
  struct LaterPart {
    int half;
    std::function<void()> write;
  };
  bool Waits(int half) const {
    return std::any_of(later_.begin(), later_.end(),
                       [half](const LaterPart& p) { return p.half == half; });
  }
  void Later() {
    later_.front().write();
    later_.pop_front();
  }

  int64_t L1A(int b) const { return b * (g_.tm + g_.tn) * g_.tk * es_; }
  int64_t L1B(int b) const { return L1A(b) + g_.tm * g_.tk * es_; }
  int64_t L0ABytes() const { return g_.l0m * g_.l0k * es_; }
  int64_t L0BBytes() const { return g_.l0k * g_.tn * es_; }

  const GemmStream g_;
  Stream s_;
  const int64_t es_;
  const int halves_;
  int64_t step_a_ = 0, step_b_ = -1, part_ = 0;
  std::deque<LaterPart> later_;
};

}  // namespace

std::vector<Issue> Gemm(const GemmStream& g) { return GemmWriter(g).Write(); }

namespace {

// Load ahead, compute, store, with `buffers` of each side.
template <typename Body>
std::vector<Issue> Streaming(int64_t tiles, int64_t bytes, int buffers, int scalars,
                             const Body& body) {
  Stream s(scalars);
  const auto in = [&](int64_t i) { return At(kUB, i % buffers * bytes); };
  const auto out = [&](int64_t i) { return At(kUB, (buffers + i % buffers) * bytes); };
  const auto load = [&](int64_t i) {
    const int b = int(i % buffers);
    s.Wait(kVE, kLD, b);
    s.Add(Op::kLD, kLD, {in(i), kX + uint64_t(i * bytes), 1, uint64_t(bytes), 0, 0, 0});
    s.Set(kLD, kVE, b);
  };
  for (int b = 0; b < buffers; ++b) {
    s.Set(kVE, kLD, b);
    s.Set(kST, kVE, b);
  }
  for (int64_t i = 0; i < std::min<int64_t>(buffers - 1, tiles); ++i) load(i);
  for (int64_t i = 0; i < tiles; ++i) {
    const int b = int(i % buffers);
    if (i + buffers - 1 < tiles) load(i + buffers - 1);
    s.Wait(kLD, kVE, b);
    s.Wait(kST, kVE, b);
    body(&s, in(i), out(i), b);
    s.Set(kVE, kST, b);
    s.Wait(kVE, kST, b);
    s.Add(Op::kST, kST, {kY + uint64_t(i * bytes), out(i), 1, uint64_t(bytes), 0, 0});
    s.Set(kST, kVE, b);
  }
  for (int b = 0; b < buffers; ++b) {
    s.Wait(kVE, kLD, b);
    s.Wait(kST, kVE, b);
  }
  s.Halt();
  return s.issues();
}

}  // namespace

std::vector<Issue> Chain(const ChainStream& c) {
  const uint64_t count = uint64_t(c.tile / 4);
  return Streaming(c.bytes / c.tile, c.tile, c.buffers, c.scalars,
                   [&](Stream* s, uint64_t in, uint64_t out, int b) {
                     uint64_t x = in;
                     for (size_t i = 0; i < c.steps.size(); ++i) {
                       const ChainStream::Step step = c.steps[i];
                       if (step == ChainStream::kRelu) {
                         s->Add(Op::kVUN, kVE, {out, x, 1, count, 0, 0}, kUnRelu);
                       } else {
                         s->Add(Op::kVBINS, kVE, {out, x, 0, 1, count, 0, 0},
                                step == ChainStream::kMul ? kBinMul : kBinAdd);
                       }
                       if (i == (c.free_early ? 0 : c.steps.size() - 1)) s->Set(kVE, kLD, b);
                       x = out;
                     }
                   });
}

std::vector<Issue> Softmax(const SoftmaxStream& t) {
  const uint64_t rows = uint64_t(t.tile_rows), cols = uint64_t(t.cols), ld = cols * 4;
  const int64_t bytes = t.tile_rows * t.cols * 4;
  const uint64_t scalar = At(kUB, 2 * t.buffers * bytes);  // one element a row
  return Streaming(t.rows / t.tile_rows, bytes, t.buffers, 0,
                   [&](Stream* s, uint64_t in, uint64_t out, int b) {
                     s->Add(Op::kVRED, kVE, {scalar, in, rows, cols, 0, ld, 0}, kRedMax);
                     s->Add(Op::kVBINC, kVE, {out, in, scalar, rows, cols, 0, ld, 0}, kBinSub);
                     s->Set(kVE, kLD, b);
                     s->Add(Op::kVUN, kVE, {out, out, rows, cols, 0, ld}, kUnExp);
                     s->Add(Op::kVRED, kVE, {scalar, out, rows, cols, 0, ld, 0}, kRedSum);
                     s->Add(Op::kVUN, kVE, {scalar, scalar, 1, rows, 0, 0}, kUnRecip);
                     s->Add(Op::kVBINC, kVE, {out, out, scalar, rows, cols, 0, ld, 0}, kBinMul);
                   });
}

}  // namespace frazil::npu
