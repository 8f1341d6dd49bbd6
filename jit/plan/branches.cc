#include "jit/plan/branches.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/cost.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "core/threads/mutex.h"
#include "core/threads/parallel.h"

namespace frazil::jit {
namespace {

constexpr int32_t kMostThreads = 64;

// What a step takes on one thread, and how well threads share it.
struct Estimate {
  double serial = 0;
  double sharing = 0;  // of each thread's time, the useful part; 0: it stays on one thread

  double On(int threads) const {
    return sharing == 0 ? serial
                        : std::min(serial, serial / (threads * sharing) + double(cost::kWake));
  }
};

std::optional<Estimate> EstimateOf(const Graph& graph, const PendingStep& step) {
  if (!(step.device == Device())) return std::nullopt;
  if (const Launch* kernel = step.kernel()) {
    const double work = double(kernel->work);
    return Estimate{work, work < double(cost::kWorthSharing) ? 0 : cost::kShared};
  }
  if (!step.call()) return std::nullopt;
  const double work = double(step.call()->work());
  switch (Info(graph.nodes[step.node].op).klass) {
    case OpClass::kMatmul:
      return Estimate{work, work < tuned::kSmallProduct   ? 0
                            : work < tuned::kLargeProduct ? 0.8
                                                          : 0.96};
    case OpClass::kPut:
    case OpClass::kTake:
      return Estimate{work, 0};
    default:
      return std::nullopt;  // transfers wait for other devices
  }
}

// The steps of a window as parts that share no memory that one of them writes.
class Window {
 public:
  void Start(int32_t begin) {
    begin_ = begin;
    part_.clear();
    serial_.clear();
    now_ = 0;
  }

  // The next step, and those that it waits for.
  void Add(const Estimate& estimate, absl::Span<const int32_t> before, int threads) {
    const auto own = static_cast<int32_t>(part_.size());
    part_.push_back(own);
    serial_.push_back(estimate.serial);
    now_ += estimate.On(threads);
    for (const int32_t other : before) {
      if (other >= begin_) part_[Find(own)] = Find(other - begin_);
    }
  }

  // Nanoseconds of the steps one after another, on the threads of Add.
  double now() const { return now_; }

  // Nanoseconds of the parts side by side: each goes to the thread that is free first, the longest
  // part first. Nothing if there is one part only.
  std::optional<double> SideBySide(int threads) {
    std::vector<double> parts = PartTimes();
    if (parts.size() < 2) return std::nullopt;
    std::vector<double> load(std::min<size_t>(threads, parts.size()), 0);
    for (const double time : parts) *std::min_element(load.begin(), load.end()) += time;
    return *std::max_element(load.begin(), load.end()) / cost::kShared + double(cost::kWake);
  }

  std::vector<std::vector<int32_t>> Branches() {
    std::vector<std::vector<int32_t>> branches(part_.size());
    std::vector<double> time(part_.size(), 0);
    for (int32_t i = 0; i < int32_t(part_.size()); ++i) {
      branches[Find(i)].push_back(begin_ + i);
      time[Find(i)] += serial_[i];
    }
    std::vector<int32_t> order(part_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return time[a] > time[b]; });
    std::vector<std::vector<int32_t>> sorted;
    for (const int32_t part : order) {
      if (!branches[part].empty()) sorted.push_back(std::move(branches[part]));
    }
    return sorted;
  }

 private:
  int32_t Find(int32_t i) {
    while (part_[i] != i) i = part_[i] = part_[part_[i]];
    return i;
  }

  std::vector<double> PartTimes() {
    std::vector<double> time(part_.size(), 0);
    for (int32_t i = 0; i < int32_t(part_.size()); ++i) time[Find(i)] += serial_[i];
    std::erase(time, 0.0);
    std::sort(time.begin(), time.end(), std::greater<>());
    return time;
  }

