#include "tests/jit/rewrites_testing.h"

#include <cstring>

#include "core/check.h"

namespace frazil::jit {
namespace {

// Every test of a program that links this runs on the interpreter.
const bool kInterpreted = setenv("FRAZIL_JIT", "interp", 1) == 0;

int FractionBits(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 10;
    case DType::kBF16:
      return 7;
    case DType::kF32:
      return 23;
    default:
      return 52;
  }
}

}  // namespace

std::vector<Choices> AllChoices(const Rewrite& row) {
  std::vector<Choices> all = {{}};
  for (size_t i = 0; i < kChoiceNames.size(); ++i) {
    std::vector<Choices> longer;
    for (const Choices& some : all) {
      for (int op = 0; op < kNumOps; ++op) {
        if (!row.choices[i].Has(OpId(op))) continue;
        longer.push_back(some);
        longer.back()[i] = OpId(op);
      }
    }
    if (!longer.empty()) all = std::move(longer);
  }
  return all;
}

std::array<bool, kCaptures> PatternGraph::Leaves() const {
  std::array<bool, kCaptures> leaves{}, made{};
  for (int i = 0; i < row_.left.size; ++i) {
    const Term& term = row_.left.terms[i];
    if (term.capture >= 0) (term.call ? made : leaves)[term.capture] = true;
  }
  for (int i = 0; i < kCaptures; ++i) leaves[i] = leaves[i] && !made[i];
  return leaves;
}

std::optional<Graph> PatternGraph::Make() {
  Graph graph;
  captured_.fill(-1);
  const auto leaves = Leaves();
  for (int i = 0; i < kCaptures; ++i) {
    if (!leaves[i]) continue;
    captured_[i] = graph.num_inputs;
    AddLeaf(&graph, i);
  }
  int at = 0;
  if (Add(&graph, &at) < 0) return std::nullopt;
  return graph;
}

int32_t PatternGraph::Add(Graph* graph, int* at) {
  const Term& term = row_.left.terms[(*at)++];
  if (!term.call) return captured_[term.capture];
  absl::InlinedVector<int32_t, 3> operands;
  for (int i = 0; i < term.arity; ++i) {
    operands.push_back(Add(graph, at));
    if (operands.back() < 0) return -1;
  }
  const OpId op = term.choice >= 0 ? choices_[term.choice] : term.op;
  const auto id = graph->AddOp(op, operands, AttrsFor(op, graph->nodes[operands[0]]));
  if (!id.ok()) return -1;
  if (term.capture >= 0) captured_[term.capture] = *id;
  return *id;
}

std::string NameOfRow(const Rewrite& row) {
  return StrCat(row.left_text, " = ", row.right_text, row.choices_text.empty() ? "" : "; ",
                row.choices_text);
}

std::vector<uint64_t> SpecialBits(DType dtype) {
  const int bits = BitsOf(dtype);
  if (IsBool(dtype)) return {0, 1};
  const uint64_t top = uint64_t{1} << (bits - 1);
  if (!IsFloat(dtype)) return {0, 1, 2, 3, 7, top - 2, top - 1, top, top + 1, ~1ull, ~0ull};
  const int fraction = FractionBits(dtype);
  const uint64_t infinity = (top - 1) >> fraction << fraction, least = uint64_t{1} << fraction;
  const uint64_t one = (infinity >> 1) & infinity;
  std::vector<uint64_t> all;
  for (const uint64_t sign : {uint64_t{0}, top}) {
    for (const uint64_t magnitude :
         {uint64_t{0}, uint64_t{1}, least - 1, least, one - 1, one, one + 1, one + least,
          infinity - 1, infinity, infinity + (least >> 1)})  // the last one is a quiet NaN
      all.push_back(sign | magnitude);
  }
  return all;
}

uint64_t TellingBits(Rng& rng, DType dtype, bool tame) {
  if (IsBool(dtype)) return rng() & 1;
  const auto special = SpecialBits(dtype);
  const int64_t kind = tame ? 2 : Below(rng, 3);
  if (kind == 0) return special[Below(rng, special.size())];
  if (kind == 1) return rng();
  if (!IsFloat(dtype)) return rng() % 9 - 4;
  // Magnitudes about 1, a few of them often.
  const uint64_t quarter = uint64_t{1} << (FractionBits(dtype) - 2), one = special[5];
  const uint64_t fraction = tame ? rng() % quarter : 0;
  return (one + (rng() % 33 - 16) * quarter + fraction) | (rng() & 1) << (BitsOf(dtype) - 1);
}

ValueRef ValueOf(DType dtype, const Layout* layout, const std::function<uint64_t(int64_t)>& bits) {
  Rng rng(1);
  ValueRef value = RandomValue(rng, dtype, layout);
  for (int64_t i = 0; i < layout->size; ++i) {
    int64_t at = 0, rest = i;
    for (int axis = layout->rank - 1; axis >= 0; --axis) {
      at += rest % layout->extents[axis] * layout->strides_[axis];
      rest /= layout->extents[axis];
    }
    const uint64_t word = bits(i);
    std::memcpy(value->data + at * SizeOf(dtype), &word, SizeOf(dtype));
  }
  return value;
}

std::vector<ValueRef> TellingInputs(Rng& rng, const Graph& graph) {
  std::vector<ValueRef> values;
  for (int i = 0; i < graph.num_inputs; ++i) {
    const Node& node = graph.nodes[i];
    const bool tame = Below(rng, 2);
    const auto bits = [&](int64_t) { return TellingBits(rng, node.dtype, tame); };
    if (!node.immediate) {
      values.push_back(ValueOf(node.dtype, node.layout, bits));
      continue;
    }
    uint64_t word = 0;
    const uint64_t all = bits(0);
    std::memcpy(&word, &all, SizeOf(node.dtype));
    values.push_back(Value::Immediate(node.dtype, word));
  }
  return values;
}

std::string CompareGraphs(const Graph& before, const Graph& after,
                          absl::Span<const ValueRef> inputs) {
  FZ_CHECK(kInterpreted);
  const auto want = RunOpByOp(before, inputs), got = RunOpByOp(after, inputs);
  if (!want.ok()) return StrCat("before: ", want.status().message());
  if (!got.ok()) return StrCat("after: ", got.status().message());
  for (size_t i = 0; i < want->size(); ++i) {
    if ((*want)[i]->layout != (*got)[i]->layout) return StrCat("output ", i, " has another layout");
    const std::string where = Differences(*(*got)[i], *(*want)[i]);
    if (!where.empty()) return StrCat("output ", i, ": ", where);
  }
  return "";
}

}  // namespace frazil::jit
