#include "jit/graph/passes/repeated_body.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "core/tuned.h"
#include "jit/graph/loop_kernel.h"

namespace frazil::jit {
namespace {

constexpr int32_t kReturned = std::numeric_limits<int32_t>::max();

bool SameCall(const Node& a, const Node& b) {
  return a.op == b.op && a.attrs == b.attrs && a.dtype == b.dtype && a.layout == b.layout &&
         a.view == b.view && a.operands.size() == b.operands.size();
}

}  // namespace

std::optional<Slide> Slide::Of(const Graph& graph, int32_t first, int32_t second) {
  const int32_t base = BaseOf(graph, first);
  const Node& node = graph.nodes[first];
  if (!node.view || !graph.nodes[base].layout->dense || graph.nodes[base].immediate ||
      BaseOf(graph, second) != base ||
      graph.nodes[base].dtype != node.dtype)  // parts of complex numbers
    return std::nullopt;
  const int64_t item = SizeOf(node.dtype), start = OffsetInBase(graph, first) / item;
  return Slide{base, start, OffsetInBase(graph, second) / item - start};
}

bool Slide::Has(const Graph& graph, int32_t id, int64_t t) const {
  return BaseOf(graph, id) == base &&
         OffsetInBase(graph, id) == (start + t * step) * SizeOf(graph.nodes[id].dtype);
}

bool Slide::HasAll(const Graph& graph, absl::Span<const int32_t> list) const {
  for (size_t t = 0; t < list.size(); ++t) {
    if (!Has(graph, list[t], static_cast<int64_t>(t))) return false;
  }
  return true;
}

BodyFinder::BodyFinder(const Graph& graph, LoopOf what,
                       absl::FunctionRef<bool(const RepeatedBody&)> good)
    : graph_(graph),
      steps_(what == LoopOf::kSteps),
      good_(good),
      work_(tuned::kComparisonsPerNode * Count()) {
  Describe();
}

bool BodyFinder::MayRepeat(const Node& node) const {
  if (node.role != Role::kOp || !(node.device == Device())) return false;
  const OpClass klass = Info(node.op).klass;
  if (klass == OpClass::kCollective || klass == OpClass::kCollectiveWait) return false;
  return steps_ ? klass != OpClass::kTransfer : MayRepeatInKernel(node);
}

std::optional<RepeatedBody> BodyFinder::Find(int32_t at) {
  while (at < Count() && work_ > 0) {
    int32_t tried = 1;  // nodes from `at` on where no loop begins
    if (auto loop = FindAt(at, &tried)) return loop;
    at += tried;
  }
  return std::nullopt;
}

void BodyFinder::Describe() {
  const int32_t count = Count();
  what_.assign(count, 0);
  last_use_.assign(count, -1);
  next_alike_.assign(count, -1);
  absl::flat_hash_map<uint64_t, int32_t> later;
  for (int32_t id = 0; id < count; ++id) {
    for (const int32_t x : graph_.nodes[id].operands) last_use_[x] = id;
  }
  for (const int32_t id : graph_.outputs) last_use_[id] = kReturned;
  for (int32_t id = count - 1; id >= graph_.num_inputs; --id) {
    const Node& n = graph_.nodes[id];
    if (!MayRepeat(n)) continue;
    what_[id] = absl::HashOf(n.op, n.attrs, n.dtype, n.layout->id, n.view, n.operands.size()) | 1;
    const auto [it, fresh] = later.try_emplace(what_[id], id);
    if (!fresh) next_alike_[id] = std::exchange(it->second, id);
  }
}

// The loop beginning near `at` that covers most.
std::optional<RepeatedBody> BodyFinder::FindAt(int32_t at, int32_t* tried) {
  std::optional<RepeatedBody> best;
  int lengths = 0;
  int32_t shortest = 0;
  if (what_[at] == 0) return best;
  for (int32_t alike = next_alike_[at]; alike >= 0; alike = next_alike_[alike]) {
    const int32_t length = alike - at;
    if (length > tuned::kMaxRepeatedBody || lengths == tuned::kMaxTriedBodies) break;
    if (!LooksRepeated(at, length)) continue;
    // Two iterations of a loop that was found are no other body.
    if (best && length % best->run.length == 0 &&
        at + tuned::kMinRepeats * length <= best->run.end())
      continue;
    ++lengths;
    if (lengths == 1) shortest = length;
    std::optional<RepeatedBody> loop = Rotate(at, length);
    if (loop && (!best || loop->run.nodes() > best->run.nodes())) best = std::move(loop);
  }
  if (!best && lengths > 0) *tried = LooksTheSame(at, shortest);
  return best;
}

// How many nodes from `at` on, a multiple of `length`, begin bodies of that length that read each
// other as those before do: where no loop was found at the first of them, there is none at another.
// A network's layers and an optimizer's parameters would be looked at again for each otherwise.
int32_t BodyFinder::LooksTheSame(int32_t at, int32_t length) {
  const auto same = [&](int32_t id) {
    const Node &a = graph_.nodes[id - length], &b = graph_.nodes[id];
    if (what_[id] == 0 || what_[id] != what_[id - length]) return false;
    for (size_t k = 0; k < b.operands.size(); ++k) {
      const int32_t x = a.operands[k], y = b.operands[k];
      const bool near = id - y <= 2 * length || id - length - x <= 2 * length;
      if (near ? y - x != length : !IsAlike(x, y)) return false;
    }
    return true;
  };
  int32_t end = at + 3 * length;  // where no operand of the body before lies before `at`
  while (end < Count() && same(end)) ++end;
  work_ -= end - at;
  return std::max(1, (end - at) / length - 2) * length;
}

bool BodyFinder::LooksRepeated(int32_t at, int32_t length) {
  const int32_t end = at + tuned::kMinRepeats * length;
  if (end > Count()) return false;
  for (int32_t id = at + length; id < end; ++id) {
    --work_;
    if (what_[id] == 0 || what_[id] != what_[id - length]) return false;
  }
  return true;
}

// Of the places in the body where an iteration may begin, the best.
std::optional<RepeatedBody> BodyFinder::Rotate(int32_t at, int32_t length) {
  std::vector<RepeatedBody> found;
  for (int32_t first = at; first < at + length && work_ > 0; ++first) {
    // The first iteration may read other things.
    for (const int32_t begin : {first, first + length}) {
      if (std::optional<RepeatedBody> loop = Compare(begin, length))
        found.push_back(*std::move(loop));
    }
  }
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < found.size(); ++i) order.emplace_back(CostOf(found[i]), i);
  std::sort(order.begin(), order.end());
  for (const auto& [cost, i] : order) {
    if (work_ > 0 && CountTimes(&found[i]))
      return good_(found[i]) ? std::optional(std::move(found[i])) : std::nullopt;
  }
  return std::nullopt;
}

