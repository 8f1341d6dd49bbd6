// What steps are made of, as Python's lists and dicts. Called by trace_module.cc (fn.show()) and
// profile_module.cc. Invariant: null with an exception set, or new objects.
#pragma once

#include <vector>

#include "bindings/python/py.h"
#include "tracer/plan_report.h"

namespace frazil::python {

// [[{name, kernel, device, work, times, flops, bytes, ops: [(name, origin, node, share)]}]]
Object StepList(const std::vector<std::vector<tracer::StepPart>>& steps);

}  // namespace frazil::python
