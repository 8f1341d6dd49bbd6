#include "distributed/collectives.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/profile.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "distributed/accelerator.h"
#include "distributed/header.h"
#include "distributed/link.h"
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

// The tags of a group: of headers, of messages between two ranks, and two for each collective under
// way, so that its bytes meet those of no other.
constexpr int kUnderWay = 16, kTags = 2 + 2 * kUnderWay;

// One collective among several ranks. It never waits: whoever drives it asks it to go on.
class Running {
 public:
  Running(const CollectiveCall& call, const Members& group, int64_t sequence, const char* x,
          char* out)
      : call_(call),
        group_(group),
        n_(group.size()),
        me_(group.me),
        tag_(1 + kTags * static_cast<int>(group.id % uint64_t(TheMpi()->most_tag() / kTags - 1))),
        data_(ToOne(call.kind) ? tag_ + 1 : tag_ + 2 + 2 * static_cast<int>(sequence % kUnderWay)),
        item_(SizeOf(call.dtype)),
        bytes_(call.shape->size * item_),
        x_(x),
        out_(out),
        header_(Header::Of(call, sequence, group.id)) {}

  // Headers, packets, and all that goes out.
  Status Begin() {
    heads_.resize(static_cast<size_t>(n_));
    numbers_.resize(static_cast<size_t>(n_));
    const auto most = static_cast<int64_t>(sizeof(Header)) + kPacket;
    for (int p = 0; p < n_; ++p) {
      if (!Takes(p)) continue;
      heads_[size_t(p)] = exchange_.Buffer(most);
      FZ_ASSIGN_OR_RETURN(numbers_[size_t(p)],
                          exchange_.Receive(heads_[size_t(p)], most, RankOf(p), tag_));
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
          return exchange_.Send(x_ + part.begin + at, size, RankOf(p), data_);
        }));
      }
    }
    return Native() ? LeaveToMpi() : absl::OkStatus();
  }

  // As far as messages have come; true at its end. `heard`: the last header of each rank.
  StatusOr<bool> GoOn(std::vector<Header>* heard) {
    for (; agreed_ < n_; ++agreed_) {
      if (!Takes(agreed_)) continue;
      FZ_ASSIGN_OR_RETURN(const bool came, exchange_.Came(numbers_[size_t(agreed_)]));
      if (!came) return false;
      Header its;
      std::memcpy(&its, heads_[size_t(agreed_)], sizeof(Header));
      (*heard)[size_t(RankOf(agreed_))] = its;
      if (!header_.Agrees(its)) return Disagree(agreed_, its);
    }
    if (Native()) return exchange_.AllCame();
    if (!asked_) FZ_RETURN_IF_ERROR(Sums(call_.kind) ? AskForParts() : Place());
    asked_ = true;
    if (Sums(call_.kind)) {
      FZ_ASSIGN_OR_RETURN(const bool added, Add());
      if (!added) return false;
    }
    return exchange_.AllCame();
  }

  // Messages that have come and gone.
  size_t moved() const { return exchange_.done(); }
  // The ranks whose call is awaited or, if all have made it, whose bytes are.
  std::vector<int> Awaited() {
    std::vector<int> ranks;
    for (int p = agreed_; p < n_; ++p) {
      if (!Takes(p)) continue;
      const auto came = exchange_.Came(numbers_[size_t(p)]);
      if (came.ok() && !*came) ranks.push_back(RankOf(p));
    }
    return ranks.empty() ? exchange_.Open() : ranks;
  }

 private:
  bool Takes(int p) const { return p != me_ && (!ToOne(call_.kind) || p == call_.peer); }
  // An array that goes to everybody instead of in parts: less time goes on the way twice than is
  // taken by the bytes that are more.
  bool Whole() const { return bytes_ <= std::max(kPacket, TheLink().Whole(n_)); }
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
          return exchange_.Receive(PlaceOf(p) + at, size, RankOf(p), data_).status();
        }));
      }
    }
    return absl::OkStatus();
  }

  // MPI wants its collectives in one order on all ranks, which is that of their beginnings: not when
  // the headers have come.
  Status LeaveToMpi() {
    const bool scatters = call_.kind == Collective::kReduceScatter;
    const int64_t count = call_.shape->size / (scatters ? n_ : 1), most = kMessage / item_;
    if (scatters && count > most) {
      return NotImplementedError("[reduce_scatter] MPI counts up to ", most,
                                 " elements a rank, got ", count,
                                 ": leave precision(\"native\") for this one.");
    }
    for (int64_t at = 0; at < count; at += most) {
      const int64_t size = std::min(most, count - at);
      FZ_RETURN_IF_ERROR(
          scatters ? exchange_.ReduceScatter(x_, out_, size, call_.dtype)
                   : exchange_.AllReduce(x_ + at * item_, out_ + at * item_, size, call_.dtype));
    }
    return absl::OkStatus();
  }

  // Of a sum: what comes of the others' parts, and the first chunks of this rank's.
  Status AskForParts() {
    gathers_ = call_.kind == Collective::kAllReduce && !Whole();
    part_ = Sent(me_, me_);
    target_ = gathers_ ? out_ + part_.begin : out_;
    packed_ = part_.size <= kPacket;
    for (int p = 0; p < n_ && gathers_; ++p) {
      if (p == me_) continue;
      const Bytes theirs = PartOf(p);
      FZ_RETURN_IF_ERROR(InPieces(theirs.size, [&](int64_t at, int64_t size) {
        return exchange_.Receive(out_ + theirs.begin + at, size, RankOf(p), data_ + 1).status();
      }));
    }
    if (call_.kind == Collective::kReduce && !Root()) {
      std::memset(out_, 0, static_cast<size_t>(bytes_));
      return absl::OkStatus();
    }
    chunks_ = (part_.size + kChunk - 1) / kChunk;
    if (packed_) return absl::OkStatus();
    room_.resize(size_t(n_));
    pieces_.resize(size_t(n_));
    for (int p = 0; p < n_; ++p) {
      if (p != me_) room_[size_t(p)] = exchange_.Buffer(std::min(kWindow, chunks_) * kChunk);
    }
    for (int64_t chunk = 0; chunk < kWindow; ++chunk) FZ_RETURN_IF_ERROR(AskFor(chunk));
    return absl::OkStatus();
  }

  Status AskFor(int64_t chunk) {
    for (int p = 0; p < n_ && chunk < chunks_; ++p) {
      if (p == me_) continue;
      FZ_ASSIGN_OR_RETURN(
          const size_t number,
          exchange_.Receive(room_[size_t(p)] + chunk % kWindow * kChunk,
                            std::min(kChunk, part_.size - chunk * kChunk), RankOf(p), data_));
      pieces_[size_t(p)].push_back(number);
    }
    return absl::OkStatus();
  }

  // The sum of what all have for this rank, in ascending rank order; of an all_reduce in parts each
  // chunk goes to all as soon as it is there. True at its end.
  StatusOr<bool> Add() {
    for (; chunk_ < chunks_; ++chunk_, place_ = 0, sum_ = nullptr) {
      const int64_t at = chunk_ * kChunk, size = std::min(kChunk, part_.size - at);
      for (; place_ < n_; ++place_) {
        const int p = place_;
        const char* piece = x_ + part_.begin + at;
        if (p != me_) {
          if (!packed_) {
            FZ_ASSIGN_OR_RETURN(const bool came,
                                exchange_.Came(pieces_[size_t(p)][size_t(chunk_)]));
            if (!came) return false;
          }
          piece = packed_ ? PacketOf(p) : room_[size_t(p)] + chunk_ % kWindow * kChunk;
        }
        if (sum_) distributed::Add(call_.dtype, size / item_, sum_, piece, target_ + at);
        sum_ = sum_ ? target_ + at : piece;
      }
      for (int i = 1; i < n_ && gathers_; ++i)
        FZ_RETURN_IF_ERROR(exchange_.Send(target_ + at, size, RankOf((me_ + i) % n_), data_ + 1));
      if (!packed_) FZ_RETURN_IF_ERROR(AskFor(chunk_ + kWindow));
    }
    return true;
  }

  const CollectiveCall& call_;
  const Members& group_;
  const int n_, me_, tag_, data_;
  const int64_t item_, bytes_;
  const char* const x_;
  char* const out_;
  const Header header_;
  std::vector<char*> heads_;     // what each rank began with
  std::vector<size_t> numbers_;  // of the messages of these
  int agreed_ = 0;               // ranks below have made the same call
  bool asked_ = false;           // for what comes behind the headers
  // Of sums.
  bool gathers_ = false, packed_ = false;
  Bytes part_;
  char* target_ = nullptr;
  int64_t chunks_ = 0, chunk_ = 0;  // chunk_, place_ and sum_: how far it is
  int place_ = 0;
  const char* sum_ = nullptr;
  std::vector<char*> room_;
  std::vector<std::vector<size_t>> pieces_;
  Exchange exchange_;
};

