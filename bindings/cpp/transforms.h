// Functions of functions, as in Python (frazil/_transforms.py): each nests with the others, with grad
// and with jit::trace. Part of frazil.h. Arguments and results are tensors or what ForEachTensor knows
// (structure.h).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/forward.h"
#include "autograd/grad.h"
#include "batch/batch.h"
#include "batch/checkpoint.h"
#include "bindings/cpp/error.h"
#include "bindings/cpp/indexing.h"
#include "bindings/cpp/structure.h"
#include "core/functions/composites.h"
#include "core/functions/ops.h"

#pragma GCC visibility push(default)
namespace frazil {

namespace cpp_internal {

template <typename P>
std::vector<Tensor> TensorsOf(const P& nest) {
  std::vector<Tensor> out;
  P copy = nest;
  ForEachTensor(copy, [&](Tensor& t) { out.push_back(t); });
  return out;
}
// The nest with other tensors, in order.
template <typename P>
P WithTensors(P nest, const std::vector<Tensor>& tensors) {
  size_t i = 0;
  ForEachTensor(nest, [&](Tensor& t) { t = tensors.at(i++); });
  return nest;
}
inline Tensor Sure(StatusOr<Tensor> t) {
  ThrowIf(t.status());
  return *std::move(t);
}
inline Tensor Sure(Tensor t) {
  ThrowIf(t.status());
  return t;
}
inline Tensor ZerosLike(const Tensor& t) {
  return Sure(ops::full(t.dims(), Scalar::Float(0), t.dtype(), t.device()));
}
// The nest with `part` of each tensor.
template <typename X, typename Part>
X PartOf(X nest, const Part& part) {
  ForEachTensor(nest, [&](Tensor& t) { t = Sure(part(t)); });
  return nest;
}

// Positions of the arguments to differentiate by: argnums.
template <size_t... N>
struct Positions {
  static constexpr std::array<size_t, sizeof...(N)> all{N...};
  // Where `n` is among them; as many as there are: nowhere.
  static constexpr size_t Find(size_t n) {
    return static_cast<size_t>(std::find(all.begin(), all.end(), n) - all.begin());
  }
  // f(args...) with the items of `own` in these places.
  template <typename F, typename Own, typename... A>
  static decltype(auto) Call(const F& f, const Own& own, const A&... args) {
    static_assert(((N < sizeof...(A)) && ...), "an argument to differentiate by is not there");
    const auto pick = [&]<size_t K>(std::integral_constant<size_t, K>) -> const auto& {
      if constexpr (constexpr size_t at = Find(K); at < sizeof...(N)) {
        return std::get<at>(own);
      } else {
        return std::get<K>(std::tie(args...));
      }
    };
    return [&]<size_t... K>(std::index_sequence<K...>)->decltype(auto) {
      return f(pick(std::integral_constant<size_t, K>())...);
    }
    (std::index_sequence_for<A...>());
  }
  // of(Positions<n>) for each of them, as a tuple; of one alone itself.
  template <typename Of>
  static auto ForEach(const Of& of) {
    if constexpr (sizeof...(N) == 1) {
      return of(Positions<N...>());
    } else {
      return std::tuple{of(Positions<N>())...};
    }
  }
};
// The first argument, if none is named.
template <size_t... N>
using ArgNums = std::conditional_t<sizeof...(N) == 0, Positions<0>, Positions<N...>>;

template <size_t... N, typename F>
auto ValueAndGrad(Positions<N...> positions, F f) {
  return [f = std::move(f), positions]<typename... A>(const A&... args) {
    Initialize();
    autograd::GradScope scope;
    auto variables = std::tuple<std::decay_t<decltype(std::get<N>(std::tie(args...)))>...>{
        // braces: in order
        std::get<N>(std::tie(args...))...};
    ForEachTensor(variables, [&](Tensor& t) { t = scope.Variable(t); });
    Tensor value = positions.Call(f, std::as_const(variables), args...);
    auto grads = scope.Gradients(&value);
    ThrowIf(grads.status());
    size_t i = 0;
    ForEachTensor(variables, [&](Tensor& t) { t = (*grads)[i++]; });
    if constexpr (sizeof...(N) == 1) {
      return std::pair(scope.Outside(value), std::get<0>(std::move(variables)));
    } else {
      return std::pair(scope.Outside(value), std::move(variables));
    }
  };
}

}  // namespace cpp_internal

// value_and_grad(f)(params, args...) -> {f(params, args...), gradients shaped like params}. By other
// arguments than the first: value_and_grad<1>(f); by several: value_and_grad<0, 2>(f), a tuple.
template <size_t... N, typename F>
auto value_and_grad(F f) {
  return cpp_internal::ValueAndGrad(cpp_internal::ArgNums<N...>(), std::move(f));
}
template <size_t... N, typename F>
auto grad(F f) {
  return
      [vg = value_and_grad<N...>(std::move(f))](const auto&... args) { return vg(args...).second; };
}

struct VmapOptions {
  // Of each argument; nothing: the examples share it. Fewer than arguments: 0 for the others.
  std::vector<std::optional<int64_t>> in_axes = {};
  int64_t out_axis = 0;
  batch::Randomness randomness = batch::Randomness::kError;
};

// f for every example along an axis of its arguments, as one program over all of them.
template <typename F>
auto vmap(F f, VmapOptions options = {}) {
  return [f = std::move(f), options = std::move(options)]<typename... A>(const A&... args) {
    Initialize();
    const auto axis_of = [&](size_t n) -> std::optional<int64_t> {
      return n < options.in_axes.size() ? options.in_axes[n] : 0;
    };
    std::optional<int64_t> size;
    size_t n = 0;
    const auto measure = [&](const auto& arg) {
      const auto axis = axis_of(n++);
      if (!axis || size) return;
      for (const Tensor& t : cpp_internal::TensorsOf(arg)) {
        const int64_t at = *axis < 0 ? *axis + t.rank() : *axis;
        if (at >= 0 && at < t.rank() && !size) size = t.dims()[at];
      }
    };
    (measure(args), ...);
    if (!size) ThrowIf(ValueError("[vmap] no argument has an axis to be mapped over."));
    batch::BatchScope scope(*size, options.randomness);
    n = 0;
    const auto inside = [&]<typename P>(const P& arg) {
      P own = arg;
      const auto axis = axis_of(n++);
      if (axis)
        ForEachTensor(own, [&](Tensor& t) { t = cpp_internal::Sure(scope.OfExample(t, *axis)); });
      return own;
    };
    auto arguments = std::tuple<A...>{inside(args)...};  // braces: in order
    auto result = std::apply(f, std::as_const(arguments));
    ForEachTensor(result, [&](Tensor& t) {
      t = cpp_internal::Sure(scope.Whole(cpp_internal::Sure(t), options.out_axis));
    });
    return result;
  };
}

// (f(primal), its derivative in the direction of `tangent`), which has the primal's structure.
template <typename F, typename P>
auto jvp(const F& f, const P& primal, const P& tangent) {
  Initialize();
  autograd::ForwardScope scope;
  const std::vector<Tensor> moves = cpp_internal::TensorsOf(tangent);
  P variables = primal;
  size_t i = 0;
  ForEachTensor(variables, [&](Tensor& t) {
    if (i == moves.size()) ThrowIf(ValueError("[jvp] a tangent for every tensor of the primal."));
    t = cpp_internal::Sure(scope.Variable(t, moves[i++]));
  });
  auto value = f(std::as_const(variables));
  auto moved = value;
  ForEachTensor(moved, [&](Tensor& t) {
    const Tensor slope = scope.Tangent(cpp_internal::Sure(t));
    t = slope.defined() ? slope : cpp_internal::ZerosLike(t);
  });
  ForEachTensor(value, [&](Tensor& t) { t = scope.Outside(t); });
  return std::pair(std::move(value), std::move(moved));
}

// (f(primal), a function from gradients of the result to the primal's), to be called any number of
// times.
template <typename F, typename P>
auto vjp(const F& f, const P& primal) {
  Initialize();
  auto scope = std::make_shared<autograd::GradScope>();
  P variables = primal;
  ForEachTensor(variables, [&](Tensor& t) { t = scope->Variable(cpp_internal::Sure(t)); });
  auto result = f(std::as_const(variables));
  auto value = result;
  ForEachTensor(value, [&](Tensor& t) { t = scope->Outside(cpp_internal::Sure(t)); });
  scope->Leave();
  const auto pull = [scope, primal,
                     roots = cpp_internal::TensorsOf(result)](const decltype(result)& gradient) {
    const std::vector<Tensor> seeds = cpp_internal::TensorsOf(gradient);
    if (seeds.size() != roots.size())
      ThrowIf(ValueError("[vjp] a gradient for every tensor of the result."));
    auto made = scope->Pull(roots, seeds);
    ThrowIf(made.status());
    return cpp_internal::WithTensors(primal, *made);
  };
  return std::pair(std::move(value), pull);
}

// The Jacobian of a function by a tensor of shape t, with a result of shape s: [s..., t...]; a
// column at a time in forward mode, a row at a time in reverse mode, and second derivatives. By the
// first argument, or those that are named: jacfwd<1>(f), jacrev<0, 2>(f), a tuple, and
// hessian<0, 1>(f), a tuple of tuples.
namespace cpp_internal {
Tensor Basis(const Tensor& like);                     // [size, shape...]
Tensor Columns(const Tensor& all, const Tensor& of);  // [size, s...] as [s..., t...]
Tensor Rows(const Tensor& all, const Tensor& of);     // [size, t...] as [s..., t...]
}  // namespace cpp_internal

template <size_t... N, typename F>
auto jacfwd(F f) {
  return [f = std::move(f)](const auto&... args) {
    Initialize();
    return cpp_internal::ArgNums<N...>::ForEach([&]<size_t K>(cpp_internal::Positions<K> place) {
      const Tensor& x = std::get<K>(std::tie(args...));
      const auto of_it = [&](const Tensor& own) { return place.Call(f, std::tie(own), args...); };
      const auto push = [&](const Tensor& move) { return jvp(of_it, x, move).second; };
      return cpp_internal::PartOf(vmap(push)(cpp_internal::Basis(x)),
                                  [&](const Tensor& all) { return cpp_internal::Columns(all, x); });
    });
  };
}
template <size_t... N, typename F>
auto jacrev(F f) {
  return [f = std::move(f)](const auto&... args) {
    return cpp_internal::ArgNums<N...>::ForEach([&]<size_t K>(cpp_internal::Positions<K> place) {
      const Tensor& x = std::get<K>(std::tie(args...));
      auto [y, pull] =
          vjp([&](const Tensor& own) { return place.Call(f, std::tie(own), args...); }, x);
      return cpp_internal::Rows(vmap(pull)(cpp_internal::Basis(y)), y);
    });
  };
}
template <size_t... N, typename F>
auto hessian(F f) {
  return [f = std::move(f)](const auto&... args) {
    return cpp_internal::ArgNums<N...>::ForEach(
        [&]<size_t K>(cpp_internal::Positions<K>) { return jacfwd<N...>(jacrev<K>(f))(args...); });
  };
}

// The Hessian of a function with one number as its result, times `tangent`: forward mode over reverse.
template <typename F, typename P>
P hvp(const F& f, const P& primal, const P& tangent) {
  const auto gradient = [&](const P& x) {
    auto [value, pull] = vjp(f, x);
    return pull(ops::full(value.dims(), Scalar::Float(1), value.dtype(), value.device()));
  };
  return jvp(gradient, primal, tangent).second;
}

// (f(primal), the derivative there as a function of tangents); f runs once.
template <typename F, typename P>
auto linearize(const F& f, const P& primal) {
  auto [value, pull] = vjp(f, primal);
  auto zeros = value;
  ForEachTensor(zeros, [](Tensor& t) { t = cpp_internal::ZerosLike(t); });
  // pull is linear, so its own gradient is the derivative, wherever it is taken.
  const auto push = [pull = std::move(pull), zeros](const P& tangent) {
    return vjp(pull, zeros).second(tangent);
  };
  return std::pair(std::move(value), push);
}

// f, whose inner results are computed again for gradients instead of being kept
// (batch/checkpoint.h): what f does besides computing happens once more in the pass back.
template <typename F>
auto checkpoint(F f) {
  return [f = std::move(f)]<typename... A>(const A&... args) {
    Initialize();
    using Arguments = std::tuple<A...>;
    using Result = std::decay_t<decltype(f(args...))>;
    const auto result = std::make_shared<std::optional<Result>>();  // with its structure
    const auto flat = [f, result, arguments = Arguments(args...)](
                          absl::Span<const Tensor> own) -> StatusOr<std::vector<Tensor>> {
      const Arguments mine = cpp_internal::WithTensors(arguments, {own.begin(), own.end()});
      *result = std::apply(f, mine);
      return cpp_internal::TensorsOf(**result);
    };
    auto made = batch::Checkpoint(flat, cpp_internal::TensorsOf(Arguments(args...)));
    ThrowIf(made.status());
    Result out = cpp_internal::WithTensors(std::move(**result), *made);
    result->reset();
    return out;
  };
}

// The tensors as constants for gradients and tangents.
template <typename P>
P stop_gradient(P nest) {
  ForEachTensor(nest, [](Tensor& t) { t = t.Detach(); });
  return nest;
}

}  // namespace frazil
#pragma GCC visibility pop
