#include "jit/lower/body.h"

#include <limits>

#include "core/check.h"
#include "jit/lower/elements.h"
#include "jit/lower/forward.h"

namespace frazil::jit {
namespace {

using kir::V;

bool IsArg(OpId op) { return Has(op, traits::kIndex); }
bool IsReduce(OpId op) { return Info(op).klass == OpClass::kReduce; }

}  // namespace

BodyWriter::BodyWriter(const Graph& graph, const Space& space, KernelMaker* maker)
    : graph_(space.GraphOf(graph)),
      space_(space),
      maker_(maker),
      b_(maker->builder()),
      at_(space.extents.size(), 0) {
  for (const SpaceRead& read : space.reads) {
    const DType dtype = node(node(read.node).operands[read.operand]).dtype;
    const bool immediate = read.base >= 0 && node(read.base).immediate;
    reads_.push_back(immediate ? Place()
                               : AddPlace(read.base, dtype, false, read.offset, read.strides));
  }
  for (int32_t id : space.outputs) {
    if (space.chunked && IsLooped(id)) continue;
    std::vector<int64_t> strides = space.DenseStrides(graph_, id);
    const DType dtype = node(id).dtype;
    if (IsComplex(dtype)) {
      for (int64_t& stride : strides) stride *= 2;
    }
    outputs_[id] = AddPlace(id, PartOf(dtype), true, 0, strides);
    if (IsComplex(dtype)) imaginary_[id] = AddPlace(id, PartOf(dtype), true, 1, strides);
  }
}

// Axes that the kernel has are the buffer's; along the unrolled ones it is one of several, or
// elements are so many from it.
BodyWriter::Place BodyWriter::AddPlace(int32_t base, DType dtype, bool out, int64_t offset,
                                       const std::vector<int64_t>& strides) {
  Place place;
  const int32_t around = space_.Around(base);
  place.near = IsNear(space_, strides);
  std::vector<int64_t> kept = strides;
  for (int a : space_.unrolled) {
    if (strides[a] != 0) place.axes.push_back(a);
    kept[a] = 0;
  }
  place.strides = strides;
  if (place.near) {
    place.buffers.push_back(maker_->AddBuffer(around, dtype, out, offset, std::move(kept)));
    return place;
  }
  ForPoints(place.axes, [&] {
    int64_t at = offset;
    for (int a : place.axes) at += at_[a] * strides[a];
    place.buffers.push_back(maker_->AddBuffer(around, dtype, out, at, kept));
  });
  return place;
}

std::pair<int, V> BodyWriter::At(const Place& place) {
  if (!place.near) return {place.buffers[PointOf(place.axes)], V{}};
  int64_t distance = 0;
  for (int a : place.axes) distance += at_[a] * place.strides[a];
  return {place.buffers[0], distance ? b_.ConstBits(DType::kI64, uint64_t(distance)) : V{}};
}

int64_t BodyWriter::PointOf(const std::vector<int>& axes) const {
  int64_t point = 0;
  for (int a : axes) point = point * space_.extents[a] + at_[a];
  return point;
}

// Calls fn at all points of these unrolled axes, in row-major order.
template <typename Fn>
void BodyWriter::ForPoints(const std::vector<int>& axes, const Fn& fn) {
  const std::vector<int64_t> saved = at_;
  for (int a : axes) at_[a] = 0;
  for (size_t i = 0;;) {
    fn();
    for (i = axes.size(); i-- > 0;) {
      if (++at_[axes[i]] < space_.extents[axes[i]]) break;
      at_[axes[i]] = 0;
    }
    if (i == size_t(-1)) break;
  }
  at_ = saved;
}

bool BodyWriter::IsLooped(int32_t id) const {
  return IsReduce(node(id).op) && !member(id).written_out;
}

std::vector<BodyWriter::LoopedReduce> BodyWriter::LoopedReduces() const {
  std::vector<LoopedReduce> all;
  for (int32_t id : space_.nodes) {
    if (!IsLooped(id)) continue;
    const_cast<BodyWriter*>(this)->ForPoints(member(id).varies, [&] { all.push_back({id, at_}); });
  }
  return all;
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
  if (space_.repeat) WriteRepeat();
  for (int phase = 0; phase < space_.loops; ++phase) WriteLoop(phase);
  const std::vector<LoopedReduce> reduces = LoopedReduces();
  for (size_t i = 0; i < partials_.size(); ++i) {
    at_ = reduces[i].at;
    b_.Store(partials_[i], raw_.at(KeyOf(reduces[i].id)));
  }
  at_.assign(at_.size(), 0);
  for (int32_t id : space_.outputs) {
    if (outputs_.contains(id) && !StoredInLoop(id)) Store(id);
  }
}

void BodyWriter::WriteLoop(int phase) {
  std::vector<LoopedReduce> reduces;
  std::vector<int32_t> stores;
  for (LoopedReduce& reduce : LoopedReduces()) {
    const bool arg = IsArg(node(reduce.id).op);
    const int first = member(reduce.id).phase - (arg ? 2 : 1);
    if (phase == first || (arg && phase == first + 1)) reduces.push_back(std::move(reduce));
  }
  for (int32_t id : space_.outputs) {
    if (StoredInLoop(id) && member(id).phase == phase) stores.push_back(id);
  }
  std::map<Key, bool> seen;
  const std::vector<int64_t> origin = at_;
  for (const LoopedReduce& reduce : reduces) {
    at_ = reduce.at;
    Hoist(reduce.id, &seen);
  }
  at_ = origin;
  for (int32_t id : stores) {
    ForPoints(member(id).varies, [&] {
      if (member(id).in_loop) {
        Hoist(id, &seen);
      } else {
        Value(id);
      }
    });
  }
  b_.Loop();
  open_ = true;
  std::vector<V> results;
  for (const LoopedReduce& reduce : reduces) {
    at_ = reduce.at;
    results.push_back(BeginReduce(reduce.id, phase));
  }
  at_ = origin;
  for (int32_t id : stores) Store(id);
  b_.End();
  open_ = false;
  inner_.clear();
  inner_reads_.clear();
  for (size_t i = 0; i < reduces.size(); ++i) {
    at_ = reduces[i].at;
    EndReduce(reduces[i].id, phase, results[i]);
  }
  at_ = origin;
}

// Computes before the repeat what the body's node `id` takes from outside of it.
void BodyWriter::Ready(int32_t id) {
  const Node& n = node(id);
  for (int k = 0; k < int(n.operands.size()); ++k) {
    if (!IsMember(n.operands[k])) {
      Operand(id, k);
    } else if (n.operands[k] < space_.repeat->first) {
      Wide(n.operands[k]);
    }
  }
}

// The loop: its state as carries, wide, since what is rounded widens exactly.
void BodyWriter::WriteRepeat() {
  const LoopKernel& loop = *space_.repeat;
  std::vector<int32_t> carries, body, lasts;
  for (int32_t id : space_.nodes) {
    if (!loop.Repeats(id) || loop.IsEach(id)) continue;
    if (id < loop.last) Ready(id);
    (id < loop.body ? carries : id < loop.last ? body : lasts).push_back(id);
  }
  std::vector<V> inits;
  for (int32_t id : carries) inits.push_back(Operand(id, 0));
  const V times = maker_->Literal(loop.times);
  b_.Repeat(times);
  open_ = true;
  for (size_t i = 0; i < carries.size(); ++i) inner_[KeyOf(carries[i])] = {b_.Carry(inits[i]), {}};
  for (int32_t id : body) Wide(id);
  std::vector<std::pair<V, V>> nexts;
  for (int32_t id : lasts)
    nexts.emplace_back(Wide(node(id).operands[0]), Wide(node(id).operands[1]));
  for (const auto& [carry, next] : nexts) b_.Next(carry, next);
  b_.Done();
  open_ = false;
  inner_.clear();
  inner_reads_.clear();
  for (size_t i = 0; i < lasts.size(); ++i) outer_[KeyOf(lasts[i])] = {nexts[i].first, {}};
}

// Computes before the loop whatever below `id`, a value of the loop, does not vary along it.
void BodyWriter::Hoist(int32_t id, std::map<Key, bool>* seen) {
  if (!seen->try_emplace(KeyOf(id), true).second) return;
  const Node& n = node(id);
  const OpClass klass = Info(n.op).klass;
  ForPoints(member(id).over, [&] {
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
  });
}

V BodyWriter::ReduceElement(int32_t id) { return Reducible(node(id).op, Operand(id, 0)); }

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
  V found = v == extremes_.at(KeyOf(id));
  if (IsFloat(v.type)) found = found | (v != v);
  const V none = b_.ConstBits(DType::kI64, uint64_t(std::numeric_limits<int64_t>::max()));
  return b_.Reduce(kir::ReduceKind::kMin, select(found, maker_->LoopIndex(), none), 0);
}

