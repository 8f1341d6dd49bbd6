// Selection: what of a kernel becomes which machine code, decided before any is emitted: the level
// at which each instruction is computed, and its form, by the rules of selection.def and by what
// whole bodies gain (selection_narrow.cc, _parking.cc, _divide.cc). Called by Codegen, which emits
// what is decided here. Invariant: behind Select nothing changes.
//
// Levels. Every value belongs to the outermost place where it is constant: the kernel, a row, a
// point (in kSpace a vector of columns, in kLoop one column, all lanes equal), or an iteration of
// the loop axis or of a repeat. It is computed there.
//
// Forms. An instruction has one. What takes the place of another form is kDropped or kTakenBack,
// where the value is not computed at all.
#pragma once

#include <array>
#include <vector>

#include "core/dtype.h"
#include "jit/emit/x86/isa.h"
#include "jit/kir/kir.h"

namespace frazil::jit {

class Selection {
 protected:
  using Id = kir::Id;
  using Op = kir::Op;

  enum Level : int8_t { kKernelLevel, kRowLevel, kPointLevel, kLoopLevel };

  // How an instruction is emitted.
  enum class Form : uint8_t {
    kPlain,
    kNothing,  // it makes nothing of its own: it is a part of what takes it
#define FZ_FORM(name, where, doc) k##name,
#include "jit/emit/x86/selection.def"
#undef FZ_FORM
    kWidened,    // a cast to 64 bits that stores and narrow comparisons do without
    kNarrowed,   // a 64-bit integer in 32 bits: `beyond` where it does not fit
    kQuick,      // a division or a root without the divider
    kTakenBack,  // a value that an earlier loop has parked in an output
    kDropped,    // what only such a value would need
  };
  enum class Where : uint8_t { kAlways, kAvx512, kAvx512Once };
  // What its value is besides.
  enum class Also : uint8_t { kNothing, kPark, kDivisor };

  struct Info {
    int8_t level = kKernelLevel;
    Form form = Form::kPlain;
    Also also = Also::kNothing;
    bool count = false;   // a scalar or constant that counts repeats and nothing else: no lanes
    bool common = false;  // in a repeat: depends on the iteration alone, not on the point
    int region = 0;       // 0 outside loops, otherwise the loop's number
    int uses = 0;
    int clamps = 0;  // those of them that have it as their comparison
    int32_t beyond = 0;
  };

  Selection(const kir::Kernel& kernel, Isa isa);

  void Select();

  const Info& Of(Id id) const { return info_[size_t(id)]; }
  bool Is(Id id, Form form) const { return info_[size_t(id)].form == form; }
  int RegBytes(DType type) const;  // of a step's elements
  bool InVectorRange(int level) const {
    return !none_ && level >= (space_ ? kPointLevel : kLoopLevel);
  }
  int Cost(int level) const;
  static int CostOf(const kir::Inst& inst);
  static bool HasCode(Op op) {
    return kir::HasValue(op) ? op != Op::kReduce && op != Op::kCarry : op == Op::kStore;
  }
  bool HasDistance(const kir::Inst& inst) const;
  std::array<Id, 3> Taken(const kir::Inst& inst) const;
  Id SameConst(Id id) const;

  // Loops over rows of a panel of columns (panels.cc).
  bool HasPanels() const;
  std::vector<int> PanelParts() const;
  int KnownIn(const std::vector<int>& parts, Id id) const;
  std::vector<bool> KeptInPanels() const;

  const kir::Kernel& k_;
  const bool z_;          // AVX-512
  const bool space_;      // vec == kSpace
  const bool none_;       // vec == kNone: all lanes are equal throughout
  int v_ = 8;             // lanes of a step
  bool repeats_ = false;  // the kernel has repeats
  bool resident_consts_ = false;
  bool long_body_ = false;
  int parking_ = -1;  // the output that values are parked in

 private:
  void FindCounts();
  void FindLevels();
  int8_t LoadLevel(const kir::Inst& inst, int region) const;
  bool IsCommon(const kir::Inst& inst) const;

#define FZ_FORM(name, where, doc) bool name(Id id);
#include "jit/emit/x86/selection.def"
#undef FZ_FORM
  bool OnlyFor(Id id, Id user) const;
  bool TakeIn(Id part, Id id) {
    const bool takes = OnlyFor(part, id);
    if (takes) info_[size_t(part)].form = Form::kNothing;
    return takes;
  }
  bool Compares(Id id) const;
  bool IsAlone(Id carry, Id sum) const;

  bool StaysNarrow(Id id) const;
  bool CanNarrow(Id id);
  void Widen();
  void FindNarrow();

  std::vector<Id> SameValues() const;
  void FindParked();
  bool Park(Id made, Id again, Id store);

  void FindDivisors();
  void FindDivisors(Id begin, Id end);
  void FindRoots(const std::vector<Id>& roots, double divider, int operations);

  std::vector<Info> info_;
};

}  // namespace frazil::jit
