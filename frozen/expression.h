// Sizes as expressions over the symbols of a frozen program: `batch * 4 + 1`, `(length + -1) / 2`.
// They stand in its text for extents, attributes and numbers that differ from size to size. Called
// by frozen/parse.cc, which reads them, and frozen/run.cc, which computes them. Invariant: a value
// that leaves 64 bits and a division by zero are errors, never wrong numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/text_cursor.h"

namespace frazil::frozen {

class Expression {
 public:
  Expression(int64_t constant = 0) : constant_(constant) {}  // NOLINT: numbers are expressions

  // sum = product {+ product}; product = atom {* atom | / atom}; atom = integer, symbol or (sum).
  // A quotient is rounded down.
  static StatusOr<Expression> Take(TextCursor* text, absl::Span<const std::string> symbols);

  bool is_constant() const { return steps_.empty(); }
  int64_t constant() const { return constant_; }
  // The number of the symbol that it is, or -1.
  int symbol() const;
  StatusOr<int64_t> At(absl::Span<const int64_t> sizes) const;

 private:
  enum class Kind : uint8_t { kConstant, kSymbol, kAdd, kMultiply, kDivide };
  // Of a stack machine: an operand to put there, or what is done with the upper two.
  struct Step {
    Kind kind;
    int64_t value;
  };
  struct Reader;

  int64_t constant_;
  std::vector<Step> steps_;
};

}  // namespace frazil::frozen