// What an iteration hands to the next: values, of a kernel, which keeps each in a register, or
// bytes. A product that follows state by itself is no part of a kernel: iterations better begin
// there.
int64_t BodyFinder::CostOf(const RepeatedBody& loop) const {
  if (!steps_) return static_cast<int64_t>(loop.state.size());
  int64_t bytes = 0;
  for (const int32_t place : loop.state) bytes += BytesOf(graph_.nodes[loop.run.first + place]) + 1;
  int32_t begin = loop.run.first;
  while (graph_.nodes[begin].view && begin < loop.run.first + loop.run.length) ++begin;
  return 2 * bytes + IsPointwise(graph_.nodes[begin].op);
}

// The sources of a body, if each operand has one.
std::optional<RepeatedBody> BodyFinder::Compare(int32_t first, int32_t length) {
  if (!LooksRepeated(first, length)) return std::nullopt;
  RepeatedBody loop{
      .run = {first, length, 0}, .sources = {}, .state = {}, .inits = {}, .each = {}, .like = {}};
  std::vector<std::pair<int32_t, int32_t>> views;
  for (int32_t place = 0; place < length; ++place) {
    auto& sources = loop.sources.emplace_back();
    for (const int32_t second : graph_.nodes[first + length + place].operands) {
      const int k = static_cast<int>(sources.size());
      const std::optional<BodySource> source = FindSource(place, k, second, &views, &loop);
      if (!source) return std::nullopt;
      sources.push_back(*source);
    }
  }
  for (const auto& [place, init] : views) {
    if (!AddStateOfView(place, init, &loop)) return std::nullopt;
  }
  if (loop.state.empty()) return std::nullopt;
  return loop;
}

// As many iterations as are a loop; false: too few.
bool BodyFinder::CountTimes(RepeatedBody* loop) {
  std::vector<bool> is_state(loop->run.length, false);
  for (const int32_t place : loop->state) is_state[place] = true;
  AddIterations(loop, is_state);
  if (!StaysInside(*loop, is_state)) --loop->run.times;
  const bool good =
      loop->run.times >= tuned::kMinRepeats && loop->run.nodes() >= tuned::kMinRepeatedNodes;
  if (!good || !StaysInside(*loop, is_state)) return false;
  for (std::vector<int32_t>& list : loop->each) list.resize(loop->run.times);
  return true;
}

// Iterations up to one that reads other things, or from which more is used later.
void BodyFinder::AddIterations(RepeatedBody* loop, const std::vector<bool>& is_state) {
  const Bodies& run = loop->run;
  for (int32_t& t = loop->run.times; run.end() + run.length <= Count(); ++t) {
    const int32_t begin = run.end(), after = begin + 2 * run.length;
    work_ -= run.length;
    bool last = false;
    for (int32_t place = 0; place < run.length; ++place) {
      const int32_t id = begin + place;
      if (what_[id] == 0 || !SameCall(graph_.nodes[id], graph_.nodes[run.first + place])) return;
      for (size_t k = 0; k < loop->sources[place].size(); ++k) {
        if (!Fits(*loop, loop->sources[place][k], graph_.nodes[id].operands[k], t)) return;
      }
      if (steps_ || last_use_[id] < after) continue;
      if (!is_state[place]) return;
      last = true;
    }
    for (int32_t place = 0; place < run.length; ++place) {
      for (size_t k = 0; k < loop->sources[place].size(); ++k) {
        const BodySource& s = loop->sources[place][k];
        if (s.kind == BodySource::Kind::kEach)
          loop->each[s.id].push_back(graph_.nodes[begin + place].operands[k]);
      }
    }
    if (last) {
      ++t;
      return;
    }
  }
}

