#include "distributed/collectives.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "distributed/accelerator.h"
#include "distributed/header.h"
#include "distributed/sums.h"
#include "distributed/tuned.h"
#include "distributed/wire.h"

namespace frazil::distributed {
namespace {

constexpr int64_t kPacket = tuned::kMpiPacket, kChunk = tuned::kMpiChunk;
constexpr int64_t kWindow = tuned::kMpiWindow;
constexpr int64_t kMessage = 1 << 30;  // bytes: MPI counts in an int

struct Bytes {
  int64_t begin = 0, size = 0;
};

// One collective among several ranks.
class Running {
 public:
  Running(const CollectiveCall& call, const Members& group, int64_t sequence, bool patient,
          const char* x, char* out)
      : call_(call),
        group_(group),
        n_(group.size()),
        me_(group.me),
        tag_(1 + 2 * static_cast<int>(group.id % 16000)),
        item_(SizeOf(call.dtype)),
        bytes_(call.shape->size * item_),
        x_(x),
        out_(out),
        header_(Header::Of(call, sequence, group.id)),
        exchange_(call, patient) {}

  Status Run() {
    FZ_RETURN_IF_ERROR(Begin());
    FZ_RETURN_IF_ERROR(Native() ? LeaveToMpi() : Sums(call_.kind) ? Add() : Place());
    return exchange_.WaitAll();
  }

 private:
  bool Takes(int p) const { return p != me_ && (!ToOne(call_.kind) || p == call_.peer); }
  // An array that goes to everybody instead of in parts.
  bool Whole() const { return bytes_ <= kPacket; }
  bool Root() const { return me_ == call_.peer; }
  // MPI adds in the order that it likes: of all ranks, and what it has a type for.
  bool Native() const {
    const bool both =
        call_.kind == Collective::kAllReduce || call_.kind == Collective::kReduceScatter;
    return both && IsNative(call_.reduction) && call_.group == 0 && TheMpi()->Adds(call_.dtype);
  }

  // The part of a rank, in elements that do not fall apart.
  Bytes PartOf(int p) const {
    const int64_t count = call_.shape->size;
    const int64_t begin = count / n_ * p + std::min<int64_t>(p, count % n_);
    const int64_t size = count / n_ + (p < count % n_);
    return {begin * item_, size * item_};
  }
  // What rank `to` gets of rank `from`'s x.
  Bytes Sent(int from, int to) const {
    if (Native()) return {};
    switch (call_.kind) {
      case Collective::kAllReduce:
        return Whole() ? Bytes{0, bytes_} : PartOf(to);
      case Collective::kReduceScatter:
      case Collective::kAllToAll:
        return {bytes_ / n_ * to, bytes_ / n_};
      case Collective::kAllGather:
        return {0, bytes_};
      case Collective::kBroadcast:
        return {0, from == call_.peer ? bytes_ : 0};
      case Collective::kReduce:
        return {0, to == call_.peer ? bytes_ : 0};
      case Collective::kSend:
        return {0, from == me_ ? bytes_ : 0};
      case Collective::kRecv:
        return {0, from == me_ ? 0 : bytes_};
      default:
        return {};
    }
  }

