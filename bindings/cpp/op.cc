#include "bindings/cpp/op.h"

#include <exception>
#include <memory>
#include <utility>

#include "bindings/cpp/frazil.h"
#include "core/backend.h"
#include "core/functions/ops.h"

namespace frazil {
namespace {

// What a body or a rule threw, until its status arrives at the caller.
thread_local std::exception_ptr t_thrown;

template <typename F>
std::invoke_result_t<F> Guarded(const F& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    t_thrown = std::current_exception();
    return MakeError(ErrorKind::kRaised, error.what());
  } catch (...) {
    t_thrown = std::current_exception();
    return MakeError(ErrorKind::kRaised, "an exception of a body or a rule");
  }
}

ArraySpec SpecOf(const Tensor& t, size_t leading) {
  const Dims dims = t.dims().subspan(leading);
  return {{dims.begin(), dims.end()}, t.dtype()};
}

int64_t ElementsOf(const ArraySpec& spec) { return Dense(spec.shape)->size; }

using Tensors = batch::CustomOp::Tensors;
using TensorSpan = batch::CustomOp::TensorSpan;

// What ops with rules share.
class RuledOp : public batch::CustomOp {
 public:
  RuledOp(std::string name, std::shared_ptr<const OpRules> rules)
      : CustomOp(std::move(name)), rules_(std::move(rules)) {}

  StatusOr<Tensors> Keep(TensorSpan operands) override {
    return rules_->vjp ? batch::Call(Ref<CustomOp>::Share(this), operands) : Tensors();
  }

  StatusOr<Tensors> Pull(TensorSpan operands, TensorSpan kept, TensorSpan gradients) override {
    if (!rules_->vjp)
      return rules_->jvp ? CustomOp::Pull(operands, kept, gradients) : batch::NoGradient(name);
    return Asked("vjp", [&](size_t* count) {
      *count = operands.size();
      return rules_->vjp(operands, kept, gradients);
    });
  }

 protected:
  Made WithKept(Tensors results) const { return {results, rules_->vjp ? results : Tensors()}; }

  template <typename F>
  StatusOr<Tensors> Asked(std::string_view rule, const F& ask) const {
    size_t count = 0;
    FZ_ASSIGN_OR_RETURN(Tensors made, Guarded([&]() -> StatusOr<Tensors> { return ask(&count); }));
    if (made.size() != count) {
      return TypeError("[", name, "] the rule ", rule, " must give ", count, " tensors, got ",
                       made.size(), ".");
    }
    return made;
  }

  const std::shared_ptr<const OpRules> rules_;
};

// A body for every example of the vmaps that it is called in, from the outermost on.
class HostOp final : public RuledOp {
 public:
  struct Level {
    int64_t size;
    std::vector<bool> batched;  // of the operands
  };

  HostOp(std::string name, std::shared_ptr<const OpRules> rules, std::vector<Level> levels = {})
      : RuledOp(std::move(name), std::move(rules)), levels_(std::move(levels)) {}

  StatusOr<Made> Compute(TensorSpan operands) override {
    return Guarded([&] { return Run(operands); });
  }

  StatusOr<Tensors> Push(TensorSpan operands, TensorSpan tangents) override {
    if (!rules_->jvp) return batch::NoTangent(name);
    return Asked("jvp", [&](size_t* count) {
      *count = SpecsOf(operands, {}).second.size();
      return rules_->jvp(operands, tangents);
    });
  }

  bool batches() const override { return true; }
  StatusOr<Made> ForAll(int64_t size, TensorSpan operands,
                        const std::vector<bool>& batched) override {
    std::vector<Level> levels = {{size, batched}};
    levels.insert(levels.end(), levels_.begin(), levels_.end());
    const auto ask = [&] {
      if (!rules_->batch || !levels_.empty()) {
        return batch::Call(Ref<CustomOp>::Adopt(new HostOp(name, rules_, std::move(levels))),
                           operands);
      }
      return Asked("batch", [&](size_t* count) {
        *count = SpecsOf(operands, levels).second.size();
        return rules_->batch(size, operands, batched);
      });
    };
    FZ_ASSIGN_OR_RETURN(Tensors made, ask());
    return WithKept(std::move(made));
  }

 private:
  // Of one example: of the operands and of the results.
  std::pair<std::vector<ArraySpec>, std::vector<ArraySpec>> SpecsOf(
      TensorSpan operands, const std::vector<Level>& levels) const {
    std::vector<ArraySpec> in;
    for (size_t k = 0; k < operands.size(); ++k) {
      size_t leading = 0;
      for (const Level& level : levels) leading += level.batched[k];
      in.push_back(SpecOf(operands[k], leading));
    }
    std::vector<ArraySpec> out = rules_->shape(in);
    return {std::move(in), std::move(out)};
  }

  // Which of an operand's examples it is, of those of all levels.
  int64_t Example(int64_t whole, size_t operand) const {
    int64_t example = 0, step = 1;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      const int64_t at = whole % level->size;
      whole /= level->size;
      if (!level->batched[operand]) continue;
      example += at * step;
      step *= level->size;
    }
    return example;
  }

