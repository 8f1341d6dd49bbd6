// Turns one kernel into x86 code through asmjit's Compiler. Used by x86_emitter.cc alone; asmjit
// headers stay in this folder. Split by subject: codegen.cc (function, rows), columns.cc,
// panels.cc, loop.cc and reduce.cc (the loop axis), repeat.cc and carries.cc (repeats),
// narrow.cc, registers.cc, masks.cc, memory.cc, gather.cc, every_second.cc
// and blocks.cc (loads and stores), arith.cc, divide.cc, root.cc, parking.cc, compare.cc,
// integers.cc, cast.cc, lanes.cc (what has no vector instruction). What is emitted is decided
// before: selection.h.
//
// Lanes. A step computes v_ elements: 16 (AVX-512) or 8 (AVX2) if all types are at most 32
// bits wide, half of that otherwise, so that 64-bit values fill a vector and 32-bit values half of
// one. 8- and 16-bit values stay packed as in memory (only loads, stores and casts touch them). A
// bool is a mask register on AVX-512 and a vector of 32-bit lanes of zeros or ones on AVX2.
//
// Invariant: with AVX-512 all 32 vector registers may be allotted, so only EVEX-encodable
// instructions are emitted.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <functional>
#include <vector>

#include "core/status.h"
#include "jit/emit/x86/register_file.h"
#include "jit/emit/x86/selection.h"

namespace frazil::jit {

namespace x86 = asmjit::x86;

class Codegen : Selection {
 public:
  // `file`: the registers that Allotter may use; null: asmjit's own allocator does its work.
  Codegen(const kir::Kernel& kernel, Isa isa, const RegisterFile* file, asmjit::CodeHolder* code);

  // A function may be made of two: one for calls of few columns, no more than a vector of AVX2, and
  // one for others, which begins by leaving the few to it.
  enum class Columns : uint8_t { kAll, kMany, kFew };

  // Emits the function; its code is in the holder afterwards. `few` is where that for few begins.
  Status Run(Columns columns = Columns::kAll, const asmjit::Label& few = {});
  // Allotter could not do it. Run has returned an error.
  bool out_of_registers() const { return out_of_registers_; }

 private:
  using Vec = x86::Vec;
  using Gp = x86::Gp;
  using Mem = x86::Mem;
  using K = x86::KReg;
  using Operand = asmjit::Operand;
  using Label = asmjit::Label;
  using InstId = asmjit::InstId;

  // Where lanes are switched off: the tail of the range and predicates. any == false means all
  // lanes are on.
  struct Mask {
    bool any = false;
    K k;      // AVX-512
    Vec m32;  // AVX2: 32-bit lanes
  };

  // --- facts
  static int Log2(int size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3; }
  static uint64_t SignBit(DType t) { return uint64_t{1} << (BitsOf(t) - 1); }
  int VecAxis() const { return space_ ? k_.rank - 1 : k_.rank; }

  // --- what takes another form (arith.cc, narrow.cc)
  Vec MaskedCount(const kir::Inst& sum);

  Vec LoadNarrowed(Id id, Mem mem);
  kir::Inst Narrowed(kir::Inst compare) const;

  // --- structure (codegen.cc, columns.cc)
  void LeaveFew(const Label& few);
  void Assemble(asmjit::FuncNode* fn);
  void Prologue();
  void EmitRows();
  void InitCounters();
  void AdvanceCounters(const Label& next_row);
  void RowPointers();
  void EmitLevel(int level, int region);
  void EmitColumnsSpace();
  void EmitPointsLoop();
  bool Interleaves() const;
  void SpaceLoop(int copies, bool nontemporal, bool masked);
  void SkipOrdinary(const Label& ordinary);
  void FetchAhead();
  void SpaceStep();
  void SetCopy(int copy);
  template <typename Fn>
  void ForCopies(Fn fn) {
    for (int copy = 0; copy < point_copies_; ++copy) {
      SetCopy(copy);
      fn();
    }
    SetCopy(0);
  }
  void PointBody();
  void EmitInst(Id id);
  void EmitValue(Id id);
  void NewTailMask();
  void FillTailMask(const Gp& rest);
  void FullLanes();
  Gp Counter(int axis);
  Mem StrideMem(int buffer, int axis);

