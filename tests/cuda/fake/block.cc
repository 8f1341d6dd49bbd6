#include "tests/cuda/fake/block.h"

#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda/fake/fiber.h"

namespace fake {
namespace {

enum class State { kNew, kReady, kAtBarrier, kInWarp, kDone };

struct Thread {
  State state = State::kNew;
  uint3 index;
  Fiber* fiber = nullptr;
  FzWarpOp op;
  unsigned mask, source;
  unsigned long long value, result;
};

// The grid that runs. Threads of a block start on one fiber in turn; a thread that waits keeps its
// fiber and the next one starts on another.
class Runner {
 public:
  void Set(const FzImage& image, const FzEntry& entry, const Grid& grid, void* const* params) {
    context_ = image.context;
    entry_ = &entry;
    grid_ = grid;
    params_ = params;
    shared_.assign((grid.shared_bytes + 255) / 16, Word{});
  }

  void Run();

  unsigned Barrier(bool value) {
    Thread& mine = *current_;
    mine.value = value;
    Wait(State::kAtBarrier);
    return unsigned(mine.result);
  }
  unsigned long long Warp(FzWarpOp op, unsigned mask, unsigned long long value, unsigned source) {
    Thread& mine = *current_;
    const unsigned lane = unsigned(current_ - threads_.data()) % 32;
    if (!(mask >> lane & 1))
      Abandon(GridEnd::kStuck, "a lane that its own mask does not name waits in a warp");
    mine.op = op;
    mine.mask = mask;
    mine.value = value;
    mine.source = source;
    Wait(State::kInWarp);
    return mine.result;
  }
  // What a fiber runs: threads that have not started, until there are none.
  [[noreturn]] void Work();

 private:
  struct alignas(16) Word {
    unsigned char bytes[16];
  };

  void RunBlock(bool reversed);
  void Wait(State state);
  void Resume(Fiber* fiber, Thread* thread);
  // Lets go threads whose wait is over; false if there are none.
  bool Release();
  bool ReleaseWarp(size_t first);

