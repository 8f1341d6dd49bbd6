#include "tracer/while_loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/infer.h"

namespace frazil::tracer {
namespace {

using Way = WhileLoop::Way;

constexpr size_t kFewestIterations = 2, kFewestSaved = 1;
constexpr int64_t kSmall = 4096;  // elements of a state that two branches leave

// What a value within an iteration may be: the iteration's own result, or one of what it begins
// with (classes of what the state holds) and of what was there before the loop.
struct Origin {
  ValueId own = kNoValue;
  std::vector<int32_t> classes;  // ascending
  ValueId before = kNoValue;

  bool IsOne() const {
    return (own != kNoValue) + (before != kNoValue) + static_cast<int>(classes.size()) == 1;
  }
  bool operator==(const Origin&) const = default;
  // What it may be as well in another iteration. False: nothing.
  bool Narrow(const Origin& other) {
    if (own != other.own) return false;
    if (before != other.before) before = kNoValue;
    std::erase_if(classes, [&](int32_t c) { return !absl::c_linear_search(other.classes, c); });
    return own != kNoValue || before != kNoValue || !classes.empty();
  }
};

// What the iterations that went one way have in common, up to a read.
struct Trunk {
  std::vector<std::shared_ptr<const CallRecord>> calls;
  std::vector<std::vector<Origin>> operands;
  std::vector<Mark> checks;  // `at`: calls of the trunk before it
  std::vector<Origin> checked;
  Origin read;
  std::vector<Origin> next;  // of each place of the state, at the end
  std::map<uint64_t, std::unique_ptr<Trunk>> ways;
  bool seen = false;
};

bool SameRecord(const CallRecord& a, const CallRecord& b);

bool SameWay(const Way* a, const Way* b) {
  if (!a || !b) return a == b;
  const auto same = [](const Program::Call& x, const Program::Call& y) {
    return x.operands == y.operands && SameRecord(*x.record, *y.record);
  };
  return a->read == b->read && a->next == b->next && absl::c_equal(a->calls, b->calls, same) &&
         SameWay(a->ways[0].get(), b->ways[0].get()) && SameWay(a->ways[1].get(), b->ways[1].get());
}

bool SameRecord(const CallRecord& a, const CallRecord& b) {
  if (&a == &b) return true;
  if (a.loop && b.loop) {
    return a.loop->goes_on == b.loop->goes_on && a.results.size() == b.results.size() &&
           SameWay(&a.loop->root, &b.loop->root);
  }
  return a.composite == b.composite && a.op == b.op && a.attrs == b.attrs && !a.IsLoop();
}

using Runs = std::vector<std::vector<int32_t>>;

class Folder {
 public:
  // `runs`: the marks at which the state was the same, each time that the loop was entered; it ended
  // at the last one.
  Folder(const LearntCall& learnt, const Runs& runs, bool saved)
      : learnt_(learnt), program_(learnt.program), parts_(program_), saved_(saved) {
    for (const std::vector<int32_t>& run : runs) {
      begins_.push_back(heads_.size());
      heads_.insert(heads_.end(), run.begin(), run.end());
      ends_.resize(heads_.size() - 1, false);
      ends_.push_back(true);
    }
  }

  std::shared_ptr<const LearntCall> Run() {
    if (!Classify()) return nullptr;
    for (size_t j = 0; j < heads_.size(); ++j) {
      if (!ends_[j] && !Follow(j)) return nullptr;
    }
    for (size_t j = 0; j < heads_.size(); ++j) {
      if (ends_[j] && !TailOf(program_, j)) return nullptr;
    }
    if (!FindStates()) return nullptr;
    auto loop = std::make_shared<WhileLoop>();
    if (!Write(loop.get())) return nullptr;
    const auto record = Record(std::move(loop));
    // What comes before a run keeps its numbers.
    std::shared_ptr<const LearntCall> folded;
    for (size_t run = begins_.size(); run-- > 0;) {
      folded = Without(run, record, folded ? *folded : learnt_);
      if (!folded) return nullptr;
    }
    return folded;
  }

