#include "bindings/cpp/profile.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "bindings/cpp/error.h"
#include "core/str.h"
#include "jit/run/plan.h"

namespace frazil {
namespace {

using Row = profile::Row;

// A step's time, shared out to its parts by what they are expected to take.
void AddStep(const std::vector<tracer::StepPart>& parts, double seconds,
             absl::flat_hash_map<std::string, Row>* rows) {
  double work = 0;
  for (const tracer::StepPart& part : parts) work += part.work;
  for (const tracer::StepPart& part : parts) {
    Row& row = (*rows)[part.name];
    row.kernel = part.name;
    row.seconds += seconds * (work > 0 ? part.work / work : 1.0 / double(parts.size()));
    row.runs += part.times;
    row.flops += part.flops;
    row.bytes += part.bytes;
  }
}

}  // namespace

profile::profile() {
  Initialize();
  constexpr int64_t kMost = 1'000'000;
  ThrowIf(StartProfile(kMost));
}

profile::~profile() {
  if (running_) StopProfile().IgnoreError();
}

void profile::Stop() {
  if (!std::exchange(running_, false)) return;
  const auto taken = StopProfile();
  ThrowIf(taken.status());
  seconds_ = double(taken->end - taken->begin) / 1e9;
  absl::flat_hash_map<std::string, Row> rows;
  for (const ThreadProfile& thread : taken->threads) {
    std::vector<std::vector<std::vector<tracer::StepPart>>> plans;
    for (const auto& owner : thread.owners)
      plans.push_back(static_cast<const jit::Plan*>(owner.get())->Report().steps);
    for (const ProfileEvent& e : thread.events) {
      if (e.kind == ProfileEvent::Kind::kStep)
        AddStep(plans[size_t(e.owner)][size_t(e.step)], double(e.end - e.begin) / 1e9, &rows);
    }
  }
  for (auto& [name, row] : rows) rows_.push_back(std::move(row));
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
}

const std::vector<profile::Row>& profile::by_kernel() {
  Stop();
  return rows_;
}

double profile::seconds() {
  Stop();
  return seconds_;
}

std::string profile::text() {
  Stop();
  std::string out = StrCat(seconds_ * 1e3, " ms in all\n");
  for (const Row& row : rows_) {
    char line[160];
    std::snprintf(line, sizeof line, "%-60.60s %10.1f us %8.0f runs %8.2f GB/s %8.2f GFLOP/s\n",
                  row.kernel.c_str(), row.seconds * 1e6, row.runs, row.bytes / row.seconds / 1e9,
                  row.flops / row.seconds / 1e9);
    out += line;
  }
  return out;
}

}  // namespace frazil
