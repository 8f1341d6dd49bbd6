#include "core/functions/einsum.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <limits>

#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {
namespace {

using Label = uint8_t;  // a letter, or kDots + n: the n-th axis of "..." from the last one
constexpr Label kDots = 128;
using Labels = absl::InlinedVector<Label, 8>;
using Set = std::bitset<kDots + kMaxRank>;

Set SetOf(const Labels& labels) {
  Set out;
  for (const Label c : labels) out.set(c);
  return out;
}

bool Has(const Labels& labels, Label c) {
  return std::find(labels.begin(), labels.end(), c) != labels.end();
}

std::string Name(Label c) {
  return c < kDots ? std::string(1, static_cast<char>(c)) : std::string("...");
}

using Step = absl::InlinedVector<int64_t, 4>;
using Steps = absl::InlinedVector<Step, 4>;

struct Plan {
  absl::InlinedVector<Labels, 4> inputs;
  Labels output;
  Steps steps;
  std::array<int64_t, kDots + kMaxRank> sizes;  // -1: of no operand

  double Extent(const Set& labels) const {
    double out = 1;
    for (size_t c = 0; c < labels.size(); ++c) {
      if (labels[c]) out *= static_cast<double>(sizes[c]);
    }
    return out;
  }
};

// A term's labels, "..." replaced by one for each axis that it stands for.
StatusOr<Labels> LabelsOf(std::string_view term, size_t rank) {
  const size_t at = term.find("...");
  const bool dots = at != std::string_view::npos;
  std::string letters(term);
  if (dots) letters.erase(at, 3);
  for (const char c : letters) {
    if (!std::isalpha(static_cast<unsigned char>(c)))
      return ValueError("[einsum] '", std::string(1, c), "' in '", term, "' is no letter.");
  }
  Labels out(letters.begin(), letters.end());
  if (!dots) return out;
  if (rank < letters.size()) {
    return ValueError("[einsum] '", term, "' has more letters than an operand of ", rank, " axes.");
  }
  for (size_t i = 0; i < rank - letters.size(); ++i)
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), static_cast<Label>(kDots + i));
  return out;
}

// What is left when two operands are contracted, and the labels of the product.
std::pair<std::vector<Set>, Set> Merge(const std::vector<Set>& live, size_t i, size_t j,
                                       const Set& output) {
  std::vector<Set> rest;
  Set kept = output;
  for (size_t k = 0; k < live.size(); ++k) {
    if (k == i || k == j) continue;
    rest.push_back(live[k]);
    kept |= live[k];
  }
  const Set every = live[i] | live[j];
  rest.push_back(every & kept);
  return {std::move(rest), every};
}

// The cheapest order; all are tried, but those that cost more already.
std::pair<double, Steps> Optimal(const Plan& plan, const std::vector<Set>& live, const Set& output,
                                 double best = std::numeric_limits<double>::infinity()) {
  if (live.size() == 1) return {0, {}};
  std::pair<double, Steps> found = {std::numeric_limits<double>::infinity(), {}};
  for (size_t i = 0; i < live.size(); ++i) {
    for (size_t j = i + 1; j < live.size(); ++j) {
      const auto [after, every] = Merge(live, i, j, output);
      const double cost = plan.Extent(every), least = std::min(best, found.first);
      if (cost >= least) continue;
      auto [more, steps] = Optimal(plan, after, output, least - cost);
      if (cost + more >= found.first) continue;
      steps.insert(steps.begin(), Step{static_cast<int64_t>(i), static_cast<int64_t>(j)});
      found = {cost + more, std::move(steps)};
    }
  }
  return found;
}

// The pair whose result is smallest beside its operands, again and again.
Steps Greedy(const Plan& plan, std::vector<Set> live, const Set& output) {
  Steps steps;
  while (live.size() > 1) {
    std::array<double, 3> best{};
    size_t first = 0, second = 0;
    for (size_t i = 0; i < live.size(); ++i) {
      for (size_t j = i + 1; j < live.size(); ++j) {
        const auto [after, every] = Merge(live, i, j, output);
        const double made = plan.Extent(after.back()) - plan.Extent(live[i]) - plan.Extent(live[j]);
        const std::array<double, 3> gain = {(live[i] & live[j]).none() ? 1.0 : 0.0, made,
                                            plan.Extent(every)};
        if (second != 0 && gain >= best) continue;
        best = gain;
        first = i;
        second = j;
      }
    }
    live = Merge(live, first, second, output).first;
    steps.push_back(Step{static_cast<int64_t>(first), static_cast<int64_t>(second)});
  }
  return steps;
}