 private:
  const Mark& Head(size_t j) const { return program_.marks[heads_[j]]; }
  // Where the run begins that ends there, and the other way round.
  size_t BeginOf(size_t j) const { return *std::prev(absl::c_upper_bound(begins_, j)); }
  size_t EndOf(size_t j) const {
    while (!ends_[j]) ++j;
    return j;
  }
  // The first result behind head j.
  ValueId Base(size_t j) const { return parts_.FirstResult(Head(j).at); }

  // What of the state has held the same value as something else at all heads is one class of it,
  // and what has never changed was there before. What is not known at some heads is a class as well:
  // at the others it may be what is meant.
  bool Classify() {
    const size_t places = Head(0).held.size();
    if (places == 0) return false;
    std::map<std::vector<ValueId>, int32_t> known;
    for (size_t q = 0; q < places; ++q) {
      std::vector<ValueId> held;
      for (size_t j = 0; j < heads_.size(); ++j) {
        if (Head(j).held.size() != places) return false;
        held.push_back(parts_.FirstEqual(Head(j).held[q]));
      }
      const bool fixed =
          held[0] < Base(0) && absl::c_all_of(held, [&](ValueId v) { return v == held[0]; });
      fixed_.push_back(fixed ? held[0] : kNoValue);
      class_.push_back(
          fixed ? -1 : known.try_emplace(std::move(held), static_cast<int32_t>(q)).first->second);
    }
    places_.resize(heads_.size());
    for (size_t j = 0; j < heads_.size(); ++j) {
      for (size_t q = 0; q < places; ++q) {
        if (class_[q] < 0) continue;
        if (Head(j).held[q] == kNoValue) continue;
        std::vector<int32_t>& at = places_[j][parts_.FirstEqual(Head(j).held[q])];
        if (!absl::c_linear_search(at, class_[q])) at.push_back(class_[q]);
      }
    }
    return true;
  }

  // As seen from iteration j.
  Origin OriginOf(ValueId v, size_t j) const {
    if (v == kNoValue) return {};
    v = parts_.FirstEqual(v);
    if (v >= Base(j) && (ends_[j] || v < Base(j + 1))) return {.own = v - Base(j)};
    Origin origin;
    if (v < Base(0)) origin.before = v;
    if (const auto at = places_[j].find(v); at != places_[j].end()) {
      origin.classes = at->second;
      absl::c_sort(origin.classes);
    }
    return origin;
  }

  // Adds iteration j to what is common.
  bool Follow(size_t j) {
    Trunk* trunk = &root_;
    int32_t call = Head(j).at;
    size_t checks = 0;
    for (int32_t m = heads_[j] + 1; m <= heads_[j + 1]; ++m) {
      const Mark& mark = program_.marks[m];
      if (mark.precision != Head(j).precision) return false;
      if (mark.kind == Mark::Kind::kCut && m < heads_[j + 1]) continue;
      if (mark.kind == Mark::Kind::kIndexCheck) {
        if (!saved_ || !MatchCheck(trunk, mark, mark.at - call, checks++, j)) return false;
        continue;
      }
      if (m < heads_[j + 1] && mark.outcome > 1) return false;
      if (!Match(trunk, call, mark.at, j) || trunk->checks.size() != checks) return false;
      checks = 0;
      if (!Match(&trunk->read, OriginOf(mark.read, j), trunk->seen)) return false;
      const bool ends = m == heads_[j + 1];
      if (trunk->seen && ends != !trunk->next.empty()) return false;
      if (ends) {
        trunk->next.resize(class_.size());
        for (size_t q = 0; q < class_.size(); ++q) {
          // What fits nothing matters only if it is used.
          if (!Match(&trunk->next[q], OriginOf(Head(j + 1).held[q], j), trunk->seen))
            trunk->next[q] = Origin();
        }
      }
      trunk->seen = true;
      if (ends) break;
      auto& way = trunk->ways[mark.outcome];
      if (!way) way = std::make_unique<Trunk>();
      trunk = way.get();
      call = mark.at;
    }
    return true;
  }

