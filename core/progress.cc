#include "core/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/config.h"
#include "core/profile.h"
#include "core/str.h"

namespace frazil {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kQuiet = kSecond;       // most work is over by then
constexpr int64_t kEvery = kSecond / 10;  // between lines

bool Wanted() {
  const std::string& progress = GetConfig().progress;
  return progress == "on" || (progress == "auto" && isatty(STDERR_FILENO) == 1);
}

}  // namespace

ProgressLine::ProgressLine(std::string_view what, int64_t total)
    : what_(what), total_(total), shown_(Wanted()), begin_(ProfileClock()) {}

ProgressLine::~ProgressLine() {
  const MutexLock lock(&mutex_);
  if (wide_ > 0) std::fprintf(stderr, "\r%s\r", std::string(wide_, ' ').c_str());
}

void ProgressLine::Advance() {
  if (!shown_) return;
  const int64_t now = ProfileClock();
  const MutexLock lock(&mutex_);
  ++done_;
  if (now - begin_ < kQuiet || now - last_ < kEvery) return;
  last_ = now;
  std::string line = StrCat(what_, ": ", done_, "/", total_, " (", 100 * done_ / total_, "%), ",
                            (now - begin_) / kSecond, " s");
  line.resize(std::max(line.size(), wide_), ' ');
  wide_ = line.size();
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace frazil
