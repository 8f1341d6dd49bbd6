#include "jit/run/cuda/collective.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "core/cost.h"
#include "core/str.h"
#include "distributed/agreement.h"
#include "distributed/tuned.h"
#include "jit/cuda/nccl.h"
#include "jit/emit/cuda/sum_text.h"
#include "jit/run/cuda/strided.h"

namespace frazil::jit {
namespace {

using distributed::CollectiveCall;
using distributed::GroupNumbered;
using distributed::Members;
using gpu::Communicator;

// NCCL's name of what it adds, or -1: complex numbers as their parts, bool and 16-bit integers not.
int NcclType(DType dtype) {
  switch (IsComplex(dtype) ? PartOf(dtype) : dtype) {
    case DType::kI8:
      return gpu::kNcclInt8;
    case DType::kU8:
      return gpu::kNcclUint8;
    case DType::kI32:
      return gpu::kNcclInt32;
    case DType::kU32:
      return gpu::kNcclUint32;
    case DType::kI64:
      return gpu::kNcclInt64;
    case DType::kU64:
      return gpu::kNcclUint64;
    case DType::kF16:
      return gpu::kNcclFloat16;
    case DType::kBF16:
      return gpu::kNcclBfloat16;
    case DType::kF32:
      return gpu::kNcclFloat32;
    case DType::kF64:
      return gpu::kNcclFloat64;
    default:
      return -1;
  }
}

// The kernel that adds arrays of a dtype, one for each device.
const CudaEntry& SumOf(gpu::Device* device, DType dtype) {
  static Mutex mutex;
  static auto* const made =
      new std::map<std::pair<gpu::Device*, DType>, std::unique_ptr<const CudaEntry>>;
  const MutexLock lock(&mutex);
  std::unique_ptr<const CudaEntry>& entry = (*made)[{device, dtype}];
  if (!entry) {
    const std::string name = cuda::SumEntry(dtype);
    entry = std::make_unique<const CudaEntry>(device, name, cuda::SumText(dtype, name), "");
  }
  return *entry;
}

// One collective, queued on the communicator's stream.
class Queueing {
 public:
  Queueing(const CollectiveCall& call, const Members& group, Communicator* comm,
           gpu::Device* device, const char* x, char* out)
      : call_(call),
        comm_(comm),
        device_(device),
        n_(group.size()),
        me_(group.me),
        item_(SizeOf(call.dtype)),
        count_(call.shape->size),
        bytes_(count_ * item_),
        x_(x),
        out_(out) {}

  // Before the communicator's stream waits for the device's: whose the memory was is over then.
  Status Reserve() {
    const int64_t bytes = Room();
    if (bytes == 0) return absl::OkStatus();
    FZ_ASSIGN_OR_RETURN(room_, device_->Allocate(static_cast<size_t>(bytes)));
    return absl::OkStatus();
  }
  StorageRef TakeRoom() { return std::move(room_); }

  Status Run() {
    if (bytes_ == 0) return absl::OkStatus();
    switch (call_.kind) {
      case Collective::kAllReduce:
        return Native()  ? comm_->AllReduce(x_, out_, Items(count_), NcclType(call_.dtype))
               : Whole() ? SumWhole()
                         : SumParts();
      case Collective::kReduceScatter:
        if (Native())
          return comm_->ReduceScatter(x_, out_, Items(count_ / n_), NcclType(call_.dtype));
        FZ_RETURN_IF_ERROR(Swap([&](int p) { return Part(p); }, room_->data, bytes_ / n_));
        return Sum(x_ + bytes_ / n_ * me_, count_ / n_, n_, out_);
      case Collective::kReduce:
        return SumAtRoot();
      case Collective::kAllGather:
        return comm_->AllGather(x_, out_, bytes_);
      case Collective::kBroadcast:
        return comm_->Broadcast(x_, out_, bytes_, call_.peer);
      case Collective::kAllToAll:
        FZ_RETURN_IF_ERROR(Swap([&](int p) { return Part(p); }, out_, bytes_ / n_));
        return Copy(x_ + bytes_ / n_ * me_, out_ + bytes_ / n_ * me_, bytes_ / n_);
      case Collective::kSend:
        return comm_->Send(x_, bytes_, call_.peer);
      case Collective::kRecv:
        return comm_->Receive(out_, bytes_, call_.peer);
      default:
        return absl::OkStatus();
    }
  }

