#include "npu/schedule.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace frazil::npu {
namespace {

bool IsFlag(const Issue& issue) { return issue.op == Op::kSET || issue.op == Op::kWAIT; }
bool Drains(const Issue& issue) {
  return issue.op == Op::kHALT || (issue.op == Op::kBAR && issue.queue == kS);
}
// What later instructions of all queues wait for, or what sets a flag.
bool Blocks(const Issue& issue) { return issue.queue == kS && (IsFlag(issue) || Drains(issue)); }
bool TouchesMemory(const Issue& issue) {
  return issue.queue != kS && Info(issue.op).cost != CostClass::kFlag;
}

uint64_t NextRandom(uint64_t* state) {  // splitmix64
  uint64_t z = *state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Queues of unlimited depth, advanced one instruction at a time.
class Player {
 public:
  explicit Player(absl::Span<const Issue> issues) : issues_(issues) {
    for (size_t i = 0; i < issues.size(); ++i) {
      const Issue& issue = issues[i];
      if (issue.queue != kS || Blocks(issue)) queues_[issue.queue].push_back(uint32_t(i));
    }
  }

  // False: that queue cannot go on.
  bool Step(int queue, std::vector<uint32_t>* order) {
    const uint32_t head = HeadOf(queue);
    if (head == kNone || !CanRun(queue, head)) return false;
    const Issue& issue = issues_[head];
    if (IsFlag(issue)) FlagOf(issue) += issue.op == Op::kSET ? 1 : -1;
    if (TouchesMemory(issue)) order->push_back(head);
    ++next_[size_t(queue)];
    return true;
  }
  bool Done() const {
    for (int q = 0; q < kNumQueues; ++q) {
      if (HeadOf(q) != kNone) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t HeadOf(int queue) const {
    const auto& q = queues_[size_t(queue)];
    const size_t next = next_[size_t(queue)];
    return next < q.size() ? q[next] : kNone;
  }
  int& FlagOf(const Issue& issue) {
    return flags_[size_t((issue.v[0] * kNumQueues + issue.v[1]) * kFlagsPerPair + issue.v[2])];
  }
  bool CanRun(int queue, uint32_t head) {
    const Issue& issue = issues_[head];
    if (issue.op == Op::kWAIT && FlagOf(issue) == 0) return false;
    if (queue != kS) return head < HeadOf(kS);  // else it is not dispatched yet
    if (!Drains(issue)) return true;
    for (int q = kLD; q < kNumQueues; ++q) {
      if (HeadOf(q) < head) return false;
    }
    return true;
  }

  absl::Span<const Issue> issues_;
  std::array<std::vector<uint32_t>, kNumQueues> queues_;
  std::array<size_t, kNumQueues> next_{};
  std::array<int, kNumQueues * kNumQueues * kFlagsPerPair> flags_{};
};

// Always the first queue of `priority` that can go on.
std::optional<std::vector<uint32_t>> ByPriority(absl::Span<const Issue> issues,
                                                const std::array<int, kNumQueues>& priority) {
  Player player(issues);
  std::vector<uint32_t> order;
  while (std::any_of(priority.begin(), priority.end(),
                     [&](int q) { return player.Step(q, &order); })) {
  }
  return player.Done() ? std::optional(std::move(order)) : std::nullopt;
}

std::optional<std::vector<uint32_t>> AtRandom(absl::Span<const Issue> issues, uint64_t seed) {
  Player player(issues);
  std::vector<uint32_t> order;
  std::array<int, kNumQueues> queues{kS, kLD, kXP, kMM, kVE, kDR, kST};
  for (bool moved = true; moved;) {
    for (size_t i = queues.size() - 1; i > 0; --i)
      std::swap(queues[i], queues[NextRandom(&seed) % (i + 1)]);
    moved =
        std::any_of(queues.begin(), queues.end(), [&](int q) { return player.Step(q, &order); });
  }
  return player.Done() ? std::optional(std::move(order)) : std::nullopt;
}

std::optional<std::vector<uint32_t>> ByCompletion(absl::Span<const Issue> issues,
                                                  const Preset& preset) {
  CycleOptions options;
  options.record = true;
  const std::unique_ptr<CycleModel> model = MakeCycleModel(preset, options);
  Fault fault;
  for (const Issue& issue : issues) {
    if (!model->On(issue, false, &fault)) return std::nullopt;
  }
  const std::vector<Timed> events = model->Finish().events;
  FZ_CHECK(events.size() == issues.size());
  // Completion is in order within a queue.
  std::array<int64_t, kNumQueues> last{};
  std::vector<int64_t> done(issues.size());
  std::vector<uint32_t> order;
  for (size_t i = 0; i < issues.size(); ++i) {
    int64_t& queue = last[issues[i].queue];
    queue = std::max(queue, events[i].done);
    done[i] = queue;
    if (TouchesMemory(issues[i])) order.push_back(uint32_t(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return done[a] < done[b]; });
  return order;
}

}  // namespace

std::optional<std::vector<uint32_t>> OrderOf(absl::Span<const Issue> issues, Schedule schedule,
                                             uint64_t seed, const Preset& preset) {
  switch (schedule) {
    case Schedule::kTiming:
      return ByCompletion(issues, preset);
    case Schedule::kEager:
      return ByPriority(issues, {kS, kLD, kXP, kMM, kDR, kVE, kST});
    case Schedule::kLazy:
      return ByPriority(issues, {kST, kVE, kDR, kMM, kXP, kLD, kS});
    case Schedule::kRandom:
      return AtRandom(issues, seed);
    case Schedule::kProgram:
      break;
  }
  std::vector<uint32_t> order;
  for (size_t i = 0; i < issues.size(); ++i) {
    if (TouchesMemory(issues[i])) order.push_back(uint32_t(i));
  }
  return order;
}

}  // namespace frazil::npu
