#include "jit/lower/body.h"

#include <limits>

#include "core/check.h"
#include "jit/lower/forward.h"

namespace frazil::jit {
namespace {

using kir::V;

bool Has(V v) { return v.id != kir::kNone; }
bool IsArg(OpId op) { return op == OpId::k_argmax || op == OpId::k_argmin; }
bool IsReduce(OpId op) { return Info(op).klass == OpClass::kReduce; }

// Ops whose result is a value of `dtype` whenever their operands are: nothing to round.
bool IsExact(OpId op, DType dtype) {
  switch (op) {
    case OpId::k_where:
    case OpId::k_maximum:
    case OpId::k_minimum:
      return true;
    case OpId::k_negative:
    case OpId::k_abs:
    case OpId::k_sign:
    case OpId::k_floor:
    case OpId::k_ceil:
    case OpId::k_trunc:
    case OpId::k_round:
      return IsFloat(dtype);
    default:
      return false;
  }
}

V Widen(V v) { return v.builder->Cast(ComputeType(v.type), v); }

}  // namespace

DType ComputeType(DType dtype) {
  if (IsHalf(dtype)) return DType::kF32;
  if (IsBool(dtype) || SizeOf(dtype) >= 4) return dtype;
  return IsSigned(dtype) ? DType::kI32 : DType::kU32;
}

Pair RoundTo(DType dtype, V v) {
  if (v.type == dtype) return {v, v};
  return {{}, v.builder->Cast(dtype, v)};
}

BodyWriter::BodyWriter(const Graph& graph, const Space& space, KernelMaker* maker)
    : graph_(graph), space_(space), maker_(maker), b_(maker->builder()) {
  for (const SpaceRead& read : space.reads) {
    const DType dtype = node(node(read.node).operands[read.operand]).dtype;
    const bool immediate = read.base >= 0 && node(read.base).immediate;
    read_buffers_.push_back(
        immediate ? -1 : maker->AddBuffer(read.base, dtype, false, read.offset, read.strides));
  }
  for (int32_t id : space.outputs) {
    if (space.chunked && IsReduce(node(id).op)) continue;
    output_buffers_[id] =
        maker->AddBuffer(id, node(id).dtype, true, 0, space.DenseStrides(graph, id));
  }
}

std::vector<int32_t> BodyWriter::ReduceNodes() const {
  std::vector<int32_t> ids;
  for (int32_t id : space_.nodes) {
    if (IsReduce(node(id).op)) ids.push_back(id);
  }
  return ids;
}

// A value that spans the loop is stored in the first loop that can compute it.
bool BodyWriter::StoredInLoop(int32_t output) const {
  const SpaceMember& m = member(output);
  for (size_t i = 0; i < m.axes.size(); ++i) {
    for (int a : space_.loop) {
      if (m.axes[i] == a && node(output).layout->extents[i] != 1) return true;
    }
  }
  return false;
}

void BodyWriter::Write() {
  if (space_.repeat >= 0) WriteRepeat();
  for (int phase = 0; phase < space_.loops; ++phase) WriteLoop(phase);
  const std::vector<int32_t> reduces = ReduceNodes();
  for (size_t i = 0; i < partials_.size(); ++i) b_.Store(partials_[i], raw_.at(reduces[i]));
  for (int32_t id : space_.outputs) {
    if (output_buffers_.contains(id) && !StoredInLoop(id)) Store(id);
  }
}

void BodyWriter::WriteLoop(int phase) {
  std::vector<int32_t> reduces, stores;
  for (int32_t id : ReduceNodes()) {
    const int first = member(id).phase - (IsArg(node(id).op) ? 2 : 1);
    if (phase == first || (IsArg(node(id).op) && phase == first + 1)) reduces.push_back(id);
  }
  for (int32_t id : space_.outputs) {
    if (StoredInLoop(id) && member(id).phase == phase) stores.push_back(id);
  }
  std::map<int32_t, bool> seen;
  for (int32_t id : reduces) Hoist(id, &seen);
  for (int32_t id : stores) {
    if (member(id).in_loop) {
      Hoist(id, &seen);
    } else {
      Value(id);
    }
  }
  b_.Loop();
  open_ = true;
  std::vector<V> results;
  for (int32_t id : reduces) results.push_back(BeginReduce(id, phase));
  for (int32_t id : stores) Store(id);
  b_.End();
  open_ = false;
  inner_.clear();
  inner_reads_.clear();
  for (size_t i = 0; i < reduces.size(); ++i) EndReduce(reduces[i], phase, results[i]);
}

// Computes before the repeat what the body's node `id` takes from outside of it.
void BodyWriter::Ready(int32_t id) {
  const Node& n = node(id);
  for (int k = 0; k < int(n.operands.size()); ++k) {
    if (!IsMember(n.operands[k])) {
      Operand(id, k);
    } else if (node(n.operands[k]).loop != n.loop) {
      Wide(n.operands[k]);
    }
  }
}

// The loop of the roll pass: its state as carries, wide, since what is rounded widens exactly.
void BodyWriter::WriteRepeat() {
  std::vector<int32_t> carries, body, lasts;
  for (int32_t id : space_.nodes) {
    const Node& n = node(id);
    if (n.loop < 0 || n.role == Role::kEach) continue;
    if (n.role == Role::kLast) {
      lasts.push_back(id);
      continue;
    }
    Ready(id);
    (n.role == Role::kCarry ? carries : body).push_back(id);
  }
  std::vector<V> inits;
  for (int32_t id : carries) inits.push_back(Operand(id, 0));
  const V times = maker_->Literal(graph_.loops[space_.repeat]);
  b_.Repeat(times);
  open_ = true;
  for (size_t i = 0; i < carries.size(); ++i) inner_[carries[i]] = {b_.Carry(inits[i]), {}};
  for (int32_t id : body) Wide(id);
  std::vector<std::pair<V, V>> nexts;
  for (int32_t id : lasts)
    nexts.emplace_back(Wide(node(id).operands[0]), Wide(node(id).operands[1]));
  for (const auto& [carry, next] : nexts) b_.Next(carry, next);
  b_.Done();
  open_ = false;
  inner_.clear();
  inner_reads_.clear();
  for (size_t i = 0; i < lasts.size(); ++i) outer_[lasts[i]] = {nexts[i].first, {}};
}

// Computes before the loop whatever below `id`, a value of the loop, does not vary along it.
void BodyWriter::Hoist(int32_t id, std::map<int32_t, bool>* seen) {
  if (!seen->try_emplace(id, true).second) return;
  const Node& n = node(id);
  const OpClass klass = Info(n.op).klass;
  for (int k = 0; k < int(n.operands.size()); ++k) {
    const int32_t x = n.operands[k];
    if (IsMember(x)) {
      if (member(x).in_loop) {
        Hoist(x, seen);
      } else {
        Wide(x);
      }
    } else if (!space_.FindRead(id, k)->varies &&
               !(k == 0 && (klass == OpClass::kTake || klass == OpClass::kPad))) {
      Operand(id, k);
    }
  }
}

V BodyWriter::ReduceElement(int32_t id) {
  V v = Operand(id, 0);
  const kir::ReduceKind kind = ReduceKindOf(node(id).op);
  const bool logical = kind == kir::ReduceKind::kAnd || kind == kir::ReduceKind::kOr;
  return IsBool(v.type) && !logical ? b_.Cast(DType::kI32, v) : v;
}

V BodyWriter::BeginReduce(int32_t id, int phase) {
  const kir::ReduceKind kind = ReduceKindOf(node(id).op);
  const V v = ReduceElement(id);
  if (!IsArg(node(id).op) || phase == member(id).phase - 2) {
    const bool laned =
        IsFloat(v.type) && (kind == kir::ReduceKind::kSum || kind == kir::ReduceKind::kProd);
    return b_.Reduce(kind, v, laned ? space_.lanes : 0);
  }
  // Second pass of argmax: the first element equal to the extreme. It is NaN only if there is one:
  // then the first.
  V found = v == extremes_.at(id);
  if (IsFloat(v.type)) found = found | (v != v);
  const V none = b_.ConstBits(DType::kI64, uint64_t(std::numeric_limits<int64_t>::max()));
  return b_.Reduce(kir::ReduceKind::kMin, select(found, maker_->LoopIndex(), none), 0);
}

void BodyWriter::EndReduce(int32_t id, int phase, V result) {
  if (IsArg(node(id).op) && phase == member(id).phase - 2) {
    extremes_[id] = result;
  } else if (space_.chunked) {
    raw_[id] = result;
  } else {
    outer_[id] = RoundTo(node(id).dtype, result);
  }
}

void BodyWriter::Store(int32_t output) { b_.Store(output_buffers_.at(output), Narrow(output)); }

V BodyWriter::Wide(int32_t id) {
  Pair& p = Value(id);
  return Has(p.wide) ? p.wide : Keep(Widen(p.narrow), &p.wide, outer_.contains(id));
}

V BodyWriter::Narrow(int32_t id) {
  Pair& p = Value(id);
  return Has(p.narrow) ? p.narrow
                       : Keep(b_.Cast(node(id).dtype, p.wide), &p.narrow, outer_.contains(id));
}

// What a loop makes of a value from outside is visible in that loop only.
V BodyWriter::Keep(V v, V* slot, bool outer) {
  if (!(open_ && outer)) *slot = v;
  return v;
}

Pair& BodyWriter::Value(int32_t id) {
  if (const auto it = outer_.find(id); it != outer_.end()) return it->second;
  std::map<int32_t, Pair>& values = open_ ? inner_ : outer_;
  if (const auto it = values.find(id); it != values.end()) return it->second;
  const Pair pair = Compute(id);
  return values.emplace(id, pair).first->second;
}

Pair& BodyWriter::OperandPair(int32_t id, int k) {
  const int32_t x = node(id).operands[k];
  if (IsMember(x)) return Value(x);
  const SpaceRead* read = space_.FindRead(id, k);
  const int index = int(read - space_.reads.data());
  if (const auto it = outer_reads_.find(index); it != outer_reads_.end()) return it->second;
  std::map<int, Pair>& reads = open_ ? inner_reads_ : outer_reads_;
  if (const auto it = reads.find(index); it != reads.end()) return it->second;
  const int buffer = read_buffers_[index];
  const V v = buffer < 0 ? maker_->Param(read->base, node(x).dtype) : b_.Load(buffer);
  return reads.emplace(index, Pair{{}, v}).first->second;
}

V BodyWriter::Operand(int32_t id, int k) {
  const int32_t x = node(id).operands[k];
  if (IsMember(x)) return Wide(x);
  Pair& p = OperandPair(id, k);
  const bool outer = outer_reads_.contains(int(space_.FindRead(id, k) - space_.reads.data()));
  return Has(p.wide) ? p.wide : Keep(Widen(p.narrow), &p.wide, outer);
}

Pair BodyWriter::Compute(int32_t id) {
  const Node& n = node(id);
  if (n.view) return Value(n.operands[0]);
  if (n.role == Role::kEach) return {{}, maker_->Each(n.operands, n.dtype)};
  switch (Info(n.op).klass) {
    case OpClass::kElementwise:
      return ComputeElementwise(id);
    case OpClass::kCast: {
      const Pair& p = OperandPair(id, 0);
      if (node(n.operands[0]).dtype == n.dtype) return p;
      return {{}, b_.Cast(n.dtype, Operand(id, 0))};
    }
    case OpClass::kPad:
      return ComputePad(id);
    case OpClass::kTake:
      return ComputeTake(id);
    case OpClass::kIota:
      // One number, also where the kernel's axis is longer.
      if (n.layout->size == 1) return {{}, b_.Cast(n.dtype, b_.ConstBits(DType::kI64, 0))};
      return {{}, b_.Cast(n.dtype, maker_->Index(member(id).axes[0]))};
    default:
      FZ_CHECK(!"a value that is not there yet");
  }
  return {};
}

Pair BodyWriter::ComputeElementwise(int32_t id) {
  const Node& n = node(id);
  if (n.op == OpId::k_copy) return OperandPair(id, 0);
  V v[3];
  for (int k = 0; k < int(n.operands.size()); ++k) {
    v[k] = Operand(id, k);
    const bool logical = Info(n.op).types == TypeSet::kBits || n.op == OpId::k_where;
    if (IsBool(v[k].type) && !logical) v[k] = b_.Cast(DType::kI32, v[k]);
  }
  const V result = Forward(n.op, v[0], v[1], v[2]);
  if (IsExact(n.op, n.dtype) && result.type == ComputeType(n.dtype)) return {result, {}};
  return RoundTo(n.dtype, result);
}

// Inside [low, low + n) along every padded axis the element, elsewhere the fill.
Pair BodyWriter::ComputePad(int32_t id) {
  const Node& n = node(id);
  const Layout* in = node(n.operands[0]).layout;
  V inside;
  const auto also = [&](V test) { inside = Has(inside) ? inside & test : test; };
  for (int i = 0; i < in->rank; ++i) {
    const int64_t low = n.attrs[2 * i], high = n.attrs[2 * i + 1];
    if (low == 0 && high == 0) continue;
    const V index = maker_->Index(member(id).axes[i]);
    if (low != 0) also(index >= maker_->Literal(low));
    if (high != 0) also(index < maker_->Literal(low + in->extents[i]));
  }
  const int buffer = read_buffers_[space_.FindRead(id, 0) - space_.reads.data()];
  if (buffer < 0) {
    const V x = Widen(maker_->Param(space_.FindRead(id, 0)->base, n.dtype));
    return {Has(inside) ? select(inside, x, Operand(id, 1)) : x, {}};
  }
  const V x = Widen(b_.Load(buffer, {}, inside));
  return {Has(inside) ? select(inside, x, Operand(id, 1)) : x, {}};
}

Pair BodyWriter::ComputeTake(int32_t id) {
  const Node& n = node(id);
  const Layout* in = node(n.operands[0]).layout;
  const int buffer = read_buffers_[space_.FindRead(id, 0) - space_.reads.data()];
  const int64_t stride = in->strides_[n.attrs[0]];
  V offset = b_.Cast(DType::kI64, Operand(id, 1));
  if (stride != 1) offset = offset * maker_->Literal(stride);
  return {{}, b_.Load(buffer, offset)};
}

}  // namespace frazil::jit
