// The exception of the C++ interface. Thrown by frazil.h wherever a call returns a status inside.
// Invariant: the message is the one Python shows.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil {

// Sets up the eager door, the tape and the compiler. Called by every function of the interface;
// cheap after the first time.
void Initialize();

class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status)
      : std::runtime_error(std::string(status.message())), kind_(KindOf(status)) {}
  Error(const Status& status, std::string_view op)
      : std::runtime_error(Renamed({status.message().data(), status.message().size()}, op)),
        kind_(KindOf(status)) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// What a body or a rule of the program threw (op.h), as it is; else an Error.
[[noreturn]] void Throw(const Status& status);

inline void ThrowIf(const Status& status) {
  if (__builtin_expect(!status.ok(), 0)) Throw(status);
}

// A tensor that holds no error; an error is thrown as one of the function `op`.
inline Tensor Checked(Tensor t, std::string_view op) {
  if (__builtin_expect(!t.ok(), 0)) throw Error(t.status(), op);
  return t;
}

}  // namespace frazil
#pragma GCC visibility pop
