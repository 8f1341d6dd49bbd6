#include "tracer/merge_segments.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "core/op.h"
#include "tracer/segment_end.h"

namespace frazil::tracer {
namespace {

using Kind = Source::Kind;

bool IsElementwise(OpId op) { return IsPointwise(op) || Info(op).klass == OpClass::kView; }

bool IsElementwise(const CallRecord& call) {
  if (!call.composite) return IsElementwise(static_cast<OpId>(call.op));
  const auto& ops = call.expansion->ops;
  return std::all_of(ops.begin(), ops.end(), [](const auto& op) { return IsElementwise(op.op); });
}

uint64_t WhatOf(const CallRecord& call) {
  return absl::HashOf(call.composite, call.op, AttrsInBody(call), call.operands.size());
}

// `segment` was cut behind a whole number of bodies, and `next` begins with one.
bool GoesOn(const SegmentRecord& segment, const SegmentRecord& next) {
  if (segment.end != SegmentRecord::End::kContinue || segment.precision != next.precision)
    return false;
  std::vector<uint64_t> calls;
  for (const CallRecord& c : segment.calls()) calls.push_back(WhatOf(c));
  const Bodies bodies = FindBodies(calls);
  if (bodies.length == 0 || next.calls().size() < static_cast<size_t>(bodies.length)) return false;
  for (int i = 0; i < bodies.length; ++i) {
    if (WhatOf(next.calls()[i]) != calls[bodies.first + i]) return false;
  }
  return true;
}

// How `segment` ends, without what it does.
SegmentRecord EndOf(const SegmentRecord& segment) {
  SegmentRecord end;
  end.precision = segment.precision;
  end.end = segment.end;
  end.read = segment.read;
  end.outcome = segment.outcome;
  end.range = segment.range;
  end.check = segment.check;
  end.of = segment.of;
  end.origin = segment.origin;
  return end;
}

constexpr size_t kMostCalls = 4096;       // of segments that are no loop
constexpr size_t kMostOfSteps = 1 << 15;  // of a loop with more than elementwise work
constexpr int kMostChecks = 16;
constexpr size_t kMostOfCheck = 16;       // calls that make the indices of a check
constexpr int64_t kLargeCheck = 1 << 20;  // elements

class Merger {
 public:
  explicit Merger(const PathRecord& path) : path_(path) {
    int results = 0;
    for (const SegmentRecord& s : path.segments) {
      first_result_.push_back(results);
      results += s.results;
    }
    wanted_.resize(results, false);
    renumbered_.resize(results);
    for (const Origin& o : path.outputs) Want(o.value);
    for (const auto& [cell, o] : path.writes) Want(o.value);
    for (const TapeRecord& node : path.tape) {
      for (const Origin& o : node.saved) Want(o.value);
      Want(node.saved_output);
    }
    for (const SegmentRecord& s : path.segments) Want(s.read);
  }

  std::shared_ptr<PathRecord> Run() {
    std::vector<size_t> ends;
    for (size_t i = 0; i < path_.segments.size(); i = ends.back()) {
      ends.push_back(EndOfLoop(i));
      if (ends.back() - i == 1) ends.back() = std::max(EndOfGroup(i), EndOfSteps(i));
    }
    if (ends.size() == path_.segments.size()) return nullptr;
    auto merged = std::make_shared<PathRecord>();
    size_t i = 0;
    for (const size_t end : ends) {
      SegmentRecord whole = Merge(i, end);
      int32_t added = 0;  // results of checks, which come before what they were between
      const int32_t first = first_result_[i], to = results_;
      for (size_t k = i; k + 1 < end; ++k) {
        if (path_.segments[k].end != SegmentRecord::End::kIndexCheck) continue;
        SegmentRecord check = *CheckOf(k, i, whole, to + added);
        added += check.results;
        merged->segments.push_back(std::move(check));
      }
      for (int32_t r = 0; r < whole.results; ++r) renumbered_[first + r] = to + added + r;
      results_ = to + added + whole.results;
      for (Source& s : whole.slots) Renumber(&s);
      Renumber(&whole.read);
      merged->segments.push_back(std::move(whole));
      i = end;
    }
    merged->constants = path_.constants;
    merged->outputs = path_.outputs;
    merged->writes = path_.writes;
    merged->tape = path_.tape;
    merged->shape = path_.shape;
    merged->pins = path_.pins;
    for (Origin& o : merged->outputs) Renumber(&o.value);
    for (auto& [cell, o] : merged->writes) Renumber(&o.value);
    for (TapeRecord& node : merged->tape) {
      for (Origin& o : node.saved) Renumber(&o.value);
      Renumber(&node.saved_output);
    }
    return merged;
  }

