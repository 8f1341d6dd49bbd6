#include "tests/npu/random_issues.h"

#include <map>

namespace frazil::npu {
namespace {

// Knows what each queue has seen of the others, and so which flags may be set.
class Writer {
 public:
  explicit Writer(std::mt19937_64* rng) : rng_(*rng) {}

  RandomStream Write(int length) {
    for (int i = 0; i < length; ++i) {
      switch (Below(8)) {
        case 0:
        case 1:
          TrySet();
          break;
        case 2:
          WaitOne();
          break;
        case 3:
          Scalar();
          break;
        default:
          Work();
      }
    }
    while (!set_.empty()) WaitOne();
    Add(Op::kHALT, kS, {});
    return std::move(out_);
  }

 private:
  using Clock = std::array<int64_t, kNumQueues>;
  using Key = std::array<int, 3>;

  int64_t Below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(rng_); }
  int64_t Between(int64_t a, int64_t b) { return a + Below(b - a + 1); }
  static void Join(Clock* a, const Clock& b) {
    for (int q = 0; q < kNumQueues; ++q) (*a)[q] = std::max((*a)[q], b[q]);
  }

  void Add(Op op, Queue q, std::initializer_list<uint64_t> v, int fn = 0, Type type = kF32) {
    Issue issue;
    issue.pc = uint32_t(out_.issues.size());
    issue.op = op;
    issue.queue = q;
    issue.fn = uint8_t(fn);
    issue.dt = type;
    std::copy(v.begin(), v.end(), issue.v.begin());
    out_.issues.push_back(issue);
    out_.taken.push_back(op == Op::kSBR && Below(2) == 1);
    if (q != kS) Join(&seen_[q], seen_[kS]);
    ++seen_[q][q];
  }

  // A flag may be set again when its setter has seen the last wait.
  void TrySet() {
    const Key key{int(Below(kNumQueues)), int(Below(kNumQueues)), int(Below(3))};
    const auto& [a, b, id] = key;
    if (a == b || set_.count(key)) return;
    const auto waited = waited_.find(key);
    Clock seen = seen_[a];
    Join(&seen, seen_[kS]);
    if (waited != waited_.end() && seen[b] < waited->second) return;
    Add(Op::kSET, Queue(a), {uint64_t(a), uint64_t(b), uint64_t(id)});
    set_[key] = seen_[a];
  }

  void WaitOne() {
    if (set_.empty()) return;
    auto it = set_.begin();
    std::advance(it, Below(int64_t(set_.size())));
    const auto [key, clock] = *it;
    const auto& [a, b, id] = key;
    set_.erase(it);
    Add(Op::kWAIT, Queue(b), {uint64_t(a), uint64_t(b), uint64_t(id)});
    Join(&seen_[b], clock);
    waited_[key] = seen_[b][b];
  }

  void Scalar() {
    switch (Below(12)) {
      case 0:
        return Add(Op::kBAR, kS, {kAllQueues});
      case 1: {
        const int q = int(Between(kLD, kST));
        return Add(Op::kBAR, Queue(q), {uint64_t(q)});
      }
      case 2:
        return Add(Op::kSLD, kS, {1, Address(kUB, 0)});
      case 3:
        return Add(Op::kSBR, kS, {0, 0, 1}, kBrEq);
      default: {
        constexpr int kFns[] = {kAluAdd, kAluMul, kAluDivu};
        return Add(Op::kSALU, kS, {1, 2, 3}, kFns[Below(3)]);
      }
    }
  }

  // A few places, so that instructions meet.
  uint64_t Place(Space space, int64_t step) { return Address(space, uint64_t(Below(4) * step)); }
  uint64_t Gm(bool write) {
    const uint64_t base = kGmBase + (write ? 1 << 20 : 0);
    return base + uint64_t(Below(6) * 512 + (Below(3) == 0 ? 64 : 0));
  }

