// Others in the place of the operands that ops are called with. Apply comes here for every call of a
// thread within an OperandScope, by way of core/anomaly.h, before the tape sees the call. Made by
// batch/taken.h. Invariant: scopes nest, and the outermost one is asked first.
#pragma once

#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil {

class OperandScope {
 public:
  OperandScope();
  virtual ~OperandScope();
  OperandScope(const OperandScope&) = delete;

  static OperandScope* Current();
  // The call with what takes the place of its operands.
  static Tensor Call(OperandScope* scope, const OpCall& call);
  // While it lives calls are made with their own operands.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;

   private:
    OperandScope* const scope_;
    const bool checks_;
  };

 protected:
  // Itself, if nothing takes its place. Scopes are paused meanwhile.
  virtual Tensor Replace(const Tensor& operand) = 0;

 private:
  Tensor All(const Tensor& operand);

  OperandScope* const outer_;
  const bool checks_;
};

}  // namespace frazil
#pragma GCC visibility pop
