#include <algorithm>
#include <map>
#include <memory>

#include "core/check.h"
#include "core/str.h"
#include "jit/emit/npu/body_info.h"
#include "jit/emit/npu/estimate.h"
#include "jit/kir/fn_table.h"
#include "jit/kir/legalize.h"
#include "kernels/fn.h"

namespace frazil::npu {
namespace {

using kir::Id;
using kir::Inst;
using kir::kNone;
using kir::ReduceKind;

constexpr int64_t kMaxInstructions = int64_t{1} << 20;
constexpr int64_t kMinTileElements = 64;
// The search for tiles times so many programs, if they are not longer than that.
constexpr int kCandidates = 6;
constexpr size_t kMaxTimed = 20000;

// Functions of kernels/fn.def that the vector unit has.
struct NativeFn {
  Fn fn;
  Un un;
};
constexpr NativeFn kNative[] = {
    {Fn::kExp, kUnExp}, {Fn::kLog, kUnLog}, {Fn::kTanh, kUnTanh}, {Fn::kErf, kUnErf}};

kir::LegalCaps Legal() {
  kir::LegalCaps caps;
  for (const NativeFn& n : kNative) caps.native_calls |= uint64_t{1} << int(n.fn);
  return caps;
}

// What an element moves by along the two axes of a tile.
struct Strides {
  int64_t row, col, item;
  Shape shape;
  bool contiguous() const { return !shape.cols || col == item; }
  bool transposed() const { return shape.cols && shape.rows && col != item && row == item; }
};

// One tiling of a kernel as a program.
class Emission {
 public:
  Emission(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info,
           const Preset& preset, const std::string& op, const std::string& file, int line,
           int copies)
      : k_(kernel),
        plan_(plan),
        info_(info),
        copies_(copies),
        stream_(preset),
        vectors_(&stream_, &pool_),
        values_(kernel.body.size()) {
    for (const kir::Buffer& b : k_.buffers)
      stream_.AddParam(b.name, b.out ? ParamKind::kGmWrite : ParamKind::kGmRead);
    for (const kir::Scalar& s : k_.scalars)
      stream_.AddParam(s.name, s.dtype == DType::kF32 ? ParamKind::kF32 : ParamKind::kU64);
    if (!op.empty()) stream_.MarkSource(op, file, line);
  }

  // nullopt: the tiles are too large.
  std::optional<Program> Run(int64_t rows, int64_t cols) {
    const std::vector<Tile> tiles = plan_.Cut(rows, cols);
    if (!MakeSlots(rows, cols)) return std::nullopt;
    for (size_t t = 0; t < tiles.size(); ++t) {
      // The next tile's loads are issued before this tile's work.
      if (t == 0) Loads(tiles[0]);
      if (t + 1 < tiles.size()) Loads(tiles[t + 1]);
      Compute(tiles[t]);
      if (vectors_.overflowed()) return std::nullopt;
      if (stream_.size() > kMaxInstructions) return std::nullopt;
    }
    return stream_.Finish(k_.name);
  }

 private:
  const InstInfo& At(Id id) const { return info_.insts[id]; }
  Strides StridesOf(int buffer, bool in_loop) const {
    return {plan_.RowStride(buffer, in_loop),
            plan_.ColStride(buffer, in_loop),
            SizeOf(k_.buffers[buffer].dtype),
            {plan_.VariesOverRows(buffer, in_loop), plan_.VariesOverCols(buffer, in_loop)}};
  }

  // A load whose tile is used as it arrives.
  bool IsPlainLoad(Id i) const {
    return k_.body[i].op == kir::Op::kLoad &&
           !StridesOf(int(k_.body[i].imm), At(i).in_loop).transposed();
  }

  // --- scratch memory that other queues see
  // --------------------------------------------------------

  // Buffers used in turn.
  struct Slot {
    std::vector<Val> copies;
    int64_t used = 0;  // how often it was filled
    int64_t read = 0;  // of loads: which filling is being worked on
    const Val& at(int64_t turn) const { return copies[turn % int64_t(copies.size())]; }
  };