  static bool Match(Origin* known, Origin now, bool seen) {
    if (seen) return known->Narrow(now);
    *known = std::move(now);
    return known->own != kNoValue || known->before != kNoValue || !known->classes.empty();
  }

  bool MatchCheck(Trunk* trunk, const Mark& mark, int32_t at, size_t number, size_t j) {
    if (!trunk->seen) {
      trunk->checks.push_back(mark);
      trunk->checks.back().at = at;
      trunk->checked.emplace_back();
    } else if (number >= trunk->checks.size()) {
      return false;
    }
    const Mark& known = trunk->checks[number];
    return known.at == at && known.range == mark.range && known.check == mark.check &&
           Match(&trunk->checked[number], OriginOf(mark.read, j), trunk->seen);
  }

  bool Match(Trunk* trunk, int32_t begin, int32_t end, size_t j) {
    const auto count = static_cast<size_t>(end - begin);
    if (!trunk->seen) {
      trunk->operands.resize(count);
    } else if (trunk->calls.size() != count) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      const Program::Call& call = program_.calls[static_cast<size_t>(begin) + i];
      if (call->loop && !saved_) return false;
      if (!trunk->seen) {
        trunk->calls.push_back(call.record);
        trunk->operands[i].resize(call.operands.size());
      }
      if (!SameRecord(*trunk->calls[i], *call.record) ||
          trunk->operands[i].size() != call.operands.size())
        return false;
      for (size_t k = 0; k < call.operands.size(); ++k) {
        if (!Match(&trunk->operands[i][k], OriginOf(call.operands[k], j), trunk->seen))
          return false;
      }
    }
    return true;
  }

  // What is used behind the end of a run, with values of the loop as its classes.
  struct Tail {
    Program end;
    std::vector<Program::Call> calls;
    std::vector<Mark> marks;
  };
  // `made`: the loop, if later runs are calls of it by now.
  std::optional<Tail> TailOf(const Program& from, size_t last, const CallRecord* made = nullptr) {
    Tail tail;
    tail.end.parameters = from.parameters;
    tail.end.constants = from.constants;
    tail.end.outputs = from.outputs;
    tail.end.writes = from.writes;
    tail.end.tape = from.tape;
    bool known = true;
    ForValuesOfEnd(tail.end, [&](ValueId& v) { known = known && Behind(&v, last); });
    tail.calls.assign(from.calls.begin() + Head(last).at, from.calls.end());
    for (Program::Call& call : tail.calls) {
      // What the loop takes besides its states was there before, whatever else holds it.
      const bool is_loop = call.record.get() == made;
      const size_t states = is_loop ? states_.size() : call.operands.size();
      for (size_t k = 0; k < states; ++k) known = known && Behind(&call.operands[k], last);
    }
    tail.marks.assign(from.marks.begin() + heads_[last], from.marks.end());
    tail.marks[0].read = kNoValue;  // of the loop
    tail.marks[0].state = -1;
    for (Mark& mark : tail.marks) known = known && Behind(&mark.read, last);
    if (!known || !WritesWhatChanges(tail.end)) return std::nullopt;
    return tail;
  }

  // A cell that changes in the loop and holds at the end what it held at the start does so by chance.
  bool WritesWhatChanges(const Program& end) const {
    for (size_t i = 0; i < end.parameters.size(); ++i) {
      const bool stays = fixed_[i] != kNoValue || Head(0).held[i] == kNoValue;
      const auto writes = [&](const auto& w) { return w.cell == static_cast<int32_t>(i); };
      if (!stays && absl::c_none_of(end.writes, writes)) return false;
    }
    return true;
  }

