// Errors that a caller can cause, each with the Python exception it becomes at the edge.
// Called by every layer; bindings translate. Invariant: the message reads
// "[op] what is wrong: both values." and an error leaves the caller's data as it was.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/str.h"

#pragma GCC visibility push(default)
namespace frazil {

using absl::Status;
using absl::StatusOr;

// The exception a status turns into (bindings/python, bindings/cpp).
enum class ErrorKind {
  kType,
  kValue,
  kIndex,
  kNotImplemented,
  kMemory,
  kOverflow,
  kFile,
  kRuntime,
  kFloatingPoint,  // within detect_anomaly
  kLinAlg,         // a matrix that an algorithm cannot take
  kNpuFault,       // a program on the simulated NPU did wrong
  kRaised,         // by a function of the host's, which raises it again
  kInterrupted     // core/threads/long_work.h; the host raises what interrupted it
};

Status MakeError(ErrorKind kind, std::string_view message);
ErrorKind KindOf(const Status& status);

// "[inner] text" as "[op] text": an error names the function that was called, not the op inside it
// that failed. Messages without a name stay.
std::string Renamed(std::string_view message, std::string_view op);

#define FZ_ERROR_MAKER(Name, kind)                      \
  template <typename... Args>                           \
  Status Name(const Args&... args) {                    \
    return MakeError(ErrorKind::kind, StrCat(args...)); \
  }
FZ_ERROR_MAKER(TypeError, kType)
FZ_ERROR_MAKER(ValueError, kValue)
FZ_ERROR_MAKER(IndexError, kIndex)
FZ_ERROR_MAKER(NotImplementedError, kNotImplemented)
FZ_ERROR_MAKER(MemoryError, kMemory)
FZ_ERROR_MAKER(OverflowError, kOverflow)
FZ_ERROR_MAKER(FileError, kFile)
FZ_ERROR_MAKER(RuntimeError, kRuntime)
FZ_ERROR_MAKER(FloatingPointError, kFloatingPoint)
FZ_ERROR_MAKER(LinAlgError, kLinAlg)
FZ_ERROR_MAKER(NpuFaultError, kNpuFault)
#undef FZ_ERROR_MAKER

}  // namespace frazil
#pragma GCC visibility pop

#define FZ_CONCAT_INNER(a, b) a##b
#define FZ_CONCAT(a, b) FZ_CONCAT_INNER(a, b)

// Returns the status of `expr` from the enclosing function unless it is OK.
#define FZ_RETURN_IF_ERROR(expr)                                \
  do {                                                          \
    ::absl::Status fz_status = (expr);                          \
    if (__builtin_expect(!fz_status.ok(), 0)) return fz_status; \
  } while (0)

// Declares `lhs` from a StatusOr, or returns its status.
#define FZ_ASSIGN_OR_RETURN(lhs, expr) \
  FZ_ASSIGN_OR_RETURN_IMPL(FZ_CONCAT(fz_or_, __LINE__), lhs, expr)
#define FZ_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)                      \
  auto tmp = (expr);                                                  \
  if (__builtin_expect(!tmp.ok(), 0)) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
