// The functional machine: what every instruction does to memory. A sink of the scalar unit in the
// modes that keep data; the schedules run its Effect in other orders. Invariant: the effect of an
// instruction depends on its operands and the bytes that AccessesOf lists, and changes only those;
// program order is one legal schedule, so there are no queues here.
#pragma once

#include "npu/l0_tags.h"
#include "npu/memory.h"

namespace frazil::npu {

// Sees every access between its check and the effect (npu/checker.h).
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  // Instructions without accesses are handed over too. False: *fault is filled in.
  virtual bool Before(const Issue& issue, const Accesses& accesses, Fault* fault) = 0;
};

// Memory that an effect may use while it lasts; kept between instructions.
class Scratch {
 public:
  char* Get(int64_t bytes) {
    if (int64_t(memory_.size()) < bytes) memory_.resize(size_t(bytes));
    return memory_.data();
  }

 private:
  std::vector<char> memory_;
};

// Host pointers of the accesses of one instruction by operand number: read and written.
struct Pointers {
  std::array<char*, kMaxOperands> at{};
  std::array<int64_t, kMaxOperands> stride{};  // of rows
};

class Machine : public Sink {
 public:
  Machine(const Preset& preset, const Windows& windows, AccessObserver* observer = nullptr)
      : preset_(preset), memory_(preset, windows), observer_(observer) {}

  void StartBlock() {
    memory_.Reset();
    tags_.Reset();
  }
  bool On(const Issue& issue, bool taken, Fault* fault) override;

  // BlockContext::load_ub.
  static uint32_t LoadUb(void* machine, uint64_t offset);

 private:
  const Preset& preset_;
  Memory memory_;
  L0Tags tags_;
  AccessObserver* observer_;
  Accesses accesses_;
  Scratch scratch_;
};

// The effects by unit. False: the function does not exist for the type; *fault says so.
bool Move(const Issue& issue, const Pointers& p);                                    // move.cc
bool Multiply(const Issue& issue, const Pointers& p, Scratch* scratch);              // matrix.cc
bool Drain(const Issue& issue, const Pointers& p);                                   // drain.cc
bool Vector(const Issue& issue, const Pointers& p, Scratch* scratch, Fault* fault);  // vector.cc

}  // namespace frazil::npu