  // Results of the loop are ~class for now, behind everything there is (kOfLoop).
  static constexpr ValueId kOfLoop = 1 << 30;
  bool Behind(ValueId* v, size_t last) {
    if (*v == kNoValue) return true;
    Origin origin = OriginOf(*v, last);
    if (origin.own != kNoValue) return true;
    if (*v < Base(BeginOf(last))) {  // it is there, and the loop does not change what holds it
      origin.before = *v;
      std::erase_if(origin.classes, [&](int32_t c) { return Stays(root_, c); });
    }
    if (!origin.IsOne()) return false;
    if (origin.classes.empty()) return true;
    used_.push_back(origin.classes[0]);
    *v = kOfLoop + origin.classes[0];
    return true;
  }

  // The classes that matter, and what was there before.
  bool FindStates() {
    if (!Use(root_) || !CloseStates()) return false;
    if (saved_) AddOtherStates();
    absl::c_sort(before_);
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
    return !states_.empty() && KeepsClasses(root_);
  }

  // With those that they are made of.
  bool CloseStates() {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (absl::c_linear_search(states_, used_[i])) continue;
      for (const size_t begin : begins_) {
        if (Head(begin).held[static_cast<size_t>(used_[i])] == kNoValue) return false;
      }
      states_.push_back(used_[i]);
      if (!UseNext(root_, used_[i])) return false;
    }
    return true;
  }

  // Those that other examples may need.
  void AddOtherStates() {
    for (size_t q = 0; q < class_.size(); ++q) {
      const auto place = static_cast<int32_t>(q);
      if (class_[q] != place || absl::c_linear_search(states_, place)) continue;
      const auto kept = std::tuple(used_, states_, before_);
      used_.push_back(place);
      if (!CloseStates() || !KeepsClasses(root_)) std::tie(used_, states_, before_) = kept;
    }
  }

  bool Use(const Origin& origin) {
    if (!origin.IsOne()) return false;
    if (!origin.classes.empty()) used_.push_back(origin.classes[0]);
    if (origin.before != kNoValue) before_.push_back(origin.before);
    return true;
  }
  bool Use(const Trunk& trunk) {
    for (const auto& operands : trunk.operands) {
      for (const Origin& origin : operands) {
        if (!Use(origin)) return false;
      }
    }
    for (const Origin& origin : trunk.checked) {
      if (!Use(origin)) return false;
    }
    if (!Use(trunk.read)) return false;
    if (!trunk.next.empty()) return true;
    return absl::c_all_of(trunk.ways, [&](const auto& way) { return Use(*way.second); });
  }
  bool UseNext(const Trunk& trunk, int32_t place) {
    if (!trunk.next.empty()) return Use(trunk.next[static_cast<size_t>(place)]);
    return absl::c_all_of(trunk.ways, [&](const auto& way) { return UseNext(*way.second, place); });
  }

  // An iteration leaves it as it is.
  static bool Stays(const Trunk& trunk, int32_t place) {
    if (!trunk.next.empty())
      return trunk.next[static_cast<size_t>(place)] == Origin{.classes = {place}};
    return absl::c_all_of(trunk.ways, [&](const auto& way) { return Stays(*way.second, place); });
  }

  // What was one class, or fixed, will be behind every iteration.
  bool KeepsClasses(const Trunk& trunk) const {
    for (size_t q = 0; q < trunk.next.size(); ++q) {
      const Origin& next = trunk.next[q];
      if (fixed_[q] != kNoValue && !(next.IsOne() && next.before == fixed_[q])) return false;
      if (class_[q] >= 0 && absl::c_linear_search(states_, class_[q]) &&
          !(next == trunk.next[static_cast<size_t>(class_[q])]))
        return false;
    }
    return absl::c_all_of(trunk.ways, [&](const auto& way) { return KeepsClasses(*way.second); });
  }

  // --- writing it

