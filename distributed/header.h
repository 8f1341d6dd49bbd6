// What a rank calls, as bytes that travel and are compared: ranks whose calls differ tell both.
// Made by distributed/collectives.cc, which sends it ahead of the data, and by
// distributed/agreement.h where the data travel without it. Invariant: plain bytes, the same layout
// in every process.
#pragma once

#include <string>

#include "distributed/collectives.h"

namespace frazil::distributed {

inline bool Sums(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kReduceScatter ||
         kind == Collective::kReduce;
}
inline bool ToOne(Collective kind) {
  return kind == Collective::kSend || kind == Collective::kRecv;
}

struct Header {
  int64_t sequence = 0;
  uint64_t group = 0;
  int64_t dims[8] = {};
  int32_t peer = 0, rank = 0;  // rank: of the array
  uint8_t kind = 0, reduction = 0, dtype = 0, unused = 0;

  static Header Of(const CollectiveCall& call, int64_t sequence, uint64_t group);
  std::string text() const;
  bool Agrees(const Header& other) const;
};

}  // namespace frazil::distributed
