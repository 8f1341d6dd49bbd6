// NCCL's communicators: one for each group of ranks, on the GPU whose tensors met it first, with a
// stream of its own. Called by jit/run/cuda/collective.cc.
//
// Nothing here blocks in NCCL: communicators are made so that their calls return at once, and are
// asked until what was called has been queued, or the world has failed. A thread of its own watches
// both; when the world has failed, or a communicator has, it aborts them all, so that nothing on
// the GPU waits for a rank that is gone, and from then on every wait for the GPU is that error.
//
// Invariants: the ids travel from the first rank of a group to the others over the connections of
// distributed/liveness.h; calls are made by one thread at a time (Lock); an aborted communicator is
// never called again.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "distributed/world.h"
#include "jit/cuda/device.h"

namespace frazil::cuda {

class Communicator {
 public:
  // Taken for whatever is asked of communicators. Aborting waits for it for a moment only.
  using Lock = std::unique_lock<std::timed_mutex>;
  static Lock Take();

  // The group's. Its first call makes it, which all ranks of the group do together.
  static StatusOr<Communicator*> Of(int64_t group, Device* device);
  // The device of the group's, or null.
  static Device* DeviceOf(int64_t group);
  // When the world ends well: waits for what was queued; lets go of them.
  static void FinishAll();
  static void CloseAll();

  CUstream stream() const { return stream_; }
  // What this rank calls, for the error of who waits for it.
  void Note(std::string call);

  // The calls within are one. Bytes, or elements of an NCCL type.
  Status Grouped(absl::FunctionRef<Status()> calls);
  Status Send(const char* from, int64_t bytes, int to);
  Status Receive(char* to, int64_t bytes, int from);
  Status AllGather(const char* from, char* to, int64_t bytes);
  Status Broadcast(const char* from, char* to, int64_t bytes, int root);
  Status AllReduce(const char* from, char* to, int64_t count, int type);
  Status ReduceScatter(const char* from, char* to, int64_t count, int type);

 private:
  friend class Watch;
  Communicator(const NcclTable& nccl, const distributed::Members& group, Device* device)
      : nccl_(nccl), group_(group), device_(device) {}
  Status Make();
  // An error, or what was called has been queued.
  Status Settled(NcclResult result, const char* what);
  Status Failed(NcclResult result, const char* what) const;
  Status Ended() const;  // the world's failure

  const NcclTable& nccl_;
  const distributed::Members& group_;
  Device* const device_;
  NcclComm comm_ = nullptr;
  CUstream stream_ = nullptr;
  bool grouped_ = false;
  std::atomic<bool> aborted_{false};
  Mutex mutex_;
  std::string call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil::cuda
