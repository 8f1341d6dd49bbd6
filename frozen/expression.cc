#include "frozen/expression.h"

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"

namespace frazil::frozen {

struct Expression::Reader {
  static constexpr size_t kMaxSteps = 256;
  static constexpr int kMaxDepth = 16;  // of parentheses

  TextCursor* text;
  absl::Span<const std::string> symbols;
  std::vector<Step> steps;

  Status Put(Kind kind, int64_t value = 0) {
    if (steps.size() == kMaxSteps) return text->Fail("an expression has over ", kMaxSteps, " parts");
    steps.push_back({kind, value});
    return absl::OkStatus();
  }

  Status Sum(int depth) {
    FZ_RETURN_IF_ERROR(Product(depth));
    while (text->TakeIf("+")) {
      FZ_RETURN_IF_ERROR(Product(depth));
      FZ_RETURN_IF_ERROR(Put(Kind::kAdd));
    }
    return absl::OkStatus();
  }

  Status Product(int depth) {
    FZ_RETURN_IF_ERROR(Atom(depth));
    while (text->Peek() == "*" || text->Peek() == "/") {
      const Kind kind = text->Take() == "*" ? Kind::kMultiply : Kind::kDivide;
      FZ_RETURN_IF_ERROR(Atom(depth));
      FZ_RETURN_IF_ERROR(Put(kind));
    }
    return absl::OkStatus();
  }

  Status Atom(int depth) {
    if (text->TakeIf("(")) {
      if (depth == kMaxDepth) return text->Fail("parentheses are over ", kMaxDepth, " deep");
      FZ_RETURN_IF_ERROR(Sum(depth + 1));
      return text->Expect(")");
    }
    const std::string_view word = text->Take();
    int64_t value;
    if (absl::SimpleAtoi(AbslView(word), &value)) return Put(Kind::kConstant, value);
    const auto symbol = absl::c_find(symbols, word);
    if (symbol == symbols.end()) return text->Fail("'", word, "' is no integer and no symbol");
    return Put(Kind::kSymbol, symbol - symbols.begin());
  }
};

StatusOr<Expression> Expression::Take(TextCursor* text, absl::Span<const std::string> symbols) {
  Reader reader{text, symbols, {}};
  FZ_RETURN_IF_ERROR(reader.Sum(0));
  const bool constant =
      absl::c_none_of(reader.steps, [](const Step& step) { return step.kind == Kind::kSymbol; });
  Expression out;
  out.steps_ = std::move(reader.steps);
  if (!constant) return out;
  const auto value = out.At({});
  if (!value.ok()) return text->Fail(std::string(value.status().message()));
  return Expression(*value);
}

int Expression::symbol() const {
  return steps_.size() == 1 && steps_[0].kind == Kind::kSymbol ? static_cast<int>(steps_[0].value)
                                                               : -1;
}

StatusOr<int64_t> Expression::At(absl::Span<const int64_t> sizes) const {
  if (is_constant()) return constant_;
  absl::InlinedVector<int64_t, 8> stack;
  for (const Step& step : steps_) {
    if (step.kind == Kind::kConstant || step.kind == Kind::kSymbol) {
      stack.push_back(step.kind == Kind::kConstant ? step.value : sizes[step.value]);
      continue;
    }
    const int64_t b = stack.back();
    stack.pop_back();
    int64_t& a = stack.back();
    if (step.kind == Kind::kDivide) {
      if (b == 0 || (a == INT64_MIN && b == -1)) return ValueError("a size is divided by ", b);
      const int64_t rest = a % b;
      a = a / b - (rest != 0 && (rest < 0) != (b < 0));
      continue;
    }
    int64_t out;
    if (step.kind == Kind::kAdd ? __builtin_add_overflow(a, b, &out)
                                : __builtin_mul_overflow(a, b, &out))
      return OverflowError("a size leaves 64 bits");
    a = out;
  }
  return stack.back();
}

}  // namespace frazil::frozen
