// The CUDA printer's state, shared by its parts: names and arguments (printer.cc), the instructions
// of one pass (pass.cc), loops and reductions (loops.cc). Called by PrintCuda alone.
#pragma once

#include <string>
#include <vector>

#include "jit/emit/cuda/cuda.h"
#include "jit/emit/cuda/held.h"
#include "jit/emit/cuda/text.h"
#include "jit/kir/legalize.h"

namespace frazil::jit::cuda {

// Instructions that a thread executes for `elements` neighbouring indices of one axis.
struct Pass {
  kir::Id begin = 0, end = 0;
  bool in_loop = false;
  int axis = 0;  // whose index varies
  int elements = 1, step = 1;
  std::string base;           // the first index, where there are several elements
  std::string end_index;      // of the indices that exist; empty: all do
  bool first_exists = false;  // the element at `base` does in any case
  std::string slot;           // of held values, of element e
  bool fill = false;          // only loads what is held
};

class Printer {
 public:
  Printer(const kir::Kernel& kernel, kir::Kernel legal, const kir::LegalMap& map,
          const CudaVariant& variant, absl::Span<const std::string> lines);
  StatusOr<CudaSource> Run();

 private:
  using Id = kir::Id;
  using Inst = kir::Inst;

  // One held value, of instructions of the legal kernel.
  struct Array {
    int first;  // the loop that makes it, by its instruction
    Id made;
    int64_t offset;
    bool load;
  };

  // printer.cc
  void FindArrays(const kir::Kernel& kernel, const kir::LegalMap& map);
  void FindNeeded();
  void Entry(Id begin, Id end);
  void Body(Id begin, Id end);
  void Point();
  void Struct();
  Status CheckSizes() const;
  std::string Arg(CudaArg::Kind kind, int index, int axis = 0);
  std::string EntryName(const kir::Kernel& kernel) const;
  std::string IndexName(int axis);
  void MarkLine(Id i);

  // pass.cc
  void EmitPass(const Pass& pass);
  void VectorLoads(const Pass& pass, const std::string& in);
  void VectorStores(const Pass& pass, const std::string& in);
  void Element(const Pass& pass, const std::string& in);
  void Step(Id i, const Pass& pass, const std::string& in);
  std::string LoadText(Id i, const Pass& pass, const std::string& in);
  void Store(Id i, const Pass& pass, const std::string& in);
  std::string Expression(const Inst& inst);
  std::string ParamText(const Inst& inst);
  bool IsVector(const Inst& inst, const Pass& pass) const;
  bool IsReadOnly(const Inst& inst) const;
  std::string Pointer(uint64_t buffer, Id offset, bool in_loop, const std::string& axis_index,
                      int axis);
  bool IsHeld(Id i) const { return used_[i] >= 0 || (made_[i] >= 0 && arrays_[made_[i]].load); }

  // loops.cc
  Id Loop(Id loop);
  void Bounds(const char* chunk, const std::string& text);
  void LoopOfThread(Id loop, Id end);
  void LoopOfColumn(Id loop, Id end);
  void LoopOfRow(Id loop, Id end);
  void RowResults(const std::vector<Id>& reduces);
  void RowPasses(Id loop, Id end, bool fill);
  void CombineLanes(const std::vector<Id>& reduces);
  void CombineWarps(const std::vector<Id>& reduces);
  void Combine(Id r, const std::string& target, const std::string& element);
  void Result(Id r, const std::string& value);
  std::vector<Id> Reduces(Id loop, Id end) const;
  bool Laned(const std::vector<Id>& reduces) const;
  bool InRegisters() const { return v_.keep != 0 && !v_.keep_shared; }

  std::string_view Type(Id id) const;
  std::string Index() const { return v_.narrow ? "int" : "i64"; }

  const kir::Kernel k_;  // legal
  const CudaVariant v_;
  const absl::Span<const std::string> lines_;
  const kir::LegalMap& map_;
  const bool row_, column_;  // a point is a row, or eight threads
  bool segments_ = false;    // a row of several chunks, one a warp at a time
  std::string name_;
  std::vector<Array> arrays_;
  int64_t held_bytes_ = 0;             // for each element of a row
  std::vector<int> made_, used_;       // of each instruction: the array, or -1
  std::vector<bool> needed_, read_;    // read: by an instruction of its loop, or outside
  std::vector<bool> loaded_, stored_;  // of each buffer, in this phase
  std::vector<bool> mixed_;  // of each buffer: not to be accessed by vectors in this phase
  std::vector<bool> index_used_;
  bool lane_used_ = false, warp_used_ = false, shared_used_ = false;
  int64_t static_shared_ = 0;
  Text t_;
  CudaSource out_;
};

}  // namespace frazil::jit::cuda
