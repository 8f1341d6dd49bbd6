// What is tried before an array of the CPU is refused for want of memory; the devices' own
// allocators do not try it. Set by jit/register, called by the allocator. Invariants: it
// runs no ops and no code of the host but what takes back memory that the host lent, as plans
// allocate while they hold plain pointers to their inputs; and who allocates holds no lock that
// it takes, or that freeing an array takes.
#pragma once

namespace frazil {

// `let_go` may free arrays that nobody can ask for any more.
void SetLastResort(void (*let_go)());

}  // namespace frazil