  bool MakeSlot(Type type, Shape shape, Slot* slot) {
    for (int c = 0; c < copies_; ++c) {
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

  bool MakeSlots(int64_t rows, int64_t cols) {
    vectors_.SetTile(rows, cols);
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op == kir::Op::kLoad) {
        const auto key = std::make_pair(int(inst.imm), At(i).in_loop);
        if (loads_.count(key)) continue;
        if (!MakeSlot(At(i).type, At(i).shape, &loads_[key])) return false;
      } else if (inst.op == kir::Op::kStore) {
        const Id root = At(inst.a).root;
        const bool direct = At(i).as_it_is;
        if (direct && (IsPlainLoad(root) || results_.count(root))) continue;
        Slot* slot = direct ? &results_[root] : &stores_[i];
        const Shape shape = direct ? At(root).shape : StoreShape(plan_, inst, At(i).in_loop);
        if (!MakeSlot(At(inst.a).type, shape, slot)) return false;
      }
    }
    const int64_t rest = stream_.Free(kUB);
    const auto address = stream_.Alloc(kUB, rest / 32 * 32);
    pool_.Reset(address.value_or(0), address ? rest / 32 * 32 : 0);
    return true;
  }

  // --- moves -------------------------------------------------------------------------------------

  void Loads(const Tile& tile) {
    for (auto& [key, slot] : loads_) {
      const auto [buffer, in_loop] = key;
      if (!in_loop && k_.has_loop && !tile.first) continue;
      Load(buffer, in_loop, tile, slot.at(slot.used++));
    }
  }

  static Arg N(int64_t n) { return Arg::Number(n); }

