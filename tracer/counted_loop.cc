#include "tracer/counted_loop.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "tracer/segment_end.h"

namespace frazil::tracer {
namespace {

constexpr int64_t kLongLoop = 1 << 14;  // calls

bool SameRecord(const CallRecord& a, const CallRecord& b) {
  const auto same = [](const Result& x, const Result& y) {
    return x.dtype == y.dtype && x.device == y.device && x.layout == y.layout;
  };
  return &a == &b || (a.composite == b.composite && a.op == b.op && a.attrs == b.attrs &&
                      absl::c_equal(a.results, b.results, same));
}

// Makes a call of Repeats, of which the results in `wanted` are read behind them.
class LoopMaker {
 public:
  LoopMaker(const Repeats& repeats, const std::set<ValueId>& wanted, const Program& program)
      : r_(repeats), wanted_(wanted), program_(program) {
    made_.push_back(0);
    for (const Program::Call& call : Calls())
      made_.push_back(made_.back() + static_cast<ValueId>(call->results.size()));
    FindSameSlots();
  }

  // Makes the call, and in `outputs` which results of a segment its results are.
  bool Run(Program::Call* call, std::vector<ValueId>* outputs) {
    // What loops of graphs know: the CPU's, and no complex numbers.
    const auto known = [](const auto& x) { return x.device == Device() && !IsComplex(x.dtype); };
    const bool fits =
        absl::c_all_of(r_.slots, known) && absl::c_all_of(Calls(), [&](const Program::Call& call) {
          return !call->IsLoop() && absl::c_all_of(call->results, known);
        });
    if (!fits) return false;
    // The body of the loop: a segment has a whole number of them.
    std::vector<uint64_t> what;
    for (const Program::Call& call : Calls())
      what.push_back(absl::HashOf(call->composite, call->op, call->attrs, call.operands.size()));
    const int32_t length = FindBodies(what).length;
    const bool whole = length > 0 && r_.calls % length == 0 && Classify(length);
    if (!whole && !Classify(r_.calls)) return false;
    Write(call, outputs);
    return true;
  }

 private:
  struct Source {
    enum class Kind : uint8_t { kBody, kState, kSame };  // a result of this, or of the last body
    Kind kind = Kind::kBody;
    int32_t id = 0;     // the result within a body; kSame: the slot
    int32_t slot = -1;  // kState: what it is at first

    bool operator==(const Source& other) const { return kind == other.kind && id == other.id; }
  };
  using Kind = Source::Kind;

  absl::Span<const Program::Call> Calls() const {
    return absl::MakeConstSpan(program_.calls)
        .subspan(static_cast<size_t>(r_.call), static_cast<size_t>(r_.calls));
  }
  // What a slot holds the second time, among the results of the first.
  ValueId Next(size_t slot) const {
    return static_cast<ValueId>((r_.now[slot] - r_.first) % r_.results);
  }

  // Slots that hold one value, or equal numbers, are one.
  void FindSameSlots() {
    using Key = std::tuple<ValueId, ValueId, DType, const Layout*, uint64_t>;
    absl::flat_hash_map<Key, int32_t> first;
    for (size_t i = 0; i < r_.slots.size(); ++i) {
      const ValueId id = r_.begin[i];
      Key key{id, r_.state[i] ? Next(i) : -1, DType{}, nullptr, 0};
      if (program_.IsConstant(id) && program_.constant(id)->immediate && !r_.state[i]) {
        const Value& v = *program_.constant(id);
        key = {kNoValue, -1, v.dtype, v.layout, v.imm};
      }
      same_.push_back(first.try_emplace(key, static_cast<int32_t>(i)).first->second);
    }
  }

  std::optional<Source> SourceOf(ValueId operand, int32_t body) const {
    if (operand >= 0) {
      const int32_t owner = operand / each_;
      if (owner != body && owner != body - 1) return std::nullopt;
      return Source{owner == body ? Kind::kBody : Kind::kState, operand % each_};
    }
    const auto slot = static_cast<size_t>(~operand);
    if (!r_.state[slot]) return Source{Kind::kSame, same_[slot]};
    const ValueId next = Next(slot);
    if (body > 0 || next < r_.results - each_ || !r_.slots[slot].layout->dense) return std::nullopt;
    return Source{Kind::kState, next % each_, same_[slot]};
  }