void BodyWriter::EndReduce(int32_t id, int phase, V result) {
  if (IsArg(node(id).op) && phase == member(id).phase - 2) {
    extremes_[KeyOf(id)] = result;
  } else if (space_.chunked) {
    raw_[KeyOf(id)] = result;
  } else {
    outer_[KeyOf(id)] = RoundTo(node(id).dtype, result);
  }
}

void BodyWriter::Store(int32_t output) {
  ForPoints(member(output).varies, [&] {
    const V value = Narrow(output);
    const auto [buffer, distance] = At(outputs_.at(output));
    if (!IsComplex(node(output).dtype)) return b_.Store(buffer, value, distance);
    const V imaginary = Operand(output, 1);  // before the first is stored: it may read its memory
    const auto [other, further] = At(imaginary_.at(output));
    b_.Store(buffer, value, distance);
    b_.Store(other, imaginary, further);
  });
}

V BodyWriter::Wide(int32_t id) {
  Pair& p = Value(id);
  return Has(p.wide) ? p.wide : Keep(Widen(p.narrow), &p.wide, outer_.contains(KeyOf(id)));
}

V BodyWriter::Narrow(int32_t id) {
  Pair& p = Value(id);
  return Has(p.narrow)
             ? p.narrow
             : Keep(b_.Cast(PartOf(node(id).dtype), p.wide), &p.narrow, outer_.contains(KeyOf(id)));
}

