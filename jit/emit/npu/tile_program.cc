#include "jit/emit/npu/tile_program.h"

namespace frazil::npu {
namespace {

Arg N(int64_t n) { return Arg::Number(n); }

}  // namespace

Strides StridesOf(const kir::Kernel& kernel, const SpacePlan& plan, int buffer, bool in_loop) {
  return {plan.RowStride(buffer, in_loop),
          plan.ColStride(buffer, in_loop),
          SizeOf(kernel.buffers[buffer].dtype),
          {plan.VariesOverRows(buffer, in_loop), plan.VariesOverCols(buffer, in_loop)}};
}

StatusOr<bool> LiesApart(const kir::Kernel& k, const SpacePlan& plan, const BodyInfo& info) {
  bool apart = false;
  for (size_t i = 0; i < k.body.size(); ++i) {
    const kir::Inst& inst = k.body[i];
    if (inst.op != kir::Op::kLoad && inst.op != kir::Op::kStore) continue;
    const int b = int(inst.imm);
    const Strides s = StridesOf(k, plan, b, info.insts[i].in_loop);
    if ((s.shape.rows && s.row < 0) || (s.shape.cols && s.col < 0))
      return NotImplementedError("[npu] kernel ", k.name, ": buffer ", k.buffers[b].name,
                                 " runs backwards.");
    apart |= !s.contiguous() && (inst.op == kir::Op::kStore || !s.transposed());
  }
  return apart;
}

int AddParam(const kir::Buffer& buffer, Stream* stream) {
  return stream->AddParam(buffer.name, buffer.out ? ParamKind::kGmWrite : ParamKind::kGmRead);
}

int AddParam(const kir::Scalar& scalar, Stream* stream) {
  return stream->AddParam(scalar.name,
                          scalar.dtype == DType::kF32 ? ParamKind::kF32 : ParamKind::kU64);
}

std::vector<int> AddParams(const kir::Kernel& kernel, Stream* stream) {
  std::vector<int> params;
  for (const kir::Buffer& b : kernel.buffers) params.push_back(AddParam(b, stream));
  for (const kir::Scalar& s : kernel.scalars) params.push_back(AddParam(s, stream));
  return params;
}

TileProgram::TileProgram(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info,
                         Stream* stream, std::vector<int> params, int copies, Provided provided)
    : k_(kernel),
      plan_(plan),
      info_(info),
      stream_(*stream),
      params_(std::move(params)),
      copies_(copies),
      provided_(provided),
      vectors_(stream, &pool_),
      values_(kernel.body.size()) {
  while (k_.has_loop && k_.body[first_loop_].op != kir::Op::kLoop) ++first_loop_;
}

// A load whose tile is used as it arrives.
bool TileProgram::IsPlainLoad(Id i) const {
  return k_.body[i].op == kir::Op::kLoad &&
         !StridesOfBuffer(int(k_.body[i].imm), At(i).in_loop).transposed();
}

bool TileProgram::MakeSlot(Type type, Shape shape, int copies, Slot* slot) {
  for (int c = 0; c < copies; ++c) {
    const auto address = stream_.Alloc(kUB, vectors_.Bytes(type, shape));
    if (!address) return false;
    Val v;
    v.type = type;
    v.shape = shape;
    v.address = *address;
    v.buffer = stream_.Track();
    slot->copies.push_back(v);
  }
  return true;
}

bool TileProgram::MakeSlots(int64_t rows, int64_t cols) {
  vectors_.SetTile(rows, cols);
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op == kir::Op::kLoad) {
      const auto key = std::make_pair(int(inst.imm), At(i).in_loop);
      if (loads_.count(key)) continue;
      const int copies = int(inst.imm) == provided_.buffer ? provided_.copies : copies_;
      if (!MakeSlot(At(i).type, At(i).shape, copies, &loads_[key])) return false;
    } else if (inst.op == kir::Op::kStore) {
      const Id root = At(inst.a).root;
      const bool direct = At(i).as_it_is;
      if (direct && (IsPlainLoad(root) || results_.count(root))) continue;
      Slot* slot = direct ? &results_[root] : &stores_[i];
      const Shape shape = direct ? At(root).shape : StoreShape(plan_, inst, At(i).in_loop);
      if (!MakeSlot(At(inst.a).type, shape, copies_, slot)) return false;
    }
  }
  const int64_t rest = stream_.Free(kUB);
  const auto address = stream_.Alloc(kUB, rest / 32 * 32);
  pool_.Reset(address.value_or(0), address ? rest / 32 * 32 : 0);
  return true;
}

void TileProgram::Loads(const Tile& tile) {
  for (auto& [key, slot] : loads_) {
    const auto [buffer, in_loop] = key;
    if (buffer == provided_.buffer) continue;
    if (!in_loop && k_.has_loop && !tile.first) continue;
    Load(buffer, in_loop, tile, slot.at(slot.used++));
  }
}

