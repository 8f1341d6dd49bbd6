#include "jit/cuda/nccl.h"

#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "distributed/tuned.h"

namespace frazil::cuda {

// All communicators, and the thread that watches them.
class Watch {
 public:
  static Watch& Get() {
    static Watch* const watch = new Watch;
    return *watch;
  }

  Communicator* Find(int64_t group) {
    const MutexLock lock(&mutex_);
    const auto at = made_.find(group);
    return at == made_.end() ? nullptr : at->second;
  }
  // From here on it is aborted when the world fails. Lives for ever.
  void Add(int64_t group, Communicator* one) {
    const MutexLock lock(&mutex_);
    made_[group] = one;
    if (std::exchange(started_, true)) return;
    std::thread([this] { Run(); }).detach();
  }
  // Without the lock: what it waits for ends when the watch aborts.
  void Finish() {
    std::vector<Device*> devices;
    {
      const MutexLock lock(&mutex_);
      for (const auto& [group, one] : made_) devices.push_back(one->device_);
    }
    for (Device* const device : devices) device->Synchronize().IgnoreError();
  }
  void Close() {
    const MutexLock lock(&mutex_);
    for (const auto& [group, one] : made_) {
      if (!one->aborted_.exchange(true)) one->nccl_.CommDestroy(one->comm_);
    }
  }

  std::timed_mutex calls;

 private:
  // How long a call that is under way has before communicators are aborted beside it.
  static constexpr auto kPatience = std::chrono::milliseconds(300);

  void Run() {
    for (;; usleep(tuned::kNcclWatch)) {
      if (distributed::TheLiveness()->failed()) return AbortAll();
      const MutexLock lock(&mutex_);
      for (const auto& [group, one] : made_) {
        if (one->aborted_ || !one->comm_) continue;
        NcclResult state = kNcclSuccess;
        const NcclResult asked = one->nccl_.CommGetAsyncError(one->comm_, &state);
        if (asked == kNcclSuccess && (state == kNcclSuccess || state == kNcclInProgress)) continue;
        const NcclResult result = asked == kNcclSuccess ? state : asked;
        distributed::TheLiveness()->Fail(
            StrCat("failed in NCCL: ", one->nccl_.GetErrorString(result)));
      }
    }
  }

  // Devices first: nobody may take what an aborted collective leaves for its result.
  void AbortAll() {
    const std::unique_lock<std::timed_mutex> turn(calls, kPatience);
    const MutexLock lock(&mutex_);
    for (const auto& [group, one] : made_) one->device_->Break(one->Ended());
    for (const auto& [group, one] : made_) {
      if (!one->aborted_.exchange(true) && one->comm_) one->nccl_.CommAbort(one->comm_);
    }
  }