  // --- loops over the loop axis and reductions (loop.cc, reduce.cc)
  struct Accumulator {
    Id id = kir::kNone;
    int copy = 0;               // of the point
    bool laned = false;         // float sum or prod
    Mem stack;                  // laned, and in panels: all positions
    int pitch = 0;              // bytes from one position to the next
    std::vector<Operand> regs;  // laned: while the unrolled loop runs
    Operand out;
  };
  void EmitLoop(Id begin, Id end);
  void LoopBounds();
  void LoopPointers(Id begin, Id end);
  void AdvanceLoopPointers();
  void InitAccumulators(int copies);
  void UnrolledLoop(Id begin, Id end, int copies);
  void StepLoop(Id begin, Id end, bool short_rest);
  void StepAccumulator(Accumulator* acc, Gp* lane);
  void LoopBody(Id begin, Id end);
  void NextPointers();
  struct Fetched {
    bool inputs = false, outputs = false;
  };
  Fetched FetchedIn(Id begin) const;
  void FetchNext();
  bool FetchesPoints() const;
  Gp RowsAhead(const Gp& length);
  void Accumulate(Accumulator* acc, const Operand& reg);
  Mem AccMem(const Accumulator& acc, int position);
  Mem AccMemAt(const Accumulator& acc, const Gp& lane);
  int Positions() const;
  Operand FinishReduce(const Accumulator& acc);
  Operand HalvePositions(const Accumulator& acc, int position, int count);
  Operand HalveLanes(const kir::Inst& inst, const Operand& value);
  Operand HalveBool(const kir::Inst& inst, const Operand& value);
  Operand Combine(const kir::Inst& inst, const Operand& a, const Operand& b);
  uint64_t Identity(const kir::Inst& inst) const;
  Operand IdentityReg(const kir::Inst& inst);
  Operand IdentityRegShape(const kir::Inst& inst);
  void MoveReg(const Operand& to, const Operand& from);

  // --- loops over rows of a panel of columns (panels.cc)
  void EmitPanels();
  void AllotPanel();
  void PanelPass(const std::vector<int>& parts, int part);
  void RowsToFetch(Id begin, Id end);
  void FetchRows();
  void PanelRows(const std::vector<int>& parts, Id begin);
  void PanelSteps(const std::function<void()>& step);
  Mem KeptMem(Id id);
  void TakeKept(const std::vector<int>& parts, int part);

  // --- repeats (repeat.cc, carries.cc)
  struct Pressure {  // of a repeat's body on the registers of one kind
    int common = 0;  // of all copies together
    int copy = 0;    // of each copy
  };
  struct Move {
    Operand to, from;
    bool done = false;
  };
  void EmitRepeat(Id begin, Id end);
  void MovePointers(Id begin, Id end);
  void EmitIteration(Id begin, Id end);
  Gp RepeatCount(Id count);
  void InitCarry(Id carry);
  int RepeatCopies() const;
  int RepeatCopies(Id begin, Id end) const;
  int CopiesForLatency(Id begin, Id end) const;
  std::vector<bool> MadeInCarries(Id begin, Id end) const;
  Pressure PressureOf(Id begin, Id end, bool masks) const;
  void AdvanceCarries(Id begin, Id end, asmjit::BaseNode* body, uint32_t known);
  void MoveAtOnce(std::vector<Move> moves);
  bool MakeInCarry(const Operand& carry, const Operand& next, asmjit::BaseNode* body);

  // --- registers and constants (registers.cc)
  Vec NewVec(int bytes);
  Vec NewFor(DType type) { return NewVec(RegBytes(type)); }
  Vec R(Id id);  // the value in a register
  bool Dead(Id id) const;
  Vec Owned(Id id);  // a register with the value that may be overwritten
  Operand S(Id id);  // the value as a last source operand: register or constant in memory
  K KOf(Id id) { return Val(id).as<K>(); }
  // Where the value's register is noted; from the point on every copy of the point has its own.
  int PlaceOfValue(Id id) const {
    return Of(id).level <= kRowLevel ? id : copy_ * int(k_.body.size()) + id;
  }
  Operand& Val(Id id) { return vals_[PlaceOfValue(id)]; }
  const Operand& Val(Id id) const { return const_cast<Codegen*>(this)->Val(id); }
  void Set(Id id, const Operand& reg) { Val(id) = reg; }
  Mem ConstMem(DType type, uint64_t bits);
  Vec ConstReg(DType type, uint64_t bits);
  Mem PoolBytes(const void* data, size_t size);
  Vec Zero(int bytes);
  Mem Scratch(int index);  // 128-byte stack slots
  template <typename... Args>
  Vec Make(DType type, InstId id, Args&&... args) {
    Vec d = NewFor(type);
    cc_.emit(id, d, std::forward<Args>(args)...);
    return d;
  }
  template <typename... Args>
  Vec MakeBytes(int bytes, InstId id, Args&&... args) {
    Vec d = NewVec(bytes);
    cc_.emit(id, d, std::forward<Args>(args)...);
    return d;
  }
  void Copy(const Vec& to, const Vec& from) { cc_.emit(x86::Inst::kIdVmovaps, to, from); }

