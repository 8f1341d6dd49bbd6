#include "jit/lower/scalar_loop.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "core/str.h"
#include "jit/graph/scalar_loop.h"
#include "jit/lower/elements.h"
#include "jit/lower/maker.h"

namespace frazil::jit {
namespace {

using kir::V;
using Kind = Loop::Source::Kind;
constexpr int64_t kFewMasks = 16;

// What is padded with zeros and added up, as gradients of slices are, adds zeros: x + 0 is x, but
// for -0.
struct Element : Pair {
  Element(const Pair& pair = {}) : Pair(pair) {}  // NOLINT: a pair of which nothing is known
  bool zero = false;                              // it is 0
  bool not_minus = false;                         // it is not -0, and made by arithmetic
};

using Index = absl::InlinedVector<int64_t, 4>;

Index IndexOf(const Layout& layout, int64_t element) {
  Index index(layout.rank);
  for (int i = layout.rank - 1; i >= 0; --i) {
    index[i] = element % layout.extents[i];
    element /= layout.extents[i];
  }
  return index;
}

// Row-major; the last axes of `index`, and 0 where the extent is 1.
int64_t ElementAt(const Layout& layout, absl::Span<const int64_t> index) {
  const size_t skipped = index.size() - size_t(layout.rank);
  int64_t element = 0;
  for (int i = 0; i < layout.rank; ++i) {
    const int64_t at = layout.extents[i] == 1 ? 0 : index[skipped + size_t(i)];
    element = element * layout.extents[i] + at;
  }
  return element;
}

Axes AxesOf(int64_t times, int64_t instances) {
  Axes axes;
  axes.iterations = times;
  axes.unrolled = true;
  if (instances > 1) {
    axes.extents = {instances};
    axes.parallel = {0};
  }
  return axes;
}

class Writer {
 public:
  Writer(const Graph& graph, const Group& group)
      : graph_(graph),
        group_(group),
        node_(graph.nodes[group.nodes[0]]),
        loop_(*node_.loop),
        scalar_(ScalarBodyOf(graph, group.nodes[0])),
        body_(scalar_.graph),
        maker_(Name(), AxesOf(loop_.times, scalar_.instances)),
        b_(maker_.builder()) {}

  Launch Run() {
    AddBuffers();
    maker_.ChooseAxes();
    std::vector<V> inits;
    for (const Carried& c : carried_) inits.push_back(Init(c));
    for (int32_t i = 0; i < body_.num_inputs; ++i) {
      // Masks are more than a load; there are few.
      const Node& input = body_.nodes[i];
      if (loop_.sources[size_t(i)].kind != Kind::kSame || !IsBool(input.dtype)) continue;
      for (int64_t e = 0; e < std::min(input.layout->size, kFewMasks); ++e) Wide(i, e);
    }
    const bool tests = loop_.condition >= 0;
    const V yes = tests ? b_.ConstBits(DType::kI32, 1) : V{};
    b_.Repeat(maker_.Literal(loop_.times));
    const V goes_on = tests ? b_.Carry(yes) : V{};
    std::vector<V> carries;
    for (size_t i = 0; i < carried_.size(); ++i) {
      carries.push_back(b_.Carry(inits[i]));
      if (carried_[i].input >= 0)
        elements_[{carried_[i].input, carried_[i].element}] = Pair{carries[i], {}};
    }
    for (const Result& result : results_) {
      if (!result.every) continue;
      for (int64_t e = 0; e < body_.nodes[result.from].layout->size; ++e)
        b_.Store(result.buffer, Narrow(result.from, e),
                 Distance(PlaceOf(result.layout, result.from, e)));
    }
    std::vector<V> nexts;
    for (const Carried& c : carried_) nexts.push_back(Wide(c.next, c.element));
    if (tests)
      b_.Next(goes_on, b_.Cast(DType::kI32, Wide(body_.outputs[size_t(loop_.condition)], 0)));
    for (size_t i = 0; i < carried_.size(); ++i) b_.Next(carries[i], nexts[i]);
    b_.Done(goes_on);
    for (const Result& result : results_) {
      if (result.every) continue;
      const DType dtype = body_.nodes[result.from].dtype;
      for (int64_t e = 0; e < body_.nodes[result.from].layout->size; ++e)
        b_.Store(result.buffer, b_.Cast(dtype, carries[size_t(result.carried + e)]),
                 Distance(PlaceOf(result.layout, result.from, e)));
    }
    return maker_.Finish(scalar_.time * double(loop_.times));
  }

