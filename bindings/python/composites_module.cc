// The rows of core/functions/composites.def as functions of frazil and frazil.nn.
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"

namespace frazil::python {

std::vector<FunctionRow> CompositeFunctions(std::string_view where) {
  std::vector<FunctionRow> rows;
#define FZ_COMPOSITE(home, name, parameters, python, doc) \
  if (where == #home)                                     \
    rows.push_back({#name "(" python ")", doc, Bound<#name "(" python ")", ops::name>});
#define FZ_INNER(...)
#include "core/functions/composites.def"
  return rows;
}

}  // namespace frazil::python
