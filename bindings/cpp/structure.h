// The one customisation point for structs of tensors: ForEachTensor(object, visit) calls
// visit(Tensor&) for each tensor in a fixed order. Called by jit::trace and value_and_grad of C++
// alone: the compiler walks types, as Python's nests are walked by what objects are (container.h).
// Tensors, numbers, strings, pairs, tuples, vectors, arrays, optionals and maps are known; for a
// struct of yours write, in its namespace,
//     template <typename F> void ForEachTensor(Params& p, F&& visit) { visit(p.w); visit(p.b); }
// A visitor that has Other(value) is also told of numbers, strings, sizes and keys: calls by
// promise guard them. Call ForEachTensor(p.flag, visit) for those of a struct that its function
// depends on. Invariant: the number and order of visits depend on the structure alone.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil {

template <typename F>
void ForEachTensor(Tensor& t, F&& visit) {
  visit(t);
}
template <typename T, typename F>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T> ||
         std::is_same_v<T, std::string>) void ForEachTensor(T& value, F&& visit) {
  if constexpr (requires { visit.Other(value); }) visit.Other(value);
}

template <typename A, typename B, typename F>
void ForEachTensor(std::pair<A, B>& p, F&& visit);
template <typename... Ts, typename F>
void ForEachTensor(std::tuple<Ts...>& t, F&& visit);
template <typename T, typename F>
void ForEachTensor(std::vector<T>& v, F&& visit);
template <typename T, size_t N, typename F>
void ForEachTensor(std::array<T, N>& v, F&& visit);
template <typename T, typename F>
void ForEachTensor(std::optional<T>& v, F&& visit);
template <typename K, typename T, typename F>
void ForEachTensor(std::map<K, T>& m, F&& visit);

template <typename A, typename B, typename F>
void ForEachTensor(std::pair<A, B>& p, F&& visit) {
  ForEachTensor(p.first, visit);
  ForEachTensor(p.second, visit);
}
template <typename... Ts, typename F>
void ForEachTensor(std::tuple<Ts...>& t, F&& visit) {
  std::apply([&](auto&... items) { (ForEachTensor(items, visit), ...); }, t);
}
template <typename T, typename F>
void ForEachTensor(std::vector<T>& v, F&& visit) {
  if constexpr (requires { visit.Other(v.size()); }) visit.Other(v.size());
  for (T& item : v) ForEachTensor(item, visit);
}
template <typename T, size_t N, typename F>
void ForEachTensor(std::array<T, N>& v, F&& visit) {
  for (T& item : v) ForEachTensor(item, visit);
}
template <typename T, typename F>
void ForEachTensor(std::optional<T>& v, F&& visit) {
  if constexpr (requires { visit.Other(true); }) visit.Other(v.has_value());
  if (v) ForEachTensor(*v, visit);
}
template <typename K, typename T, typename F>
void ForEachTensor(std::map<K, T>& m, F&& visit) {
  if constexpr (requires { visit.Other(m.size()); }) visit.Other(m.size());
  for (auto& item : m) {
    if constexpr (requires { visit.Other(item.first); }) visit.Other(item.first);
    ForEachTensor(item.second, visit);
  }
}

}  // namespace frazil
#pragma GCC visibility pop
