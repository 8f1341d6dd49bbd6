// Whether a call that a file asks for can be made. core/infer.cc checks what users can get wrong, and
// trusts core/functions for the rest: how many attributes there are, which axes they name. A frozen
// program comes from a file, which may say anything. Called by frozen/run.cc before each call.
// Invariant: a call that passes fails by a status or computes something; it touches no memory but
// its operands' and its result's.
#pragma once

#include "core/apply.h"

namespace frazil::frozen {

Status CheckCall(const OpCall& call);
Status CheckComposite(const CompositeCall& call, bool has_body);

}  // namespace frazil::frozen