 private:
  struct Bytes {
    int64_t begin, size;
  };
  int64_t Items(int64_t count) const { return count * (IsComplex(call_.dtype) ? 2 : 1); }
  bool Native() const { return IsNative(call_.reduction) && NcclType(call_.dtype) >= 0; }
  // Goes to everybody, who adds for himself.
  bool Whole() const { return n_ * bytes_ <= tuned::kNcclWhole; }

  int64_t Room() const {
    if (call_.kind == Collective::kReduce) return me_ == call_.peer ? n_ * bytes_ : 0;
    if (Native()) return 0;
    if (call_.kind == Collective::kReduceScatter) return bytes_;
    if (call_.kind != Collective::kAllReduce) return 0;
    return Whole() ? n_ * bytes_ : n_ * PartOf(me_).size;
  }

  // Of an all_reduce, in elements that do not fall apart.
  Bytes PartOf(int p) const {
    const int64_t begin = count_ / n_ * p + std::min<int64_t>(p, count_ % n_);
    return {begin * item_, (count_ / n_ + (p < count_ % n_)) * item_};
  }
  Bytes Part(int p) const { return {bytes_ / n_ * p, bytes_ / n_}; }

  // Sends each its part of x and gets `size` bytes of each, to where they belong in `to`.
  Status Swap(absl::FunctionRef<Bytes(int)> part, char* to, int64_t size) {
    return comm_->Grouped([&]() -> Status {
      for (int i = 1; i < n_; ++i) {
        const int p = (me_ + i) % n_;
        const Bytes theirs = part(p);
        if (theirs.size > 0) FZ_RETURN_IF_ERROR(comm_->Send(x_ + theirs.begin, theirs.size, p));
        if (size > 0) FZ_RETURN_IF_ERROR(comm_->Receive(to + size * p, size, p));
      }
      return absl::OkStatus();
    });
  }

  // Of what lies in room_, with `own` in the place of this rank's; zeros for no ranks.
  Status Sum(const char* own, int64_t count, int ranks, char* out) {
    const DType dtype = IsComplex(call_.dtype) ? frazil::PartOf(call_.dtype) : call_.dtype;
    const int64_t items = Items(count);
    if (items == 0) return absl::OkStatus();
    const cuda::SumArgs args{room_ ? room_->data : nullptr, own, out, items, ranks, me_};
    const int64_t most = tuned::kNcclSumBlocks * device_->info().multiprocessors;
    const int64_t blocks = (items + cuda::kSumThreads - 1) / cuda::kSumThreads;
    return SumOf(device_, dtype).Launch(std::min(blocks, most), cuda::kSumThreads, &args);
  }

  Status Copy(const char* from, char* to, int64_t bytes) {
    return device_->CopyWithin(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes));
  }

  Status SumWhole() {
    FZ_RETURN_IF_ERROR(comm_->AllGather(x_, room_->data, bytes_));
    return Sum(x_, count_, n_, out_);
  }

  Status SumParts() {
    const Bytes mine = PartOf(me_);
    FZ_RETURN_IF_ERROR(
        Swap([&](int p) { return PartOf(p); }, room_ ? room_->data : nullptr, mine.size));
    FZ_RETURN_IF_ERROR(Sum(x_ + mine.begin, mine.size / item_, n_, out_ + mine.begin));
    if (count_ % n_ == 0) return comm_->AllGather(out_ + mine.begin, out_, mine.size);
    return comm_->Grouped([&]() -> Status {
      for (int i = 1; i < n_; ++i) {
        const int p = (me_ + i) % n_;
        const Bytes theirs = PartOf(p);
        if (mine.size > 0) FZ_RETURN_IF_ERROR(comm_->Send(out_ + mine.begin, mine.size, p));
        if (theirs.size > 0)
          FZ_RETURN_IF_ERROR(comm_->Receive(out_ + theirs.begin, theirs.size, p));
      }
      return absl::OkStatus();
    });
  }

  Status SumAtRoot() {
    if (me_ != call_.peer) {
      FZ_RETURN_IF_ERROR(comm_->Send(x_, bytes_, call_.peer));
      return Sum(x_, count_, 0, out_);
    }
    FZ_RETURN_IF_ERROR(comm_->Grouped([&]() -> Status {
      for (int p = 0; p < n_; ++p)
        if (p != me_) FZ_RETURN_IF_ERROR(comm_->Receive(room_->data + bytes_ * p, bytes_, p));
      return absl::OkStatus();
    }));
    return Sum(x_, count_, n_, out_);
  }

