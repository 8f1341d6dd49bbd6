// Where the calls end that the vmaps of this thread make for all examples. Called by checkpoint, whose
// policy keeps results of such calls (core/kept.h).
#pragma once

#include "core/apply.h"

namespace frazil::batch {

class BatchDoor;

// While it lives they end at `door`, if they ended at the eager one.
class LastDoor {
 public:
  explicit LastDoor(Door* door);
  ~LastDoor();
  LastDoor(const LastDoor&) = delete;

 private:
  BatchDoor* last_ = nullptr;
  Door* before_ = nullptr;
};

}  // namespace frazil::batch