  // Where the operands of a body of `length` calls come from. False: it is none.
  bool Classify(int32_t length) {
    const int32_t bodies = r_.calls / length;
    if (r_.results % bodies != 0) return false;
    length_ = length;
    each_ = r_.results / bodies;
    sources_.assign(static_cast<size_t>(length), {});
    for (const ValueId id : wanted_) {
      if (id < r_.results - each_) return false;
    }
    for (int32_t i = 0; i < r_.calls; ++i) {
      const int32_t at = i % length, body = i / length;
      if (made_[i] != made_[at] + body * each_ ||
          !SameRecord(*Calls()[at].record, *Calls()[i].record))
        return false;
      for (size_t k = 0; k < r_.operands[i].size(); ++k) {
        const auto source = SourceOf(r_.operands[i][k], body);
        if (!source) return false;
        if (body == 0) sources_[at].push_back(*source);
        if (!(sources_[at][k] == *source)) return false;
      }
    }
    return absl::c_any_of(r_.state, [](bool state) { return state; });
  }

  void Write(Program::Call* loop, std::vector<ValueId>* outputs) const {
    std::vector<Source> states;
    std::vector<int32_t> sames;  // slots
    const auto place = [](auto* list, const auto& item, const auto& equal) {
      const auto at = absl::c_find_if(*list, [&](const auto& x) { return equal(x, item); });
      const auto place = static_cast<ValueId>(at - list->begin());
      if (at == list->end()) list->push_back(item);
      return place;
    };
    const auto same_state = [](const Source& a, const Source& b) {
      return a.id == b.id && a.slot == b.slot;
    };
    for (const auto& list : sources_) {
      for (const Source& s : list) {
        if (s.kind == Kind::kState) place(&states, s, same_state);
      }
    }
    auto body = std::make_shared<Program>();
    const auto count = static_cast<ValueId>(states.size());
    for (int32_t i = 0; i < length_; ++i) {
      Program::Call& call = body->calls.emplace_back();
      call.record = Calls()[i].record;
      for (const Source& s : sources_[i]) {
        call.operands.push_back(s.kind == Kind::kBody ? s.id
                                : s.kind == Kind::kState
                                    ? ~place(&states, s, same_state)
                                    : ~(count + place(&sames, s.id, std::equal_to<>())));
      }
    }
    for (const Source& s : states) {
      body->parameters.push_back(r_.slots[s.slot]);
      loop->operands.push_back(r_.begin[s.slot]);
      outputs->push_back(s.id + r_.results - each_);
    }
    for (const int32_t slot : sames) {
      body->parameters.push_back(r_.slots[slot]);
      loop->operands.push_back(r_.begin[slot]);
    }
    for (const ValueId id : wanted_) {
      if (!absl::c_linear_search(*outputs, id)) outputs->push_back(id);
    }
    auto record = std::make_shared<CallRecord>();
    for (const ValueId id : *outputs) {
      const ValueId own = id % each_;
      body->outputs.push_back({own, {}});
      const auto maker = std::upper_bound(made_.begin(), made_.end(), own) - made_.begin() - 1;
      record->results.push_back(Calls()[maker]->results[own - made_[maker]]);
    }
    record->composite = true;
    record->op = kLoopRow;
    record->origin = Calls()[0]->origin;
    record->body = std::move(body);
    record->times = r_.times * (r_.calls / length_);
    record->states = count;
    loop->record = std::move(record);
  }

  const Repeats& r_;
  const std::set<ValueId>& wanted_;
  const Program& program_;
  std::vector<ValueId> made_;  // results before each call
  std::vector<int32_t> same_;  // of each slot: the first that holds the same
  int32_t length_ = 0;         // calls of a body, and
  ValueId each_ = 0;           // its results
  std::vector<std::vector<Source>> sources_;
};

class Writer {
 public:
  Writer(absl::Span<const Repeats> repeats, LearntCall* learnt)
      : repeats_(repeats), learnt_(learnt), from_(std::move(learnt->program)) {}

  void Run() {
    FindWanted();
    Program& to = learnt_->program;
    to = Program();
    to.parameters = from_.parameters;
    to.constants = from_.constants;
    auto planned = std::exchange(learnt_->planned, {});
    size_t next = 0, mark = 0;
    const auto calls = static_cast<int32_t>(from_.calls.size());
    for (int32_t i = 0;;) {
      for (; mark < from_.marks.size() && from_.marks[mark].at == i; ++mark)
        AddMark(std::move(from_.marks[mark]), &planned[mark]);
      if (i == calls) break;
      if (next < repeats_.size() && repeats_[next].call == i) {
        AddRepeats(next);
        i += repeats_[next++].calls;
        // The plan of one iteration.
        if (mark < planned.size()) planned[mark].plan.reset();
        continue;
      }
      AddCall(from_.calls[i++]);
    }
    to.outputs = std::move(from_.outputs);
    to.writes = std::move(from_.writes);
    to.tape = std::move(from_.tape);
    ForValuesOfEnd(to, [&](ValueId& id) { id = Map(id); });
  }

 private:
  // Values from `first` on are those from `to` on; of a loop the results named there.
  struct Piece {
    ValueId first, to;
    const Repeats* loop = nullptr;
    std::vector<ValueId> outputs;
  };

