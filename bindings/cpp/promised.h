// jit::trace(fn, jit::pure): a traced callable whose body may be skipped. Called by programs
// through frazil.h. Invariant: arguments and results are made of what ForEachTensor knows
// (bindings/cpp/structure.h); everything that it visits is guarded, everything else is promised.
#pragma once

#include <cstring>
#include <string_view>

#include "bindings/cpp/error.h"
#include "bindings/cpp/structure.h"
#include "tracer/promise.h"
#include "tracer/trace.h"

#pragma GCC visibility push(default)
namespace frazil::jit {

// The promise that a function depends on its arguments only, and how often that is checked:
// the first calls and every n-th run the body. Pure{.every = 0}: never again after the first.
using Pure = tracer::Policy;
inline constexpr Pure pure{};

namespace promised_internal {

// Collects the tensors of a nest and words for all else.
struct Collector {
  tracer::Words words;
  SmallStack<Tensor*, 16> tensors;

  void operator()(Tensor& t) { tensors.push_back(&t); }
  template <typename T>
  void Other(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      words.push_back(value.size());
      for (size_t i = 0; i < value.size(); i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, value.data() + i, std::min<size_t>(8, value.size() - i));
        words.push_back(word);
      }
    } else {
      static_assert(sizeof(T) <= 8 || std::is_floating_point_v<T>);
      uint64_t word[2] = {};
      std::memcpy(word, &value, sizeof value);
      for (size_t i = 0; i < (sizeof(T) + 7) / 8; ++i) words.push_back(word[i]);
    }
  }
};

}  // namespace promised_internal

template <typename F>
class Promised {
 public:
  Promised(F fn, std::string name, Pure policy)
      : fn_(std::move(fn)), state_(std::make_shared<SharedState>(std::move(name), policy)) {}

  template <typename... A>
  auto operator()(A&&... args) {
    using R = std::decay_t<std::invoke_result_t<F&, A...>>;
    Initialize();
    if (!tracer::Enabled() || tracer::Inside()) {
      tracer::Call call(&state_->trace);
      return Finished<R>(&call, std::forward<A>(args)...);
    }
    promised_internal::Collector in;
    (ForEachTensor(const_cast<std::remove_cvref_t<A>&>(args), in), ...);
    tracer::PromisedCall promised(&state_->promise, &in.words, in.tensors.span());
    if (promised.Skip()) return Rebuilt<R>(promised);
    ThrowIf(promised.status());
    tracer::ScriptBuilder* builder = promised.Observe();
    tracer::Call call(&state_->trace, builder);
    if constexpr (std::is_void_v<R>) {
      Finished<R>(&call, std::forward<A>(args)...);
      ThrowIf(promised.Learn({}, {}, nullptr, nullptr));
    } else {
      R result = Finished<R>(&call, std::forward<A>(args)...);
      if (!builder) return result;  // nothing is to be learnt
      auto form = std::make_shared<R>(result);
      promised_internal::Collector out;
      ForEachTensor(*form, out);
      const std::vector<const Tensor*> tensors(out.tensors.begin(), out.tensors.end());
      const Status learnt =
          promised.Learn(tensors, {out.words.begin(), out.words.end()}, form, nullptr);
      for (Tensor* t : out.tensors) *t = Tensor();
      ThrowIf(learnt);
      return result;
    }
  }

  std::string explain() const { return state_->promise.Explain(); }
  tracer::TraceStats stats() const { return state_->promise.stats(); }

 private:
  struct SharedState {
    SharedState(std::string name, Pure policy)
        : trace(std::move(name), true), promise(&trace.recording(), policy) {}
    tracer::Trace trace;
    tracer::Promise promise;
  };

  template <typename R, typename... A>
  R Finished(tracer::Call* call, A&&... args) {
    if constexpr (std::is_void_v<R>) {
      fn_(std::forward<A>(args)...);
      ThrowIf(call->Finish());
    } else {
      R result = fn_(std::forward<A>(args)...);
      ThrowIf(call->Finish());
      return result;
    }
  }

  template <typename R>
  static R Rebuilt(tracer::PromisedCall& call) {
    if constexpr (std::is_same_v<R, Tensor>) {
      return std::move(call.outputs()[0]);
    } else if constexpr (!std::is_void_v<R>) {
      R result = *static_cast<const R*>(call.learnt().pins.get());
      size_t i = 0;
      ForEachTensor(result, [&](Tensor& t) { t = std::move(call.outputs()[i++]); });
      return result;
    }
  }

  F fn_;
  std::shared_ptr<SharedState> state_;
};

}  // namespace frazil::jit
#pragma GCC visibility pop