  // Headers, packets, and all that goes out; until the others' calls are known to be the same.
  Status Begin() {
    heads_.resize(static_cast<size_t>(n_));
    std::vector<size_t> numbers(static_cast<size_t>(n_));
    const auto most = static_cast<int64_t>(sizeof(Header)) + kPacket;
    for (int p = 0; p < n_; ++p) {
      if (!Takes(p)) continue;
      heads_[static_cast<size_t>(p)] = exchange_.Buffer(most);
      FZ_ASSIGN_OR_RETURN(numbers[static_cast<size_t>(p)],
                          exchange_.Receive(heads_[static_cast<size_t>(p)], most, RankOf(p), tag_));
    }
    for (int i = 1; i <= n_; ++i) {
      const int p = (me_ + i) % n_;  // not all at the same one first
      if (!Takes(p)) continue;
      const Bytes part = Sent(me_, p);
      const int64_t packed = part.size <= kPacket ? part.size : 0;
      char* const packet = exchange_.Buffer(int64_t{sizeof(Header)} + packed);
      std::memcpy(packet, &header_, sizeof(Header));
      if (packed) std::memcpy(packet + sizeof(Header), x_ + part.begin, size_t(packed));
      FZ_RETURN_IF_ERROR(exchange_.Send(packet, int64_t{sizeof(Header)} + packed, RankOf(p), tag_));
      if (!packed) {
        FZ_RETURN_IF_ERROR(InPieces(part.size, [&](int64_t at, int64_t size) {
          return exchange_.Send(x_ + part.begin + at, size, RankOf(p), tag_);
        }));
      }
    }
    for (int p = 0; p < n_; ++p) {
      if (!Takes(p)) continue;
      FZ_RETURN_IF_ERROR(exchange_.Wait(numbers[static_cast<size_t>(p)]));
      Header its;
      std::memcpy(&its, heads_[static_cast<size_t>(p)], sizeof(Header));
      if (!header_.Agrees(its)) return Disagree(p, its);
    }
    return absl::OkStatus();
  }

  Status Disagree(int p, const Header& its) {
    std::string mine = header_.text(), other = its.text();
    if (mine == other) {
      StrAppend(&mine, ", its call ", header_.sequence);
      StrAppend(&other, ", its call ", its.sequence);
    }
    const std::string calls = StrCat(" calls ", mine, " where rank ", RankOf(p), " calls ", other);
    TheLiveness()->Fail(calls.substr(1));
    return RuntimeError("[distributed] the ranks do not agree: rank ", Rank(), calls,
                        "; all ranks of a group must make the same calls in the same order.");
  }

  template <typename F>
  Status InPieces(int64_t size, F&& f) const {
    const int64_t most = Sums(call_.kind) ? kChunk : kMessage;
    for (int64_t at = 0; at < size; at += most)
      FZ_RETURN_IF_ERROR(f(at, std::min(most, size - at)));
    return absl::OkStatus();
  }

  int RankOf(int p) const { return group_.ranks[static_cast<size_t>(p)]; }
  const char* PacketOf(int p) const { return heads_[static_cast<size_t>(p)] + sizeof(Header); }

  // Where rank p's part goes in the result.
  char* PlaceOf(int p) const {
    if (call_.kind == Collective::kAllGather) return out_ + bytes_ * p;
    if (call_.kind == Collective::kAllToAll) return out_ + bytes_ / n_ * p;
    return out_;
  }

  Status Place() {
    for (int p = 0; p < n_; ++p) {
      const bool own = p == me_;
      if (!own && !Takes(p)) continue;
      if (own && ToOne(call_.kind)) continue;
      const Bytes part = Sent(p, me_);
      if (part.size == 0) continue;
      if (own || part.size <= kPacket) {
        std::memcpy(PlaceOf(p), own ? x_ + part.begin : PacketOf(p), size_t(part.size));
      } else {
        FZ_RETURN_IF_ERROR(InPieces(part.size, [&](int64_t at, int64_t size) {
          return exchange_.Receive(PlaceOf(p) + at, size, RankOf(p), tag_).status();
        }));
      }
    }
    return absl::OkStatus();
  }

  Status LeaveToMpi() {
    const bool scatters = call_.kind == Collective::kReduceScatter;
    const int64_t count = call_.shape->size / (scatters ? n_ : 1), most = kMessage / item_;
    if (scatters) {
      if (count > most)
        return NotImplementedError("[reduce_scatter] MPI counts up to ", most,
                                   " elements a rank, got ", count,
                                   ": leave precision(\"native\") for this one.");
      return count == 0 ? absl::OkStatus() : exchange_.ReduceScatter(x_, out_, count);
    }
    for (int64_t at = 0; at < count; at += most) {
      FZ_RETURN_IF_ERROR(
          exchange_.AllReduce(x_ + at * item_, out_ + at * item_, std::min(most, count - at)));
    }
    return absl::OkStatus();
  }