  const CollectiveCall& call_;
  Communicator* const comm_;
  gpu::Device* const device_;
  const int n_, me_;
  const int64_t item_, count_, bytes_;
  const char* const x_;
  char* const out_;
  StorageRef room_;  // what the others have for this rank, by rank
};

// A collective that was started: the device's stream has not waited for it.
struct Begun {
  gpu::Device* device = nullptr;
  gpu::CUevent end = nullptr;
  StorageRef room;
};

class Nccl final : public distributed::Accelerator {
 public:
  static Nccl& Get() {
    static auto* const nccl = new Nccl;
    return *nccl;
  }

  Status Check() const override {
    FZ_RETURN_IF_ERROR(gpu::Device::Count().status());
    return gpu::Nccl().status();
  }

  // Queues a call over memory of the device; the device waits for it at once, or in Wait.
  Status Queue(const CollectiveCall& call, gpu::Device* device, const char* x, char* out,
               bool started) {
    const Members& group = GroupNumbered(call.group);
    if (group.me < 0)
      return ValueError("[distributed] rank ", distributed::Rank(),
                        " is not in the group that it calls ", call.text(), " of.");
    const auto turn = Communicator::Take();
    if (group.size() == 1) {
      return device->CopyWithin(AddressOf(out), AddressOf(x),
                                static_cast<size_t>(call.shape->size * SizeOf(call.dtype)));
    }
    FZ_RETURN_IF_ERROR(CheckWorld(call));
    FZ_ASSIGN_OR_RETURN(Communicator* const comm, Communicator::Of(call.group, device));
    distributed::Tell(call, group);
    comm->Note(call.text());
    Queueing queueing(call, group, comm, device, x, out);
    FZ_RETURN_IF_ERROR(queueing.Reserve());
    FZ_RETURN_IF_ERROR(device->LetWait(comm->stream()));
    Status status;
    {
      const gpu::Device::OnStream on(comm->stream());
      status = queueing.Run();
    }
    Begun begun{device, nullptr, queueing.TakeRoom()};
    if (!status.ok()) {
      // Nobody knows what was queued of it: its memory stays.
      distributed::TheLiveness()->Fail(StrCat("failed in ", call.text()));
      (void)new StorageRef(std::move(begun.room));
      return status;
    }
    const gpu::DriverTable& driver = device->driver();
    FZ_RETURN_IF_ERROR(gpu::DriverStatus(driver.EventCreate(&begun.end, gpu::kEventDisableTiming),
                                         "distributed", "no event"));
    FZ_RETURN_IF_ERROR(gpu::DriverStatus(driver.EventRecord(begun.end, comm->stream()),
                                         "distributed", "an event cannot be recorded"));
    if (!started) return WaitFor(&begun);
    const MutexLock lock(&mutex_);
    begun_[out] = std::move(begun);
    return absl::OkStatus();
  }

  Status Wait(const char* out) {
    Begun begun;
    {
      const MutexLock lock(&mutex_);
      const auto at = begun_.find(out);
      if (at == begun_.end()) return absl::OkStatus();
      begun = std::move(at->second);
      begun_.erase(at);
    }
    return WaitFor(&begun);
  }

  void Drain() const override {
    absl::flat_hash_map<const char*, Begun> all;
    {
      const MutexLock lock(&mutex_);
      all.swap(begun_);
    }
    for (auto& [out, begun] : all) WaitFor(&begun).IgnoreError();
  }

  Status Run(const CollectiveCall& call, const char* x, char* out) const override {
    const Members& group = GroupNumbered(call.group);
    FZ_RETURN_IF_ERROR(CheckWorld(call));
    if (call.kind == Collective::kBarrier) return distributed::Meet(call, group);
    gpu::Device* device = Communicator::DeviceOf(call.group);
    if (!device) {
      FZ_ASSIGN_OR_RETURN(const int count, gpu::Device::Count());
      FZ_ASSIGN_OR_RETURN(device, gpu::Device::Get(distributed::LocalRank() % count));
    }
    const int64_t bytes = call.shape->size * SizeOf(call.dtype);
    const int64_t made = call.kind == Collective::kAllGather       ? bytes * group.size()
                         : call.kind == Collective::kReduceScatter ? bytes / group.size()
                         : call.kind == Collective::kSend          ? 0
                                                                   : bytes;
    FZ_ASSIGN_OR_RETURN(const StorageRef from,
                        device->Allocate(size_t(std::max(bytes, int64_t{1}))));
    FZ_ASSIGN_OR_RETURN(const StorageRef to, device->Allocate(size_t(std::max(made, int64_t{1}))));
    FZ_RETURN_IF_ERROR(device->CopyIn(AddressOf(from->data), x, size_t(bytes)));
    FZ_RETURN_IF_ERROR(Nccl::Get().Queue(call, device, from->data, to->data, false));
    if (made == 0) return device->Synchronize();
    return device->CopyOut(out, AddressOf(to->data), size_t(made));
  }

