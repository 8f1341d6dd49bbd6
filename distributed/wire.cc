#include "distributed/wire.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/threads/long_work.h"
#include "distributed/tuned.h"

namespace frazil::distributed {
namespace {

// What a rank that has ended well sent before may still be under way.
constexpr auto kUnderWay = std::chrono::duration<double>(tuned::kRanksUnderWay);

// What MPI may write to for as long as the process lives.
void KeepForEver(std::vector<std::unique_ptr<char[]>> buffers) {
  for (std::unique_ptr<char[]>& buffer : buffers) (void)buffer.release();
}

}  // namespace

Exchange::~Exchange() {
  const bool open =
      std::any_of(messages_.begin(), messages_.end(), [](const Message& m) { return !m.done; });
  if (open) KeepForEver(std::move(buffers_));
}

char* Exchange::Buffer(int64_t bytes) {
  buffers_.emplace_back(new char[static_cast<size_t>(bytes)]);
  return buffers_.back().get();
}

Status Exchange::Send(const char* bytes, int64_t count, int to, int tag) {
  messages_.push_back({.rank = to, .receives = false});
  return TheMpi()->Send(bytes, count, to, tag, &messages_.back().request);
}

StatusOr<size_t> Exchange::Receive(char* bytes, int64_t count, int from, int tag) {
  messages_.push_back({.rank = from, .receives = true});
  FZ_RETURN_IF_ERROR(TheMpi()->Receive(bytes, count, from, tag, &messages_.back().request));
  return messages_.size() - 1;
}

Status Exchange::AllReduce(const char* x, char* out, int64_t count) {
  messages_.push_back({.rank = -1, .receives = true});
  return TheMpi()->AllReduce(x, out, count, call_.dtype, &messages_.back().request);
}

Status Exchange::ReduceScatter(const char* x, char* out, int64_t count) {
  messages_.push_back({.rank = -1, .receives = true});
  return TheMpi()->ReduceScatter(x, out, count, call_.dtype, &messages_.back().request);
}

Status Exchange::Broken() const {
  const std::string why = TheLiveness()->failure();
  return RuntimeError("[distributed] ", why, "; ", call_.text(), " cannot end.");
}

Status Exchange::WaitFor(Message* message) {
  Liveness* const liveness = TheLiveness();
  const int at_once = patient_ ? tuned::kMpiPatientAtOnce : tuned::kMpiAtOnce;
  const int yielding = patient_ ? tuned::kMpiPatientYielding : tuned::kMpiYielding;
  std::chrono::steady_clock::time_point left{};
  for (int asked = 0;; ++asked) {
    FZ_ASSIGN_OR_RETURN(message->done, TheMpi()->Test(&message->request));
    if (message->done) return absl::OkStatus();
    if (liveness->failed()) return Broken();
    if (asked < at_once) continue;
    if (Abandoned()) {
      liveness->Fail("was interrupted");
      return Interrupted();
    }
    if (message->rank >= 0 && liveness->left(message->rank)) {
      const auto now = std::chrono::steady_clock::now();
      if (left.time_since_epoch().count() == 0) left = now;
      if (now - left > kUnderWay) {
        liveness->Fail(StrCat("waits in ", call_.text(), " for rank ", message->rank,
                              ", whose program has ended without it"));
        return Broken();
      }
    }
    if (asked < yielding) {
      std::this_thread::yield();
    } else {
      usleep(tuned::kMpiSleep);
    }
  }
}

Status Exchange::Wait(size_t number) {
  Message& m = messages_[number];
  return m.done ? absl::OkStatus() : WaitFor(&m);
}

Status Exchange::WaitAll() {
  for (Message& m : messages_) {
    if (!m.done) FZ_RETURN_IF_ERROR(WaitFor(&m));
  }
  return absl::OkStatus();
}

}  // namespace frazil::distributed
