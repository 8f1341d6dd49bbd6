#include <pybind11/pybind11.h>

PYBIND11_MODULE(_frazil, module) {
  module.doc() = "The compiled part of frazil; import `frazil` instead.";
  module.attr("__version__") = FRAZIL_VERSION;
}