  void Finish() const override {
    Drain();
    Communicator::FinishAll();
  }
  void Close() const override { Communicator::CloseAll(); }

 private:
  static Status CheckWorld(const CollectiveCall& call) {
    if (distributed::Forked())
      return RuntimeError("[distributed] ", call.text(), " in a process that was forked from rank ",
                          distributed::Rank(), ": it is no rank itself.");
    if (!distributed::TheLiveness()->failed()) return absl::OkStatus();
    return RuntimeError("[distributed] ", distributed::TheLiveness()->failure(), "; ", call.text(),
                        " cannot begin.");
  }

  // What the device is asked for from here on comes behind it.
  static Status WaitFor(Begun* begun) {
    FZ_RETURN_IF_ERROR(begun->device->Enter());
    const gpu::DriverTable& driver = begun->device->driver();
    const gpu::CUresult result = driver.StreamWaitEvent(begun->device->stream(), begun->end, 0);
    driver.EventDestroy(begun->end);  // the driver keeps it until it has happened
    return gpu::DriverStatus(result, "distributed", "a stream cannot wait for a collective");
  }

  mutable Mutex mutex_;
  mutable absl::flat_hash_map<const char*, Begun> begun_ ABSL_GUARDED_BY(mutex_);
};

// The communicator may have to be made, for which other processes are waited for.
int64_t WorkOf(const Node& node) {
  return cost::kLong + cost::Whole(cost::Copy(double(BytesOf(node))));
}

class CudaCollective final : public LibraryCall {
 public:
  CudaCollective(gpu::Device* device, const Node& x, const Node& node, const std::string& origin)
      : device_(device),
        call_(CollectiveCall::Of(node.attrs, x.dtype, x.layout->shape)),
        started_(node.attrs[kCollectiveStarted] != 0),
        work_(WorkOf(x)),
        bytes_(call_.shape->size * SizeOf(call_.dtype)) {
    if (!x.layout->dense)
      copy_ = std::make_unique<const StridedCopy>(device, SizeOf(call_.dtype),
                                                  AxesOf(x.layout, 0, x.layout->rank), origin);
    if (distributed::Sums(call_.kind))
      SumOf(device, IsComplex(call_.dtype) ? PartOf(call_.dtype) : call_.dtype);
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (!copy_ || bytes_ == 0)
      return Nccl::Get().Queue(call_, device_, operands[0], result, started_);
    // Whoever gets the copy's memory next comes behind the collective only if that is waited for.
    FZ_ASSIGN_OR_RETURN(const StorageRef dense, device_->Allocate(size_t(bytes_)));
    FZ_RETURN_IF_ERROR(copy_->Run(operands[0], dense->data));
    return Nccl::Get().Queue(call_, device_, dense->data, result, false);
  }
  int64_t work() const override { return work_; }
  std::string text() const override {
    return StrCat("nccl ", started_ ? "start " : "", call_.text());
  }

 private:
  gpu::Device* const device_;
  const CollectiveCall call_;
  const bool started_;
  const int64_t work_, bytes_;
  std::unique_ptr<const StridedCopy> copy_;
};

// Of a result that lies where the collective was told to put it.
class CudaWait final : public LibraryCall {
 public:
  CudaWait(gpu::Device* device, const Node& node) : device_(device), bytes_(BytesOf(node)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    FZ_RETURN_IF_ERROR(Nccl::Get().Wait(operands[0]));
    if (result == operands[0]) return absl::OkStatus();
    return device_->CopyWithin(AddressOf(result), AddressOf(operands[0]), size_t(bytes_));
  }
  bool in_place() const override { return true; }
  int64_t work() const override { return cost::kGpuLaunch; }
  std::string text() const override { return "nccl wait"; }

 private:
  gpu::Device* const device_;
  const int64_t bytes_;
};

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaCollective(const Graph& graph, int32_t id,
                                                                const std::string& origin) {
  const Node& node = graph.nodes[id];
  FZ_ASSIGN_OR_RETURN(gpu::Device * device, gpu::Device::Get(node.device.index()));
  if (node.op == OpId::k_collective_wait) return std::make_unique<const CudaWait>(device, node);
  return std::make_unique<const CudaCollective>(device, graph.nodes[node.operands[0]], node,
                                                origin);
}

const distributed::Accelerator* NcclAccelerator() { return &Nccl::Get(); }

}  // namespace frazil::jit