  // In the body: a parameter, or a result along the way.
  ValueId Named(const Origin& origin) const {
    if (origin.own != kNoValue) return origin.own;
    const auto at =
        origin.classes.empty()
            ? absl::c_lower_bound(before_, origin.before) - before_.begin() + std::ssize(states_)
            : absl::c_find(states_, origin.classes[0]) - states_.begin();
    return ~static_cast<ValueId>(at);
  }

  void Write(const Trunk& trunk, Way* way) const {
    for (size_t i = 0; i < trunk.calls.size(); ++i) {
      Program::Call& call = way->calls.emplace_back(Program::Call{trunk.calls[i], {}});
      for (const Origin& origin : trunk.operands[i]) call.operands.push_back(Named(origin));
    }
    way->checks = trunk.checks;
    for (size_t i = 0; i < way->checks.size(); ++i) way->checks[i].read = Named(trunk.checked[i]);
    way->read = Named(trunk.read);
    if (!trunk.next.empty()) {
      for (const int32_t place : states_)
        way->next.push_back(Named(trunk.next[static_cast<size_t>(place)]));
      return;
    }
    for (const auto& [outcome, branch] : trunk.ways) {
      way->ways[outcome] = std::make_unique<Way>();
      Write(*branch, way->ways[outcome].get());
    }
  }

  // Behind an iteration: the states and what its end reads; and whether it went a known way, if it
  // may have gone another.
  struct End {
    std::vector<ValueId> outputs;
    ValueId known = kNoValue;
  };

  bool Write(WhileLoop* loop) {
    Write(root_, &loop->root);
    loop->goes_on = Head(0).outcome != 0;
    for (const int32_t place : states_)
      loop->body.parameters.push_back(parts_.TypeOf(Head(0).held[static_cast<size_t>(place)]));
    for (const ValueId v : before_) loop->body.parameters.push_back(parts_.TypeOf(v));
    loop->classes = class_;
    loop->places = states_;
    if (saved_) {
      for (size_t i = 0; i < states_.size(); ++i)
        loop->body.outputs.push_back({~static_cast<ValueId>(i), {}});
      loop->body.outputs.resize(states_.size() + 2);
      return true;
    }
    const auto on_host = [](const Parameter& p) { return p.layout && p.device == Device(); };
    if (!absl::c_all_of(loop->body.parameters, on_host)) return false;
    auto end = Straighten(loop->root, {}, loop);
    if (!end || !AddTest(*loop, &*end, &loop->body)) return false;
    for (size_t i = 0; i < end->outputs.size(); ++i) {
      const Parameter type = TypeIn(loop->body, end->outputs[i]);
      const bool fits = i < states_.size() ? type == loop->body.parameters[i] &&
                                                 type.layout->dense && !type.immediate
                                           : IsBool(type.dtype) && type.layout->size == 1;
      if (!fits || !(type.device == Device())) return false;
      loop->body.outputs.push_back({end->outputs[i], {}});
    }
    return true;
  }

  // What the head of the loop reads next, and whether there is another iteration. An iteration that
  // went a way that is not known is none: its states are those that it began with.
  bool AddTest(const WhileLoop& loop, End* end, Program* body) {
    bool good = true;
    const auto call = [&](OpId op, Operands operands) {
      const auto made = good ? Call(op, std::move(operands), body) : std::nullopt;
      good = made.has_value();
      return made.value_or(kNoValue);
    };
    ValueId head = end->outputs.back();
    if (end->known != kNoValue) {
      for (size_t i = 0; i < states_.size(); ++i) {
        const ValueId before = ~static_cast<ValueId>(i);
        if (end->outputs[i] == before) continue;
        if (TypeIn(*body, before).layout->size > kSmall) return false;
        end->outputs[i] = call(OpId::k_where, {end->known, end->outputs[i], before});
      }
      const ValueId unknown = loop.goes_on ? call(OpId::k_bitwise_invert, {end->known}) : kNoValue;
      head = loop.goes_on ? call(OpId::k_bitwise_or, {head, unknown})
                          : call(OpId::k_bitwise_and, {head, end->known});
    }
    ValueId again = loop.goes_on ? head : call(OpId::k_bitwise_invert, {head});
    if (end->known != kNoValue) again = call(OpId::k_bitwise_and, {again, end->known});
    end->outputs.back() = head;
    end->outputs.push_back(again);
    return good;
  }

