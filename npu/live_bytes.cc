#include "npu/live_bytes.h"

#include <algorithm>

namespace frazil::npu {
namespace {

constexpr int64_t kGranule = 32;  // bytes that live and die together

struct Granule {
  int64_t written = -1, read = -1;  // cycles; -1: not
};

// Changes of the sum, in no order; equal neighbours are put together.
class Changes {
 public:
  void Add(const Granule& g) {
    if (g.written < 0 || g.read <= g.written) return;
    if (g.written != last_.written || g.read != last_.read) Flush();
    last_ = g;
    bytes_ += kGranule;
  }
  std::vector<std::pair<int64_t, int64_t>> Sums() {
    Flush();
    std::sort(changes_.begin(), changes_.end());
    std::vector<std::pair<int64_t, int64_t>> sums;
    int64_t now = 0;
    for (const auto& [cycle, bytes] : changes_) {
      now += bytes;
      if (!sums.empty() && sums.back().first == cycle) {
        sums.back().second = now;
      } else {
        sums.push_back({cycle, now});
      }
    }
    return sums;
  }

 private:
  void Flush() {
    if (bytes_ == 0) return;
    changes_.push_back({last_.written, bytes_});
    changes_.push_back({last_.read, -bytes_});
    bytes_ = 0;
  }
  Granule last_;
  int64_t bytes_ = 0;
  std::vector<std::pair<int64_t, int64_t>> changes_;
};

}  // namespace

std::vector<std::pair<int64_t, int64_t>> LiveBytes(const Timing& timing, Space space, int core) {
  std::vector<Granule> granules;
  Changes changes;
  const auto touch = [&](int64_t begin, int64_t end, bool write, const Timed& event) {
    const size_t last = size_t((end + kGranule - 1) / kGranule);
    if (last > granules.size()) granules.resize(last);
    for (size_t i = size_t(begin / kGranule); i < last; ++i) {
      Granule& g = granules[i];
      if (write) {
        changes.Add(g);
        g = {event.start, -1};
      } else {
        g.read = std::max(g.read, event.done);
      }
    }
  };
  for (const LocalAccess& t : timing.touches) {
    const Timed& event = timing.events[t.event];
    if (t.access.space() != space || event.core != core) continue;
    const int64_t rows = t.access.stride == 0 ? 1 : t.access.rows;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t begin = int64_t(t.access.begin()) + r * t.access.stride;
      touch(begin, begin + t.access.row_bytes, t.access.write, event);
    }
  }
  for (const Granule& g : granules) changes.Add(g);
  return changes.Sums();
}

}  // namespace frazil::npu