 private:
  // A number that an iteration hands to the next, or that is wanted of the last one.
  struct Carried {
    int32_t input;  // of the body, or -1
    int32_t next;   // node of the body
    int64_t element;
  };
  struct Result {
    int32_t from;  // node of the body
    bool every;
    int buffer;
    const Layout* layout;  // of an iteration's
    int64_t carried = 0;   // if not every: the first number's place
  };
  struct Source {
    int buffer = -1;
    const Layout* layout = nullptr;
  };

  std::string Name() const {
    constexpr size_t kMaxName = 60;
    std::string name = "k_loop";
    for (const Node& n : absl::MakeSpan(body_.nodes).subspan(body_.num_inputs)) {
      if (!n.view && name.size() < kMaxName) StrAppend(&name, "_", Info(n.op).name);
    }
    return name;
  }

  // Elements from instance to instance.
  std::vector<int64_t> Along(const Layout& layout) const {
    const int axis = InstanceAxis(layout, scalar_.instances);
    return {axis < 0 ? 0 : layout.strides_[axis]};
  }

  // Where element `element` of value `id` of an instance lies in an array of all.
  int64_t PlaceOf(const Layout* all, int32_t id, int64_t element) const {
    const Index index = IndexOf(LayoutOf(id), element);
    int64_t place = 0;
    for (size_t i = 0; i < index.size(); ++i) place += index[i] * all->strides_[i];
    return place;
  }

  V Distance(int64_t elements) {
    return elements ? b_.ConstBits(DType::kI64, uint64_t(elements)) : V{};
  }

  void AddBuffers() {
    sources_.resize(loop_.sources.size());
    for (size_t i = 0; i < loop_.sources.size(); ++i) {
      const Loop::Source& s = loop_.sources[i];
      const Node& input = body_.nodes[i];
      const int32_t from = node_.operands[s.operand];
      if (!graph_.nodes[from].immediate && s.kind != Kind::kEach) {
        const int64_t offset = ElementsInBase(graph_, from);
        const Layout* layout =
            s.kind == Kind::kSlide ? loop_.body.nodes[i].layout : graph_.nodes[from].layout;
        sources_[i] = {maker_.AddBuffer(BaseOf(graph_, from), input.dtype, false, offset + s.start,
                                        Along(*layout), 0, s.step),
                       layout};
      }
      if (s.kind != Kind::kState) continue;
      for (int64_t e = 0; e < input.layout->size; ++e)
        carried_.push_back({int32_t(i), body_.outputs[s.next], e});
    }
    for (const int32_t id : absl::MakeSpan(group_.nodes).subspan(1)) {
      const int64_t output = graph_.nodes[id].attrs[0];
      const int32_t from = body_.outputs[output];
      const Layout* all = loop_.body.nodes[loop_.body.outputs[output]].layout;
      const int64_t size = body_.nodes[from].layout->size;
      const bool every = graph_.nodes[id].role == Role::kEvery && loop_.times > 1;
      const int buffer = maker_.AddBuffer(id, graph_.nodes[id].dtype, true, 0, Along(*all), 0,
                                          every ? all->size : 0);
      Result result{from, every, buffer, all};
      if (!every) {
        const auto of = [&](const Carried& c) { return c.next == from; };
        result.carried = std::find_if(carried_.begin(), carried_.end(), of) - carried_.begin();
        if (size_t(result.carried) == carried_.size()) {
          for (int64_t e = 0; e < size; ++e) carried_.push_back({-1, from, e});
        }
      }
      results_.push_back(result);
    }
  }

  V Init(const Carried& c) {
    const DType wide = ComputeType(body_.nodes[c.next].dtype);
    if (c.input < 0) return b_.ConstBits(wide, 0);
    return Widen(Load(c.input, c.element));
  }

  V Load(int32_t input, int64_t element) {
    const Source& source = sources_[size_t(input)];
    return b_.Load(source.buffer, Distance(PlaceOf(source.layout, input, element)));
  }

  // --- elements of values of the body, by their row-major number

  const Element& Value(int32_t id, int64_t element) {
    const std::pair<int32_t, int64_t> key{id, element};
    if (const auto known = elements_.find(key); known != elements_.end()) return known->second;
    const Element made = body_.nodes[id].input ? Input(id, element) : Compute(id, element);
    return elements_[key] = made;
  }