  int32_t begin_ = 0;
  std::vector<int32_t> part_;
  std::vector<double> serial_;
  double now_ = 0;
};

class SideBySide final : public StepGroup {
 public:
  SideBySide(const Branched& found, Steps all)
      : StepGroup(std::move(all)), threads_(found.threads) {
    for (const auto& branch : found.branches) {
      branches_.emplace_back();
      for (const int32_t step : branch) branches_.back().push_back(step - found.begin);
    }
  }

  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override {
    const int threads = NumThreads();
    if (threads == 1 || threads > threads_) {
      for (const auto& step : steps()) {
        if (Abandoned()) return absl::OkStatus();  // as the caller finds out
        FZ_RETURN_IF_ERROR(step->Run(slots, inputs));
      }
      return absl::OkStatus();
    }
    Mutex mutex;
    Status failure;
    ParallelFor(int64_t(branches_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        for (const int32_t step : branches_[b]) {
          if (Abandoned()) return;
          Status status = steps()[step]->Run(slots, inputs);
          if (status.ok()) continue;
          const MutexLock lock(&mutex);
          if (failure.ok()) failure = std::move(status);
          return;
        }
      }
    });
    return failure;
  }

  std::string text() const override { return StrCat("side by side ", StepGroup::text()); }

 private:
  std::vector<std::vector<int32_t>> branches_;
  int32_t threads_;
};

}  // namespace

std::vector<Branched> FindBranches(const Graph& graph, absl::Span<const PendingStep> pending,
                                   bool always) {
  std::vector<std::optional<Estimate>> estimates;
  double total = 0;
  for (const PendingStep& step : pending) {
    estimates.push_back(EstimateOf(graph, step));
    if (estimates.back()) total += estimates.back()->serial;
  }
  std::vector<Branched> found;
  if (pending.size() < 2 || (total < 2 * tuned::kBranchSaves && !always)) return found;
  const int threads = std::max(2, NumThreads());
  Touched touched;
  std::vector<std::vector<int32_t>> before;  // of each step: those that it waits for
  for (const PendingStep& step : pending) {
    before.push_back(touched.Before(step.touches));
    touched.Add(static_cast<int32_t>(before.size()) - 1, step.touches);
  }
  Window window;
  const auto look = [&](int32_t begin, int32_t end, int on) {
    window.Start(begin);
    for (int32_t i = begin; i < end; ++i) window.Add(*estimates[i], before[i], on);
  };
  const auto count = static_cast<int32_t>(pending.size());
  for (int32_t begin = 0; begin < count;) {
    int32_t best_end = begin;
    double best = 0;
    window.Start(begin);
    bool calls = false;  // small kernels alone are a list (jit/run/list_step.h)
    for (int32_t end = begin; end < std::min(count, begin + tuned::kBranchWindow) && estimates[end];
         ++end) {
      window.Add(*estimates[end], before[end], threads);
      calls |= pending[end].call() != nullptr;
      const std::optional<double> side_by_side = window.SideBySide(threads);
      if (!side_by_side || (!calls && !always)) continue;
      const double saved = window.now() - *side_by_side;
      if (always) best_end = end + 1;
      if (saved < std::max({best, tuned::kBranchSaves, tuned::kBranchGain * window.now()}))
        continue;
      best = saved;
      best_end = end + 1;
    }
    if (best_end == begin) {
      ++begin;
      continue;
    }
    // The same steps on more threads, to see where each step by itself is faster again.
    int pays = threads;
    for (int more = threads + 1; more <= kMostThreads; ++more) {
      look(begin, best_end, more);
      if (!always && window.now() - *window.SideBySide(more) < tuned::kBranchSaves) break;
      pays = more;
    }
    look(begin, best_end, threads);
    found.push_back({begin, best_end, window.Branches(), pays});
    begin = best_end;
  }
  return found;
}

std::unique_ptr<Step> MakeBranches(const Branched& found, Steps steps) {
  return std::make_unique<SideBySide>(found, std::move(steps));
}

}  // namespace frazil::jit
