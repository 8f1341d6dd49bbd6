// Results as words, and made again from them when the body is skipped. Called by promised.cc.
// Invariant: what is made has the structure, the types and the identities (arguments, their
// containers, one tensor in two places) of what the body returned; what cannot be is refused.
#pragma once

#include "bindings/python/nest.h"

namespace frazil::python {

// A result as words: tensors in order, arguments and their containers by number.
class Result {
 public:
  // `numbers` (may be null): objects that stand for nodes of the function's Numbers.
  using NumberMap = absl::flat_hash_map<PyObject*, int>;
  Result(const Nest& arguments, Pinned* pins, const NumberMap* numbers = nullptr)
      : arguments_(arguments), pins_(pins), numbers_(numbers) {}
  bool Add(PyObject* object);
  // After all has been added: nobody else holds what is to be made anew. The caller holds the result
  // itself, once.
  bool IsOwn();

  std::vector<uint64_t> words;
  std::vector<PyObject*> tensors;  // borrowed
  const std::string& refusal() const { return refusal_; }

 private:
  const Nest& arguments_;
  Pinned* pins_;
  const NumberMap* numbers_;
  // Tuples, lists, dicts and instances; how often they came.
  std::vector<std::pair<PyObject*, int>> made_;
  std::vector<PyObject*> open_;  // tuples that are being added
  int depth_ = 0;
  std::string refusal_;
};

// Whether they describe a tensor and nothing else.
bool IsOneTensor(absl::Span<const uint64_t> words);

// The result that `words` (made by Result) describe, with `outputs`, which it takes, for its
// tensors. What the words say behind it (proof/effects.h) is done.
PyObject* MakeResult(absl::Span<const uint64_t> words, const Nest& arguments,
                     absl::Span<Tensor> outputs);
// The result alone, and whether the words say more.
Object DescribeResult(absl::Span<const uint64_t> words, const Nest& arguments,
                      absl::Span<Tensor> outputs, bool* changes);

}  // namespace frazil::python
