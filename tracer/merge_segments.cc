#include "tracer/merge_segments.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "core/op.h"
#include "tracer/segment_end.h"

namespace frazil::tracer {
namespace {

using Kind = Source::Kind;

bool IsElementwise(OpId op) {
  const OpClass klass = Info(op).klass;
  return klass == OpClass::kElementwise || klass == OpClass::kCast || klass == OpClass::kView;
}

bool IsElementwise(const CallRecord& call) {
  if (!call.composite) return IsElementwise(static_cast<OpId>(call.op));
  const auto& ops = call.expansion->ops;
  return std::all_of(ops.begin(), ops.end(), [](const auto& op) { return IsElementwise(op.op); });
}

uint64_t WhatOf(const CallRecord& call) {
  return absl::HashOf(call.composite, call.op, call.attrs, call.operands.size());
}

// `segment` was cut behind a whole number of bodies, and `next` begins with one.
bool GoesOn(const SegmentRecord& segment, const SegmentRecord& next) {
  if (segment.end != SegmentRecord::End::kContinue || segment.precision != next.precision)
    return false;
  std::vector<uint64_t> calls;
  for (const CallRecord& c : segment.calls) calls.push_back(WhatOf(c));
  const Bodies bodies = FindBodies(calls);
  if (bodies.length == 0 || next.calls.size() < static_cast<size_t>(bodies.length)) return false;
  for (int i = 0; i < bodies.length; ++i) {
    if (WhatOf(next.calls[i]) != calls[bodies.first + i]) return false;
  }
  return true;
}

class Merger {
 public:
  explicit Merger(const PathRecord& path) : path_(path) {
    int results = 0;
    for (const SegmentRecord& s : path.segments) {
      first_result_.push_back(results);
      results += s.results;
    }
    wanted_.resize(results, false);
    for (const Origin& o : path.outputs) Want(o.value);
    for (const auto& [cell, o] : path.writes) Want(o.value);
    for (const TapeRecord& node : path.tape) {
      for (const Origin& o : node.saved) Want(o.value);
      Want(node.saved_output);
    }
    for (const SegmentRecord& s : path.segments) Want(s.read);
  }

  std::shared_ptr<PathRecord> Run() {
    auto merged = std::make_shared<PathRecord>(path_);
    merged->segments.clear();
    for (size_t i = 0; i < path_.segments.size();) {
      size_t end = i + 1;
      while (end < path_.segments.size() && GoesOn(path_.segments[end - 1], path_.segments[end]))
        ++end;
      if (end - i == 1 || !IsLoop(i, end)) end = i + 1;
      merged->segments.push_back(end - i == 1 ? path_.segments[i] : Merge(i, end));
      i = end;
    }
    return merged->segments.size() < path_.segments.size() ? merged : nullptr;
  }

 private:
  void Want(const Source& s) {
    if (s.kind == Kind::kResult) wanted_[s.index] = true;
  }

  bool IsLoop(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      const auto& calls = path_.segments[i].calls;
      if (!std::all_of(calls.begin(), calls.end(), [](const auto& c) { return IsElementwise(c); }))
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
    SegmentRecord merged = path_.segments[end - 1];
    merged.calls.clear();
    merged.slots.clear();
    merged.results = 0;
    absl::flat_hash_map<std::pair<Kind, int32_t>, int32_t> slots;
    const int32_t base = first_result_[begin];
    for (size_t i = begin; i < end; ++i) {
      const SegmentRecord& segment = path_.segments[i];
      const int32_t first = first_result_[i] - base;
      int32_t met = 0;  // slots of the segment so far
      for (CallRecord call : segment.calls) {
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
        merged.calls.push_back(std::move(call));
      }
      merged.results += segment.results;
    }
    return merged;
  }

  const PathRecord& path_;
  std::vector<int32_t> first_result_;  // of each segment
  std::vector<bool> wanted_;           // results that are kept, returned or read
  absl::flat_hash_map<std::pair<DType, uint64_t>, int32_t> numbers_;
};

}  // namespace

std::shared_ptr<PathRecord> MergeSegments(const PathRecord& path) { return Merger(path).Run(); }

}  // namespace frazil::tracer
