// FZ_CHECK: invariants of frazil's own code. A failure prints file, line and the condition and
// aborts. Called everywhere; never for anything a caller can cause (that is absl::Status,
// core/status.h).
#pragma once

#include <cstdio>
#include <cstdlib>

#define FZ_CHECK(cond)                                                                        \
  do {                                                                                        \
    if (__builtin_expect(!(cond), 0)) {                                                       \
      std::fprintf(stderr, "frazil: internal error: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (0)