// Of a group of this rank alone.
Status RunAlone(const CollectiveCall& call, const char* x, char* out) {
  if (call.kind != Collective::kBarrier)
    std::memcpy(out, x, static_cast<size_t>(call.shape->size * SizeOf(call.dtype)));
  return absl::OkStatus();
}

// What a rank that has ended well sent before may still be under way.
constexpr auto kOnTheWay = std::chrono::duration<double>(tuned::kRanksUnderWay);

using Clock = std::chrono::steady_clock;

// The collectives of this process. They begin in the order of the calls and go on side by side, so
// that one's way hides in another's. Who waits for one drives all; while nobody does, a thread of
// its own looks after them now and then, so that whoever computes is not disturbed.
class Line {
 public:
  Status Run(const CollectiveCall& call, const char* x, char* out) {
    return Finish(Add(call, x, out));
  }

  void Start(const CollectiveCall& call, const char* x, char* out) {
    std::shared_ptr<Job> job = Add(call, x, out);
    const std::unique_lock lock(mutex_);
    begun_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
    work_.notify_one();
  }

  Status Wait(const char* out) {
    return FinishAll([&](const Job& job) { return job.out == out; });
  }

  void Drain() {
    const std::thread::id me = std::this_thread::get_id();
    FinishAll([&](const Job& job) { return job.caller == me; }).IgnoreError();
  }

