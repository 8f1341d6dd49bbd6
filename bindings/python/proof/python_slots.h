// What the slots of a class hold for what it defines in Python. Called by the rules of the proof:
// code that such a slot calls is watched, whatever else a slot holds is C code.
#pragma once

#include "bindings/python/py.h"

namespace frazil::python {

struct PythonSlots {
  iternextfunc none;  // of a class without __next__
  iternextfunc next;
  binaryfunc item;
  objobjproc contains;
  lenfunc length;
  newfunc make;
  initproc init;
  ternaryfunc call;
  descrgetfunc get;
  descrsetfunc set;
};

// All null if Python had no memory for them.
const PythonSlots& SlotsOfPython();

}  // namespace frazil::python