Status CheckSteps(const Steps& steps, int64_t n) {
  int64_t left = n;
  std::string all;
  for (const auto& step : steps) {
    StrAppend(&all, all.empty() ? "" : ", ", Tuple(step));
    Step sorted = step;
    std::sort(sorted.begin(), sorted.end());
    const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    if (sorted.empty() || twice || sorted.front() < 0 || sorted.back() >= left) {
      return ValueError("[einsum] ", Tuple(step), " is no step of a path over ", left,
                        " operands.");
    }
    left += 1 - static_cast<int64_t>(step.size());
  }
  if (left != 1) return ValueError("[einsum] the path [", all, "] leaves ", left, " operands.");
  return absl::OkStatus();
}

StatusOr<Steps> StepsOf(const Plan& plan, const EinsumPath& path) {
  const auto n = static_cast<int64_t>(plan.inputs.size());
  if (path.kind == EinsumPath::Kind::kGiven) {
    Steps given;
    for (const auto& step : path.steps) given.emplace_back(step.begin(), step.end());
    FZ_RETURN_IF_ERROR(CheckSteps(given, n));
    return given;
  }
  if (n == 1) return Steps{Step{0}};
  if (path.kind == EinsumPath::Kind::kLeft) {
    Steps out = {Step{0, 1}};
    for (int64_t k = n - 2; k > 0; --k) out.push_back(Step{0, k});
    return out;
  }
  if (n == 2) return Steps{Step{0, 1}};
  std::vector<Set> live;
  for (const Labels& labels : plan.inputs) live.push_back(SetOf(labels));
  const Set output = SetOf(plan.output);
  if (path.kind == EinsumPath::Kind::kOptimal || (path.kind == EinsumPath::Kind::kAuto && n <= 4))
    return Optimal(plan, live, output).second;
  return Greedy(plan, std::move(live), output);
}

Status AddSizes(std::string_view formula, std::string_view term, const Tensor& x, Plan* plan) {
  const Labels& labels = plan->inputs.back();
  if (labels.size() != static_cast<size_t>(x.rank())) {
    return ValueError("[einsum] '", term, "' does not fit an operand of shape ", Tuple(x), ".");
  }
  for (size_t a = 0; a < labels.size(); ++a) {
    int64_t& size = plan->sizes[labels[a]];
    const int64_t n = x.dims()[a], known = size < 0 ? 1 : size;
    if (known != 1 && known != n && n != 1) {
      return ValueError("[einsum] '", Name(labels[a]), "' has extents ", known, " and ", n, " in '",
                        formula, "'.");
    }
    size = n ? std::max(known, n) : 0;
  }
  return absl::OkStatus();
}

StatusOr<Labels> OutputOf(const Plan& plan, std::string_view right, bool arrow) {
  Labels dots;
  for (int i = kMaxRank; i-- > 0;) {
    if (plan.sizes[kDots + i] >= 0) dots.push_back(static_cast<Label>(kDots + i));
  }
  if (!arrow) {
    std::array<int, kDots> times{};
    for (const Labels& labels : plan.inputs) {
      for (const Label c : labels) {
        if (c < kDots) ++times[c];
      }
    }
    for (int c = 0; c < kDots; ++c) {
      if (times[c] == 1) dots.push_back(static_cast<Label>(c));
    }
    return dots;
  }
  const bool shown = right.find("...") != std::string_view::npos;
  FZ_ASSIGN_OR_RETURN(Labels output, LabelsOf(right, right.size() - (shown ? 3 : 0) + dots.size()));
  if (!dots.empty() && !shown) {
    return ValueError("[einsum] '...' stands for ", dots.size(),
                      " axes of the operands: the result '", right, "' needs it, too.");
  }
  for (const Label c : output) {
    if (plan.sizes[c] < 0)
      return ValueError("[einsum] the result has '", Name(c), "', which no operand has.");
  }
  if (SetOf(output).count() != output.size())
    return ValueError("[einsum] the result '", right, "' has a letter twice.");
  return output;
}

