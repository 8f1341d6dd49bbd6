// The one customisation point for structs of tensors: ForEachTensor(object, visit) calls
// visit(Tensor&) for each tensor in a fixed order. Called by jit::trace and value_and_grad.
// Tensors, numbers, pairs, tuples, vectors, arrays, optionals and maps are known; for a struct of
// yours write, in its namespace,
//     template <typename F> void ForEachTensor(Params& p, F&& visit) { visit(p.w); visit(p.b); }
// Invariant: the number and order of visits depend on the structure alone.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace frazil {

template <typename F>
void ForEachTensor(Tensor& t, F&& visit) {
  visit(t);
}
template <typename T, typename F>
requires std::is_arithmetic_v<T>
void ForEachTensor(T&, F&&) {}

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
  for (T& item : v) ForEachTensor(item, visit);
}
template <typename T, size_t N, typename F>
void ForEachTensor(std::array<T, N>& v, F&& visit) {
  for (T& item : v) ForEachTensor(item, visit);
}
template <typename T, typename F>
void ForEachTensor(std::optional<T>& v, F&& visit) {
  if (v) ForEachTensor(*v, visit);
}
template <typename K, typename T, typename F>
void ForEachTensor(std::map<K, T>& m, F&& visit) {
  for (auto& [key, item] : m) ForEachTensor(item, visit);
}

}  // namespace frazil
