// Which local names of a function may be read again from an instruction on: what a dead one holds is
// no part of the state of the program. Called by body_state.cc. Invariant: a name that is said to be
// dead is written before it is read, whatever happens; code whose names are read in other ways
// (locals()) has none.
#pragma once

#include <vector>

#include "bindings/python/proof/code_view.h"

namespace frazil::python {

class Lives {
 public:
  explicit Lives(const CodeView& code);

  // Behind the instruction that runs at `offset`.
  bool IsLive(int offset, int local) const {
    return all_ || live_[static_cast<size_t>(offset / 2) * words_ + local / 64] >> local % 64 & 1;
  }

 private:
  bool ReadsNames(PyCodeObject* code) const;
  bool Take(const CodeView& code, int offset);

  bool all_ = false;
  size_t words_;
  std::vector<uint64_t> live_;  // a row of bits for each unit, of what is live before it
};

}  // namespace frazil::python
