// A setting that holds for a scope. Called by tests of bounds.
#pragma once

#include <cstdint>

#include "core/settings.h"

namespace frazil {

class Limit {
 public:
  Limit(Setting setting, int64_t value) : setting_(setting), before_(Get(setting)) {
    Set(setting, value);
  }
  ~Limit() { Set(setting_, before_); }
  Limit(const Limit&) = delete;

 private:
  Setting setting_;
  int64_t before_;
};

}  // namespace frazil
