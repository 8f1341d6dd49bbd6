// What a plan is made of, for people: what fn.show() draws and a profile divides the time of steps
// by. Made by plans (jit/run/plan.cc) when somebody asks, handed on by tracer/recording and
// tracer/script. Invariant: it is worked out from what the plan was made from; the plan keeps none
// of it.
#pragma once

#include <string>
#include <vector>

#include "tracer/memory_report.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// A kernel or a call of a library: a step, or a part of one that is several.
struct StepPart {
  struct Op {
    std::string name;    // "add"
    std::string origin;  // the user's line, "train.py:12", or empty
    int32_t node = -1;   // its number in the graph, or in the body of a loop of steps
    double share = 0;    // about how much of the part's time it takes
  };
  std::string name;    // of the kernel, or what is called
  std::string kernel;  // its text (.kir), or empty
  std::string device;
  double work = 0;   // nanoseconds on one thread, as the cost model has it, at all its runs
  double times = 1;  // runs in one run of the step: iterations of a loop
  double flops = 0, bytes = 0;  // of all of these
  std::vector<Op> ops;
};

struct PlanReport {
  std::string program;  // what was recorded, as text; filled in by who keeps the plan
  std::string where;    // what the plan is of, likewise
  std::string text;     // the graph after all passes, groups, kernels, steps
  std::vector<std::vector<StepPart>> steps;  // parts of each step, in the order in which they run
  MemoryReport memory;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