  void FindWanted() {
    wanted_.resize(repeats_.size());
    each_.resize(repeats_.size());
    size_t next = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(from_.calls.size());) {
      if (next < repeats_.size() && repeats_[next].call == i) {
        absl::c_for_each(repeats_[next].begin, [&](ValueId id) { Want(id); });
        i += repeats_[next++].calls;
        continue;
      }
      absl::c_for_each(from_.calls[i++].operands, [&](ValueId id) { Want(id); });
    }
    for (const Mark& mark : from_.marks) Want(mark.read);
    ForValuesOfEnd(from_, [&](ValueId id) { Want(id); });
  }
  void Want(ValueId id) {
    if (id < 0) return;
    for (size_t n = 0; n < repeats_.size(); ++n) {
      const Repeats& r = repeats_[n];
      if (id < r.first || id >= r.End()) continue;
      const bool last = id >= r.End() - r.results;
      each_[n] = each_[n] || !last;
      if (last) wanted_[n].insert(static_cast<ValueId>((id - r.first) % r.results));
    }
  }

  // kNoValue: a result of a loop that nothing but a mark's state names.
  ValueId Map(ValueId id) const {
    if (id < 0) return id;
    const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), id,
                                         [](ValueId v, const Piece& p) { return v < p.first; });
    const Piece& piece = *std::prev(behind);
    if (!piece.loop) return piece.to + id - piece.first;
    if (id < piece.loop->End() - piece.loop->results) return kNoValue;
    const auto at =
        absl::c_find(piece.outputs, static_cast<ValueId>((id - piece.first) % piece.loop->results));
    if (at == piece.outputs.end()) return kNoValue;
    return piece.to + static_cast<ValueId>(at - piece.outputs.begin());
  }
  // Values that begin at `first` begin at the next result.
  void Begin(ValueId first, const Repeats* loop = nullptr, std::vector<ValueId> outputs = {}) {
    pieces_.push_back({first, made_, loop, std::move(outputs)});
  }
  void Add(Program::Call call) {
    made_ += static_cast<ValueId>(call->results.size());
    learnt_->program.calls.push_back(std::move(call));
  }
  void AddCall(Program::Call call) {
    if (pieces_.empty()) Begin(0);
    for (ValueId& id : call.operands) id = Map(id);
    Add(std::move(call));
  }
  void AddMark(Mark mark, const LearntCall::Planned* planned = nullptr) {
    mark.at = static_cast<int32_t>(learnt_->program.calls.size());
    mark.read = Map(mark.read);
    for (ValueId& id : mark.held) id = Map(id);
    learnt_->program.marks.push_back(std::move(mark));
    learnt_->planned.emplace_back();
    if (planned) learnt_->planned.back() = *planned;
  }

  void AddRepeats(size_t n) {
    const Repeats& r = repeats_[n];
    std::vector<ValueId> outputs;
    Program::Call loop;
    if (!IsLong(r) || each_[n] || !LoopMaker(r, wanted_[n], from_).Run(&loop, &outputs))
      return AddEach(r);
    for (ValueId& id : loop.operands) id = Map(id);
    Begin(r.first, &r, std::move(outputs));
    Add(std::move(loop));
    Begin(r.End());
  }

  void AddEach(const Repeats& r) {
    std::vector<ValueId> taken;
    for (const ValueId id : r.begin) taken.push_back(Map(id));
    Begin(r.first);
    for (int64_t t = 0; t < r.times; ++t) {
      const ValueId first = made_;
      for (int32_t i = 0; i < r.calls; ++i) {
        Program::Call call;
        call.record = from_.calls[r.call + i].record;
        call.operands = r.operands[i];
        for (ValueId& id : call.operands) id = id < 0 ? taken[~id] : first + id;
        Add(std::move(call));
      }
      for (size_t s = 0; s < taken.size(); ++s) {
        if (r.state[s]) taken[s] = first + (r.now[s] - r.first) % r.results;
      }
      Mark cut;
      cut.precision = from_.marks[r.mark].precision;
      if (t + 1 < r.times) AddMark(std::move(cut));
    }
    Begin(r.End());
  }

  const absl::Span<const Repeats> repeats_;
  LearntCall* const learnt_;
  Program from_;
  std::vector<std::set<ValueId>> wanted_;  // of each: results of its last iteration
  std::vector<bool> each_;                 // of each: those of others are read, too
  std::vector<Piece> pieces_;
  ValueId made_ = 0;
};

}  // namespace

bool IsLong(const Repeats& repeats) { return repeats.times * repeats.calls >= kLongLoop; }

void WriteRepeats(absl::Span<const Repeats> repeats, LearntCall* learnt) {
  Writer(repeats, learnt).Run();
}

}  // namespace frazil::tracer
