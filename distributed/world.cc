#include "distributed/world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "core/threads/mutex.h"
#include "distributed/link.h"

namespace frazil::distributed {
namespace {

struct World {
  Mutex mutex;
  bool initialized = false;
  pid_t process = 0;  // a forked child is no rank
  Mpi mpi;
  std::unique_ptr<Liveness> liveness;
  int rank = 0, size = 1;
  double collective_timeout = 0;
  std::deque<Members> groups;  // places stay
  absl::flat_hash_map<std::vector<int>, int64_t> numbers;
};

World& TheWorld() {
  static World* const world = new World;
  return *world;
}

int NumberIn(const char* variable) {
  const char* const text = std::getenv(variable);
  int number = -1;
  return text && absl::SimpleAtoi(text, &number) ? number : -1;
}

// Who started this process, and as one of how many; nobody: size 1.
struct Launched {
  std::string by;
  int size = 1;
};

StatusOr<Launched> ReadLauncher() {
  if (const int size = NumberIn("OMPI_COMM_WORLD_SIZE"); size > 0) return Launched{"mpirun", size};
  if (const int size = NumberIn("PMI_SIZE"); size > 0) return Launched{"mpiexec", size};
  const int tasks = NumberIn("SLURM_NTASKS");
  if (std::getenv("SLURM_STEP_ID") && tasks > 1) {
    if (std::getenv("PMIX_RANK") || std::getenv("PMI_RANK") || std::getenv("PMI2_RANK") ||
        std::getenv("PMI_FD"))
      return Launched{"srun", tasks};
    return RuntimeError("[distributed] srun started ", tasks,
                        " tasks but tells MPI nothing of them: run srun --mpi=pmix (or "
                        "--mpi=pmi2 for MPICH).");
  }
  if (const int size = NumberIn("WORLD_SIZE"); size > 1) {
    return RuntimeError("[distributed] RANK=", NumberIn("RANK"), " and WORLD_SIZE=", size,
                        " are torchrun's, of which MPI cannot make ranks: start the program by "
                        "mpirun -n ",
                        size, " instead.");
  }
  return Launched{};
}

// Before there is anything else: what rank 0 has, on all ranks.
StatusOr<std::string> ShareByMpi(Mpi* mpi, std::string text) {
  constexpr int kTag = 0;
  const auto wait = [&](Mpi::Request* request) -> Status {
    for (;;) {
      FZ_ASSIGN_OR_RETURN(const bool done, mpi->Test(request));
      if (done) return absl::OkStatus();
      std::this_thread::yield();
    }
  };
  text.resize(4096);
  if (mpi->rank() > 0) {
    Mpi::Request request;
    FZ_RETURN_IF_ERROR(mpi->Receive(text.data(), 4096, 0, kTag, &request));
    FZ_RETURN_IF_ERROR(wait(&request));
  } else {
    for (int to = 1; to < mpi->size(); ++to) {
      Mpi::Request request;
      FZ_RETURN_IF_ERROR(mpi->Send(text.data(), 4096, to, kTag, &request));
      FZ_RETURN_IF_ERROR(wait(&request));
    }
  }
  return std::string(text.c_str());
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
    FZ_RETURN_IF_ERROR(w.mpi.Open());
    if (w.mpi.size() != launched.size) {
      return RuntimeError("[distributed] ", launched.by, " started ", launched.size, " processes, ",
                          w.mpi.version(), " knows of ", w.mpi.size(),
                          ": they are of different MPIs; FRAZIL_MPI_LIBRARY names the launcher's.");
    }
    w.rank = w.mpi.rank();
    w.size = w.mpi.size();
    FZ_ASSIGN_OR_RETURN(w.liveness,
                        Liveness::Start(w.rank, w.size, options.timeout, [&](std::string text) {
                          return ShareByMpi(&w.mpi, std::move(text));
                        }));
    w.groups.clear();
    w.numbers.clear();
  }
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
  w.liveness->Linger(2);
}

void Finalize() {
  World& w = TheWorld();
  if (!w.liveness || w.process != getpid()) return;
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
  if (w.liveness->failed()) {
    w.liveness->Linger(1);
  } else {
    w.mpi.Finalize();
  }
}

Mpi* TheMpi() {
  World& w = TheWorld();
  return w.liveness ? &w.mpi : nullptr;
}
Liveness* TheLiveness() { return TheWorld().liveness.get(); }

}  // namespace frazil::distributed
