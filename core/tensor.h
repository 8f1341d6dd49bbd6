// Tensor: a cell that holds a value. What users hold, what ops take and return.
// Called everywhere. Invariants: two tensors never share a cell (copying makes a new one); the
// value inside is immutable, an in-place operation replaces it (Set); requires_grad, being a leaf
// and .grad belong to the cell. A tensor made by a failed op holds the error and absorbs further
// ops, so expressions need one check at the end.
#pragma once

#include <string>

#include "core/value.h"

#pragma GCC visibility push(default)
namespace frazil {

// A node of the tape as core sees it: autograd/tape.h derives one class from it for each kind.
class GradNode : public RefCounted {
 public:
  enum class Kind : uint8_t { kOp, kLeaf, kVariable, kDual, kCustom, kPart };

  const Kind kind;
  // Lowest gradient level among the leaves it depends on (0: tape style). A node matters to an op
  // only if its level is below ThreadState::grad_limit.
  int level = 0;
  // Order of creation: above that of every node it depends on; 0 for leaves.
  uint64_t sequence = 0;

  bool leaf() const { return kind == Kind::kLeaf; }
  static void Free(GradNode* node) { node->Destroy(); }

 protected:
  explicit GradNode(Kind k) : kind(k) {}
  virtual ~GradNode() = default;
  virtual void Destroy() { delete this; }
};
using GradNodeRef = Ref<GradNode>;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(ValueRef value, GradNodeRef node = nullptr)
      : value_(std::move(value)), node_(std::move(node)) {}
  // A failed op's result.
  Tensor(Status status)
      : value_(Value::Error(std::move(status))) {}  // NOLINT: errors convert implicitly
  // Copies make a new cell over the same value. A copy of a leaf is no leaf: its gradient flows to
  // the leaf.
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  bool defined() const { return static_cast<bool>(value_); }
  bool ok() const { return value_ && !value_->is_error(); }
  Status status() const;  // OK, or what the failed op said

  DType dtype() const { return value_->dtype; }
  Device device() const { return value_->device; }
  const Layout* layout() const { return value_->layout; }
  const Layout* shape() const { return value_->layout->shape; }
  Dims dims() const { return value_->layout->dims(); }
  int rank() const { return value_->layout->rank; }
  int64_t size() const { return value_->layout->size; }

  Value* value() const { return value_.get(); }
  const ValueRef& value_ref() const { return value_; }
  GradNode* node() const { return node_.get(); }
  const GradNodeRef& node_ref() const { return node_; }

  // Replaces the content (in-place operations, optimizer updates).
  void Set(ValueRef value, GradNodeRef node) {
    value_ = std::move(value);
    node_ = std::move(node);
  }
  void SetValue(ValueRef value) { value_ = std::move(value); }
  void SetNode(GradNodeRef node) { node_ = std::move(node); }

  // A part, by the indices that bindings/cpp/indexing.h tells.
  template <typename... I>
  Tensor operator()(const I&... index) const;

  // The same value without history.
  Tensor Detach() const { return Tensor(value_); }

 private:
  ValueRef value_;
  GradNodeRef node_;
};

// "f32[2,3]", for messages.
std::string Describe(const Tensor& tensor);
std::string Describe(const Value& value);

}  // namespace frazil
#pragma GCC visibility pop
