// The fake NCCL: collectives between processes through files of a folder, on streams of the fake
// driver. A message is a file that its sender renames into place and its receiver waits for, named
// by both, by its number between them and by its size: what two ranks do not agree on is waited for
// for ever, as it is by the real library, until the communicator is aborted. Its own sums are in
// descending order of the ranks, so that nobody takes them for ordered ones.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jit/cuda/types.h"
#include "tests/cuda/fake/control.h"
#include "tests/cuda/fake/recorder.h"

FAKE_EXPORT_RECORDER(fake_nccl)

namespace fake {

using namespace frazil::cuda;
namespace fs = std::filesystem;

extern "C" {
#define FZ_NCCL(symbol, name, result, parameters) \
  __attribute__((visibility("default"))) result symbol parameters;
#include "jit/cuda/nccl.def"
#undef FZ_NCCL
}

namespace {

std::atomic<int> g_broken{0};  // fake_nccl_break

struct Comm {
  fs::path folder;
  int ranks = 0, rank = 0;
  std::atomic<bool> aborted{false}, joined{false};
  std::atomic<int> asked{0};  // how often its state is still "in progress"
  std::vector<int64_t> sent, received;

  fs::path File(int from, int to, int64_t number, size_t bytes) const {
    std::string name = std::to_string(from) + "-" + std::to_string(to) + "-";
    return folder / (name + std::to_string(number) + "-" + std::to_string(bytes));
  }
  bool AllHere() const {
    for (int r = 0; r < ranks; ++r)
      if (!fs::exists(folder / ("rank" + std::to_string(r)))) return false;
    return true;
  }
};

// Those that were made and not destroyed.
std::mutex g_mutex;
std::vector<std::shared_ptr<Comm>> g_comms;
std::shared_ptr<Comm> Find(NcclComm handle) {
  const std::lock_guard lock(g_mutex);
  for (const auto& comm : g_comms)
    if (reinterpret_cast<NcclComm>(comm.get()) == handle) return comm;
  return nullptr;
}
void Forget(const Comm* gone) {
  const std::lock_guard lock(g_mutex);
  std::erase_if(g_comms, [&](const auto& comm) { return comm.get() == gone; });
}

struct Message {
  fs::path file;
  char* data;
  size_t bytes;
};

// What one group asks of a stream.
struct Job {
  std::shared_ptr<Comm> comm;
  CUstream stream = nullptr;
  std::vector<Message> sends, receives;
  std::vector<std::unique_ptr<char[]>> room;
  std::vector<std::function<void()>> after;
};

void Put(const Message& m) {
  const fs::path half = m.file.string() + ".half";
  std::ofstream(half, std::ios::binary).write(m.data, static_cast<std::streamsize>(m.bytes));
  fs::rename(half, m.file);
}

bool Get(const Message& m, const Comm& comm) {
  while (!fs::exists(m.file)) {
    if (comm.aborted) return false;
    usleep(100);
  }
  std::ifstream(m.file, std::ios::binary).read(m.data, static_cast<std::streamsize>(m.bytes));
  fs::remove(m.file);
  return true;
}

int RunJob(void* data) {
  Job& job = *static_cast<Job*>(data);
  for (const Message& m : job.sends)
    if (!job.comm->aborted) Put(m);
  for (const Message& m : job.receives) {
    if (Get(m, *job.comm)) continue;
    std::memset(m.data, 0xbd, m.bytes);  // nobody may take it for a result
  }
  for (const auto& f : job.after) f();
  return 0;
}

// The group of this thread: its jobs, and whether it is open.
thread_local int t_depth = 0;
thread_local std::vector<std::unique_ptr<Job>> t_jobs;

Job* JobOf(const std::shared_ptr<Comm>& comm, CUstream stream) {
  for (const auto& job : t_jobs)
    if (job->comm == comm && job->stream == stream) return job.get();
  auto job = std::make_unique<Job>();
  job->comm = comm;
  job->stream = stream;
  t_jobs.push_back(std::move(job));
  return t_jobs.back().get();
}

NcclResult Flush() {
  NcclResult result = kNcclSuccess;
  std::vector<std::unique_ptr<Job>> jobs = std::move(t_jobs);
  t_jobs.clear();
  for (std::unique_ptr<Job>& job : jobs) {
    job->comm->asked = 1;
    const CUstream stream = job->stream;
    if (fake_cuda_enqueue(stream, "nccl", RunJob, job.release(),
                          [](void* data) { delete static_cast<Job*>(data); }) != kSuccess)
      result = kNcclUnhandledCudaError;
  }
  return result != kNcclSuccess || jobs.empty() ? result : kNcclInProgress;
}

size_t SizeOfType(int type) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? kSizes[type] : 0;
}

void Send(Job* job, const void* from, size_t bytes, int peer) {
  Comm& comm = *job->comm;
  job->sends.push_back({comm.File(comm.rank, peer, comm.sent[size_t(peer)]++, bytes),
                        static_cast<char*>(const_cast<void*>(from)), bytes});
}
void Receive(Job* job, void* to, size_t bytes, int peer) {
  Comm& comm = *job->comm;
  job->receives.push_back({comm.File(peer, comm.rank, comm.received[size_t(peer)]++, bytes),
                           static_cast<char*>(to), bytes});
}

template <typename T>
void AddAll(const std::vector<const char*>& parts, size_t count, char* to) {
  for (size_t i = 0; i < count; ++i) {
    T sum{};
    for (size_t r = parts.size(); r-- > 0;) {
      T item;
      std::memcpy(&item, parts[r] + i * sizeof(T), sizeof(T));
      sum = r + 1 == parts.size() ? item : static_cast<T>(sum + item);
    }
    std::memcpy(to + i * sizeof(T), &sum, sizeof(T));
  }
}

struct Bf16 {
  uint16_t bits = 0;
  operator float() const {
    const uint32_t word = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  Bf16() = default;
  explicit Bf16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    bits = static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
};

void AddOfType(int type, const std::vector<const char*>& parts, size_t count, char* to) {
  switch (type) {
    case kNcclInt8:
    case kNcclUint8:
      return AddAll<uint8_t>(parts, count, to);
    case kNcclInt32:
    case kNcclUint32:
      return AddAll<uint32_t>(parts, count, to);
    case kNcclInt64:
    case kNcclUint64:
      return AddAll<uint64_t>(parts, count, to);
    case kNcclFloat16:
      return AddAll<_Float16>(parts, count, to);
    case kNcclFloat32:
      return AddAll<float>(parts, count, to);
    case kNcclFloat64:
      return AddAll<double>(parts, count, to);
    default:
      return AddAll<Bf16>(parts, count, to);
  }
}

// A sum of what all ranks have, of which this one gets `count` items from `mine` on.
NcclResult Sum(const std::shared_ptr<Comm>& comm, const void* from, void* to, size_t count,
               int type, bool scatters, CUstream stream) {
  Job* const job = JobOf(comm, stream);
  const size_t bytes = count * SizeOfType(type);
  std::vector<const char*> parts;
  const auto* const x = static_cast<const char*>(from);
  for (int p = 0; p < comm->ranks; ++p) {
    if (p == comm->rank) {
      parts.push_back(x + (scatters ? bytes * size_t(p) : 0));
      continue;
    }
    Send(job, x + (scatters ? bytes * size_t(p) : 0), bytes, p);
    job->room.emplace_back(new char[bytes]);
    Receive(job, job->room.back().get(), bytes, p);
    parts.push_back(job->room.back().get());
  }
  job->after.push_back([parts, count, type, to] {
    std::vector<char> sum(count * SizeOfType(type));
    AddOfType(type, parts, count, sum.data());
    std::memcpy(to, sum.data(), sum.size());
  });
  return t_depth > 0 ? kNcclSuccess : Flush();
}

}  // namespace

// The first line of what takes a communicator.
#define FAKE_NCCL(name, handle, type, ...)                                                 \
  if (const int error = Recorder::Get().Call(#name, Arguments(__VA_ARGS__))) return error; \
  const std::shared_ptr<Comm> comm = Find(handle);                                         \
  if (!comm || !comm->joined || SizeOfType(type) == 0) return kNcclInvalidArgument

NcclResult ncclGetVersion(int* version) {
  *version = 22703;
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return result >= 0 && result < 8 ? kTexts[result] : "unknown result code";
}

const char* ncclGetLastError(NcclComm) { return "the fake said so"; }

NcclResult ncclGetUniqueId(NcclId* id) {
  if (const int error = Recorder::Get().Call("ncclGetUniqueId", "")) return error;
  const char* const set = std::getenv("FAKE_NCCL_FOLDER");
  std::string name = std::string(set ? set : "/tmp") + "/fake-nccl-XXXXXX";
  if (!mkdtemp(name.data())) return kNcclSystemError;
  *id = {};
  std::memcpy(id->bytes, name.data(), std::min(name.size(), sizeof(id->bytes) - 1));
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm* out, int ranks, NcclId id, int rank,
                                  NcclConfig* config) {
  if (const int error =
          Recorder::Get().Call("ncclCommInitRankConfig", Arguments(ranks, rank, config->blocking)))
    return error;
  if (config->size != sizeof(NcclConfig) || config->magic != 0xcafebeef || config->blocking != 0)
    return kNcclInvalidArgument;
  if (rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  auto comm = std::make_shared<Comm>();
  comm->folder = id.bytes;
  comm->ranks = ranks;
  comm->rank = rank;
  comm->sent.resize(size_t(ranks));
  comm->received.resize(size_t(ranks));
  std::ofstream(comm->folder / ("rank" + std::to_string(rank))) << rank;
  *out = reinterpret_cast<NcclComm>(comm.get());
  const std::lock_guard lock(g_mutex);
  g_comms.push_back(std::move(comm));
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm handle, NcclResult* state) {
  const std::shared_ptr<Comm> comm = Find(handle);
  if (!comm) return kNcclInvalidArgument;
  *state = g_broken;
  if (*state != kNcclSuccess) return kNcclSuccess;
  if (!comm->joined) comm->joined = comm->AllHere();
  if (!comm->joined || comm->asked.exchange(0) > 0) *state = kNcclInProgress;
  return kNcclSuccess;
}

NcclResult ncclCommAbort(NcclComm handle) {
  Recorder::Get().Call("ncclCommAbort", "");
  const std::shared_ptr<Comm> comm = Find(handle);
  if (!comm) return kNcclInvalidArgument;
  comm->aborted = true;
  Forget(comm.get());
  return kNcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm handle) {
  if (const int error = Recorder::Get().Call("ncclCommDestroy", "")) return error;
  const std::shared_ptr<Comm> comm = Find(handle);
  if (!comm) return kNcclInvalidArgument;
  Forget(comm.get());
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  if (const int error = Recorder::Get().Call("ncclGroupStart", "")) return error;
  ++t_depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (const int error = Recorder::Get().Call("ncclGroupEnd", "")) return error;
  if (t_depth == 0) return kNcclInvalidUsage;
  return --t_depth > 0 ? kNcclSuccess : Flush();
}

NcclResult ncclSend(const void* from, size_t count, int type, int peer, NcclComm handle,
                    CUstream stream) {
  FAKE_NCCL(ncclSend, handle, type, count, type, peer);
  if (peer < 0 || peer >= comm->ranks || peer == comm->rank) return kNcclInvalidArgument;
  Send(JobOf(comm, stream), from, count * SizeOfType(type), peer);
  return t_depth > 0 ? kNcclSuccess : Flush();
}

NcclResult ncclRecv(void* to, size_t count, int type, int peer, NcclComm handle, CUstream stream) {
  FAKE_NCCL(ncclRecv, handle, type, count, type, peer);
  if (peer < 0 || peer >= comm->ranks || peer == comm->rank) return kNcclInvalidArgument;
  Receive(JobOf(comm, stream), to, count * SizeOfType(type), peer);
  return t_depth > 0 ? kNcclSuccess : Flush();
}

NcclResult ncclAllReduce(const void* from, void* to, size_t count, int type, int op,
                         NcclComm handle, CUstream stream) {
  FAKE_NCCL(ncclAllReduce, handle, type, count, type, op);
  return op == kNcclSum ? Sum(comm, from, to, count, type, false, stream) : kNcclInvalidArgument;
}

NcclResult ncclReduceScatter(const void* from, void* to, size_t count, int type, int op,
                             NcclComm handle, CUstream stream) {
  FAKE_NCCL(ncclReduceScatter, handle, type, count, type, op);
  return op == kNcclSum ? Sum(comm, from, to, count, type, true, stream) : kNcclInvalidArgument;
}

NcclResult ncclAllGather(const void* from, void* to, size_t count, int type, NcclComm handle,
                         CUstream stream) {
  FAKE_NCCL(ncclAllGather, handle, type, count, type);
  Job* const job = JobOf(comm, stream);
  const size_t bytes = count * SizeOfType(type);
  char* const out = static_cast<char*>(to);
  for (int p = 0; p < comm->ranks; ++p) {
    if (p == comm->rank) continue;
    Send(job, from, bytes, p);
    Receive(job, out + bytes * size_t(p), bytes, p);
  }
  char* const own = out + bytes * size_t(comm->rank);
  job->after.push_back([own, from, bytes] {
    if (own != from) std::memcpy(own, from, bytes);
  });
  return t_depth > 0 ? kNcclSuccess : Flush();
}

NcclResult ncclBroadcast(const void* from, void* to, size_t count, int type, int root,
                         NcclComm handle, CUstream stream) {
  FAKE_NCCL(ncclBroadcast, handle, type, count, type, root);
  if (root < 0 || root >= comm->ranks) return kNcclInvalidArgument;
  Job* const job = JobOf(comm, stream);
  const size_t bytes = count * SizeOfType(type);
  if (comm->rank != root) {
    Receive(job, to, bytes, root);
  } else {
    for (int p = 0; p < comm->ranks; ++p)
      if (p != root) Send(job, from, bytes, p);
    job->after.push_back([to, from, bytes] {
      if (to != from) std::memcpy(to, from, bytes);
    });
  }
  return t_depth > 0 ? kNcclSuccess : Flush();
}

extern "C" __attribute__((visibility("default"))) void fake_nccl_break(int result) {
  g_broken = result;
}

// A function that a table names and nothing here defines does not link.
[[gnu::used]] const void* const kAllFunctions[] = {
#define FZ_NCCL(symbol, name, result, parameters) reinterpret_cast<const void*>(&symbol),
#include "jit/cuda/nccl.def"
#undef FZ_NCCL
};

}  // namespace fake