  FzContext* context_;
  const FzEntry* entry_;
  Grid grid_;
  void* const* params_;
  std::vector<Word> shared_;

  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Thread* current_ = nullptr;
  Fiber* fiber_ = nullptr;
  size_t started_ = 0, ended_ = 0;
  bool reversed_ = false;
};

Runner& Now() {
  static Runner runner;
  return runner;
}

void Runner::Run() {
  const uint3 n = grid_.blocks;
  const uint64_t blocks = uint64_t{n.x} * n.y * n.z;
  context_->block_dim = grid_.threads;
  context_->grid_dim = n;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t block = grid_.order & 1 ? blocks - 1 - i : i;
    context_->block = {unsigned(block % n.x), unsigned(block / n.x % n.y),
                       unsigned(block / n.x / n.y)};
    // What shared memory holds before it is written is nothing to count on.
    std::memset(shared_.data(), 0xff, shared_.size() * sizeof(Word));
    context_->dynamic_shared = shared_.data();
    RunBlock(grid_.order >> (1 + block % 2) & 1);
  }
}

void Runner::RunBlock(bool reversed) {
  const uint3 n = grid_.threads;
  threads_.assign(size_t{n.x} * n.y * n.z, Thread{});
  idle_.clear();  // also those that a fault left in the middle
  for (const auto& fiber : fibers_) idle_.push_back(fiber.get());
  started_ = ended_ = 0;
  reversed_ = reversed;
  for (;;) {
    while (started_ < threads_.size()) {
      if (idle_.empty()) idle_.push_back(fibers_.emplace_back(new Fiber).get());
      Fiber* fiber = idle_.back();
      idle_.pop_back();
      fiber->Start([] { Now().Work(); });
      Resume(fiber, nullptr);
    }
    if (ended_ == threads_.size()) return;
    if (!Release()) Abandon(GridEnd::kStuck, "threads of a block wait for each other forever");
    for (size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[reversed ? threads_.size() - 1 - i : i];
      if (thread.state == State::kReady) Resume(thread.fiber, &thread);
    }
  }
}

void Runner::Work() {
  Fiber* const mine = fiber_;
  while (started_ < threads_.size()) {
    const size_t i = reversed_ ? threads_.size() - 1 - started_ : started_;
    ++started_;
    const uint3 n = grid_.threads;
    Thread& thread = threads_[i];
    thread.index = {unsigned(i % n.x), unsigned(i / n.x % n.y), unsigned(i / n.x / n.y)};
    thread.fiber = mine;
    current_ = &thread;
    context_->thread = thread.index;
    entry_->run(params_);
    threads_[i].state = State::kDone;
    ++ended_;
  }
  idle_.push_back(mine);
  mine->Suspend();
  __builtin_unreachable();
}

void Runner::Resume(Fiber* fiber, Thread* thread) {
  fiber_ = fiber;
  current_ = thread;
  if (thread != nullptr) context_->thread = thread->index;
  fiber->Resume();
}

void Runner::Wait(State state) {
  current_->state = state;
  current_->fiber->Suspend();
}

bool Runner::Release() {
  bool any = false;
  for (size_t first = 0; first < threads_.size(); first += 32) any |= ReleaseWarp(first);
  if (any) return true;
  unsigned waiting = 0, true_values = 0;
  for (const Thread& thread : threads_) {
    if (thread.state != State::kAtBarrier) continue;
    ++waiting;
    true_values += thread.value != 0;
  }
  // A thread that has ended is not waited for.
  if (waiting != threads_.size() - ended_) return false;
  for (Thread& thread : threads_) {
    if (thread.state != State::kAtBarrier) continue;
    thread.state = State::kReady;
    thread.result = true_values;
  }
  return true;
}

bool Runner::ReleaseWarp(size_t first) {
  Thread* const warp = &threads_[first];
  const unsigned lanes = unsigned(std::min<size_t>(32, threads_.size() - first));
  bool any = false;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (warp[lane].state != State::kInWarp) continue;
    const unsigned mask = warp[lane].mask;
    const FzWarpOp op = warp[lane].op;
    unsigned group = 0, ballot = 0;
    bool complete = true;
    for (unsigned i = 0; i < lanes; ++i) {
      if (!(mask >> i & 1) || warp[i].state == State::kDone) continue;
      complete &= warp[i].state == State::kInWarp && warp[i].mask == mask && warp[i].op == op;
      group |= 1u << i;
      ballot |= unsigned(warp[i].value != 0) << i;
    }
    if (!complete) continue;
    any = true;
    for (unsigned i = 0; i < lanes; ++i) {
      if (!(group >> i & 1)) continue;
      warp[i].state = State::kReady;
      // The value of a lane that takes no part is undefined: a NaN, whatever type it has.
      if (op == kFzShuffle)
        warp[i].result =
            group >> (warp[i].source & 31) & 1 ? warp[warp[i].source & 31].value : ~0ull;
      else
        warp[i].result = ballot;
    }
  }
  return any;
}

constexpr FzHooks kHooks = {
    [](bool value) { return Now().Barrier(value); },
    [](FzWarpOp op, unsigned mask, unsigned long long value, unsigned source) {
      return Now().Warp(op, mask, value, source);
    },
    [] { Abandon(GridEnd::kFault, "a kernel trapped"); },
};

}  // namespace

GridResult RunGrid(const FzImage& image, const FzEntry& entry, const Grid& grid,
                   void* const* params) {
  image.context->hooks = &kHooks;
  Now().Set(image, entry, grid, params);
  return RunGuarded([] { Now().Run(); });
}

const FzEntry* FindEntry(const FzImage& image, const std::string& name) {
  for (unsigned i = 0; i < image.count; ++i) {
    if (name == image.entries[i].name) return &image.entries[i];
  }
  return nullptr;
}

}  // namespace fake