  Parameter TypeIn(const Program& body, ValueId id) const {
    if (id < 0) return body.parameters[static_cast<size_t>(~id)];
    const Result& r = types_[static_cast<size_t>(id)];
    return {r.dtype, r.device, false, false, r.layout};
  }

  std::optional<ValueId> Call(OpId op, Operands operands, Program* body) {
    std::vector<Operand> types;
    for (const ValueId id : operands) {
      const Parameter type = TypeIn(*body, id);
      types.push_back({type.dtype, type.device, type.layout.get()});
    }
    const auto inferred = Infer(op, types, {});
    if (!inferred.ok()) return std::nullopt;
    auto record = std::make_shared<CallRecord>();
    record->op = static_cast<uint32_t>(op);
    record->results = {{inferred->dtype, inferred->device, inferred->layout}};
    record->origin = Head(0).origin;
    types_.push_back(record->results[0]);
    body->calls.push_back({std::move(record), std::move(operands)});
    return static_cast<ValueId>(types_.size()) - 1;
  }

  // A way's calls, one branch behind the other, and what the branches leave selected. `now`: of the
  // results along the way, in the body. Null: it would not be the same, or costs too much.
  std::optional<End> Straighten(const Way& way, std::vector<ValueId> now, WhileLoop* loop) {
    Program& body = loop->body;
    const auto in_body = [&](ValueId v) { return v < 0 ? v : now[static_cast<size_t>(v)]; };
    for (const Program::Call& call : way.calls) {
      Operands operands;
      for (const ValueId v : call.operands) operands.push_back(in_body(v));
      body.calls.push_back({call.record, std::move(operands)});
      for (const Result& r : call->results) {
        now.push_back(static_cast<ValueId>(types_.size()));
        types_.push_back(r);
      }
    }
    const ValueId read = in_body(way.read);
    if (!IsBool(TypeIn(body, read).dtype)) return std::nullopt;
    if (way.ends()) {
      End end;
      for (const ValueId v : way.next) end.outputs.push_back(in_body(v));
      end.outputs.push_back(read);
      return end;
    }
    std::optional<End> ends[2];
    for (const bool outcome : {false, true}) {
      if (!way.ways[outcome]) continue;
      ends[outcome] = Straighten(*way.ways[outcome], now, loop);
      if (!ends[outcome]) return std::nullopt;
    }
    if (ends[0] && ends[1]) return Selected(read, *ends[0], *ends[1], &body);
    const bool only = ends[1].has_value();
    std::optional<ValueId> known = read;
    if (!only) known = Call(OpId::k_bitwise_invert, {read}, &body);
    End& end = *ends[only];
    if (known && end.known != kNoValue)
      known = Call(OpId::k_bitwise_and, {*known, end.known}, &body);
    if (!known) return std::nullopt;
    end.known = *known;
    return end;
  }

  std::optional<End> Selected(ValueId read, const End& no, const End& yes, Program* body) {
    End end;
    for (size_t i = 0; i < no.outputs.size(); ++i) {
      const ValueId a = yes.outputs[i], b = no.outputs[i];
      if (TypeIn(*body, a).layout->size > kSmall && a != b) return std::nullopt;
      const auto one = a == b ? a : Call(OpId::k_where, {read, a, b}, body);
      if (!one) return std::nullopt;
      end.outputs.push_back(*one);
    }
    // A branch of which all is known makes no condition.
    std::optional<ValueId> known;
    if (yes.known != kNoValue && no.known != kNoValue) {
      known = Call(OpId::k_where, {read, yes.known, no.known}, body);
    } else if (yes.known != kNoValue) {
      const auto not_read = Call(OpId::k_bitwise_invert, {read}, body);
      if (not_read) known = Call(OpId::k_bitwise_or, {*not_read, yes.known}, body);
    } else if (no.known != kNoValue) {
      known = Call(OpId::k_bitwise_or, {read, no.known}, body);
    } else {
      return end;
    }
    if (!known) return std::nullopt;
    end.known = *known;
    return end;
  }

