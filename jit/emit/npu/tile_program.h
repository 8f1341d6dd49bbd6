// A kernel's body as the work of tiles: loads, vector instructions, stores. Called by the emitter
// of kernels, tile by tile, and by that of matrix products for what follows them. Invariant: for
// tiles that cover the space, in order, the results are the kernel's; temporaries stay inside one
// queue, everything that two queues touch is tracked by the stream.
#pragma once

#include <map>
#include <utility>

#include "jit/emit/npu/body_info.h"
#include "jit/kir/legalize.h"

namespace frazil::npu {

// What an element moves by along the two axes of a tile.
struct Strides {
  int64_t row, col, item;
  Shape shape;
  bool contiguous() const { return !shape.cols || col == item; }
  bool transposed() const { return shape.cols && shape.rows && col != item && row == item; }
};
Strides StridesOf(const kir::Kernel& kernel, const SpacePlan& plan, int buffer, bool in_loop);

// Functions of kernels/fn.def that the vector unit has.
kir::LegalCaps NpuLegalCaps();

// True if elements of a row lie apart in memory, so that tiles must have one row.
// NotImplementedError for buffers that run backwards.
StatusOr<bool> LiesApart(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info);

// The kernel's buffers and scalars as parameters of a program, in this order.
std::vector<int> AddParams(const kir::Kernel& kernel, Stream* stream);
int AddParam(const kir::Buffer& buffer, Stream* stream);
int AddParam(const kir::Scalar& scalar, Stream* stream);

class TileProgram {
 public:
  // A buffer that the caller fills instead of loading it, and how many tiles of it are kept.
  struct Provided {
    int buffer = -1;
    int copies = 0;
  };

  // `params`: the program's parameter of each buffer, then of each scalar; copies: of memory that
  // is moved.
  TileProgram(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info,
              Stream* stream, std::vector<int> params, int copies, Provided provided = {-1, 0});

  // Takes scratch memory for tiles of at most so many points; false if there is not enough. What is
  // left of the vector memory becomes that of temporaries.
  bool MakeSlots(int64_t rows, int64_t cols);

  void Loads(const Tile& tile);
  // Where the next tile of the provided buffer goes.
  Val Provide() { return Next(&loads_.at({provided_.buffer, false})); }
  void Compute(const Tile& tile);
  // Temporaries did not fit: what was emitted is of no use.
  bool overflowed() const { return vectors_.overflowed(); }

 private:
  using Id = kir::Id;
  using Inst = kir::Inst;

  // Buffers used in turn.
  struct Slot {
    std::vector<Val> copies;
    int64_t used = 0;  // how often it was filled
    int64_t read = 0;  // of loads: which filling is being worked on
    const Val& at(int64_t turn) const { return copies[turn % int64_t(copies.size())]; }
  };
  struct ReduceWords {
    Red row;
    Bin column;
    uint64_t identity;
  };

  const InstInfo& At(Id id) const { return info_.insts[id]; }
  Strides StridesOfBuffer(int buffer, bool in_loop) const {
    return StridesOf(k_, plan_, buffer, in_loop);
  }
  static const Val& Next(Slot* slot) { return slot->at(slot->used++); }
  bool IsPlainLoad(Id i) const;
  bool MakeSlot(Type type, Shape shape, int copies, Slot* slot);
  void Load(int buffer, bool in_loop, const Tile& tile, const Val& dst);
  void Store(Id i, const Tile& tile);

  bool IsTemporary(Id root) const;
  void FreeAfter(Id i);
  void FreeIfLast(Id root, Id i);
  Val Destination(Id i, std::initializer_list<Id> reusable);
  Val ValueOf(Id id) const;

  // tile_ops.cc
  void Instruction(Id i, const Tile& tile);
  void Loaded(Id i, const Tile& tile);
  void Operation(Id i, const Val& a, const Val& b, const Val& c, const Val& dst);
  static ReduceWords WordsOf(const Inst& inst, Type type);
  void Reduce(Id i, const Tile& tile);
  void ReduceRows(Id i, const Val& x, const ReduceWords& words, const Tile& tile);
  void ReduceColumns(Id i, const Val& x, const ReduceWords& words, const Tile& tile, bool narrow);

  const kir::Kernel& k_;
  const SpacePlan& plan_;
  const BodyInfo& info_;
  Stream& stream_;
  const std::vector<int> params_;
  const int copies_;
  const Provided provided_;
  Id first_loop_ = 0;
  ScratchPool pool_;
  Vectors vectors_;
  std::vector<Val> values_;                     // of roots
  std::map<std::pair<int, bool>, Slot> loads_;  // by buffer and whether inside loops
  std::map<Id, Slot> results_, stores_;         // by root; by store
  std::map<Id, Val> partial_;                   // of reductions over several tiles
};

}  // namespace frazil::npu
