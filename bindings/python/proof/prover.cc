#include "bindings/python/proof/prover.h"

#include "core/str.h"

namespace frazil::python {

bool Prover::Doubt(const std::string& why, const std::string& function) {
  doubt_ = why;
  Pause();
  if (!strict_) return true;
  PyErr_Format(PyExc_RuntimeError,
               "[trace] the body of %s cannot be skipped, which strict=True asks for: %s.",
               function.c_str(), why.c_str());
  return false;
}

std::string Prover::Describe() const {
  std::string out;
  if (since_ > 0) {
    StrAppend(&out, "  skipped by proof since call ", since_, "; what is compared besides arguments:\n");
    const std::string world = this->world.Describe();
    for (size_t at = 0; at < world.size();) {
      const size_t end = world.find('\n', at);
      StrAppend(&out, "    ", world.substr(at, end - at), "\n");
      at = end + 1;
    }
  } else if (!doubt_.empty()) {
    StrAppend(&out, "  not proved, so the body runs: ", doubt_, "\n");
  }
  return out;
}

}  // namespace frazil::python