 private:
  void Want(const Source& s) {
    if (s.kind == Kind::kResult) wanted_[s.index] = true;
  }

  void Renumber(Source* s) const {
    if (s->kind == Kind::kResult) s->index = renumbered_[s->index];
  }

  size_t EndOfLoop(size_t begin) const {
    size_t end = begin + 1;
    while (end < path_.segments.size() && GoesOn(path_.segments[end - 1], path_.segments[end]))
      ++end;
    return IsLoop(begin, end) ? end : begin + 1;
  }

  // A loop of any ops of the CPU: its plan has steps that repeat, and keeps what is wanted of them.
  size_t EndOfSteps(size_t begin) const {
    const auto& segments = path_.segments;
    size_t end = begin + 1, calls = segments[begin].calls().size();
    const auto elsewhere = [](const CallRecord& c) {
      return std::any_of(c.results.begin(), c.results.end(),
                         [](const Result& r) { return !(r.device == Device()); });
    };
    for (; end < segments.size() && GoesOn(segments[end - 1], segments[end]); ++end) {
      calls += segments[end].calls().size();
      if (calls > kMostOfSteps || absl::c_any_of(segments[end].calls(), elsewhere)) break;
    }
    return end;
  }

  // What may be one plan from `begin` on, up to a read or a loop.
  size_t EndOfGroup(size_t begin) {
    const auto& segments = path_.segments;
    size_t end = begin + 1, calls = segments[begin].calls().size();
    int checks = 0;
    for (; end < segments.size() && EndOfLoop(end) == end + 1; ++end) {
      calls += segments[end].calls().size();
      const SegmentRecord& last = segments[end - 1];
      if (calls > kMostCalls || last.end == SegmentRecord::End::kNumber ||
          last.precision != segments[end].precision)
        break;
      if (last.end == SegmentRecord::End::kIndexCheck &&
          (++checks > kMostChecks || !CheckOf(end - 1, begin, Merge(begin, end), 0)))
        break;
    }
    return end;
  }

  // The check behind segment `at` with the calls of `whole`, the segments from `begin` on, that
  // make its indices; nothing if those are many, long, or more than elementwise. Its results get
  // numbers from `first`.
  std::optional<SegmentRecord> CheckOf(size_t at, size_t begin, const SegmentRecord& whole,
                                       int32_t first) const {
    SegmentRecord check = EndOf(path_.segments[at]);
    const int32_t base = first_result_[begin];
    if (check.read.kind != Kind::kResult || check.read.index < base) {
      Renumber(&check.read);
      return check;
    }
    std::vector<const CallRecord*> makers;  // of the results of `whole`
    std::vector<SlotGuard> guards;
    for (const CallRecord& call : whole.calls()) {
      makers.insert(makers.end(), call.results.size(), &call);
      guards.insert(guards.end(), call.slots.begin(), call.slots.end());
    }
    std::vector<int32_t> taken(makers.size(), -1);  // its number in the check
    taken[check.read.index - base] = 0;
    for (size_t r = makers.size(); r-- > 0;) {
      if (taken[r] < 0) continue;
      if (makers[r]->results.size() != 1 || !IsElementwise(*makers[r])) return std::nullopt;
      if (makers[r]->results[0].layout->size > kLargeCheck) return std::nullopt;
      for (int32_t operand : makers[r]->operands) {
        if (operand >= 0) taken[operand] = 0;
      }
    }
    std::vector<CallRecord> calls;
    absl::flat_hash_map<int32_t, int32_t> slots;
    for (size_t r = 0; r < makers.size(); ++r) {
      if (taken[r] < 0) continue;
      if (calls.size() == kMostOfCheck) return std::nullopt;
      taken[r] = check.results++;
      CallRecord call = *makers[r];
      call.slots.clear();
      for (int32_t& operand : call.operands) {
        if (operand >= 0) {
          operand = taken[operand];
          continue;
        }
        const auto [it, fresh] =
            slots.try_emplace(~operand, static_cast<int32_t>(check.slots.size()));
        if (fresh) {
          call.slots.push_back(guards[~operand]);
          check.slots.push_back(whole.slots[~operand]);
          Renumber(&check.slots.back());
        }
        operand = ~it->second;
      }
      calls.push_back(std::move(call));
    }
    check.content = std::make_shared<const std::vector<CallRecord>>(std::move(calls));
    check.read.index = first + taken[check.read.index - base];
    return check;
  }