 private:
  struct Job {
    CollectiveCall call;
    const char* x;
    char* out;
    std::thread::id caller;
    std::optional<Running> running;
    int64_t sequence = 0;  // in the group; 0 of messages between two ranks
    bool done = false;
    Status status;
    int64_t began = 0;  // ProfileClock
    // When a message came last, and how many had; since when a rank is gone that it waits for.
    Clock::time_point since{}, gone{};
    size_t moved = 0;
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;

  std::shared_ptr<Job> Add(const CollectiveCall& call, const char* x, char* out) {
    auto job = std::make_shared<Job>();
    job->call = call;
    job->x = x;
    job->out = out;
    job->caller = std::this_thread::get_id();
    const std::unique_lock lock(mutex_);
    queue_.push_back(job);
    // Else whoever drives begins it.
    if (!driving_ || !TheMpi() || TheMpi()->multiple()) BeginNext();
    return job;
  }

  template <typename Is>
  Status FinishAll(const Is& is) {
    Jobs own;
    {
      const std::unique_lock lock(mutex_);
      absl::c_copy_if(begun_, std::back_inserter(own), [&](const auto& job) { return is(*job); });
      std::erase_if(begun_, [&](const auto& job) { return is(*job); });
    }
    Status status;
    for (const auto& job : own) status.Update(Finish(job));
    return status;
  }