  // The sum of what all have for this rank, in ascending rank order; of an all_reduce in parts each
  // chunk goes to all as soon as it is there.
  Status Add() {
    const bool gathers = call_.kind == Collective::kAllReduce && !Whole();
    const Bytes part = Sent(me_, me_);
    char* const target = gathers ? out_ + part.begin : out_;
    if (gathers) {
      for (int p = 0; p < n_; ++p) {
        if (p == me_) continue;
        const Bytes theirs = PartOf(p);
        FZ_RETURN_IF_ERROR(InPieces(theirs.size, [&](int64_t at, int64_t size) {
          return exchange_.Receive(out_ + theirs.begin + at, size, RankOf(p), tag_ + 1).status();
        }));
      }
    }
    if (call_.kind == Collective::kReduce && !Root()) {
      std::memset(out_, 0, static_cast<size_t>(bytes_));
      return absl::OkStatus();
    }
    const bool packed = part.size <= kPacket;
    const int64_t chunks = (part.size + kChunk - 1) / kChunk;
    std::vector<char*> room(static_cast<size_t>(n_));
    std::vector<std::vector<size_t>> numbers(static_cast<size_t>(n_));
    const auto receive = [&](int64_t chunk) -> Status {
      for (int p = 0; p < n_ && chunk < chunks; ++p) {
        if (p == me_) continue;
        FZ_ASSIGN_OR_RETURN(
            const size_t number,
            exchange_.Receive(room[size_t(p)] + chunk % kWindow * kChunk,
                              std::min(kChunk, part.size - chunk * kChunk), RankOf(p), tag_));
        numbers[size_t(p)].push_back(number);
      }
      return absl::OkStatus();
    };
    for (int p = 0; p < n_ && !packed; ++p)
      if (p != me_) room[size_t(p)] = exchange_.Buffer(std::min(kWindow, chunks) * kChunk);
    for (int64_t chunk = 0; chunk < kWindow && !packed; ++chunk) FZ_RETURN_IF_ERROR(receive(chunk));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t at = chunk * kChunk, size = std::min(kChunk, part.size - at);
      const char* sum = nullptr;
      for (int p = 0; p < n_; ++p) {
        const char* piece = x_ + part.begin + at;
        if (p != me_) {
          if (!packed) FZ_RETURN_IF_ERROR(exchange_.Wait(numbers[size_t(p)][size_t(chunk)]));
          piece = packed ? PacketOf(p) : room[size_t(p)] + chunk % kWindow * kChunk;
        }
        if (sum) distributed::Add(call_.dtype, size / item_, sum, piece, target + at);
        sum = sum ? target + at : piece;
      }
      for (int i = 1; i < n_ && gathers; ++i)
        FZ_RETURN_IF_ERROR(exchange_.Send(target + at, size, RankOf((me_ + i) % n_), tag_ + 1));
      if (!packed) FZ_RETURN_IF_ERROR(receive(chunk + kWindow));
    }
    return absl::OkStatus();
  }

  const CollectiveCall& call_;
  const Members& group_;
  const int n_, me_, tag_;
  const int64_t item_, bytes_;
  const char* const x_;
  char* const out_;
  const Header header_;
  std::vector<char*> heads_;  // what each rank began with
  Exchange exchange_;
};

// Of a group of this rank alone.
Status RunAlone(const CollectiveCall& call, const char* x, char* out) {
  if (call.kind != Collective::kBarrier)
    std::memcpy(out, x, static_cast<size_t>(call.shape->size * SizeOf(call.dtype)));
  return absl::OkStatus();
}

// The line of collectives of this process.
class Line {
 public:
  Status Run(const CollectiveCall& call, const char* x, char* out) {
    std::unique_lock lock(mutex_);
    while (busy_ || !jobs_.empty()) free_.wait(lock);
    busy_ = true;
    lock.unlock();
    const Status status = RunNext(call, false, x, out);
    lock.lock();
    busy_ = false;
    free_.notify_all();
    return status;
  }