  V Wide(int32_t id, int64_t element) {
    const Pair pair = Value(id, element);
    return Has(pair.wide) ? pair.wide : elements_[{id, element}].wide = Widen(pair.narrow);
  }

  V Narrow(int32_t id, int64_t element) {
    const Pair pair = Value(id, element);
    return Has(pair.narrow)
               ? pair.narrow
               : elements_[{id, element}].narrow = b_.Cast(body_.nodes[id].dtype, pair.wide);
  }

  Element Input(int32_t id, int64_t element) {
    const Loop::Source& s = loop_.sources[size_t(id)];
    const DType dtype = body_.nodes[id].dtype;
    if (s.kind == Kind::kEach) {
      const auto numbers = absl::MakeSpan(node_.operands).subspan(size_t(s.operand));
      return Pair{{}, maker_.Each(numbers.subspan(0, size_t(loop_.times)), dtype)};
    }
    if (sources_[size_t(id)].buffer >= 0) return Pair{{}, Load(id, element)};
    Element made = Pair{{}, maker_.Param(node_.operands[s.operand], dtype)};
    made.zero = made.not_minus = body_.nodes[id].zero;
    return made;
  }

  const Layout& LayoutOf(int32_t id) const { return *body_.nodes[id].layout; }

  Element Compute(int32_t id, int64_t element) {
    const Node& n = body_.nodes[id];
    switch (Info(n.op).klass) {
      case OpClass::kView:
        return Value(n.operands[0], Viewed(n, element));
      case OpClass::kElementwise: {
        const Index index = IndexOf(*n.layout, element);
        const auto at = [&](int k) { return ElementAt(LayoutOf(n.operands[k]), index); };
        if (n.op == OpId::k_copy) return Value(n.operands[0], at(0));
        if (n.op == OpId::k_add && IsFloat(n.dtype)) return Sum(n, at(0), at(1));
        V v[3];
        for (size_t k = 0; k < n.operands.size(); ++k) v[k] = Wide(n.operands[k], at(int(k)));
        return Elementwise(n, absl::MakeSpan(v, n.operands.size()));
      }
      case OpClass::kCast:
        if (body_.nodes[n.operands[0]].dtype == n.dtype) return Value(n.operands[0], element);
        return Pair{{}, b_.Cast(n.dtype, Wide(n.operands[0], element))};
      case OpClass::kReduce:
        return Reduce(n, element);
      case OpClass::kConcat:
        return Concat(n, element);
      case OpClass::kPad:
        return Padded(n, element);
      case OpClass::kIota:
        return Pair{{}, b_.Cast(n.dtype, b_.ConstBits(DType::kI64, uint64_t(element)))};
      case OpClass::kScan:
        return Scan(id, element);
      case OpClass::kMatmul:
        return Product(n, element);
      default:
        FZ_CHECK(!"an op that MayBeScalars does not know");
    }
    return {};
  }

  Element Sum(const Node& n, int64_t first, int64_t second) {
    const Element a = Value(n.operands[0], first), b = Value(n.operands[1], second);
    if (b.zero && a.not_minus) return a;
    if (a.zero && b.not_minus) return b;
    V v[] = {Wide(n.operands[0], first), Wide(n.operands[1], second)};
    Element sum = Elementwise(n, absl::MakeSpan(v));
    sum.not_minus = a.not_minus || b.not_minus;
    return sum;
  }

  // Which element of its operand a view shows.
  int64_t Viewed(const Node& n, int64_t element) const {
    const Layout& from = LayoutOf(n.operands[0]);
    const Index index = IndexOf(*n.layout, element);
    switch (n.op) {
      case OpId::k_reshape:
        return element;
      case OpId::k_broadcast_to:
        return ElementAt(from, index);
      case OpId::k_permute_dims: {
        Index at(index.size());
        for (size_t i = 0; i < index.size(); ++i) at[size_t(n.attrs[i])] = index[i];
        return ElementAt(from, at);
      }
      default: {
        FZ_CHECK(n.op == OpId::k_slice);
        Index at(index.size());
        for (size_t i = 0; i < index.size(); ++i)
          at[i] = n.attrs[3 * i] + index[i] * n.attrs[3 * i + 1];
        return ElementAt(from, at);
      }
    }
  }