  // Those that may begin, in order.
  void BeginNext() {
    while (!queue_.empty() && under_way_.size() < kUnderWay) {
      const std::shared_ptr<Job> job = queue_.front();
      if (absl::c_any_of(under_way_, [&](const auto& other) { return SharesTags(*other, *job); }))
        return;
      queue_.pop_front();
      job->began = ProfileClock();
      job->since = Clock::now();
      Guarded(job.get(), [&] { return Begin(job.get()); });
      if (!job->done) under_way_.push_back(job);
    }
  }

  // Whether the bytes of `next` would have the tags of one that is under way.
  bool SharesTags(const Job& job, const Job& next) {
    if (ToOne(job.call.kind) || ToOne(next.call.kind))
      return ToOne(job.call.kind) && ToOne(next.call.kind);
    return job.call.group == next.call.group &&
           sequences_[next.call.group] - job.sequence >= kUnderWay;
  }

  Status Begin(Job* job) {
    const CollectiveCall& call = job->call;
    const Members& group = GroupNumbered(call.group);
    if (group.me < 0)
      return ValueError("[distributed] rank ", Rank(), " is not in the group that it calls ",
                        call.text(), " of.");
    if (group.size() == 1) {
      job->done = true;
      return RunAlone(call, job->x, job->out);
    }
    if (Forked()) {
      return RuntimeError("[distributed] ", call.text(), " in a process that was forked from rank ",
                          Rank(), ": it is no rank itself.");
    }
    if (TheLiveness()->failed()) {
      return RuntimeError("[distributed] ", TheLiveness()->failure(), "; ", call.text(),
                          " cannot begin.");
    }
    if (!ToOne(call.kind)) job->sequence = sequences_[call.group]++;
    const Status status =
        job->running.emplace(call, group, job->sequence, job->x, job->out).Begin();
    if (!status.ok()) TheLiveness()->Fail(StrCat("failed in ", call.text()));
    return status;
  }

  // What fails is at its end.
  template <typename F>
  static void Guarded(Job* job, const F& f) {
    try {
      job->status = f();
    } catch (const std::bad_alloc&) {
      job->status =
          MemoryError("[distributed] no memory for the messages of ", job->call.text(), ".");
      if (TheLiveness()) TheLiveness()->Fail(StrCat("had no memory in ", job->call.text()));
    }
    job->done |= !job->status.ok();
  }

  // Drives all until it is done.
  Status Finish(const std::shared_ptr<Job>& job) {
    bool interrupted = false;
    std::unique_lock lock(mutex_);
    ++waiting_;
    for (int asked = 0; !job->done;) {
      if (driving_) {
        changed_.wait_for(lock, std::chrono::milliseconds(1));
        asked = tuned::kMpiAtOnce;
      } else {
        asked = Look(&lock, asked % tuned::kMpiSeldom == tuned::kMpiSeldom - 1) ? 0 : asked + 1;
      }
      if (asked < tuned::kMpiAtOnce || job->done) continue;
      lock.unlock();
      if (!interrupted && Abandoned()) {
        interrupted = true;
        TheLiveness()->Fail("was interrupted");
      }
      if (asked < tuned::kMpiYielding) {
        std::this_thread::yield();
      } else {
        usleep(tuned::kMpiSleep);
      }
      lock.lock();
    }
    if (--waiting_ == 0 && !under_way_.empty()) work_.notify_one();
    return interrupted ? Interrupted() : job->status;
  }

  // Lets all that is under way go on; whether something has. `closely`: also at what takes long.
  bool Look(std::unique_lock<std::mutex>* lock, bool closely) {
    driving_ = true;
    BeginNext();
    looked_ = under_way_;
    lock->unlock();
    bool moved = false;
    for (const auto& job : looked_) {
      Guarded(job.get(), [&] { return GoOn(job.get(), closely); });
      const size_t count = job->running->moved();
      if (count == job->moved && !job->done) continue;
      job->moved = count;
      job->since = Clock::now();
      moved = true;
    }
    lock->lock();
    driving_ = false;
    if (moved) {
      for (const auto& job : looked_) {
        if (!job->done) continue;
        std::erase(under_way_, job);
        job->running.reset();
        if (Profiling())
          ProfileSpan(ProfileEvent::Kind::kCollective, job->call.text(), "", job->began);
      }
      BeginNext();
      changed_.notify_all();
    }
    looked_.clear();
    return moved;
  }

