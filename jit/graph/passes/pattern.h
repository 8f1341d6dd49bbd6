// Patterns of rewrites: expressions over ops, read from text while the compiler runs.
//   add(subtract(x, y), y)   ops by their names, captured values by the letters w x y z
//   F(F(x))                  F and G stand for one of a list of ops each, the same everywhere
//   floor(x:G(y))            a value that is captured and must be made by G
// Used by rewrite.cc and its test. Invariant: a text that is no pattern does not compile.
#pragma once

#include <array>
#include <stdexcept>

#include "core/op.h"

namespace frazil::jit {

class OpSet {
 public:
  constexpr void Add(OpId op) { words_[int(op) / 64] |= uint64_t{1} << int(op) % 64; }
  constexpr bool Has(OpId op) const { return words_[int(op) / 64] >> int(op) % 64 & 1; }

 private:
  uint64_t words_[(kNumOps + 63) / 64] = {};
};

inline constexpr int kMaxTerms = 8, kCaptures = 4;
inline constexpr std::string_view kCaptureNames = "xyzw", kChoiceNames = "FG";

// An op or a captured value.
struct Term {
  bool call = false;
  int8_t capture = -1;  // an index into kCaptureNames
  int8_t choice = -1;   // of a call: an index into kChoiceNames, or -1: `op`
  int8_t arity = 0;
  OpId op = OpId::k_copy;
};

struct Pattern {
  std::array<Term, kMaxTerms> terms;  // an op stands before its operands
  int size = 0;

  constexpr int calls() const {
    int n = 0;
    for (int i = 0; i < size; ++i) n += terms[i].call;
    return n;
  }
};

namespace pattern_internal {

inline constexpr std::string_view kOpNames[] = {
#define FZ_OP(name, ...) #name,
#include "core/ops.def"
};

constexpr OpId OpNamed(std::string_view name) {
  for (int i = 0; i < kNumOps; ++i) {
    if (kOpNames[i] == name) return static_cast<OpId>(i);
  }
  throw std::invalid_argument("no such op");
}

class Reader {
 public:
  constexpr explicit Reader(std::string_view text) : text_(text) {}

  constexpr Pattern Whole() {
    Read();
    if (at_ != text_.size()) throw std::invalid_argument("text behind the pattern");
    return pattern_;
  }

 private:
  constexpr void Read() {
    const int self = pattern_.size++;
    Term term;
    std::string_view word = Word();
    if (word.size() == 1 && Skip(':')) {
      term.capture = Index(kCaptureNames, word[0]);
      word = Word();
    }
    term.call = Skip('(');
    if (!term.call) {
      if (word.size() != 1) throw std::invalid_argument("a captured value is one letter");
      term.capture = Index(kCaptureNames, word[0]);
    } else if (word.size() == 1) {
      term.choice = Index(kChoiceNames, word[0]);
    } else {
      term.op = OpNamed(word);
    }
    while (term.call) {
      Read();
      ++term.arity;
      if (Skip(')')) break;
      if (!Skip(',')) throw std::invalid_argument("neither a comma nor a bracket");
    }
    pattern_.terms[self] = term;
  }

  constexpr std::string_view Word() {
    while (Skip(' ')) {
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (text_[at_] == '_' || text_[at_] >= '0') && text_[at_] != ':')
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  constexpr bool Skip(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  static constexpr int8_t Index(std::string_view names, char name) {
    const size_t i = names.find(name);
    if (i == names.npos) throw std::invalid_argument("no such letter");
    return static_cast<int8_t>(i);
  }

  std::string_view text_;
  size_t at_ = 0;
  Pattern pattern_;
};

}  // namespace pattern_internal

constexpr Pattern PatternOf(std::string_view text) {
  return pattern_internal::Reader(text).Whole();
}

// What a letter of kChoiceNames stands for in a text like "F: floor ceil, G: sign".
constexpr OpSet ChoicesOf(std::string_view text, int choice) {
  OpSet set;
  size_t at = text.find(kChoiceNames[choice]);
  if (at == text.npos) return set;
  ++at;  // the colon
  do {
    const size_t begin = text.find_first_not_of(" :", at);
    at = text.find_first_of(" ,", begin);
    if (at == text.npos) at = text.size();
    set.Add(pattern_internal::OpNamed(text.substr(begin, at - begin)));
  } while (at < text.size() && text[at] == ' ');
  return set;
}

}  // namespace frazil::jit
