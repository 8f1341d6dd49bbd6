// String building over std::string_view: Debian's abseil is built for C++14, where
// absl::string_view is its own type. Called everywhere instead of absl::StrCat. Invariant: same
// results as absl's for the types both take.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#pragma GCC visibility push(default)
namespace frazil {

inline absl::string_view AbslView(std::string_view s) { return {s.data(), s.size()}; }

namespace str_internal {
template <typename T>
decltype(auto) Piece(const T& x) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return AbslView(x);
  } else {
    return static_cast<const T&>(x);
  }
}
}  // namespace str_internal

template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(str_internal::Piece(args)...);
}

template <typename... Args>
void StrAppend(std::string* out, const Args&... args) {
  absl::StrAppend(out, str_internal::Piece(args)...);
}

}  // namespace frazil
#pragma GCC visibility pop