bool BodyFinder::Fits(const RepeatedBody& loop, const BodySource& s, int32_t operand,
                      int32_t t) const {
  const Bodies& run = loop.run;
  switch (s.kind) {
    case BodySource::Kind::kSame:
      return operand == s.id;
    case BodySource::Kind::kBody:
      return operand == run.first + t * run.length + s.id;
    case BodySource::Kind::kState:
      return t == 0 || operand == run.first + (t - 1) * run.length + s.id;
    case BodySource::Kind::kEach:
      break;
  }
  return operand < run.first && IsAlike(operand, loop.like[s.id]) &&
         StaysInSlide(loop.each[s.id], operand);
}

// Many iterations that slide through an array, as a pass back does through what a loop kept, are
// faster without the one at the end that reads the state before the first.
bool BodyFinder::StaysInSlide(absl::Span<const int32_t> list, int32_t operand) const {
  if (!steps_ || list.size() < static_cast<size_t>(tuned::kMinRolledSteps)) return true;
  const std::optional<Slide> slide = Slide::Of(graph_, list[0], list[1]);
  return !slide || slide->Has(graph_, operand, static_cast<int64_t>(list.size())) ||
         !slide->HasAll(graph_, list);
}

bool BodyFinder::IsAlike(int32_t id, int32_t like) const {
  const Node &a = graph_.nodes[id], &b = graph_.nodes[like];
  return a.immediate == b.immediate && (steps_ || a.immediate) && a.dtype == b.dtype &&
         a.device == b.device && a.layout == b.layout;
}

// Where the second iteration has operand `second` from; the first and third tell values of
// their own from one that stays.
std::optional<BodySource> BodyFinder::FindSource(int32_t place, int k, int32_t second,
                                                 std::vector<std::pair<int32_t, int32_t>>* views,
                                                 RepeatedBody* loop) const {
  const Bodies& run = loop->run;
  const auto operand = [&](int32_t t) {
    return graph_.nodes[run.first + t * run.length + place].operands[k];
  };
  const int32_t begin = run.first + run.length;
  if (second >= begin) return BodySource{BodySource::Kind::kBody, second - begin};
  if (second >= run.first) {
    const int32_t from = second - run.first;
    if (steps_ && graph_.nodes[second].view) {  // its own operand may have no source yet
      views->emplace_back(from, operand(0));
      return BodySource{BodySource::Kind::kState, from};
    }
    return AddState(from, operand(0), loop)
               ? std::optional(BodySource{BodySource::Kind::kState, from})
               : std::nullopt;
  }
  if (operand(0) == second && operand(2) == second)
    return BodySource{BodySource::Kind::kSame, second};
  if (!IsAlike(second, second)) return std::nullopt;
  loop->each.emplace_back();
  loop->like.push_back(second);
  return BodySource{BodySource::Kind::kEach, static_cast<int32_t>(loop->each.size()) - 1};
}

bool BodyFinder::AddState(int32_t place, int32_t init, RepeatedBody* loop) const {
  for (size_t i = 0; i < loop->state.size(); ++i) {
    if (loop->state[i] == place) return loop->inits[i] == init;
  }
  const Node &a = graph_.nodes[init], &b = graph_.nodes[loop->run.first + place];
  if (init >= loop->run.first || a.dtype != b.dtype || a.layout->dims() != b.layout->dims() ||
      b.view || !b.layout->dense) {
    return false;
  }
  loop->state.push_back(place);
  loop->inits.push_back(init);
  return true;
}

// A view of what the iteration before made: the state is what it is a view of, which the first
// iteration sees in the same way.
bool BodyFinder::AddStateOfView(int32_t place, int32_t init, RepeatedBody* loop) const {
  while (graph_.nodes[loop->run.first + place].view) {
    const BodySource& s = loop->sources[place][0];
    if (s.kind != BodySource::Kind::kBody ||
        !SameCall(graph_.nodes[init], graph_.nodes[loop->run.first + place]))
      return false;
    place = s.id;
    init = graph_.nodes[init].operands[0];
  }
  return AddState(place, init, loop);
}

// Outside nothing but the state behind the last iteration is read, if that matters.
bool BodyFinder::StaysInside(const RepeatedBody& loop, const std::vector<bool>& is_state) const {
  if (steps_) return true;
  const Bodies& run = loop.run;
  for (int32_t place = 0; place < run.length && run.times > 0; ++place) {
    if (!is_state[place] && last_use_[run.end() - run.length + place] >= run.end()) return false;
  }
  return true;
}

}  // namespace frazil::jit