  void Work() {
    const Type type = Type(Below(4));
    const uint64_t rows = uint64_t(Between(1, 5)), width = uint64_t(Between(1, 40) * 8);
    const uint64_t ld = Below(2) ? 512 : 0, from_ld = ld ? ld : width;
    const uint64_t m = uint64_t(Between(1, 50)), k = uint64_t(Between(1, 50)),
                   n = uint64_t(Between(1, 50));
    switch (Below(10)) {
      case 0:
      case 1:
        return Add(Op::kLD, kLD,
                   {Place(Below(2) ? kUB : kL1, 1024), Gm(false), rows, width, ld,
                    uint64_t(Below(4) * 256), 0});
      case 2:
        return Add(Op::kST, kST,
                   {Gm(true), Place(kUB, 1024), rows, width, uint64_t(Below(3) * 512), from_ld});
      case 3:
        return Add(Op::kCPL, kST, {Place(kL1, 1024), Place(kUB, 1024), rows, width, ld, from_ld});
      case 4:
        return Below(2)
                   ? Add(Op::kXU, kXP,
                         {Place(kUB, 1024), Place(kL1, 1024), rows, width, ld, from_ld})
                   : Add(Op::kXA, kXP, {Place(kL0A, 2048), Place(kL1, 1024), m, k, 512}, 0, type);
      case 5:
        return Add(Op::kXB, kXP, {Place(kL0B, 2048), Place(kL1, 1024), k, n, 512}, 0, type);
      case 6:
        return Add(Op::kMMUL, kMM,
                   {Place(kL0C, 4096), Place(kL0A, 2048), Place(kL0B, 2048), m, k, n},
                   Below(2) ? kMatrixAcc : 0, type);
      case 7:
        return Add(Op::kDR, kDR,
                   {Below(2) ? Gm(true) : Place(kUB, 1024), Place(kL0C, 4096), m, n * 2, 0, 0}, 0,
                   Below(2) ? kF32 : kF16);
      default:
        return Vector(rows, width / 4, ld, from_ld);
    }
  }

  void Vector(uint64_t rows, uint64_t cols, uint64_t ld, uint64_t from_ld) {
    const uint64_t to = Place(kUB, 1024), from = Place(kUB, 1024);
    switch (Below(4)) {
      case 0:
        return Add(Op::kVUN, kVE, {to, from, rows, cols, ld, from_ld}, Below(2) ? kUnExp : kUnAbs);
      case 1:
        return Add(Op::kVRED, kVE, {to, from, 1, cols, 0, from_ld, 0}, kRedSum);
      default:
        return Add(Op::kVBINS, kVE, {to, from, 0, rows, cols, ld, from_ld},
                   Below(2) ? kBinAdd : kBinMul);
    }
  }

  std::mt19937_64& rng_;
  RandomStream out_;
  std::array<Clock, kNumQueues> seen_{};
  std::map<Key, Clock> set_;
  std::map<Key, int64_t> waited_;
};

}  // namespace

RandomStream MakeRandomStream(std::mt19937_64* rng, int length) {
  return Writer(rng).Write(length);
}

Preset MakeRandomPreset(std::mt19937_64* rng) {
  const auto between = [rng](int a, int b) {
    return std::uniform_int_distribution<int>(a, b)(*rng);
  };
  Preset p = *FindPreset(PresetNames()[size_t(between(0, 2))]);
  p.queue_depth = between(1, 16);
  p.gm_latency = between(0, 500);
  p.gm_write_latency = between(0, 1) * between(0, 300);
  p.dma_setup = between(0, 80);
  p.matrix_head = between(0, 20);
  p.gm_read = between(2, 200) / 4.0;
  p.gm_write = between(2, 200) / 4.0;
  p.l2_bytes = between(0, 2) * 512 * between(1, 8);
  for (VectorCost& cost : p.vector) cost = {between(0, 20), between(1, 8), between(0, 40)};
  return p;
}

}  // namespace frazil::npu