  Mutex mutex_;
  absl::flat_hash_map<int64_t, Communicator*> made_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
};

Communicator::Lock Communicator::Take() { return Lock(Watch::Get().calls); }

Device* Communicator::DeviceOf(int64_t group) {
  const Communicator* const one = Watch::Get().Find(group);
  return one ? one->device_ : nullptr;
}

void Communicator::FinishAll() { Watch::Get().Finish(); }
void Communicator::CloseAll() { Watch::Get().Close(); }

StatusOr<Communicator*> Communicator::Of(int64_t group, Device* device) {
  if (Communicator* const one = Watch::Get().Find(group)) {
    if (one->device_ != device)
      return ValueError(
          "[distributed] the collectives of a group are on one GPU of each rank: on "
          "cuda:",
          one->device_->index(), " until now, got a tensor of cuda:", device->index(), ".");
    return one;
  }
  FZ_ASSIGN_OR_RETURN(const NcclTable* nccl, Nccl());
  auto* const one = new Communicator(*nccl, distributed::GroupNumbered(group), device);
  FZ_RETURN_IF_ERROR(one->Make());
  Watch::Get().Add(group, one);
  return one;
}

// The first rank of the group makes the id.
Status Communicator::Make() {
  distributed::Liveness* const liveness = distributed::TheLiveness();
  const std::string name = StrCat("nccl ", group_.id);
  NcclId id;
  if (group_.me == 0) {
    if (const NcclResult made = nccl_.GetUniqueId(&id); made != kNcclSuccess)
      return Failed(made, "ncclGetUniqueId");
    liveness->Post(name, std::string(id.bytes, sizeof(id.bytes)));
  } else {
    FZ_ASSIGN_OR_RETURN(const std::string text, liveness->Await(name, group_.ranks[0]));
    if (text.size() != sizeof(id.bytes))
      return RuntimeError("[distributed] the id of NCCL has ", text.size(), " bytes, not ",
                          sizeof(id.bytes), ".");
    std::memcpy(id.bytes, text.data(), sizeof(id.bytes));
  }
  FZ_RETURN_IF_ERROR(device_->Enter());
  FZ_RETURN_IF_ERROR(DriverStatus(device_->driver().StreamCreate(&stream_, kStreamNonBlocking),
                                  "distributed", "no stream for NCCL"));
  NcclConfig config;
  const NcclResult made = nccl_.CommInitRankConfig(&comm_, group_.size(), id, group_.me, &config);
  const Status status = Settled(made, "ncclCommInitRankConfig");
  if (status.ok() || !comm_) return status;
  aborted_ = true;
  nccl_.CommAbort(comm_);
  comm_ = nullptr;
  return status;
}

void Communicator::Note(std::string call) {
  const MutexLock lock(&mutex_);
  call_ = std::move(call);
}

Status Communicator::Ended() const {
  auto* const self = const_cast<Communicator*>(this);
  const MutexLock lock(&self->mutex_);
  return RuntimeError("[distributed] ", distributed::TheLiveness()->failure(), "; ",
                      self->call_.empty() ? "a collective" : self->call_, " cannot end.");
}

Status Communicator::Failed(NcclResult result, const char* what) const {
  const char* const more = comm_ && !aborted_ ? nccl_.GetLastError(comm_) : nullptr;
  const Status status = RuntimeError(
      "[distributed] ", what, " on cuda:", device_->index(),
      " failed: ", nccl_.GetErrorString(result), more && *more ? StrCat(" (", more, ")") : "",
      result == kNcclInvalidUsage ? "; each rank of a machine needs a GPU of its own, such as "
                                    "cuda:local_rank()."
                                  : ".");
  distributed::TheLiveness()->Fail(StrCat("failed in ", what, ": ", nccl_.GetErrorString(result)));
  return status;
}

Status Communicator::Settled(NcclResult result, const char* what) {
  while (result == kNcclInProgress || result == kNcclSuccess) {
    if (distributed::TheLiveness()->failed()) return Ended();
    if (aborted_) return Ended();
    if (grouped_ || !comm_) break;  // queued when the group ends
    NcclResult state = kNcclSuccess;
    result = nccl_.CommGetAsyncError(comm_, &state);
    if (result != kNcclSuccess) break;
    if (state == kNcclSuccess) return absl::OkStatus();
    result = state;
    if (Abandoned()) {
      distributed::TheLiveness()->Fail("was interrupted");
      return Interrupted();
    }
    if (state == kNcclInProgress) usleep(tuned::kNcclAsk);
  }
  if (result == kNcclSuccess || (grouped_ && result == kNcclInProgress)) return absl::OkStatus();
  return Failed(result, what);
}

Status Communicator::Grouped(absl::FunctionRef<Status()> calls) {
  FZ_RETURN_IF_ERROR(device_->Enter());
  if (const NcclResult begun = nccl_.GroupStart(); begun != kNcclSuccess)
    return Failed(begun, "ncclGroupStart");
  grouped_ = true;
  const Status status = calls();
  grouped_ = false;
  const NcclResult ended = nccl_.GroupEnd();
  FZ_RETURN_IF_ERROR(status);
  return Settled(ended, "ncclGroupEnd");
}

Status Communicator::Send(const char* from, int64_t bytes, int to) {
  return Settled(nccl_.Send(from, size_t(bytes), kNcclUint8, to, comm_, stream_), "ncclSend");
}
Status Communicator::Receive(char* to, int64_t bytes, int from) {
  return Settled(nccl_.Recv(to, size_t(bytes), kNcclUint8, from, comm_, stream_), "ncclRecv");
}
Status Communicator::AllGather(const char* from, char* to, int64_t bytes) {
  return Settled(nccl_.AllGather(from, to, size_t(bytes), kNcclUint8, comm_, stream_),
                 "ncclAllGather");
}
Status Communicator::Broadcast(const char* from, char* to, int64_t bytes, int root) {
  return Settled(nccl_.Broadcast(from, to, size_t(bytes), kNcclUint8, root, comm_, stream_),
                 "ncclBroadcast");
}
Status Communicator::AllReduce(const char* from, char* to, int64_t count, int type) {
  return Settled(nccl_.AllReduce(from, to, size_t(count), type, kNcclSum, comm_, stream_),
                 "ncclAllReduce");
}
Status Communicator::ReduceScatter(const char* from, char* to, int64_t count, int type) {
  return Settled(nccl_.ReduceScatter(from, to, size_t(count), type, kNcclSum, comm_, stream_),
                 "ncclReduceScatter");
}

}  // namespace frazil::cuda