  void Load(int buffer, bool in_loop, const Tile& tile, const Val& dst) {
    const Strides s = StridesOf(buffer, in_loop);
    const Arg from = Arg::Device(buffer, plan_.OffsetOf(buffer, tile, in_loop));
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

  void Store(Id i, const Tile& tile) {
    const Inst& inst = k_.body[i];
    const bool in_loop = At(i).in_loop;
    const int buffer = int(inst.imm);
    const Strides s = StridesOf(buffer, in_loop);
    Val v = values_[At(inst.a).root];
    v.type = At(inst.a).type;
    if (const auto slot = stores_.find(i); slot != stores_.end()) {
      const Val dst = slot->second.at(slot->second.used++);
      vectors_.Expand(v, dst);
      v = dst;
    }
    const Arg to = Arg::Device(buffer, plan_.OffsetOf(buffer, tile, in_loop));
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

  // --- the work of a tile
  // --------------------------------------------------------------------------

  void Compute(const Tile& tile) {
    vectors_.SetTile(tile.rows, tile.cols);
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      const bool runs =
          !k_.has_loop || At(i).region >= 0 || (i < first_loop() ? tile.first : tile.last);
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

  Id first_loop() {
    if (first_loop_ == kNone) {
      first_loop_ = 0;
      while (k_.has_loop && k_.body[first_loop_].op != kir::Op::kLoop) ++first_loop_;
    }
    return first_loop_;
  }

  bool IsTemporary(Id root) const {
    const Val& v = values_[root];
    return !v.uniform && v.address && v.buffer == kUntracked;
  }

  void FreeAfter(Id i) {
    const Inst& inst = k_.body[i];
    for (Id root = 0; root <= i && inst.op == kir::Op::kEnd; ++root) FreeIfLast(root, i);
    for (Id id : {inst.a, inst.b, inst.c}) {
      if (id != kNone) FreeIfLast(At(id).root, i);
    }
    if (kir::HasValue(inst.op) && At(i).root == i && At(i).last_use < 0 && values_[i].address)
      FreeIfLast(i, -1);
  }

  void FreeIfLast(Id root, Id i) {
    if (At(root).root != root || At(root).last_use != i || !IsTemporary(root)) return;
    vectors_.Free(values_[root]);
    values_[root] = Val();
  }

  // Where the result of `i` goes: the memory that a store will read, that of an operand that is
  // used for the last time, or a new temporary.
  Val Destination(Id i, std::initializer_list<Id> reusable) {
    const InstInfo& info = At(i);
    if (const auto slot = results_.find(i); slot != results_.end()) {
      Val v = slot->second.at(slot->second.used++);
      v.type = info.type;
      return v;
    }
    for (Id id : reusable) {
      const Id root = id == kNone ? kNone : At(id).root;
      if (root == kNone || At(root).last_use != i || !IsTemporary(root)) continue;
      if (SizeOf(At(root).type) != SizeOf(info.type) || !(values_[root].shape == info.shape))
        continue;
      Val v = values_[root];
      values_[root] = Val();  // its memory is the result's now
      v.type = info.type;
      return v;
    }
    return vectors_.New(info.type, info.shape);
  }

  Val ValueOf(Id id) const {
    Val v = values_[At(id).root];
    v.type = At(id).type;
    return v;
  }

  void Instruction(Id i, const Tile& tile) {
    const Inst& inst = k_.body[i];
    const InstInfo& info = At(i);
    if (info.root != i) return;  // another name for an operand's memory
    if (inst.op == kir::Op::kParam || inst.op == kir::Op::kConst) {
      Val v;
      v.type = info.type;
      v.uniform = true;
      v.number = inst.op == kir::Op::kParam ? Arg::Param(int(k_.buffers.size() + inst.imm))
                                            : Arg::Number(int64_t(int32_t(uint32_t(inst.imm))));
      values_[i] = v;
      return;
    }
    if (inst.op == kir::Op::kLoad) return Loaded(i, tile);
    const Val a = inst.a == kNone ? Val() : ValueOf(inst.a);
    const Val b = inst.b == kNone ? Val() : ValueOf(inst.b);
    const Val c = inst.c == kNone ? Val() : ValueOf(inst.c);
    const bool fused = inst.op == kir::Op::kFma;
    const Val dst = fused ? Destination(i, {inst.c}) : Destination(i, {inst.a, inst.b, inst.c});
    Operation(i, a, b, c, dst);
    values_[i] = dst;
  }

  void Loaded(Id i, const Tile& tile) {
    const Inst& inst = k_.body[i];
    const InstInfo& info = At(i);
    const Slot& slot = loads_.at({int(inst.imm), info.in_loop});
    Val v = slot.at(slot.read);
    if (!IsPlainLoad(i)) {
      const Val raw = v;
      v = Destination(i, {});
      stream_.Emit(
          Op::kVTR, info.type, 0,
          {v.at(), raw.at(), N(tile.cols), N(tile.rows), N(0), N(tile.rows * SizeOf(info.type))});
    }
    values_[i] = v;
  }

  Val UniformOf(Type type, int64_t number) const {
    Val v;
    v.type = type;
    v.uniform = true;
    v.number = N(number);
    return v;
  }

  void Operation(Id i, const Val& a, const Val& b, const Val& c, const Val& dst) {
    const Inst& inst = k_.body[i];
    switch (inst.op) {
#define FZ_BINARY(K, B) \
  case kir::Op::K:      \
    return vectors_.Binary(B, a, b, dst);
      FZ_BINARY(kAdd, kBinAdd)
      FZ_BINARY(kSub, kBinSub)
      FZ_BINARY(kMul, kBinMul)
      FZ_BINARY(kDiv, kBinDiv)
      FZ_BINARY(kRem, kBinRem)
      FZ_BINARY(kMin, kBinMin)
      FZ_BINARY(kMax, kBinMax)
      FZ_BINARY(kAnd, kBinAnd)
      FZ_BINARY(kOr, kBinOr)
      FZ_BINARY(kXor, kBinXor)
      FZ_BINARY(kShl, kBinShl)
      FZ_BINARY(kShr, kBinShr)
#undef FZ_BINARY
#define FZ_UNARY(K, U) \
  case kir::Op::K:     \
    return vectors_.Unary(U, a, dst);
      FZ_UNARY(kNeg, kUnNeg)
      FZ_UNARY(kAbs, kUnAbs)
      FZ_UNARY(kSqrt, kUnSqrt)
      FZ_UNARY(kFloor, kUnFloor)
      FZ_UNARY(kCeil, kUnCeil)
      FZ_UNARY(kRint, kUnRint)
#undef FZ_UNARY
#define FZ_COMPARE(K, C) \
  case kir::Op::K:       \
    return vectors_.Compare(C, a, b, dst);
      FZ_COMPARE(kLt, kCmpLt)
      FZ_COMPARE(kLe, kCmpLe)
      FZ_COMPARE(kEq, kCmpEq)
      FZ_COMPARE(kNe, kCmpNe)
#undef FZ_COMPARE
      case kir::Op::kTrunc:
        return vectors_.Truncate(a, dst);
      case kir::Op::kNot:
        if (inst.type == DType::kBool) return vectors_.Compare(kCmpEq, a, UniformOf(kU8, 0), dst);
        return vectors_.Binary(kBinSub, UniformOf(a.type, -1), a, dst);  // -1 - a is ~a
      case kir::Op::kFma:
        return vectors_.Fma(a, b, c, dst);
      case kir::Op::kSelect:
        return vectors_.Select(a, b, c, dst);
      case kir::Op::kCast:
        return vectors_.Convert(a, IsFloat(a.type) && !IsFloat(dst.type) ? 1 : 0, dst);
      case kir::Op::kCall:
        for (const NativeFn& n : kNative) {
          if (uint64_t(n.fn) == inst.imm) return vectors_.Unary(n.un, a, dst);
        }
        [[fallthrough]];
      default:
        FZ_CHECK(false);
    }
  }

  // --- reductions --------------------------------------------------------------------------------

  struct ReduceWords {
    Red row;
    Bin column;
    uint64_t identity;
  };

  static ReduceWords WordsOf(const Inst& inst, Type type) {
    const bool f = IsFloat(type);
    switch (ReduceKind(inst.imm)) {
      case ReduceKind::kSum:
        return {kRedSum, kBinAdd, f ? 0x80000000u : 0u};
      case ReduceKind::kProd:
        return {kRedProd, kBinMul, f ? 0x3f800000u : 1u};
      case ReduceKind::kMax:
        return {kRedMax, kBinMax, f ? 0xff800000u : type == kI32 ? 0x80000000u : 0u};
      case ReduceKind::kMin:
        return {kRedMin, kBinMin, f ? 0x7f800000u : type == kI32 ? 0x7fffffffu : ~0u};
      case ReduceKind::kAnd:
        return {kRedAll, kBinAnd, 1};
      case ReduceKind::kOr:
        return {kRedAny, kBinOr, 0};
    }
    FZ_CHECK(false);
    return {};
  }

  void Reduce(Id i, const Tile& tile) {
    const Inst& inst = k_.body[i];
    Val x = ValueOf(inst.a);
    const Shape full{true, true};
    const bool widen = plan_.loop_is_rows() && x.type == kU8;
    const Type type = widen ? kI32 : x.type;
    const ReduceWords words = WordsOf(inst, type);
    // The element of every point, also where it is the same along an axis.
    Val wide = x;
    const bool expand = x.uniform || !(x.shape == full);
    if (expand) {
      wide = vectors_.New(x.type, full);
      vectors_.Expand(x, wide);
    }
    if (widen) {
      const Val numbers = vectors_.New(kI32, full);
      vectors_.Convert(wide, 0, numbers);
      if (expand) vectors_.Free(wide);
      wide = numbers;
    }
    plan_.loop_is_rows() ? ReduceColumns(i, wide, words, tile, widen)
                         : ReduceRows(i, wide, words, tile);
    if (expand || widen) vectors_.Free(wide);
  }

  void ReduceRows(Id i, const Val& x, const ReduceWords& words, const Tile& tile) {
    if (tile.first && tile.last) {
      const Val dst = Destination(i, {});
      vectors_.ReduceRows(words.row, x, kRedFull, dst);
      values_[i] = dst;
      return;
    }
    if (tile.first) partial_[i] = vectors_.NewLanes(x.type);
    const Val lanes = partial_[i];
    vectors_.ReduceRows(words.row, x, tile.first ? kRedFirst : kRedMore, lanes);
    if (!tile.last) return;
    const Val dst = Destination(i, {});
    vectors_.ReduceRows(words.row, lanes, kRedFinal, dst);
    values_[i] = dst;
    vectors_.Free(lanes);
  }

  void ReduceColumns(Id i, const Val& x, const ReduceWords& words, const Tile& tile, bool narrow) {
    if (tile.first) partial_[i] = vectors_.NewAccumulators(x.type);
    const Val accumulators = partial_[i];
    vectors_.AccumulateRows(words.column, x, tile.first, words.identity, accumulators);
    if (!tile.last) return;
    const Val dst = Destination(i, {});
    if (narrow) {
      const Val row = vectors_.New(kI32, {false, true});
      vectors_.FinishRows(words.column, accumulators, row);
      vectors_.Convert(row, 0, dst);
      vectors_.Free(row);
    } else {
      vectors_.FinishRows(words.column, accumulators, dst);
    }
    values_[i] = dst;
    vectors_.Free(accumulators);
  }

  const kir::Kernel& k_;
  const SpacePlan& plan_;
  const BodyInfo& info_;
  const int copies_;
  Stream stream_;
  ScratchPool pool_;
  Vectors vectors_;
  std::vector<Val> values_;                     // of roots
  std::map<std::pair<int, bool>, Slot> loads_;  // by buffer and whether inside loops
  std::map<Id, Slot> results_, stores_;         // by root; by store
  std::map<Id, Val> partial_;                   // of reductions over several tiles
  Id first_loop_ = kNone;
};

// What tiles must look like.
struct Limits {
  bool one_row = false;     // elements lie apart in memory
  bool whole_loop = false;  // several passes over the loop axis
};

Status FindLimits(const kir::Kernel& k, const SpacePlan& plan, const BodyInfo& info,
                  const LaunchShape& shape, Limits* limits) {
  for (Id i = 0; i < Id(k.body.size()); ++i) {
    const Inst& inst = k.body[i];
    if (inst.op != kir::Op::kLoad && inst.op != kir::Op::kStore) continue;
    const bool in_loop = info.insts[i].in_loop;
    const int b = int(inst.imm);
    const Strides s{plan.RowStride(b, in_loop),
                    plan.ColStride(b, in_loop),
                    SizeOf(k.buffers[b].dtype),
                    {plan.VariesOverRows(b, in_loop), plan.VariesOverCols(b, in_loop)}};
    if ((s.shape.rows && s.row < 0) || (s.shape.cols && s.col < 0))
      return NotImplementedError("[npu] kernel ", k.name, ": buffer ", k.buffers[b].name,
                                 " runs backwards.");
    if (!s.contiguous() && (inst.op == kir::Op::kStore || !s.transposed())) limits->one_row = true;
  }
  limits->whole_loop = info.regions > 1;
  if (limits->one_row && plan.loop_is_rows())
    return NotImplementedError("[npu] kernel ", k.name, ": reduces rows whose elements lie apart.");
  const int64_t loop = k.has_loop ? shape.extents[k.rank] : 0;
  if (k.chunked && shape.extents[0] != (loop + kir::kChunk - 1) / kir::kChunk)
    return NotImplementedError("[npu] kernel ", k.name, " has chunks without elements.");
  for (int64_t e : shape.extents) {
    if (e < 1) return NotImplementedError("[npu] kernel ", k.name, " has an empty axis.");
  }
  return absl::OkStatus();
}

// A tile of at most so many elements; false if there is none.
bool TileOf(const SpacePlan& plan, const Limits& limits, int64_t elements, int64_t* rows,
            int64_t* cols) {
  const bool fixed_rows = plan.loop_is_rows() && limits.whole_loop;
  const bool fixed_cols = plan.loop_is_cols() && limits.whole_loop;
  *cols = plan.cols();
  *rows = limits.one_row ? 1 : plan.rows();
  if (*rows * *cols <= elements) return true;
  if (fixed_cols) {
    *rows = std::max<int64_t>(1, elements / *cols);
    return *cols <= elements || *rows == 1;
  }
  if (fixed_rows) {
    *cols = std::max<int64_t>(8, elements / *rows / 8 * 8);
    *cols = std::min(*cols, plan.cols());
    return true;
  }
  // A loop over rows is cut into eights, one over columns into 64 lanes.
  const int64_t least_rows = plan.loop_is_rows() ? std::min<int64_t>(8, plan.rows()) : 1;
  if (*cols * least_rows > elements)
    *cols = std::min(*cols, std::max<int64_t>(64, elements / least_rows / 64 * 64));
  *rows = std::max<int64_t>(1, std::min(*rows, elements / *cols));
  if (plan.loop_is_rows() && *rows < plan.rows()) *rows = std::max<int64_t>(8, *rows / 8 * 8);
  return true;
}

struct Tiling {
  int64_t rows, cols;
  int copies;
};

// From large tiles to small ones, each once, with two and three copies of what is moved.
std::vector<Tiling> Tilings(const SpacePlan& plan, const Limits& limits,
                            const EmitOptions& options) {
  std::vector<Tiling> tilings;
  for (int64_t elements = options.max_tile_bytes / 4; elements >= kMinTileElements; elements /= 2) {
    int64_t rows, cols;
    if (!TileOf(plan, limits, elements, &rows, &cols)) continue;
    if (!tilings.empty() && tilings.back().rows == rows && tilings.back().cols == cols) continue;
    tilings.push_back({rows, cols, 2});
    if (rows < plan.rows() || cols < plan.cols()) tilings.push_back({rows, cols, 3});
  }
  return tilings;
}

std::vector<Reach> ReachOf(const kir::Kernel& k, const LaunchShape& shape) {
  std::vector<Reach> reach;
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    Reach r{0, SizeOf(k.buffers[b].dtype), k.buffers[b].out};
    for (int axis = 0; axis < k.axes(); ++axis) {
      const int64_t step = shape.strides[b * k.axes() + axis] * (shape.extents[axis] - 1);
      (step < 0 ? r.low : r.high) += step;
    }
    reach.push_back(r);
  }
  return reach;
}

}  // namespace

StatusOr<Program> EmitKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                             const Preset& preset, const EmitOptions& options) {
  FZ_ASSIGN_OR_RETURN(const kir::Kernel legal, kir::Legalize(kernel, Legal()));
  if (legal.buffers.size() + legal.scalars.size() > size_t{kMaxParams})
    return NotImplementedError("[npu] kernel ", kernel.name, " has more than ", kMaxParams,
                               " parameters.");
  const SpacePlan plan(legal, shape);
  FZ_ASSIGN_OR_RETURN(const BodyInfo info, Analyse(legal, plan));
  Limits limits;
  FZ_RETURN_IF_ERROR(FindLimits(legal, plan, info, shape, &limits));
  std::optional<Program> best;
  int64_t best_cycles = 0;
  int tried = 0;
  for (const Tiling& tiling : Tilings(plan, limits, options)) {
    Emission emission(legal, plan, info, preset, options.op, options.file, options.line,
                      tiling.copies);
    std::optional<Program> program = emission.Run(tiling.rows, tiling.cols);
    if (!program) continue;
    program->meta.kernel_class = plan.loop_is_rows() ? "COL" : plan.loop_is_cols() ? "ROW" : "EW";
    program->meta.tile = StrCat(tiling.rows, "x", tiling.cols, " x", tiling.copies);
    // A long program is not worth timing several of: its tiles are as large as they get.
    if (!options.search || program->code.size() > kMaxTimed) return *std::move(program);
    const int64_t cycles = EstimateCycles(*program, preset, ReachOf(legal, shape));
    if (!best || cycles < best_cycles) {
      best = std::move(program);
      best_cycles = cycles;
    }
    if (++tried == kCandidates) break;
  }
  if (best) return *std::move(best);
  return NotImplementedError("[npu] kernel ", kernel.name, " does not fit into ",
                             preset.bytes[kUB] / 1024, " KiB of vector memory.");
}

}  // namespace frazil::npu
