#include "distributed/link.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "distributed/collectives.h"
#include "distributed/world.h"

namespace frazil::distributed {
namespace {

constexpr int kRounds = 40, kTogether = 8, kFewRounds = 3;
constexpr int64_t kLarge = 1 << 20;      // bytes
constexpr int64_t kMostWhole = 1 << 19;  // bytes: beyond, adding twice is what takes the time
constexpr double kLeast = 2e-7;          // seconds: no clock shows less

Link& Measured() {
  static Link* const link = new Link;
  return *link;
}

CollectiveCall Call(Collective kind, DType dtype, int64_t count) {
  CollectiveCall call;
  call.kind = kind;
  call.dtype = dtype;
  call.shape = Dense({&count, 1});
  return call;
}

double OwnSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// The best of some, in seconds, each behind a barrier.
template <typename F>
StatusOr<double> Best(int rounds, const F& f) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    FZ_RETURN_IF_ERROR(Run(Call(Collective::kBarrier, DType::kF32, 0), nullptr, nullptr));
    const auto begin = Clock::now();
    FZ_RETURN_IF_ERROR(f());
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace

const Link& TheLink() { return Measured(); }

// Whole: every byte to n - 1 others; in parts: twice the way, and as many bytes as to two.
int64_t Link::Whole(int n) const {
  return std::min(kMostWhole, static_cast<int64_t>(latency * bandwidth / std::max(1, n - 1)));
}

Status MeasureLink() {
  if (!TheMpi()) return absl::OkStatus();  // alone, or what NCCL does is not its to measure
  const CollectiveCall small = Call(Collective::kAllReduce, DType::kF32, 1);
  const CollectiveCall large = Call(Collective::kAllReduce, DType::kF32, kLarge / 4);
  const std::vector<char> x(kLarge);
  std::vector<char> out(kLarge);
  FZ_ASSIGN_OR_RETURN(const double one,
                      Best(kRounds, [&] { return Run(small, x.data(), out.data()); }));
  double begun = 1e9;  // of this thread's own time
  FZ_RETURN_IF_ERROR(Best(kRounds, [&] {
                       const double before = OwnSeconds();
                       for (int i = 0; i < kTogether; ++i)
                         Start(small, x.data(), &out[size_t(4 * i)]);
                       begun = std::min(begun, (OwnSeconds() - before) / kTogether);
                       Status status;
                       for (int i = 0; i < kTogether; ++i) status.Update(Wait(&out[size_t(4 * i)]));
                       return status;
                     }).status());
  FZ_ASSIGN_OR_RETURN(const double all,
                      Best(kFewRounds, [&] { return Run(large, x.data(), out.data()); }));
  double found[3];
  found[0] = std::max(kLeast, 2 * begun);  // and as much again to end it
  found[1] = std::max(kLeast, one - found[0]);
  const double bytes = 2.0 * double(kLarge) * (Size() - 1) / Size();
  found[2] = bytes / std::max(all / 10, all - 2 * one);
  double agreed[3];
  FZ_RETURN_IF_ERROR(Run(Call(Collective::kBroadcast, DType::kF64, 3),
                         reinterpret_cast<const char*>(found), reinterpret_cast<char*>(agreed)));
  Measured() = {agreed[0], agreed[1], agreed[2]};
  return absl::OkStatus();
}

}  // namespace frazil::distributed