// What a loop makes of a value from outside is visible in that loop only.
V BodyWriter::Keep(V v, V* slot, bool outer) {
  if (!(open_ && outer)) *slot = v;
  return v;
}

Pair& BodyWriter::Value(int32_t id) {
  const Key key = KeyOf(id);
  if (const auto it = outer_.find(key); it != outer_.end()) return it->second;
  std::map<Key, Pair>& values = open_ ? inner_ : outer_;
  if (const auto it = values.find(key); it != values.end()) return it->second;
  const Pair pair = Compute(id);
  return values.emplace(key, pair).first->second;
}

Pair& BodyWriter::OperandPair(int32_t id, int k) {
  const int32_t x = node(id).operands[k];
  if (IsMember(x)) return Value(x);
  const SpaceRead* read = space_.FindRead(id, k);
  const Place& place = reads_[read - space_.reads.data()];
  const Key key{int(read - space_.reads.data()), PointOf(place.axes)};
  if (const auto it = outer_reads_.find(key); it != outer_reads_.end()) return it->second;
  std::map<Key, Pair>& reads = open_ ? inner_reads_ : outer_reads_;
  if (const auto it = reads.find(key); it != reads.end()) return it->second;
  V v;
  if (place.buffers.empty()) {
    v = maker_->Param(space_.Around(read->base), node(x).dtype);
  } else {
    const auto [buffer, distance] = At(place);
    v = b_.Load(buffer, distance);
  }
  return reads.emplace(key, Pair{{}, v}).first->second;
}

V BodyWriter::Operand(int32_t id, int k) {
  const int32_t x = node(id).operands[k];
  if (IsMember(x)) return Wide(x);
  Pair& p = OperandPair(id, k);
  const int index = int(space_.FindRead(id, k) - space_.reads.data());
  const bool outer = outer_reads_.contains({index, PointOf(reads_[index].axes)});
  return Has(p.wide) ? p.wide : Keep(Widen(p.narrow), &p.wide, outer);
}

