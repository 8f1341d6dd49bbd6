// What is tried before an array is refused for want of memory. Set by jit/runtime/register, called
// by the allocator. Invariant: it can run wherever arrays are allocated.
#pragma once

namespace frazil {

// `let_go` may free arrays that nobody can ask for any more.
void SetLastResort(void (*let_go)());

}  // namespace frazil
