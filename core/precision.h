// How matrices are multiplied: the choices of fz.precision. Kept for each thread (core/apply.h), a
// part of the keys of plans, read by what makes products (jit/plan). Invariant: the choice, the
// op, the dtype and the shapes decide which implementation runs, never layouts or tracing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace frazil {

enum class Precision : uint8_t {
#define FZ_PRECISION(E, name, doc) E,
#include "core/precision.def"
#undef FZ_PRECISION
};

struct PrecisionInfo {
  std::string_view name, doc;
};
inline constexpr PrecisionInfo kPrecisions[] = {
#define FZ_PRECISION(E, name, doc) {name, doc},
#include "core/precision.def"
#undef FZ_PRECISION
};

inline std::string_view Name(Precision p) { return kPrecisions[static_cast<int>(p)].name; }

// Null for a name that is none.
std::optional<Precision> PrecisionNamed(std::string_view name);
// "default", "tf32" ... or "blas", for errors.
std::string PrecisionNames();

}  // namespace frazil
#pragma GCC visibility pop
