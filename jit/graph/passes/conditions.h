// Conditions of rewrites.def: whether a row holds at a match, and the attributes of its new op.
// Used by rewrite.cc alone. Invariant: they look at dtypes, layouts and attributes, never at data.
#pragma once

#include "jit/graph/passes/rewrite.h"

namespace frazil::jit::conditions {

bool Always(const Match& match, Attrs* attrs);
bool AttrsOfFirst(const Match& match, Attrs* attrs);   // the new op has those of the root
bool AttrsOfSecond(const Match& match, Attrs* attrs);  // of the op below

bool SameDType(const Match& match, Attrs* attrs);       // a cast to what x is
bool CastsCompose(const Match& match, Attrs* attrs);    // the first of two casts loses nothing
bool CastsBack(const Match& match, Attrs* attrs);       // ... and the second leads back
bool MiddleRounds(const Match& match, Attrs* attrs);    // two casts of floats, the first loses bits
bool CastsKeepOrder(const Match& match, Attrs* attrs);  // x and y of one dtype, every value kept

bool ReducesNothing(const Match& match, Attrs* attrs);  // over axes of extent 1, and x is dense
bool JoinAxes(const Match& match, Attrs* attrs);        // reduced twice: over all axes at once
bool PermutedAxes(const Match& match, Attrs* attrs);    // the axes that stay keep their order

bool SameElements(const Match& match, Attrs* attrs);  // a view that is laid out as x
bool ComposePermutations(const Match& match, Attrs* attrs);
bool ComposeSlices(const Match& match, Attrs* attrs);
bool InOrderAgain(const Match& match, Attrs* attrs);  // all of dense memory in its order

}  // namespace frazil::jit::conditions
