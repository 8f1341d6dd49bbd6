#include "core/disk/disk_cache.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

#include "core/settings.h"
#include "core/threads/asymmetric_fence.h"
#include "core/threads/at_fork.h"

namespace frazil {
namespace {

constexpr int kMostTries = 40;

}  // namespace

DiskCache::DiskCache(std::string folder, std::string identity, unsigned moment)
    : table_(std::move(folder), std::move(identity)),
      moment_(moment),
      generation_(ForkGeneration()) {
  HoldAcrossFork(ForkOrder::kCaches, &mutex_);
}

void DiskCache::Keep(std::string key, std::string value) {
  bool start;
  {
    MutexLock lock(&mutex_);
    ForgetParents();
    waiting_.insert_or_assign(std::move(key), std::move(value));
    start = !std::exchange(has_writer_, true);
  }
  if (start) StartWriter();
}

// What waited in the parent the parent writes, whose writer does not exist here.
void DiskCache::ForgetParents() {
  if (std::exchange(generation_, ForkGeneration()) == ForkGeneration()) return;
  waiting_.clear();
  has_writer_ = false;
}

void DiskCache::StartWriter() {
  PrepareFences();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { RunWriter(); }).detach();
  } catch (const std::system_error&) {  // no thread to be had: then at exit
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Ends when nothing waits, or nothing can be written for long; then what waits is written at exit.
void DiskCache::RunWriter() {
  for (int tries = 0; tries < kMostTries;) {
    usleep(moment_);
    const Written written = WriteWaiting();
    if (written == Written::kNothing) return;
    tries = written == Written::kAll ? 0 : tries + 1;
  }
}

// If there was nothing, the writer ends.
DiskCache::Written DiskCache::WriteWaiting() {
  const ForkGuard guard;
  const std::lock_guard<std::mutex> lock(writing_);
  std::vector<DiskTable::Entry> entries;
  {
    MutexLock lock_waiting(&mutex_);
    ForgetParents();
    for (auto& [key, value] : std::exchange(waiting_, {}))
      entries.push_back({key, std::move(value)});
    if (entries.empty()) has_writer_ = false;
  }
  if (entries.empty()) return Written::kNothing;
  if (table_.Add(entries, Get(Setting::k_disk_bytes))) return Written::kAll;
  MutexLock lock_waiting(&mutex_);
  for (DiskTable::Entry& entry : entries)
    waiting_.emplace(std::move(entry.key), std::move(entry.value));
  return Written::kNotYet;
}

void DiskCache::Flush() { WriteWaiting(); }

}  // namespace frazil
