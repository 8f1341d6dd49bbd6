#include "tracer/causes.h"

#include <array>
#include <cstdio>

#include "absl/strings/str_replace.h"
#include "core/check.h"
#include "core/config.h"
#include "core/str.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "tracer/explain.h"

namespace frazil::tracer {

const CauseRow& Info(Cause cause) {
  static constexpr CauseRow kRows[] = {
#define FZ_CAUSE(Id, name, kind, sentence) {name, CauseKind::k##kind, sentence},
#include "tracer/causes.def"
#undef FZ_CAUSE
  };
  return kRows[static_cast<int>(cause)];
}

std::string Sentence(const Explanation& explanation) {
  std::vector<std::pair<std::string, std::string>> replacements;
  for (const auto& [name, text] : explanation.fields) {
    replacements.emplace_back(StrCat("{", name, "}"), text);
  }
  return absl::StrReplaceAll(AbslView(Info(explanation.cause).sentence), replacements);
}

namespace {

struct Shared {
  Mutex mutex;
  std::array<int64_t, kNumCauses> counts ABSL_GUARDED_BY(mutex){};
  std::array<std::string, kNumCauses> lines ABSL_GUARDED_BY(mutex);
};
Shared& GlobalShared() {
  static Shared* shared = [] {
    auto* made = new Shared;
    HoldAcrossFork(ForkOrder::kCaches, &made->mutex);
    return made;
  }();
  return *shared;
}

}  // namespace

void NoteShared(const Explanation& explanation) {
  const std::string where = Here();
  std::string line =
      StrCat(where.empty() ? "" : StrCat("(", where, "): "), Sentence(explanation), ".");
  if (LogEnabled("guard") || explanation.cause == Cause::kThrashing)
    std::fprintf(stderr, "[cache] %s\n", line.c_str());
  Shared& shared = GlobalShared();
  MutexLock lock(&shared.mutex);
  ++shared.counts[static_cast<int>(explanation.cause)];
  shared.lines[static_cast<int>(explanation.cause)] = std::move(line);
}

int64_t SharedCount(Cause cause) {
  Shared& shared = GlobalShared();
  MutexLock lock(&shared.mutex);
  return shared.counts[static_cast<int>(cause)];
}

std::vector<std::string> SharedLines() {
  Shared& shared = GlobalShared();
  MutexLock lock(&shared.mutex);
  std::vector<std::string> lines;
  for (int i = 0; i < kNumCauses; ++i) {
    if (const int64_t n = shared.counts[i]) {
      lines.push_back(StrCat("[cache] ", shared.lines[i], n > 1 ? StrCat(" (", n, " times)") : ""));
    }
  }
  return lines;
}

}  // namespace frazil::tracer
