#include "tests/cuda/fake/work.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>

namespace fake {
namespace {

double Milliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Work::Work() {
  const char* text = std::getenv("FAKE_CUDA_ORDER");
  const std::string order = text == nullptr ? "lazy" : text;
  const size_t colon = order.find(':');
  const std::string name = order.substr(0, colon);
  if (colon != std::string::npos)
    random_.seed(std::strtoull(order.c_str() + colon + 1, nullptr, 10));
  if (name == "eager") {
    order_ = Order::kEager;
  } else if (name == "random") {
    order_ = Order::kRandom;
  } else if (name != "lazy") {
    std::fprintf(stderr, "fake cuda: FAKE_CUDA_ORDER is lazy, eager or random:SEED, not %s\n",
                 text);
    std::abort();
  }
}

OpRef Work::Add(std::vector<OpRef> needs, std::function<void()> run) {
  auto op = std::make_shared<Op>();
  op->id = next_++;
  for (OpRef& need : needs) {
    if (need != nullptr && !need->done) op->needs.push_back(std::move(need));
  }
  op->run = std::move(run);
  pending_[op->id] = op;
  if (order_ == Order::kEager) Finish(op);
  if (order_ == Order::kRandom) {
    for (uint64_t steps = random_() % 4; steps > 0 && !pending_.empty(); --steps) {
      auto it = pending_.begin();
      std::advance(it, random_() % pending_.size());
      Advance(OpRef(it->second));
    }
  }
  while (pending_.size() > kMostPending) Finish(OpRef(pending_.begin()->second));
  return op;
}

void Work::RunSome(const OpRef& op, size_t most) {
  struct Entry {
    size_t waits = 0;
    std::vector<OpRef> dependents;
  };
  std::unordered_map<const Op*, Entry> entries;
  std::vector<OpRef> ready, open = {op};
  entries[op.get()];
  while (!open.empty()) {
    const OpRef next = std::move(open.back());
    open.pop_back();
    size_t waits = 0;
    for (const OpRef& need : next->needs) {
      if (need->done) continue;
      ++waits;
      const auto [it, fresh] = entries.try_emplace(need.get());
      it->second.dependents.push_back(next);
      if (fresh) open.push_back(need);
    }
    entries[next.get()].waits = waits;
    if (waits == 0) ready.push_back(next);
  }
  for (; most > 0 && !ready.empty(); --most) {
    std::swap(ready[random_() % ready.size()], ready.back());
    const OpRef next = std::move(ready.back());
    ready.pop_back();
    Run(next.get());
    for (const OpRef& dependent : entries[next.get()].dependents) {
      if (--entries[dependent.get()].waits == 0) ready.push_back(dependent);
    }
  }
}

void Work::Finish(const OpRef& op) {
  if (!op->done) RunSome(op, SIZE_MAX);
}

void Work::Advance(const OpRef& op) {
  if (!op->done) RunSome(op, 1);
}

void Work::FinishAll() {
  while (!pending_.empty()) {
    auto it = pending_.begin();
    std::advance(it, random_() % pending_.size());
    Finish(OpRef(it->second));
  }
}

void Work::Run(Op* op) {
  if (op->run) op->run();
  op->done = true;
  op->time = Milliseconds();
  op->needs.clear();
  op->run = nullptr;
  pending_.erase(op->id);
}

}  // namespace fake