  // --- memory (memory.cc, gather.cc)
  struct Place {  // an element address for the current step
    Gp base;
    Gp index;  // elements, if valid
    int size = 1;
    int64_t disp = 0;  // bytes
    Mem At(int bytes) const;
  };
  void EmitLoad(Id id);
  void EmitStore(Id id);
  void EmitParam(Id id);
  void EmitIndex(Id id);
  Place PlaceOf(int buffer, bool in_loop);
  kir::Stride VecClass(int buffer, bool in_loop) const;
  Gp Pointer(const Place& place);
  Vec LoadContiguous(DType type, const Mem& mem, const Mask& mask);
  Vec LoadBroadcast(DType type, Mem mem);
  void StoreContiguous(DType type, const Vec& v, const Mem& mem, const Mask& mask);
  void StoreWidened(const kir::Inst& inst, const Place& place);
  void StoreUniform(DType type, const Vec& v, const Gp& pointer, Id offset, Id pred);
  Vec LaneOffsets(DType type, int buffer, kir::Stride cls, bool vector, Id offset, int half);
  Vec Gather(DType type, const Gp& base, int buffer, kir::Stride cls, bool vector, Id offset,
             const Mask& mask);
  Vec LoadLanes(DType type, const Gp& base, int buffer, kir::Stride cls, bool vector, Id offset,
                const Mask& mask);
  void OnlyFullSteps(const std::function<void()>& full, const std::function<void()>& partial);
  void StoreLanes(DType type, const Vec& v, const Gp& base, int buffer, kir::Stride cls,
                  bool vector, Id offset, const Mask& mask);
  Gp LaneStride(int buffer, kir::Stride cls, bool vector);
  void MoveIn(const Vec& d, const Mem& mem, int bytes);
  void MoveOut(const Mem& mem, const Vec& v, int bytes);
  Operand BytesToBool(const Vec& bytes);
  Vec BoolToBytes(const Operand& mask);

  // --- every second element (every_second.cc)
  bool MayBeEverySecond(DType type, kir::Stride cls, bool vector) const;
  void IfEverySecond(int buffer, const std::function<void()>& second,
                     const std::function<void()>& other);
  std::pair<K, K> EvenMasks(const Mask& mask, int lanes, bool both);
  void LoadEverySecond(DType type, const Vec& to, const Gp& from, const Mask& mask);
  void StoreEverySecond(DType type, const Vec& v, const Gp& to, const Mask& mask);
  Vec WholeVector(const Vec& v);
  bool MayStoreParts(Id id) const;
  void StoreParts(Id id);

  // --- blocks (blocks.cc)
  int64_t DistanceOf(const kir::Inst& inst) const;
  std::vector<Id> BlockOf(Id id) const;
  Gp BlockBase(const std::vector<Id>& ids, bool in_loop, int64_t* low);
  std::vector<Vec> Transpose(const std::vector<Vec>& rows, const std::vector<bool>& wanted);
  std::vector<Vec> LoadRows(const std::function<Gp(int)>& row_at, int width);
  std::vector<Vec> LoadHalves(const std::function<Gp(int)>& row_at);
  std::vector<Vec> HalfRows(const std::vector<Vec>& columns);
  void Quads(const Vec* rows, Vec* quads);
  bool HasBlocks() const;
  K FirstLanes(int count);
  void LoadBlock(const std::vector<Id>& ids);
  void StoreBlock(const std::vector<Id>& ids);

  // --- masks (masks.cc)
  Mask TailMask() const;
  Mask MaskWith(Id pred);
  Vec Mask64(const Vec& m32);  // AVX2: the mask in 64-bit lanes
  Vec Mask32(const Vec& m64);
  Vec MaskFor(const Vec& m32, DType type) { return SizeOf(type) == 8 ? Mask64(m32) : m32; }
  Gp MaskBits(const Mask& mask);
  Gp BoolBits(const Operand& mask);
  K NewK();

  // --- instructions (arith.cc, compare.cc, integers.cc)
  void EmitArith(Id id);
  Operand Compare(const kir::Inst& original, bool invert = false, const K& under = K());
  Operand CompareAvx2(const kir::Inst& inst, bool invert);
  Operand BoolOp(const kir::Inst& inst);
  Vec MinMax(DType type, bool max, const Vec& a, const Vec& b);
  Vec MulhiHalf(const kir::Inst& inst);
  Vec Shift(const kir::Inst& inst);
  Vec Mul64Avx2(const Vec& a, const Vec& b);
  Vec Abs(const kir::Inst& inst);
  void FindTables();
  void LoadTables();
  Vec Lookup(const kir::Inst& inst);
  Vec DivRem32(const kir::Inst& inst);
  Vec U32OrI32ToF64(DType from, const Vec& v, int wide_bytes);
  Vec F64ToIndefinite32(DType to, const Vec& v, int bytes);
  Vec Blend(DType type, const Operand& mask, const Vec& yes, const Operand& no);
  Vec Bits(Op op, DType type, const Vec& a, const Operand& b);
  Vec GreaterAvx2(DType type, const Vec& a, const Vec& b);
  InstId BySize(DType type, InstId d, InstId q) const { return SizeOf(type) == 8 ? q : d; }

