// Control flow over tensors, as in Python (frazil/_control.py): branches and loops that run as the C++
// code they stand for, and have a meaning where conditions differ between the examples of a vmap: both
// branches run and each example keeps its own, and a loop goes on while any example does. Part of
// frazil.h. States and results are tensors or what ForEachTensor knows (structure.h).
#pragma once

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "batch/taken.h"
#include "bindings/cpp/transforms.h"

#pragma GCC visibility push(default)
namespace frazil {

// Of loops whose length is known.
struct LoopOptions {
  bool reverse = false;  // scan and associative_scan: from the last entry on
  // Which states are kept for gradients, the others being computed again: of every so many steps;
  // 0: all.
  int64_t checkpoint = 0;
};
// About sqrt(n) of n states are kept.
inline constexpr int64_t kSqrtSteps = -1;

namespace cpp_internal {

bool IsTrue(const Tensor& condition);            // reads it
int64_t StepsOfBlock(int64_t n, int64_t every);  // at least 1
// Which of `n` branches an index takes: the nearest one, where there is none.
int64_t BranchOf(const Tensor& index, int64_t n);
void CheckIndex(const Tensor& index);
// How many entries the tensors have along their first axes.
int64_t Entries(std::string_view op, absl::Span<const Tensor> xs);
using Combine =
    std::function<std::vector<Tensor>(const std::vector<Tensor>&, const std::vector<Tensor>&)>;
std::vector<Tensor> RunningResults(const Combine& combine, std::vector<Tensor> xs, bool reverse,
                                   int64_t axis);

// `if_true` where the condition is, else `if_false`, tensor by tensor.
template <typename P>
P Chosen(const Tensor& condition, const P& if_true, const P& if_false) {
  std::vector<Tensor> x = TensorsOf(if_true);
  const std::vector<Tensor> y = TensorsOf(if_false);
  if (x.size() != y.size())
    ThrowIf(ValueError("[cond] branches return ", x.size(), " and ", y.size(), " tensors."));
  for (size_t i = 0; i < x.size(); ++i) x[i] = Sure(ops::where(condition, x[i], y[i]));
  return WithTensors(if_true, x);
}

// Tensor by tensor `join` of all nests.
template <typename Y, typename Join>
Y Joined(const std::vector<Y>& nests, const Join& join) {
  std::vector<std::vector<Tensor>> columns;
  for (const Y& y : nests) {
    const std::vector<Tensor> row = TensorsOf(y);
    if (columns.empty()) columns.resize(row.size());
    if (columns.size() != row.size())
      ThrowIf(ValueError("[scan] one step returns ", row.size(), " tensors, the first one ",
                         columns.size(), "."));
    for (size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
  }
  std::vector<Tensor> whole;
  for (const std::vector<Tensor>& column : columns) whole.push_back(Sure(join(column)));
  return WithTensors(nests.front(), whole);
}

}  // namespace cpp_internal

// f(args...) if `condition`, one bool, is true, else g(args...); of both for every example its own
// where it differs between the examples of a vmap.
template <typename F, typename G, typename... A>
auto cond(const Tensor& condition, const F& f, const G& g, const A&... args) {
  if (!batch::IsBatched(condition))
    return cpp_internal::IsTrue(condition) ? f(args...) : g(args...);
  const auto run = [&](const auto& branch, const Tensor& taken) {
    const batch::TakenScope scope(taken, cpp_internal::TensorsOf(std::tuple<A...>(args...)));
    return branch(args...);
  };
  const auto first = run(f, condition);
  return cpp_internal::Chosen(condition, first,
                              run(g, cpp_internal::Sure(ops::logical_not(condition))));
}

// Branch number `index` of (args...), an index out of range taken to the nearest one in it.
template <typename F, typename... Fs, typename... A>
auto switch_case(const Tensor& index, const std::tuple<F, Fs...>& branches, const A&... args) {
  using R = std::decay_t<decltype(std::get<0>(branches)(args...))>;
  const auto calls = std::apply(
      [&](const auto&... f) {
        return std::vector<std::function<R()>>{[&] { return f(args...); }...};
      },
      branches);
  cpp_internal::CheckIndex(index);
  const auto n = static_cast<int64_t>(calls.size());
  if (n == 1) return calls[0]();
  if (!batch::IsBatched(index)) return calls[cpp_internal::BranchOf(index, n)]();
  const auto run = [&](int64_t k, const Tensor& taken) {
    const batch::TakenScope scope(taken, cpp_internal::TensorsOf(std::tuple<A...>(args...)));
    return calls[k]();
  };
  const auto up_to = [&](int64_t k) { return cpp_internal::Sure(ops::less_equal(index, k)); };
  R result = run(n - 1, cpp_internal::Sure(ops::greater(index, n - 2)));
  for (int64_t k = n - 2; k >= 0; --k) {
    const Tensor here = up_to(k);
    const Tensor alone = k == 0 ? here : cpp_internal::Sure(ops::equal(index, k));
    result = cpp_internal::Chosen(here, run(k, alone), result);
  }
  return result;
}

// The first of init, body(init), ... for which test is false.
template <typename C, typename B, typename P>
P while_loop(const C& test, const B& body, P state) {
  while (true) {
    const Tensor go = cpp_internal::Sure(test(std::as_const(state)));
    const bool batched = batch::IsBatched(go);
    if (!cpp_internal::IsTrue(batched ? batch::AnyExample(go) : go)) return state;
    P next = [&] {
      const batch::TakenScope scope(go, cpp_internal::TensorsOf(state));
      return body(std::as_const(state));
    }();
    state = batched ? cpp_internal::Chosen(go, next, state) : std::move(next);
  }
}

// body(high - 1, ... body(low, state)).
template <typename B, typename P>
P fori_loop(int64_t low, int64_t high, const B& body, P state, const LoopOptions& options = {}) {
  const int64_t steps = cpp_internal::StepsOfBlock(high - low, options.checkpoint);
  for (int64_t begin = low; begin < high; begin += steps) {
    const int64_t end = std::min(high, begin + steps);
    const auto run = [body, begin, end](P s) {
      for (int64_t i = begin; i < end; ++i) s = body(i, std::as_const(s));
      return s;
    };
    state = steps < high - low ? checkpoint(run)(state) : run(std::move(state));
  }
  return state;
}

// (carry, y) = f(carry, x) over the entries of xs, a nest, along its first axis: the last carry, and
// the ys stacked.
template <typename F, typename P, typename X>
auto scan(const F& f, P carry, const X& xs, const LoopOptions& options = {}) {
  using Y = std::decay_t<decltype(f(std::as_const(carry), xs).second)>;
  const auto run = [f, reverse = options.reverse](P own, const X& entries) {
    const int64_t n = cpp_internal::Entries("scan", cpp_internal::TensorsOf(entries));
    std::vector<Y> ys;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t t = reverse ? n - 1 - k : k;
      auto [next, y] =
          f(std::as_const(own), cpp_internal::PartOf(entries, [&](Tensor& x) { return x(t); }));
      own = std::move(next);
      ys.push_back(std::move(y));
    }
    if (reverse) std::reverse(ys.begin(), ys.end());
    const auto join = [](const std::vector<Tensor>& column) { return ops::stack(column); };
    return std::pair<P, Y>(std::move(own), cpp_internal::Joined(ys, join));
  };
  const int64_t n = cpp_internal::Entries("scan", cpp_internal::TensorsOf(xs));
  const int64_t steps = cpp_internal::StepsOfBlock(n, options.checkpoint);
  if (steps >= n) return run(std::move(carry), xs);
  std::vector<Y> blocks;
  for (int64_t k = 0; k < n; k += steps) {
    const int64_t begin = options.reverse ? std::max<int64_t>(0, n - k - steps) : k;
    const int64_t end = options.reverse ? n - k : std::min(n, k + steps);
    const X own = cpp_internal::PartOf(xs, [&](Tensor& x) { return x(Slice(begin, end)); });
    auto [next, y] = checkpoint(run)(carry, own);
    carry = std::move(next);
    blocks.push_back(std::move(y));
  }
  if (options.reverse) std::reverse(blocks.begin(), blocks.end());
  const auto join = [](const std::vector<Tensor>& column) { return ops::concat(column, 0); };
  return std::pair<P, Y>(std::move(carry), cpp_internal::Joined(blocks, join));
}

// f of each entry of xs along its first axis, stacked: one after the other, where vmap computes all at
// once.
template <typename F, typename X>
auto map(const F& f, const X& xs) {
  const auto step = [f](const std::tuple<>&, const X& x) {
    return std::pair(std::tuple<>(), f(x));
  };
  return scan(step, std::tuple<>(), xs).second;
}

// Running results of an associative fn(a, b) along an axis, in a logarithm of its extent steps; fn
// combines two nests entry by entry, a before b.
template <typename F, typename X>
X associative_scan(const F& fn, const X& xs, const LoopOptions& options = {}, int64_t axis = 0) {
  Initialize();
  const auto combine = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    return cpp_internal::TensorsOf(
        fn(cpp_internal::WithTensors(xs, a), cpp_internal::WithTensors(xs, b)));
  };
  return cpp_internal::WithTensors(
      xs,
      cpp_internal::RunningResults(combine, cpp_internal::TensorsOf(xs), options.reverse, axis));
}

}  // namespace frazil
#pragma GCC visibility pop