  std::shared_ptr<const CallRecord> Record(std::shared_ptr<const WhileLoop> loop) const {
    auto record = std::make_shared<CallRecord>();
    record->composite = true;
    record->op = kLoopRow;
    record->origin = Head(0).origin;
    for (const Content& o : loop->body.outputs) {
      const Parameter type =
          o.value == kNoValue ? parts_.TypeOf(Head(0).read) : TypeIn(loop->body, o.value);
      record->results.push_back({type.dtype, type.device, type.layout});
    }
    record->body = std::shared_ptr<const Program>(loop, &loop->body);
    record->loop = std::move(loop);
    return record;
  }

  // The call with the loop in the place of that run's iterations. `from`: with those of later ones.
  std::shared_ptr<const LearntCall> Without(size_t run,
                                            const std::shared_ptr<const CallRecord>& record,
                                            const LearntCall& from) {
    const size_t first = begins_[run], last = EndOf(first);
    std::optional<Tail> known_tail = TailOf(from.program, last, record.get());
    if (!known_tail) return nullptr;
    Tail& tail = *known_tail;
    auto folded = std::make_shared<LearntCall>();
    Program& to = folded->program = std::move(tail.end);
    to.calls.assign(from.program.calls.begin(), from.program.calls.begin() + Head(first).at);
    Operands operands;
    for (const int32_t place : states_)
      operands.push_back(Head(first).held[static_cast<size_t>(place)]);
    operands.insert(operands.end(), before_.begin(), before_.end());
    to.calls.push_back({record, std::move(operands)});

    const ValueId made = Base(first) + static_cast<ValueId>(record->results.size());
    const auto move = [&](ValueId& v) {
      if (v == kNoValue || v < 0) return;
      if (v >= kOfLoop) {
        v = Base(first) +
            static_cast<ValueId>(absl::c_find(states_, v - kOfLoop) - states_.begin());
      } else if (v >= Base(last)) {
        v += made - Base(last);
      }
    };
    const auto shift = static_cast<int32_t>(to.calls.size()) - Head(last).at;
    for (Program::Call& call : tail.calls) {
      absl::c_for_each(call.operands, move);
      to.calls.push_back(std::move(call));
    }
    to.marks.assign(from.program.marks.begin(), from.program.marks.begin() + heads_[first] + 1);
    tail.marks[0].read = Base(first) + static_cast<ValueId>(states_.size());
    for (Mark& mark : tail.marks) {
      mark.at += shift;
      if (&mark != &tail.marks[0]) move(mark.read);
      for (ValueId& v : mark.held) {
        const bool known = Behind(&v, last);
        if (!known || (v >= kOfLoop && !absl::c_linear_search(states_, v - kOfLoop))) v = kNoValue;
      }
      absl::c_for_each(mark.held, move);
      to.marks.push_back(std::move(mark));
    }
    ForValuesOfEnd(to, move);
    folded->planned = from.planned;
    folded->planned.resize(static_cast<size_t>(heads_[first]) + 1);
    folded->planned.resize(to.marks.size());
    folded->shape = from.shape;
    folded->pins = from.pins;
    return folded;
  }