  Pair Reduce(const Node& n, int64_t element) {
    const Layout& from = LayoutOf(n.operands[0]);
    const auto reduced = [&](int axis) { return (n.attrs[0] >> axis & 1) != 0; };
    const bool keeps = n.attrs[1] != 0;
    const Index kept = IndexOf(*n.layout, element);
    Index at(size_t(from.rank), 0);
    int next = 0;
    for (int i = 0; i < from.rank; ++i) {
      if (!reduced(i)) at[size_t(i)] = kept[size_t(keeps ? i : next)];
      next += !reduced(i);
    }
    std::vector<V> values;
    for (int i = from.rank; i >= 0;) {  // all of them, row by row
      values.push_back(Reducible(n.op, Wide(n.operands[0], ElementAt(from, at))));
      for (i = from.rank - 1; i >= 0; --i) {
        if (!reduced(i)) continue;
        if (++at[size_t(i)] < from.extents[i]) break;
        at[size_t(i)] = 0;
      }
    }
    return Reduced(n, from.rank, values);
  }

  Element Concat(const Node& n, int64_t element) {
    Index at = IndexOf(*n.layout, element);
    int64_t& along = at[size_t(n.attrs[0])];
    for (const int32_t x : n.operands) {
      const int64_t extent = LayoutOf(x).extents[n.attrs[0]];
      if (along < extent) return Value(x, ElementAt(LayoutOf(x), at));
      along -= extent;
    }
    FZ_CHECK(!"behind the end of a concatenation");
    return {};
  }

  Element Padded(const Node& n, int64_t element) {
    const Layout& from = LayoutOf(n.operands[0]);
    Index at = IndexOf(*n.layout, element);
    for (int i = 0; i < from.rank; ++i) {
      at[size_t(i)] -= n.attrs[2 * size_t(i)];
      if (at[size_t(i)] < 0 || at[size_t(i)] >= from.extents[i]) return Value(n.operands[1], 0);
    }
    return Value(n.operands[0], ElementAt(from, at));
  }

  // A running sum or product of a line; all its elements are known then.
  Pair Scan(int32_t id, int64_t element) {
    const Node& n = body_.nodes[id];
    const auto axis = size_t(n.attrs[0]);
    const int64_t length = n.layout->extents[axis];
    Index at = IndexOf(*n.layout, element);
    const int64_t own = at[axis];
    std::vector<V> line;
    for (at[axis] = 0; at[axis] < length; ++at[axis])
      line.push_back(Wide(n.operands[0], ElementAt(LayoutOf(n.operands[0]), at)));
    for (int64_t d = 1; d < length; d *= 2) {
      for (int64_t i = length - 1; i >= d; --i) {
        V &a = line[size_t(i - d)], &b = line[size_t(i)];
        b = n.op == OpId::k_cumulative_sum ? a + b : a * b;
      }
    }
    for (at[axis] = 0; at[axis] < length; ++at[axis])
      elements_[{id, ElementAt(*n.layout, at)}] = RoundTo(n.dtype, line[size_t(at[axis])]);
    return RoundTo(n.dtype, line[size_t(own)]);
  }

  Pair Product(const Node& n, int64_t element) {
    const int32_t a = n.operands[0], b = n.operands[1];
    Index left = IndexOf(*n.layout, element), right = left;
    const int64_t depth = LayoutOf(a).extents[LayoutOf(a).rank - 1];
    V sum = b_.ConstBits(ComputeType(n.dtype), 0);
    for (int64_t k = 0; k < depth; ++k) {
      left.back() = right[right.size() - 2] = k;
      const V x = Wide(a, ElementAt(LayoutOf(a), left)), y = Wide(b, ElementAt(LayoutOf(b), right));
      sum = IsFloat(n.dtype) ? fma(x, y, sum) : sum + x * y;
    }
    return RoundTo(n.dtype, sum);
  }

  const Graph& graph_;
  const Group& group_;
  const Node& node_;
  const Loop& loop_;
  const ScalarBody scalar_;
  const Graph& body_;
  KernelMaker maker_;
  kir::Builder& b_;
  std::vector<Source> sources_;  // of the body's inputs
  std::vector<Carried> carried_;
  std::vector<Result> results_;
  std::map<std::pair<int32_t, int64_t>, Element> elements_;
};

}  // namespace

Launch LowerScalarLoop(const Graph& graph, const Group& group) {
  return Writer(graph, group).Run();
}

}  // namespace frazil::jit