  Status Start(const CollectiveCall& call, const char* x, char* out) {
    // Calls of the CPU's tensors and of the GPU's go one way then, in the order of the program.
    if (!TheMpi()) return Run(call, x, out);
    const std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
    jobs_.push_back({call, x, out});
    begun_[out] = {};
    free_.notify_all();
    return absl::OkStatus();
  }

  Status Wait(const char* out) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto at = begun_.find(out);
      if (at == begun_.end()) return absl::OkStatus();
      if (at->second.done) {
        const Status status = at->second.status;
        begun_.erase(at);
        return status;
      }
      free_.wait_for(lock, std::chrono::milliseconds(20));
      if (lock.unlock(); Abandoned()) {
        TheLiveness()->Fail("was interrupted");
        Drain();
        return Interrupted();
      }
      lock.lock();
    }
  }

  void Drain() {
    std::unique_lock lock(mutex_);
    while (!begun_.empty() && (busy_ || !jobs_.empty())) free_.wait(lock);
    begun_.clear();
  }

 private:
  struct Job {
    CollectiveCall call;
    const char* x;
    char* out;
  };
  struct Begun {
    bool done = false;
    Status status;
  };

  Status RunNext(const CollectiveCall& call, bool patient, const char* x, char* out) {
    const Members& group = GroupNumbered(call.group);
    if (group.me < 0)
      return ValueError("[distributed] rank ", Rank(), " is not in the group that it calls ",
                        call.text(), " of.");
    if (group.size() == 1) return RunAlone(call, x, out);
    if (Forked()) {
      return RuntimeError("[distributed] ", call.text(), " in a process that was forked from rank ",
                          Rank(), ": it is no rank itself.");
    }
    if (TheLiveness()->failed()) {
      return RuntimeError("[distributed] ", TheLiveness()->failure(), "; ", call.text(),
                          " cannot begin.");
    }
    if (!TheMpi()) return TheAccelerator()->Run(call, x, out);
    const int64_t sequence = ToOne(call.kind) ? 0 : sequences_[call.group]++;
    const Status status = Running(call, group, sequence, patient, x, out).Run();
    if (!status.ok()) TheLiveness()->Fail(StrCat("failed in ", call.text()));
    return status;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      while (busy_ || jobs_.empty()) free_.wait(lock);
      const Job job = jobs_.front();
      jobs_.pop_front();
      busy_ = true;
      lock.unlock();
      const Status status = RunNext(job.call, true, job.x, job.out);
      lock.lock();
      busy_ = false;
      const auto at = begun_.find(job.out);
      if (at != begun_.end()) at->second = {true, status};
      free_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable free_;
  bool busy_ = false;
  std::deque<Job> jobs_;
  absl::flat_hash_map<const char*, Begun> begun_;
  absl::flat_hash_map<int64_t, int64_t> sequences_;  // of who is busy
  std::thread thread_;
};

Line& TheLine() {
  static Line* const line = new Line;
  return *line;
}

}  // namespace

CollectiveCall CollectiveCall::Of(AttrSpan attrs, DType dtype, const Layout* shape) {
  CollectiveCall call;
  call.kind = KindOfCollective(attrs);
  call.reduction = static_cast<Reduction>(attrs[kCollectiveReduction]);
  call.dtype = dtype;
  call.shape = shape;
  call.group = attrs[kCollectiveGroup];
  call.peer = static_cast<int>(attrs[kCollectivePeer]);
  return call;
}

std::string CollectiveCall::text() const { return Header::Of(*this, 0, 0).text(); }

Status Run(const CollectiveCall& call, const char* x, char* out) {
  try {
    return TheLine().Run(call, x, out);
  } catch (const std::bad_alloc&) {
    return MemoryError("[distributed] no memory for the messages of ", call.text(), ".");
  }
}

Status Start(const CollectiveCall& call, const char* x, char* out) {
  return TheLine().Start(call, x, out);
}
Status Wait(const char* out) { return TheLine().Wait(out); }
void Drain() {
  TheLine().Drain();
  if (const Accelerator* const accelerator = TheAccelerator()) accelerator->Drain();
}

}  // namespace frazil::distributed
