// What a fake GPU has to do: operations with what each must wait for. Used by streams, events and
// graphs of the fake driver. Invariant: an operation runs after everything it needs and, in lazy
// order, only when something waits for it; among those that may run the choice is random.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace fake {

struct Op;
using OpRef = std::shared_ptr<Op>;

struct Op {
  uint64_t id = 0;
  std::vector<OpRef> needs;
  std::function<void()> run;  // null for a mere point in a stream
  bool done = false;
  double time = 0;  // milliseconds, when it was done
};

class Work {
 public:
  // FAKE_CUDA_ORDER: lazy (default), lazy:SEED, eager, random:SEED.
  Work();

  OpRef Add(std::vector<OpRef> needs, std::function<void()> run);
  // Runs what `op` needs and `op`.
  void Finish(const OpRef& op);
  // Runs one operation on the way to `op`, so that a program that asks again and again comes to an
  // end.
  void Advance(const OpRef& op);
  void FinishAll();
  size_t pending() const { return pending_.size(); }

  std::mt19937_64& random() { return random_; }

 private:
  enum class Order { kLazy, kEager, kRandom };
  // More than a device takes: the host waits for the oldest.
  static constexpr size_t kMostPending = 4096;

  // Runs `op` and what it needs, at most `most` of them.
  void RunSome(const OpRef& op, size_t most);
  void Run(Op* op);

  Order order_ = Order::kLazy;
  std::mt19937_64 random_{1};
  uint64_t next_ = 0;
  std::map<uint64_t, OpRef> pending_;
};

}  // namespace fake