Status FillPlan(std::string_view given, absl::Span<const Tensor> operands, const EinsumPath& path,
                Plan* plan) {
  std::string without;
  const bool spaced = given.find(' ') != std::string_view::npos;
  for (const char c : given.substr(0, spaced ? given.size() : 0)) {
    if (c != ' ') without += c;
  }
  const std::string_view all = spaced ? without : given;
  const size_t arrow = all.find("->");
  std::string_view left = all.substr(0, arrow);
  absl::InlinedVector<std::string_view, 4> terms;
  for (size_t comma; (comma = left.find(',')) != std::string_view::npos;
       left = left.substr(comma + 1))
    terms.push_back(left.substr(0, comma));
  terms.push_back(left);
  if (terms.size() != operands.size()) {
    return ValueError("[einsum] '", all, "' is of ", terms.size(), " operands, ", operands.size(),
                      " are given.");
  }
  plan->sizes.fill(-1);
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!operands[i].ok()) return operands[i].status();
    FZ_ASSIGN_OR_RETURN(Labels labels, LabelsOf(terms[i], static_cast<size_t>(operands[i].rank())));
    plan->inputs.push_back(std::move(labels));
    FZ_RETURN_IF_ERROR(AddSizes(all, terms[i], operands[i], plan));
  }
  const bool has_arrow = arrow != std::string_view::npos;
  FZ_ASSIGN_OR_RETURN(plan->output,
                      OutputOf(*plan, has_arrow ? all.substr(arrow + 2) : all, has_arrow));
  FZ_ASSIGN_OR_RETURN(plan->steps, StepsOf(*plan, path));
  return absl::OkStatus();
}

// -- What is done

struct Operand {
  Tensor x;
  Labels labels;

  int64_t At(Label c) const { return std::find(labels.begin(), labels.end(), c) - labels.begin(); }
};

// Only what moves something.
Tensor Permuted(const Tensor& x, const DimVec& order) {
  return std::is_sorted(order.begin(), order.end()) ? x : permute_dims(x, order);
}
Tensor Shaped(const Tensor& x, const DimVec& dims) {
  return x.ok() && x.dims() != Dims(dims) ? reshape(x, dims) : x;
}

// With each label once: diagonals of those that occur twice.
Operand Single(Tensor x, Labels labels) {
  const auto again = [&]() -> std::pair<size_t, size_t> {
    for (size_t i = 0; i < labels.size(); ++i) {
      for (size_t j = i + 1; j < labels.size(); ++j) {
        if (labels[i] == labels[j]) return {i, j};
      }
    }
    return {0, 0};
  };
  for (auto [i, j] = again(); j != 0; std::tie(i, j) = again()) {
    if (!x.ok()) break;
    DimVec dims(x.dims().begin(), x.dims().end());
    if (dims[i] != dims[j]) {  // one of them is 1: all of the other is summed
      dims[i] = dims[j] = std::max(dims[i], dims[j]);
      x = broadcast_to(x, dims);
    }
    x = diagonal(x, 0, static_cast<int64_t>(i), static_cast<int64_t>(j));
    const Label c = labels[i];
    labels.erase(labels.begin() + static_cast<int64_t>(j));
    labels.erase(labels.begin() + static_cast<int64_t>(i));
    labels.push_back(c);
  }
  return {std::move(x), std::move(labels)};
}

// Without the labels that nobody needs any more.
Operand SumOver(Operand given, const Set& kept) {
  Axes gone = Over({});
  Labels labels;
  for (size_t i = 0; i < given.labels.size(); ++i) {
    if (kept[given.labels[i]]) {
      labels.push_back(given.labels[i]);
    } else {
      gone->push_back(static_cast<int64_t>(i));
    }
  }
  if (gone->empty() || !given.x.ok()) return given;
  const DType dtype = given.x.dtype();
  return {IsBool(dtype) ? any(given.x, gone) : astype(sum(given.x, gone), dtype), labels};
}

// The product elementwise.
Operand Aligned(const Operand& a, const Operand& b) {
  Labels labels = a.labels;
  for (const Label c : b.labels) {
    if (!Has(a.labels, c)) labels.push_back(c);
  }
  DimVec wide(a.x.dims().begin(), a.x.dims().end()), order, dims;
  wide.resize(labels.size(), 1);
  for (const Label c : labels) {
    const bool has = Has(b.labels, c);
    if (has) order.push_back(b.At(c));
    dims.push_back(has ? b.x.dims()[b.At(c)] : 1);
  }
  return {multiply(Shaped(a.x, wide), Shaped(Permuted(b.x, order), dims)), labels};
}