  StatusOr<Made> Run(TensorSpan operands) const {
    const auto [in, out] = SpecsOf(operands, levels_);
    Tensors dense, results;
    std::vector<int64_t> in_sizes, out_sizes, lead;
    for (size_t k = 0; k < operands.size(); ++k) {
      dense.push_back(cpp_internal::DenseReady(operands[k], operands[k].dtype()));
      in_sizes.push_back(ElementsOf(in[k]));
    }
    int64_t examples = 1;
    for (const Level& level : levels_) {
      examples *= level.size;
      lead.push_back(level.size);
    }
    for (const ArraySpec& spec : out) {
      std::vector<int64_t> dims = lead;
      dims.insert(dims.end(), spec.shape.begin(), spec.shape.end());
      FZ_RETURN_IF_ERROR(CheckDims(name, dims, SizeOf(spec.dtype)));
      FZ_ASSIGN_OR_RETURN(ValueRef value, Value::Allocate(spec.dtype, Device(), Dense(dims)));
      results.emplace_back(std::move(value));
      out_sizes.push_back(ElementsOf(spec));
    }
    for (int64_t e = 0; e < examples; ++e) {
      std::vector<HostBuffer<const char>> from;
      std::vector<HostBuffer<char>> to;
      for (size_t k = 0; k < dense.size(); ++k) {
        const int64_t start = Example(e, k) * in_sizes[k] * SizeOf(in[k].dtype);
        from.emplace_back(name, &in[k], dense[k].value()->data + start, in_sizes[k]);
      }
      for (size_t k = 0; k < results.size(); ++k) {
        const int64_t start = e * out_sizes[k] * SizeOf(out[k].dtype);
        to.emplace_back(name, &out[k], results[k].value()->data + start, out_sizes[k]);
      }
      rules_->body(from, to);
    }
    const Device device = operands.empty() ? Device() : operands[0].device();
    for (Tensor& t : results) {
      if (device != t.device()) t = ops::to_device(t, device);
      FZ_RETURN_IF_ERROR(t.status());
    }
    return WithKept(std::move(results));
  }

  const std::vector<Level> levels_;
};

// A body of frazil's functions.
class TensorOp final : public RuledOp {
 public:
  using RuledOp::RuledOp;

  StatusOr<Made> Compute(TensorSpan operands) override {
    FZ_ASSIGN_OR_RETURN(Tensors results, Results(operands));
    return WithKept(std::move(results));
  }
  StatusOr<Tensors> Pull(TensorSpan operands, TensorSpan kept, TensorSpan gradients) override {
    if (rules_->vjp || rules_->jvp) return RuledOp::Pull(operands, kept, gradients);
    autograd::GradScope scope;
    Tensors variables;
    for (const Tensor& t : operands)
      variables.push_back(IsInexact(t.dtype()) ? scope.Variable(t) : t);
    FZ_ASSIGN_OR_RETURN(const Tensors results, Results(variables));
    scope.Leave();
    FZ_ASSIGN_OR_RETURN(const Tensors made, scope.Pull(results, gradients));
    Tensors out;
    auto next = made.begin();
    for (const Tensor& t : operands) out.push_back(IsInexact(t.dtype()) ? *next++ : Tensor());
    return out;
  }
  StatusOr<Tensors> Push(TensorSpan operands, TensorSpan tangents) override {
    if (rules_->jvp) {
      return Asked("jvp", [&](size_t* count) {
        Tensors made = rules_->jvp(operands, tangents);
        *count = made.size();
        return made;
      });
    }
    if (rules_->vjp) return batch::NoTangent(name);
    autograd::ForwardScope scope;
    Tensors variables, out;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!IsInexact(operands[i].dtype())) {
        variables.push_back(operands[i]);
        continue;
      }
      FZ_ASSIGN_OR_RETURN(Tensor moved, scope.Variable(operands[i], tangents[i]));
      variables.push_back(std::move(moved));
    }
    FZ_ASSIGN_OR_RETURN(const Tensors results, Results(variables));
    for (const Tensor& t : results) out.push_back(scope.Tangent(t));
    return out;
  }

  bool batches() const override { return rules_->batch != nullptr; }
  StatusOr<Made> ForAll(int64_t size, TensorSpan operands,
                        const std::vector<bool>& batched) override {
    FZ_ASSIGN_OR_RETURN(Tensors made, Asked("batch", [&](size_t* count) {
                          Tensors all = rules_->batch(size, operands, batched);
                          *count = all.size();
                          return all;
                        }));
    return WithKept(std::move(made));
  }

  StatusOr<Tensors> Results(TensorSpan operands) const {
    return Guarded([&]() -> StatusOr<Tensors> { return rules_->compute(operands); });
  }
};

}  // namespace

void Throw(const Status& status) {
  if (KindOf(status) == ErrorKind::kRaised && t_thrown)
    std::rethrow_exception(std::exchange(t_thrown, nullptr));
  throw Error(status);
}

Op::Op(std::string name, OpRules rules) {
  if (!rules.compute && (!rules.shape || !rules.body))
    Throw(TypeError("[", name, "] an op needs the rules shape and body, or compute."));
  const bool ops = rules.compute != nullptr;
  if (ops && (rules.shape || rules.body))
    Throw(
        TypeError("[", name, "] compute stands in the place of shape and body: give one of them."));
  ruled_ = !ops || rules.vjp || rules.jvp || rules.batch;
  auto shared = std::make_shared<const OpRules>(std::move(rules));
  op_ = ops ? Ref<batch::CustomOp>::Adopt(new TensorOp(std::move(name), std::move(shared)))
            : Ref<batch::CustomOp>::Adopt(new HostOp(std::move(name), std::move(shared)));
}

std::vector<Tensor> Op::results(const std::vector<Tensor>& operands) const {
  Initialize();
  for (const Tensor& t : operands) {
    if (!t.defined()) Throw(TypeError("[", op_->name, "] an operand holds no value."));
    ThrowIf(t.status());
  }
  auto made =
      ruled_ ? batch::Call(op_, operands) : static_cast<const TensorOp&>(*op_).Results(operands);
  ThrowIf(made.status());
  return *std::move(made);
}

Tensor Op::One(std::vector<Tensor> results) const {
  if (results.size() != 1) {
    Throw(TypeError("[", op_->name, "] has ", results.size(),
                    " results: ask for them by results({...})."));
  }
  return std::move(results[0]);
}

}  // namespace frazil
