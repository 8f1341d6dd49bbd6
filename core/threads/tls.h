// Thread-local variables that are read on every op.
// Used for a few words in all: the module that holds them may be loaded late (dlopen), when only a
// little room is left among the variables that are reached by one instruction. Invariant: such a
// variable is constant-initialised and trivially destructible, so reading it checks nothing.
#pragma once

#define FZ_HOT_TLS constinit thread_local __attribute__((tls_model("initial-exec")))
