// What is known of a traced function's call, as Python objects: what fz.export writes down. Made by
// promised.cc, which knows the call's cells, and told by program_module.cc. Invariant: nothing runs
// and nothing changes.
#pragma once

#include <memory>
#include <vector>

#include "bindings/python/nest.h"
#include "tracer/script.h"

namespace frazil::python {

using LearntPaths = std::vector<std::shared_ptr<const tracer::LearntCall>>;

// A dict: "cells", what each parameter of the programs is: (tensor,), ("grad", number of its leaf),
// ("random",) or ("number",); and "paths", of each outcome the result (tensors in it are integers in
// 0-d tensors: their numbers among the outputs), whether the call changes Python objects besides,
// and the program. `hidden`: the cells behind those of the arguments and what the body reads.
PyObject* DescribeLearnt(const Nest& nest, size_t visible, bool has_random,
                         const LearntPaths& paths);

}  // namespace frazil::python