  bool IsLoop(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (!absl::c_all_of(path_.segments[i].calls(),
                          [](const auto& c) { return IsElementwise(c); }))
        return false;
    }
    return std::none_of(wanted_.begin() + first_result_[begin],
                        wanted_.begin() + first_result_[end - 1], [](bool w) { return w; });
  }

  // Equal numbers in a script are one: a loop then has them as constants.
  Source Canonical(Source s) {
    if (s.kind != Kind::kConstant || !path_.constants[s.index]->immediate) return s;
    const Value& v = *path_.constants[s.index];
    s.index = numbers_.try_emplace({v.dtype, v.imm}, s.index).first->second;
    return s;
  }

  SegmentRecord Merge(size_t begin, size_t end) {
    if (end - begin == 1) return path_.segments[begin];  // of which others may share the content
    SegmentRecord merged = EndOf(path_.segments[end - 1]);
    size_t length = 0;
    for (size_t i = begin; i < end; ++i) length += path_.segments[i].calls().size();
    std::vector<CallRecord> calls;
    calls.reserve(length);
    absl::flat_hash_map<std::pair<Kind, int32_t>, int32_t> slots;
    const int32_t base = first_result_[begin];
    for (size_t i = begin; i < end; ++i) {
      const SegmentRecord& segment = path_.segments[i];
      const int32_t first = first_result_[i] - base;
      int32_t met = 0;  // slots of the segment so far
      for (CallRecord call : segment.calls()) {
        const auto guards = std::move(call.slots);
        call.slots.clear();
        size_t fresh = 0;
        for (int32_t& operand : call.operands) {
          if (operand >= 0) {
            operand += first;
            continue;
          }
          const bool first_met = ~operand == met;
          if (first_met) ++met;
          const Source source = Canonical(segment.slots[~operand]);
          if (source.kind == Kind::kResult && source.index >= base) {
            operand = source.index - base;
          } else {
            const auto [it, is_new] = slots.try_emplace({source.kind, source.index},
                                                        static_cast<int32_t>(merged.slots.size()));
            if (is_new) {
              merged.slots.push_back(source);
              call.slots.push_back(guards[fresh]);
            }
            operand = ~it->second;
          }
          fresh += first_met;
        }
        calls.push_back(std::move(call));
      }
      merged.results += segment.results;
    }
    merged.content = std::make_shared<const std::vector<CallRecord>>(std::move(calls));
    return merged;
  }

  const PathRecord& path_;
  std::vector<int32_t> first_result_;  // of each segment
  std::vector<int32_t> renumbered_;    // [result of the path]
  int32_t results_ = 0;                // so far, of what is made
  std::vector<bool> wanted_;           // results that are kept, returned or read
  absl::flat_hash_map<std::pair<DType, uint64_t>, int32_t> numbers_;
};

}  // namespace

std::shared_ptr<PathRecord> MergeSegments(const PathRecord& path) { return Merger(path).Run(); }

}  // namespace frazil::tracer