  const LearntCall& learnt_;
  const Program& program_;
  const Parts parts_;
  const bool saved_;
  std::vector<int32_t> heads_;  // of all runs
  std::vector<bool> ends_;      // of each: it is the last one of its run
  std::vector<size_t> begins_;  // the first one of each run
  std::vector<ValueId> fixed_;  // of each place of the state: what it always holds
  std::vector<int32_t> class_;  // the first place that always holds the same; -1: fixed
  // At each head, which classes hold a value.
  std::vector<absl::flat_hash_map<ValueId, std::vector<int32_t>>> places_;
  Trunk root_;
  std::vector<int32_t> used_, states_;  // classes
  std::vector<ValueId> before_;
  std::vector<Result> types_;  // of the body's results
};

// How many runs have one of these between two of their marks.
int64_t LoopsAround(const std::vector<int32_t>& run, const Runs& runs) {
  return absl::c_count_if(runs, [&](const auto& other) {
    const auto next = absl::c_upper_bound(other, run.front());
    return next != other.begin() && next != other.end() && *next > run.back();
  });
}

// Runs of marks with one state and one outcome, and the next one of that state. The longest first,
// then those that begin first: branches within a loop are runs, too.
Runs RunsOf(const Program& program, bool saved) {
  std::map<int32_t, std::vector<int32_t>> open;  // by state
  std::map<int32_t, size_t> order;               // of states: which was met first
  Runs runs;
  const auto close = [&](std::vector<int32_t>* run) {
    if (run->size() > (saved ? kFewestSaved : kFewestIterations)) runs.push_back(*run);
    run->clear();
  };
  for (size_t m = 0; m < program.marks.size(); ++m) {
    const Mark& mark = program.marks[m];
    if (mark.kind != Mark::Kind::kNumber || mark.state < 0 || mark.outcome > 1) continue;
    if (saved) {  // what was met later stands within: an iteration ends, and branches are no loops
      const size_t now = order.try_emplace(mark.state, order.size()).first->second;
      for (auto& [state, run] : open) {
        if (order[state] > now) close(&run);
      }
    }
    std::vector<int32_t>& run = open[mark.state];
    const bool ends = !run.empty() && program.marks[run[0]].outcome != mark.outcome;
    run.push_back(static_cast<int32_t>(m));
    if (ends) close(&run);
  }
  for (auto& [state, run] : open) close(&run);
  absl::c_sort(runs, [](const auto& a, const auto& b) {
    return std::pair(b.size(), a[0]) < std::pair(a.size(), b[0]);
  });
  return runs;
}

// Each is one loop, which may be entered many times where others stand around it: the innermost
// first.
std::vector<Runs> LoopsOf(const Program& program, bool saved) {
  constexpr size_t kMost = 16;
  const Runs runs = RunsOf(program, saved);
  std::vector<Runs> loops;
  std::map<std::pair<int32_t, uint64_t>, size_t> known;  // by state and outcome
  for (const std::vector<int32_t>& run : runs) {
    const Mark& head = program.marks[run[0]];
    const auto [at, fresh] = known.try_emplace(std::pair(head.state, head.outcome), loops.size());
    if (fresh || !saved) {
      loops.push_back({run});
    } else {
      loops[at->second].push_back(run);
    }
  }
  if (saved) {
    for (Runs& loop : loops) absl::c_sort(loop);
    absl::c_stable_sort(loops, [&](const Runs& a, const Runs& b) {
      return LoopsAround(a[0], runs) > LoopsAround(b[0], runs);
    });
  }
  if (loops.size() > kMost) loops.resize(kMost);
  return loops;
}

}  // namespace

bool HasLoops(const Program& program) {
  return absl::c_any_of(program.calls, [](const auto& call) { return call->loop != nullptr; });
}

std::shared_ptr<const LearntCall> FoldLoop(const LearntCall& learnt, bool saved) {
  if (!learnt.program.tape.empty()) return nullptr;
  for (const Runs& loop : LoopsOf(learnt.program, saved)) {
    if (auto folded = Folder(learnt, loop, saved).Run()) return folded;
  }
  return nullptr;
}

}  // namespace frazil::tracer
