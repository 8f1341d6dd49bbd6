// Whether ranks make the same calls, where the data travel without a word (NCCL): each rank tells
// rank 0 what it calls, beside the call, and rank 0 compares. A call that others make without a
// rank, or otherwise than it, would hang; so it fails the world instead. Told over the connections
// of distributed/liveness.h, which own the ledger; used by jit/run/cuda.
//
// Invariant: nobody waits for the comparison but a barrier, which is nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "distributed/header.h"
#include "distributed/world.h"

namespace frazil::distributed {

// What travels to rank 0: the call's name among all, who makes it, and its header.
std::string Word(std::string_view name, absl::Span<const int> ranks, const Header& header);

// Rank 0's list of calls that not all ranks have made yet.
class Ledger {
 public:
  struct Verdict {
    int rank = -1;  // that fails the world, or -1
    std::string why;
    std::string done;  // a barrier at which all have arrived
  };
  Verdict Add(int rank, std::string_view told, double now);
  // Of a call that a rank has not made which has ended well, or for which others have waited for
  // `most` seconds.
  Verdict Overdue(absl::FunctionRef<bool(int)> left, double most, double now) const;
  size_t open() const { return calls_.size(); }

 private:
  struct Call {
    Header header;
    int first = 0;
    double since = 0;
    std::vector<int> missing;
  };
  std::map<std::string, Call, std::less<>> calls_;
};

// Tells rank 0 of a call of this rank, the next one of its group.
void Tell(const CollectiveCall& call, const Members& group);
// A barrier over the same way.
Status Meet(const CollectiveCall& call, const Members& group);

}  // namespace frazil::distributed
