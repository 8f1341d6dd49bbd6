#include "distributed/world.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "core/threads/mutex.h"
#include "distributed/accelerator.h"
#include "distributed/launcher.h"
#include "distributed/link.h"
#include "distributed/tuned.h"

namespace frazil::distributed {
namespace {

struct World {
  Mutex mutex;
  bool initialized = false;
  pid_t process = 0;  // a forked child is no rank
  Mpi mpi;
  std::unique_ptr<Liveness> liveness;
  int rank = 0, size = 1, local_rank = 0;
  double collective_timeout = 0;
  bool has_mpi = false;
  const Accelerator* registered = nullptr;
  bool accelerated = false;
  std::deque<Members> groups;  // places stay
  absl::flat_hash_map<std::vector<int>, int64_t> numbers;
};

World& TheWorld() {
  static World* const world = new World;
  return *world;
}

// Before there is anything else: what rank 0 has, on all ranks.
constexpr int kWords = 4096;
StatusOr<std::string> ShareByMpi(Mpi* mpi, std::string text) {
  text.resize(kWords);
  if (mpi->rank() > 0) {
    FZ_RETURN_IF_ERROR(mpi->ReceiveNow(text.data(), kWords, 0));
  } else {
    for (int to = 1; to < mpi->size(); ++to)
      FZ_RETURN_IF_ERROR(mpi->SendNow(text.data(), kWords, to));
  }
  return std::string(text.c_str());
}

// Whether it is so on all ranks.
StatusOr<bool> OnAll(Mpi* mpi, bool mine) {
  char all = mine;
  for (int from = 1; from < mpi->size() && mpi->rank() == 0; ++from) {
    char its = 0;
    FZ_RETURN_IF_ERROR(mpi->ReceiveNow(&its, 1, from));
    all = all && its;
  }
  if (mpi->rank() > 0) FZ_RETURN_IF_ERROR(mpi->SendNow(&all, 1, 0));
  FZ_ASSIGN_OR_RETURN(const std::string told, ShareByMpi(mpi, all ? "1" : "0"));
  return !told.empty() && told.front() == '1';
}

int64_t AddGroup(World* w, std::vector<int> ranks) {
  const auto [at, added] = w->numbers.try_emplace(ranks, static_cast<int64_t>(w->groups.size()));
  if (added) {
    Members group;
    const auto me = std::find(ranks.begin(), ranks.end(), w->rank);
    group.me = me == ranks.end() ? -1 : static_cast<int>(me - ranks.begin());
    group.id = 1469598103934665603u;  // FNV, the same in every process
    for (const int rank : ranks)
      group.id = (group.id ^ static_cast<uint64_t>(rank + 1)) * 1099511628211u;
    group.ranks = std::move(ranks);
    w->groups.push_back(std::move(group));
  }
  return at->second;
}

Status JoinByMpi(World* w, const Launched& launched, const InitOptions& options) {
  FZ_RETURN_IF_ERROR(w->mpi.Open());
  if (w->mpi.size() != launched.size) {
    return RuntimeError("[distributed] ", launched.by, " started ", launched.size, " processes, ",
                        w->mpi.version(), " knows of ", w->mpi.size(),
                        ": they are of different MPIs; FRAZIL_MPI_LIBRARY names the launcher's.");
  }
  w->rank = w->mpi.rank();
  w->size = w->mpi.size();
  const bool has = w->registered && w->registered->Check().ok();
  FZ_ASSIGN_OR_RETURN(w->accelerated, OnAll(&w->mpi, has));
  FZ_ASSIGN_OR_RETURN(w->liveness,
                      Liveness::Start(w->rank, w->size, options.timeout, [&](std::string text) {
                        return ShareByMpi(&w->mpi, std::move(text));
                      }));
  w->has_mpi = true;
  return absl::OkStatus();
}

// Without MPI all that travels does so between GPUs.
Status JoinByTcp(World* w, const Launched& launched, const InitOptions& options) {
  const Status usable = w->registered ? w->registered->Check()
                                      : RuntimeError("[distributed] this build has no GPUs.");
  if (!usable.ok()) {
    return RuntimeError("[distributed] ", launched.by, " started ", launched.size,
                        " processes and tells MPI nothing of them. Without MPI tensors travel over "
                        "NCCL between GPUs, which cannot be used here: ",
                        usable.message(), " With MPI: ", launched.advice, ".");
  }
  const Meeting& m = launched.meeting;
  if (m.rank < 0 || m.rank >= m.size || m.host.empty() || m.port <= 0) {
    return RuntimeError("[distributed] ", launched.by, " started ", m.size,
                        " processes, but its variables do not say which this is and where rank 0 "
                        "is: rank ",
                        m.rank, ", address '", m.host, "', port ", m.port,
                        "; set RANK, MASTER_ADDR and MASTER_PORT, or ", launched.advice, ".");
  }
  w->rank = m.rank;
  w->size = m.size;
  const auto share = [&](const std::string& text) { return ShareByTcp(m, text); };
  FZ_ASSIGN_OR_RETURN(w->liveness, Liveness::Start(w->rank, w->size, options.timeout, share));
  w->accelerated = true;
  return absl::OkStatus();
}

void AddAll(World* w) {
  if (!w->groups.empty()) return;
  std::vector<int> all(static_cast<size_t>(w->size));
  std::iota(all.begin(), all.end(), 0);
  AddGroup(w, std::move(all));
}

// Whether this is the first time.
StatusOr<bool> Join(const InitOptions& options) {
  World& w = TheWorld();
  const MutexLock lock(&w.mutex);
  if (w.initialized) return false;
  FZ_ASSIGN_OR_RETURN(const Launched launched, ReadLauncher());
  if (launched.size > 1) {
    FZ_RETURN_IF_ERROR(launched.mpi ? JoinByMpi(&w, launched, options)
                                    : JoinByTcp(&w, launched, options));
    w.groups.clear();
    w.numbers.clear();
  }
  w.local_rank = launched.local_rank;
  AddAll(&w);
  w.collective_timeout = options.collective_timeout;
  w.process = getpid();
  w.initialized = true;
  return true;
}

}  // namespace

Status Init(const InitOptions& options) {
  for (const auto& [name, seconds] : {std::pair("timeout", options.timeout),
                                      {"collective_timeout", options.collective_timeout}}) {
    if (!(seconds > 0))
      return ValueError("[distributed] ", name, " must be above 0 seconds, got ", seconds, ".");
  }
  FZ_ASSIGN_OR_RETURN(const bool first, Join(options));
  return first ? MeasureLink() : absl::OkStatus();
}

double CollectiveTimeout() { return TheWorld().collective_timeout; }
bool Initialized() { return TheWorld().initialized; }
int Rank() { return TheWorld().rank; }
int Size() { return TheWorld().size; }
int LocalRank() { return TheWorld().local_rank; }
std::string Library() { return TheWorld().mpi.version(); }

const Members& GroupNumbered(int64_t number) {
  World& w = TheWorld();
  const MutexLock lock(&w.mutex);
  AddAll(&w);
  return w.groups[static_cast<size_t>(number)];
}

StatusOr<int64_t> NumberOf(absl::Span<const int64_t> ranks) {
  World& w = TheWorld();
  const MutexLock lock(&w.mutex);
  AddAll(&w);
  std::vector<int> own;
  for (const int64_t rank : ranks) {
    if (rank < 0 || rank >= w.size) {
      return ValueError("[distributed] group has the rank ", rank, "; there are ", w.size, ".");
    }
    if (std::find(own.begin(), own.end(), rank) != own.end())
      return ValueError("[distributed] group has the rank ", rank, " twice.");
    own.push_back(static_cast<int>(rank));
  }
  if (own.empty()) return ValueError("[distributed] group must have a rank, got none.");
  return AddGroup(&w, std::move(own));
}

bool Forked() {
  World& w = TheWorld();
  return w.liveness && w.process != getpid();
}

void Abandon(const std::string& why) {
  World& w = TheWorld();
  if (!w.liveness || w.process != getpid()) return;
  w.liveness->Fail(why);
  w.liveness->Linger(2 * tuned::kRanksUnderWay);
}

void Finalize() {
  World& w = TheWorld();
  if (!w.liveness || w.process != getpid()) return;
  if (w.accelerated) w.registered->Finish();
  w.liveness->Leave();
  const auto all_left = [&] {
    for (int rank = 0; rank < w.size; ++rank)
      if (rank != w.rank && !w.liveness->left(rank)) return false;
    return true;
  };
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(w.collective_timeout);
  while (!w.liveness->failed() && !all_left()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (std::chrono::steady_clock::now() > until) w.liveness->Fail("ended, and others did not");
  }
  if (w.liveness->failed()) return w.liveness->Linger(tuned::kRanksUnderWay);
  if (w.accelerated) w.registered->Close();
  if (w.has_mpi) w.mpi.Finalize();
}

Mpi* TheMpi() {
  World& w = TheWorld();
  return w.has_mpi ? &w.mpi : nullptr;
}
Liveness* TheLiveness() { return TheWorld().liveness.get(); }

void RegisterAccelerator(const Accelerator* accelerator) { TheWorld().registered = accelerator; }
const Accelerator* TheAccelerator() {
  const World& w = TheWorld();
  return w.accelerated ? w.registered : nullptr;
}

}  // namespace frazil::distributed