  // --- values that two loops need (parking.cc)
  void ParkValue(Id id);
  void TakeBack(Id id);

  // --- division by what many vectors share (divide.cc), AVX-512
  struct Divisor {
    Vec value, high, low, least;
    Vec zero;  // +0 if the divisor is good, otherwise a NaN
  };
  void PrepareDivisor(Id id);
  Vec QuickDivide(const kir::Inst& inst);

  // --- square roots without the divider (root.cc), AVX-512
  Vec QuickRoot(const kir::Inst& inst);

  // --- conversions (cast.cc): what legalisation leaves
  void EmitCast(Id id);
  void EmitBitcast(Id id);
  Vec BoolTo(DType to, const Operand& v);
  static uint64_t OneOf(DType t) {
    return t == DType::kF32 ? 0x3f800000 : t == DType::kF64 ? uint64_t{0x3ff} << 52 : 1;
  }
  Vec SmallToInt(DType from, const Vec& v);
  Vec IntToSmall(DType to, const Vec& v);
  Vec IntToInt(DType to, DType from, const Vec& v);
  Vec IntToFloat(DType to, DType from, const Vec& v);
  Vec FloatToInt(DType to, DType from, const Vec& v);
  Vec FloatToFloat(DType to, DType from, const Vec& v);
  Vec ToBF16(const Vec& f32);
  Vec FloatToIntAvx2(DType to, DType from, const Vec& v);
  Vec F64ToInt64Avx2(DType to, const Vec& v);
  Vec Int64ToF32Avx2(DType from, const Vec& v);

  // --- one lane after another through the stack (lanes.cc)
  using LaneFn = std::function<void(const Gp& lane, const Mem& a, const Mem& b, const Mem& out)>;
  Vec Lanes(DType out, DType in, const Vec& a, const Vec* b, const LaneFn& fn);
  void LaneLoop(const Gp& bits, const std::function<void(const Gp& lane)>& fn);
  Vec DivRem64(const kir::Inst& inst);
  Vec Mulhi64(const kir::Inst& inst);

  const RegisterFile* file_;
  bool out_of_registers_ = false;
  asmjit::CodeHolder* code_;
  x86::Compiler cc_;
  bool few_ = false;  // calls have one vector of columns
  Status status_;

  std::vector<Operand> vals_;
  std::vector<Divisor> divisors_;  // where the value's register would be
  std::vector<Mem> scratch_;

  Gp args_, row_, row_end_, col_begin_, col_end_;
  Gp strides_, extents_, buffers_;
  std::vector<Mem> counters_;
  std::vector<Gp> row_ptr_;  // [buffer]
  std::vector<Gp>
      col_ptr_;  // kSpace: running pointer of strided buffers; kLoop: the point's pointer
  std::vector<Gp> loop_ptr_;  // inside a loop
  Gp points_ahead_;           // kLoop: to the point whose rows are fetched
  std::vector<Gp> far_row_;   // in panels: bytes to the row that is fetched
  std::vector<Gp> next_ptr_;  // kLoop: the next point's pointer, of buffers that are fetched ahead
  Fetched fetched_;           // in this loop
  std::vector<Gp> vec_step_;  // bytes of one step along the vector axis, strided buffers
  Gp col_, j_, lo_, hi_;
  int level_ = kKernelLevel;

  std::vector<std::pair<uint64_t, Vec>> tables_;  // of look-ups, in registers throughout (AVX-512)

  bool interleaved_ = false;  // copies of a body without repeats go through it together
  int point_copies_ = 1;      // vectors of columns that one pass over the loop axis serves (kSpace)
  int copy_ = 0;              // which of them instructions are emitted for
  int copy_disp_ = 0;  // elements along the vector axis that the current unrolled copy is ahead
  bool masked_ = false;
  bool nontemporal_ = false;
  Mask tail_;
  Gp tail_count_;

  Gp each_;  // in a repeat: where the words of the running iteration begin, less those before them

  std::vector<Accumulator> accs_;
  std::vector<bool> walked_;  // buffers whose pointer moves with the loop
  int positions_ = 0;         // steps that the lanes of a laned reduce fill

  Gp panel_at_, panel_end_;  // in a panel: columns since its first; the column behind its last
  int panel_columns_ = 0;    // room of a panel
  std::vector<Accumulator> panel_accs_, panel_kept_;  // [instruction], on the stack
};

}  // namespace frazil::jit
