#include "distributed/agreement.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "core/str.h"
#include "core/threads/mutex.h"
#include "distributed/tuned.h"

namespace frazil::distributed {
namespace {

// False: it is none.
bool Read(std::string_view word, std::string_view* name, std::vector<int>* ranks, Header* header) {
  const auto take = [&](void* to, size_t bytes) {
    if (word.size() < bytes) return false;
    std::memcpy(to, word.data(), bytes);
    word.remove_prefix(bytes);
    return true;
  };
  uint32_t count = 0;
  if (!take(&count, 4) || word.size() < count) return false;
  *name = word.substr(0, count);
  word.remove_prefix(count);
  if (!take(&count, 4) || word.size() / 4 < count) return false;
  for (; count > 0; --count) {
    int32_t rank = 0;
    if (!take(&rank, 4)) return false;
    ranks->push_back(rank);
  }
  return take(header, sizeof(Header)) && word.empty();
}

// What is next between ranks, by the group or the pair.
struct Numbers {
  Mutex mutex;
  absl::flat_hash_map<std::string, int64_t> next;
  int64_t Take(const std::string& of) {
    const MutexLock lock(&mutex);
    return next[of]++;
  }
};
Numbers& TheNumbers() {
  static Numbers* const numbers = new Numbers;
  return *numbers;
}

std::string TellNamed(const CollectiveCall& call, const Members& group) {
  std::vector<int> ranks = group.ranks;
  std::string of = StrCat(group.id);
  if (ToOne(call.kind)) {
    const int peer = group.ranks[static_cast<size_t>(call.peer)], me = Rank();
    const bool sends = call.kind == Collective::kSend;
    ranks = {sends ? me : peer, sends ? peer : me};
    StrAppend(&of, " from ", ranks[0], " to ", ranks[1]);
  }
  const int64_t number = TheNumbers().Take(of);
  const std::string name = StrCat(of, " ", number);
  TheLiveness()->Tell(Word(name, ranks, Header::Of(call, number, group.id)));
  return name;
}

}  // namespace

std::string Word(std::string_view name, absl::Span<const int> ranks, const Header& header) {
  std::string out;
  const auto put = [&](const auto& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(static_cast<uint32_t>(name.size()));
  out.append(name);
  put(static_cast<uint32_t>(ranks.size()));
  for (const int rank : ranks) put(static_cast<int32_t>(rank));
  put(header);
  return out;
}

Ledger::Verdict Ledger::Add(int rank, std::string_view told, double now) {
  std::string_view name;
  std::vector<int> ranks;
  Header header;
  if (!Read(told, &name, &ranks, &header)) return {};
  auto at = calls_.find(name);
  if (at == calls_.end()) at = calls_.emplace(name, Call{header, rank, now, ranks}).first;
  Call& call = at->second;
  if (rank != call.first && !call.header.Agrees(header)) {
    const bool before = call.first < rank;
    const Header &a = before ? call.header : header, &b = before ? header : call.header;
    const int low = std::min(call.first, rank), high = std::max(call.first, rank);
    return {rank,
            StrCat("the ranks do not agree: rank ", low, " calls ", a.text(), " where rank ", high,
                   " calls ", b.text()),
            ""};
  }
  std::erase(call.missing, rank);
  if (!call.missing.empty()) return {};
  const bool barrier = static_cast<Collective>(header.kind) == Collective::kBarrier;
  Verdict verdict{-1, "", barrier ? std::string(name) : ""};
  calls_.erase(at);
  return verdict;
}

Ledger::Verdict Ledger::Overdue(absl::FunctionRef<bool(int)> left, double most, double now) const {
  for (const auto& [name, call] : calls_) {
    const double waited = now - call.since;
    if (waited < tuned::kRanksUnderWay) continue;
    const std::string who = StrCat("rank ", call.first);
    for (const int rank : call.missing) {
      if (!left(rank)) continue;
      return {rank,
              StrCat(who, " waits in ", call.header.text(), " for rank ", rank,
                     ", whose program has ended without it"),
              ""};
    }
    if (waited < most || call.missing.empty()) continue;
    const int rank = call.missing[0];
    return {rank,
            StrCat(who, " has waited ", most, " s in ", call.header.text(), " for rank ", rank,
                   ", which is alive and has not come (look where it stands; "
                   "init(collective_timeout=...) gives ranks more time)"),
            ""};
  }
  return {};
}

void Tell(const CollectiveCall& call, const Members& group) { TellNamed(call, group); }

Status Meet(const CollectiveCall& call, const Members& group) {
  return TheLiveness()->Await(TellNamed(call, group), -1).status();
}

}  // namespace frazil::distributed