void TileProgram::Load(int buffer, bool in_loop, const Tile& tile, const Val& dst) {
  const Strides s = StridesOfBuffer(buffer, in_loop);
  const Arg from = Arg::Device(params_[buffer], plan_.OffsetOf(buffer, tile, in_loop));
  const auto ld = [&](int64_t rows, int64_t bytes, int64_t step) {
    if (rows > 1 && step == bytes) {
      bytes *= rows;
      rows = 1;
    }
    if (rows == 1) step = 0;
    stream_.Emit(Op::kLD, 0, 0, {dst.at(), from, N(rows), N(bytes), N(0), N(step)});
  };
  if (!s.shape.cols) return ld(tile.rows, s.item, s.shape.rows ? s.row : 0);
  if (s.transposed()) return ld(tile.cols, tile.rows * s.item, s.col);
  if (!s.contiguous()) return ld(tile.cols, s.item, s.col);  // one row
  ld(s.shape.rows ? tile.rows : 1, tile.cols * s.item, s.row);
}

void TileProgram::Store(Id i, const Tile& tile) {
  const Inst& inst = k_.body[i];
  const bool in_loop = At(i).in_loop;
  const int buffer = int(inst.imm);
  const Strides s = StridesOfBuffer(buffer, in_loop);
  Val v = values_[At(inst.a).root];
  v.type = At(inst.a).type;
  if (const auto slot = stores_.find(i); slot != stores_.end()) {
    const Val dst = slot->second.at(slot->second.used++);
    vectors_.Expand(v, dst);
    v = dst;
  }
  const Arg to = Arg::Device(params_[buffer], plan_.OffsetOf(buffer, tile, in_loop));
  const auto st = [&](int64_t rows, int64_t bytes, int64_t step, int64_t from) {
    if (rows > 1 && step == bytes && from == bytes) {
      bytes *= rows;
      rows = 1;
    }
    if (rows == 1) step = from = 0;
    stream_.Emit(Op::kST, 0, 0, {to, v.at(), N(rows), N(bytes), N(step), N(from)});
  };
  if (!s.shape.cols) return st(s.shape.rows ? tile.rows : 1, s.item, s.row, s.item);
  if (!s.contiguous()) return st(tile.cols, s.item, s.col, s.item);  // one row
  st(s.shape.rows ? tile.rows : 1, tile.cols * s.item, s.row,
     v.shape.rows ? tile.cols * s.item : 0);
}

void TileProgram::Compute(const Tile& tile) {
  vectors_.SetTile(tile.rows, tile.cols);
  for (Id i = 0; i < Id(k_.body.size()); ++i) {
    const Inst& inst = k_.body[i];
    const bool runs =
        !k_.has_loop || At(i).region >= 0 || (i < first_loop_ ? tile.first : tile.last);
    if (!runs) continue;
    switch (inst.op) {
      case kir::Op::kLoop:
        break;
      case kir::Op::kEnd:
        if (tile.last) FreeAfter(i);
        continue;
      case kir::Op::kStore:
        Store(i, tile);
        break;
      case kir::Op::kReduce:
        Reduce(i, tile);
        break;
      default:
        Instruction(i, tile);
    }
    FreeAfter(i);
  }
  for (auto& [key, slot] : loads_) {
    if (key.second || tile.last) slot.read += 1;
  }
}

bool TileProgram::IsTemporary(Id root) const {
  const Val& v = values_[root];
  return !v.uniform && v.address && v.buffer == kUntracked;
}

void TileProgram::FreeAfter(Id i) {
  const Inst& inst = k_.body[i];
  for (Id root = 0; root <= i && inst.op == kir::Op::kEnd; ++root) FreeIfLast(root, i);
  for (Id id : {inst.a, inst.b, inst.c}) {
    if (id != kir::kNone) FreeIfLast(At(id).root, i);
  }
  if (kir::HasValue(inst.op) && At(i).root == i && At(i).last_use < 0 && values_[i].address)
    FreeIfLast(i, -1);
}

void TileProgram::FreeIfLast(Id root, Id i) {
  if (At(root).root != root || At(root).last_use != i || !IsTemporary(root)) return;
  vectors_.Free(values_[root]);
  values_[root] = Val();
}

// Where the result of `i` goes: the memory that a store will read, that of an operand that is
// used for the last time, or a new temporary.
Val TileProgram::Destination(Id i, std::initializer_list<Id> reusable) {
  const InstInfo& info = At(i);
  if (const auto slot = results_.find(i); slot != results_.end()) {
    Val v = slot->second.at(slot->second.used++);
    v.type = info.type;
    return v;
  }
  for (Id id : reusable) {
    const Id root = id == kir::kNone ? kir::kNone : At(id).root;
    if (root == kir::kNone || At(root).last_use != i || !IsTemporary(root)) continue;
    if (SizeOf(At(root).type) != SizeOf(info.type) || !(values_[root].shape == info.shape))
      continue;
    Val v = values_[root];
    values_[root] = Val();  // its memory is the result's now
    v.type = info.type;
    return v;
  }
  return vectors_.New(info.type, info.shape);
}

Val TileProgram::ValueOf(Id id) const {
  Val v = values_[At(id).root];
  v.type = At(id).type;
  return v;
}

}  // namespace frazil::npu
