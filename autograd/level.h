// Levels of function-style gradients and forward mode, over all threads, and for code that leaves
// forward mode for a while and makes tangents itself. Called by the scopes of both (forward.h, grad.h)
// and by loops of many steps (frazil/_control.py).
//
// A function within a jvp may hand values to a thread that it waits for: ops there make the tangents of
// the scopes that are open, whichever thread is in them. Invariant: a level lies above those of forward
// mode in other threads, so that nothing of a value that comes from there is mistaken for its own.
#pragma once

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::autograd {

// Enters the next level of this thread, and leaves it again.
int EnterLevel();
void LeaveLevel();

// Whether this thread is in no transform, or in one level of forward mode alone.
bool InOneForward();
// The tangent of t in the innermost scope of this thread, undefined if it has none; a value with the
// tangent, and with what it has of that scope already.
Tensor InnermostTangent(const Tensor& t);
Tensor WithTangent(const Tensor& t, const Tensor& tangent);

}  // namespace frazil::autograd
#pragma GCC visibility pop