  Status GoOn(Job* job, bool closely) {
    Liveness* const liveness = TheLiveness();
    heard_.resize(size_t(Size()));
    const auto end = job->running->GoOn(&heard_);
    if (!end.ok()) {
      liveness->Fail(StrCat("failed in ", job->call.text()));
      return end.status();
    }
    job->done = *end;
    if (job->done) return absl::OkStatus();
    if (!liveness->failed() && closely) FindLost(job);
    if (!liveness->failed()) return absl::OkStatus();
    return RuntimeError("[distributed] ", liveness->failure(), "; ", job->call.text(),
                        " cannot end.");
  }

  // Ranks that have ended without it, and those that do not come.
  void FindLost(Job* job) {
    const auto now = Clock::now();
    const std::vector<int> awaited = job->running->Awaited();
    if (awaited.empty()) return;
    const auto gone = absl::c_find_if(awaited, [](int rank) { return TheLiveness()->left(rank); });
    if (gone != awaited.end()) {
      if (job->gone == Clock::time_point()) job->gone = now;
      if (now - job->gone > kOnTheWay) {
        TheLiveness()->Fail(StrCat("waits in ", job->call.text(), " for rank ", *gone,
                                   ", whose program has ended without it"));
      }
    }
    const std::chrono::duration<double> waited = now - job->since;
    if (waited.count() < CollectiveTimeout()) return;
    const int rank = awaited[0];
    const Header& last = heard_[size_t(rank)];
    TheLiveness()->Fail(
        StrCat("has waited ", CollectiveTimeout(), " s in ", job->call.text(), " for rank ", rank,
               ", which is alive and has not come; the last that it came to was ",
               last.group ? last.text() : std::string("init"),
               " (look where it stands; init(collective_timeout=...) gives ranks more time)"));
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (useconds_t sleep = tuned::kMpiShortest;;) {
      while (waiting_ > 0 || (under_way_.empty() && queue_.empty())) {
        work_.wait(lock);
        sleep = tuned::kMpiShortest;
      }
      lock.unlock();
      usleep(sleep);
      lock.lock();
      if (waiting_ > 0 || driving_) continue;
      sleep = Look(&lock, sleep == tuned::kMpiLongest) ? tuned::kMpiShortest
                                                       : std::min(2 * sleep, tuned::kMpiLongest);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, work_;
  bool driving_ = false;  // one thread lets them go on
  int waiting_ = 0;       // threads in Finish
  std::deque<std::shared_ptr<Job>> queue_;
  Jobs under_way_, begun_;     // begun_: and not waited for
  Jobs looked_;                // of who drives, as is
  std::vector<Header> heard_;  // the last of each rank
  absl::flat_hash_map<int64_t, int64_t> sequences_;
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

bool WithoutMpi() { return TheLiveness() && !TheMpi(); }

Status Run(const CollectiveCall& call, const char* x, char* out) {
  const Members& group = GroupNumbered(call.group);
  if (WithoutMpi() && group.me >= 0 && group.size() > 1) return TheAccelerator()->Run(call, x, out);
  return TheLine().Run(call, x, out);
}
void Start(const CollectiveCall& call, const char* x, char* out) { TheLine().Start(call, x, out); }
Status Wait(const char* out) { return TheLine().Wait(out); }
void Drain() {
  TheLine().Drain();
  if (const Accelerator* const accelerator = TheAccelerator()) accelerator->Drain();
}

}  // namespace frazil::distributed