Pair BodyWriter::Compute(int32_t id) {
  const Node& n = node(id);
  if (n.op == OpId::k_imag) return OperandPair(BaseOf(graph_, id), 1);
  if (n.view) return Value(n.operands[0]);
  if (space_.repeat && space_.repeat->IsEach(id))
    return {{}, maker_->Each(space_.repeat->each[id - space_.repeat->first], n.dtype)};
  switch (Info(n.op).klass) {
    case OpClass::kElementwise:
      return ComputeElementwise(id);
    case OpClass::kComplex:  // as a value it is its real part; who reads the other asks for it
      return OperandPair(id, 0);
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
      if (const int axis = member(id).axes[0]; space_.IsUnrolled(axis))
        return {{}, b_.Const(n.dtype, double(at_[axis]))};
      return {{}, b_.Cast(n.dtype, maker_->Index(member(id).axes[0]))};
    case OpClass::kReduce:
      FZ_CHECK(member(id).written_out);
      return ComputeWrittenOut(id);
    default:
      FZ_CHECK(!"a value that is not there yet");
  }
  return {};
}

Pair BodyWriter::ComputeElementwise(int32_t id) {
  const Node& n = node(id);
  if (n.op == OpId::k_copy) return OperandPair(id, 0);
  V v[3];
  for (int k = 0; k < int(n.operands.size()); ++k) v[k] = Operand(id, k);
  return Elementwise(n, absl::MakeSpan(v, n.operands.size()));
}

Pair BodyWriter::ComputeWrittenOut(int32_t id) {
  const Node& n = node(id);
  std::vector<V> values;
  ForPoints(member(id).over, [&] { values.push_back(ReduceElement(id)); });
  return Reduced(n, node(n.operands[0]).layout->rank, values);
}

// Inside [low, low + n) along every padded axis the element, elsewhere the fill.
Pair BodyWriter::ComputePad(int32_t id) {
  const Node& n = node(id);
  const Layout* in = node(n.operands[0]).layout;
  const auto fill = [&] { return Pair{Operand(id, 1), {}}; };
  V inside;
  const auto also = [&](V test) { inside = Has(inside) ? inside & test : test; };
  for (int i = 0; i < in->rank; ++i) {
    const int64_t low = n.attrs[2 * i], high = n.attrs[2 * i + 1];
    if (low == 0 && high == 0) continue;
    if (const int axis = member(id).axes[i]; space_.IsUnrolled(axis)) {
      if (at_[axis] < low || at_[axis] >= low + in->extents[i]) return fill();
      continue;
    }
    const V index = maker_->Index(member(id).axes[i]);
    if (low != 0) also(index >= maker_->Literal(low));
    if (high != 0) also(index < maker_->Literal(low + in->extents[i]));
  }
  const Place& place = reads_[space_.FindRead(id, 0) - space_.reads.data()];
  if (place.buffers.empty()) {
    const V x = Widen(maker_->Param(space_.Around(space_.FindRead(id, 0)->base), n.dtype));
    return {Has(inside) ? select(inside, x, Operand(id, 1)) : x, {}};
  }
  const auto [buffer, distance] = At(place);
  const V x = Widen(b_.Load(buffer, distance, inside));
  return {Has(inside) ? select(inside, x, Operand(id, 1)) : x, {}};
}

Pair BodyWriter::ComputeTake(int32_t id) {
  const Node& n = node(id);
  const Layout* in = node(n.operands[0]).layout;
  const auto [buffer, distance] = At(reads_[space_.FindRead(id, 0) - space_.reads.data()]);
  const int64_t stride = in->strides_[n.attrs[0]];
  V offset = b_.Cast(DType::kI64, Operand(id, 1));
  if (stride != 1) offset = offset * maker_->Literal(stride);
  if (Has(distance)) offset = offset + distance;
  return {{}, b_.Load(buffer, offset)};
}

}  // namespace frazil::jit
