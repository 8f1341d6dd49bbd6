// Aside: a traced call that is left for a while (trace.h), in the thread that it runs in. Called by
// loops of many steps (frazil/_control.py), whose step is traced by itself: so not each of them is
// recorded by a call that may be the only one. Invariant: nothing is learnt from the call that is
// left, as what happens meanwhile is no part of it.
#pragma once

#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

class Session;

class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  // Whether it may be left, if there is one.
  static bool Possible();

 private:
  Session* const session_;
  Door* const door_;
  ReadObserver* const observer_;
  const int transforms_;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
