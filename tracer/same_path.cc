// SamePath: whether two calls did the same, and how they differ: how a broken promise is found.
#include <cstring>

#include "absl/algorithm/container.h"
#include "core/backend.h"
#include "tracer/explain.h"
#include "tracer/script.h"

namespace frazil::tracer {
namespace {

std::string NameOfSource(const Source& s, const PathRecord& path) {
  switch (s.kind) {
    case Source::Kind::kNone:
      return "nothing";
    case Source::Kind::kCell:
      return absl::StrCat("argument tensor ", s.index);
    case Source::Kind::kResult:
      return absl::StrCat("result ", s.index, " of the call");
    case Source::Kind::kConstant:
      return DescribeData(*path.constants[s.index]);
  }
  return "";
}

bool SameBytes(const Value& a, const Value& b) {
  if (&a == &b) return true;
  if (a.dtype != b.dtype || a.layout != b.layout || a.immediate != b.immediate) return false;
  if (!a.layout->dense) return false;
  if (!(a.device == b.device) || !a.ready() || !b.ready()) return false;
  const auto x = OnHost(a), y = OnHost(b);
  return x.ok() && y.ok() &&
         std::memcmp((*x)->data, (*y)->data, static_cast<size_t>(a.size() * SizeOf(a.dtype))) == 0;
}

bool SameSource(const Source& a, const PathRecord& pa, const Source& b, const PathRecord& pb) {
  if (a.kind != b.kind) return false;
  if (a.kind == Source::Kind::kConstant)
    return SameBytes(*pa.constants[a.index], *pb.constants[b.index]);
  return a == b;
}

bool SameOrigin(const Origin& a, const PathRecord& pa, const Origin& b, const PathRecord& pb) {
  return a.node == b.node && SameSource(a.value, pa, b.value, pb);
}

bool SameTape(const PathRecord& pa, const PathRecord& pb) {
  const auto same_edge = [](const TapeRecord::Edge& x, const TapeRecord::Edge& y) {
    return x.node == y.node && x.dtype == y.dtype && x.shape == y.shape;
  };
  const auto same_node = [&](const TapeRecord& x, const TapeRecord& y) {
    bool same = x.variable == y.variable && x.op == y.op && x.attrs == y.attrs &&
                x.spent == y.spent && absl::c_equal(x.edges, y.edges, same_edge);
    for (size_t i = 0; i < x.saved.size(); ++i)
      same = same && SameOrigin(x.saved[i], pa, y.saved[i], pb);
    return same && SameSource(x.saved_output, pa, y.saved_output, pb);
  };
  return absl::c_equal(pa.tape, pb.tape, same_node);
}

std::string Site(const CallRecord& call) {
  return absl::StrCat("'", CallName(call), "'",
                      call.origin.empty() ? "" : absl::StrCat(" (", call.origin, ")"));
}

// Where operands come from counts, not their numbers: a call matches a recorded one whose slots are
// several though they hold one value now.
Status SameCall(const PathRecord& pa, const SegmentRecord& a, const CallRecord& x,
                const PathRecord& pb, const SegmentRecord& b, const CallRecord& y) {
  if (x.attrs != y.attrs || x.operands.size() != y.operands.size())
    return RuntimeError(Site(x), ": ", DescribeChange(x, y));
  for (size_t i = 0; i < x.operands.size(); ++i) {
    const int32_t from = x.operands[i], now = y.operands[i];
    if (from >= 0 || now >= 0) {
      if (from != now) return RuntimeError(Site(x), ": ", DescribeChange(x, y));
      continue;
    }
    const Source &s = a.slots[~from], &t = b.slots[~now];
    if (SameSource(s, pa, t, pb)) continue;
    return RuntimeError(Site(y), " read ", NameOfSource(s, pa), " -> ", NameOfSource(t, pb));
  }
  return absl::OkStatus();
}

Status SameSegment(const PathRecord& pa, const SegmentRecord& a, const PathRecord& pb,
                   const SegmentRecord& b) {
  const absl::Span<const CallRecord> x = a.calls(), y = b.calls();
  for (size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
    if (i >= x.size()) return RuntimeError(Site(y[i]), " was called, which was not there before");
    if (i >= y.size()) return RuntimeError(Site(x[i]), " was not called, as it was before");
    if (x[i].composite != y[i].composite || x[i].op != y[i].op)
      return RuntimeError(Site(x[i]), " became ", Site(y[i]));
    FZ_RETURN_IF_ERROR(SameCall(pa, a, x[i], pb, b, y[i]));
  }
  if (a.end != b.end || !SameSource(a.read, pa, b.read, pb) || !(a.range == b.range) ||
      a.check != b.check || a.precision != b.precision) {
    return RuntimeError("what is read from data changed (", a.origin, " -> ", b.origin, ")");
  }
  return absl::OkStatus();
}

}  // namespace

Status SamePath(const PathRecord& known, const PathRecord& now, bool* same_outcomes) {
  *same_outcomes = true;
  for (size_t i = 0; i < std::max(known.segments.size(), now.segments.size()); ++i) {
    if (i >= known.segments.size() || i >= now.segments.size()) {
      const PathRecord& longer = i < now.segments.size() ? now : known;
      const SegmentRecord& extra = longer.segments[i];
      const std::string what = extra.calls().empty() ? "a read from data" : Site(extra.calls()[0]);
      return RuntimeError(what, &longer == &now ? " was called, which was not there before"
                                                : " was not called, as it was before");
    }
    FZ_RETURN_IF_ERROR(SameSegment(known, known.segments[i], now, now.segments[i]));
    if (known.segments[i].outcome != now.segments[i].outcome) {
      *same_outcomes = false;
      return absl::OkStatus();
    }
  }
  bool same = known.outputs.size() == now.outputs.size() &&
              known.writes.size() == now.writes.size() && known.shape == now.shape;
  for (size_t i = 0; same && i < known.outputs.size(); ++i)
    same = SameOrigin(known.outputs[i], known, now.outputs[i], now);
  same = same && SameTape(known, now);
  if (!same) return RuntimeError("the result, or which tensors are written, changed");
  for (size_t i = 0; i < known.writes.size(); ++i) {
    if (known.writes[i].first == now.writes[i].first &&
        SameOrigin(known.writes[i].second, known, now.writes[i].second, now))
      continue;
    return RuntimeError("what is written to argument tensor ", now.writes[i].first,
                        " changed: ", NameOfSource(known.writes[i].second.value, known), " -> ",
                        NameOfSource(now.writes[i].second.value, now));
  }
  return absl::OkStatus();
}

}  // namespace frazil::tracer