// The axes in groups, of which only the first keeps its axes apart.
Tensor Arranged(const Operand& a, const std::array<Labels, 3>& groups) {
  DimVec order, dims;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t size = 1;
    for (const Label c : groups[g]) {
      order.push_back(a.At(c));
      size *= a.x.dims()[order.back()];
      if (g == 0) dims.push_back(a.x.dims()[order.back()]);
    }
    if (g != 0) dims.push_back(size);
  }
  return Shaped(Permuted(a.x, order), dims);
}

// The product of two operands, without the labels that are not kept: a batched matrix product if
// there are such, else elementwise.
Operand Contract(const Operand& first, const Operand& second, const Set& kept, const Plan& plan) {
  const Operand a = SumOver(first, kept | SetOf(second.labels));
  const Operand b = SumOver(second, kept | SetOf(first.labels));
  if (!a.x.ok()) return a;
  if (!b.x.ok()) return b;
  Labels batch, gone, left, right;
  bool stretched = false;
  for (const Label c : a.labels) {
    if (!Has(b.labels, c)) {
      left.push_back(c);
    } else if (a.x.dims()[a.At(c)] != b.x.dims()[b.At(c)]) {
      // A label of extent 1 on one side broadcasts: it is summed or kept, but not contracted.
      stretched = true;
    } else {
      (kept[c] ? batch : gone).push_back(c);
    }
  }
  for (const Label c : b.labels) {
    if (!Has(a.labels, c)) right.push_back(c);
  }
  if (gone.empty() || stretched) return SumOver(Aligned(a, b), kept);
  const Tensor product =
      matmul(Arranged(a, {batch, left, gone}), Arranged(b, {batch, gone, right}));
  Labels labels = batch;
  labels.insert(labels.end(), left.begin(), left.end());
  labels.insert(labels.end(), right.begin(), right.end());
  DimVec dims;
  for (const Label c : labels) dims.push_back(plan.sizes[c]);
  return {Shaped(product, dims), labels};
}

}  // namespace

Tensor einsum(std::string_view formula, absl::Span<const Tensor> operands, const EinsumPath& path) {
  Plan plan;
  if (Status s = FillPlan(formula, operands, path, &plan); !s.ok()) return Tensor(std::move(s));
  DType dtype = operands[0].dtype();
  for (const Tensor& t : operands) dtype = Promote(dtype, t.dtype());
  absl::InlinedVector<Operand, 4> live;
  for (size_t i = 0; i < operands.size(); ++i)
    live.push_back(Single(astype(operands[i], dtype), plan.inputs[i]));
  const Set output = SetOf(plan.output);
  for (Step step : plan.steps) {
    std::sort(step.begin(), step.end());
    absl::InlinedVector<Operand, 4> taken;
    for (const int64_t i : step) taken.push_back(std::move(live[static_cast<size_t>(i)]));
    for (size_t k = step.size(); k-- > 0;) live.erase(live.begin() + step[k]);
    Set kept = output;
    for (const Operand& each : live) kept |= SetOf(each.labels);
    Operand made = std::move(taken[0]);
    for (size_t k = 1; k < taken.size(); ++k) {
      Set wanted = kept;
      for (size_t later = k + 1; later < taken.size(); ++later)
        wanted |= SetOf(taken[later].labels);
      made = Contract(made, taken[k], wanted, plan);
    }
    live.push_back(SumOver(std::move(made), kept));
  }
  const Operand out = SumOver(std::move(live[0]), output);
  if (!out.x.ok()) return out.x;
  DimVec order;
  for (const Label c : plan.output) order.push_back(out.At(c));
  return Permuted(out.x, order);
}

StatusOr<EinsumCost> einsum_cost(std::string_view formula, absl::Span<const Tensor> operands,
                                 const EinsumPath& path) {
  Plan plan;
  FZ_RETURN_IF_ERROR(FillPlan(formula, operands, path, &plan));
  std::vector<Set> live;
  Set all;
  for (const Labels& labels : plan.inputs) {
    live.push_back(SetOf(labels));
    all |= live.back();
  }
  EinsumCost out = {{}, static_cast<double>(live.size()) * plan.Extent(all), 0};
  for (const Step& step : plan.steps) out.steps.emplace_back(step.begin(), step.end());
  for (Step step : plan.steps) {
    std::sort(step.rbegin(), step.rend());
    Set every, kept = SetOf(plan.output);
    for (const int64_t i : step) {
      every |= live[static_cast<size_t>(i)];
      live.erase(live.begin() + i);
    }
    for (const Set& each : live) kept |= each;
    out.chosen += static_cast<double>(step.size()) * plan.Extent(every);
    live.push_back(every & kept);
  }
  return out;
}

}  // namespace frazil::ops
