// What is known of a traced function's call, as Python objects: what fz.export writes down. Made by
// promised.cc, which knows the call's cells, and told by program_module.cc. Invariant: nothing runs
// and nothing changes.
#pragma once

#include <memory>
#include <vector>

#include "bindings/python/nest.h"
#include "bindings/python/proof/telling_apart.h"
#include "tracer/script.h"

namespace frazil::python {

using LearntPaths = std::vector<std::shared_ptr<const tracer::LearntCall>>;

// A dict: "cells", what each parameter of the programs is: (tensor,), ("grad", number of its leaf),
// ("random",) or ("number",); and "paths", of each outcome the result (tensors in it are integers in
// 0-d tensors: their numbers among the outputs), whether the call changes Python objects besides,
// and the program; "asked", which tensors were told apart: (tensor, tensor, line), and "asked_otherwise",
// a line or "". `visible`: how many cells the arguments and what the body reads have.
PyObject* DescribeLearnt(const Nest& nest, size_t visible, bool has_random,
                         const LearntPaths& paths, const Asked& asked);

}  // namespace frazil::python
