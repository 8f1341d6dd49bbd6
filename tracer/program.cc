#include "tracer/program.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace frazil::tracer {

int64_t BytesOf(const CallRecord& call) {
  return static_cast<int64_t>(sizeof call + call.origin.capacity() + 8 * call.attrs.size()) +
         (call.body ? BytesOf(*call.body) : 0);
}

int64_t BytesOf(const Program& program) {
  int64_t bytes = static_cast<int64_t>(
      sizeof program + sizeof(Parameter) * program.parameters.size() +
      sizeof(Program::Call) * program.calls.size() + sizeof(Mark) * program.marks.size() +
      sizeof(Content) * program.outputs.size() + sizeof(Program::Write) * program.writes.size() +
      sizeof(TapeRecord) * program.tape.size());
  absl::flat_hash_set<const CallRecord*> seen;
  for (const Program::Call& call : program.calls) {
    if (seen.insert(call.record.get()).second) bytes += BytesOf(*call.record);
  }
  for (const ValueRef& v : program.constants) bytes += 64 + v->size() * SizeOf(v->dtype);
  return bytes;
}

namespace {

// Dtype, layout and elements of a number or a few of them, as fz.zeros(3) makes them in each
// iteration of a loop; of anything else nothing.
std::string ContentOf(const Value& v) {
  constexpr int64_t kFew = 64;
  std::string content;
  const auto put = [&](const auto& word) {
    content.append(reinterpret_cast<const char*>(&word), sizeof(word));
  };
  put(v.dtype);
  if (v.immediate) {
    put(v.imm);
    return content;
  }
  if (!(v.device == Device()) || !v.ready() || v.layout->size == 0) return "";
  const Reach reach = ReachOf(*v.layout);
  const int64_t size = SizeOf(v.dtype);
  if ((reach.high - reach.low) * size > kFew) return "";
  put(v.layout->id);
  content.append(v.data + reach.low * size, static_cast<size_t>((reach.high - reach.low) * size));
  return content;
}

bool IsZero(const Value& v) { return v.immediate && v.imm == 0 && IsFloat(v.dtype); }

}  // namespace

Parts::Parts(const Program& whole) : whole_(whole) {
  for (size_t i = 0; i < whole.calls.size(); ++i) {
    first_result_.push_back(static_cast<ValueId>(maker_.size()));
    maker_.insert(maker_.end(), whole.calls[i]->results.size(), static_cast<int32_t>(i));
  }
  first_result_.push_back(static_cast<ValueId>(maker_.size()));
  absl::flat_hash_map<std::string, ValueId> contents;
  for (size_t i = 0; i < whole.constants.size(); ++i) {
    const ValueId id = whole.IdOfConstant(i);
    const std::string content = ContentOf(*whole.constants[i]);
    first_equal_.push_back(content.empty() ? id : contents.try_emplace(content, id).first->second);
  }
}

Parameter Parts::TypeOf(ValueId id) const {
  if (id >= 0) {
    const int32_t maker = maker_[id];
    const Result& r = whole_.calls[maker]->results[id - first_result_[maker]];
    return {r.dtype, r.device, false, false, r.layout};
  }
  return whole_.IsConstant(id) ? Parameter::Of(*whole_.constant(id)) : whole_.parameters[~id];
}

Parts::Part Parts::Take(absl::Span<const int32_t> calls, bool one_number) const {
  Part part;
  part.program.calls.reserve(calls.size());
  absl::flat_hash_map<ValueId, ValueId> known;  // values of the whole
  for (const int32_t i : calls) {
    Program::Call call{whole_.calls[i].record, {}};
    for (ValueId id : whole_.calls[i].operands) {
      if (one_number && whole_.IsConstant(id)) id = first_equal_[~id - whole_.parameters.size()];
      const auto [at, fresh] = known.try_emplace(id, ~static_cast<ValueId>(part.from.size()));
      if (fresh) {
        part.from.push_back(id);
        part.program.parameters.push_back(TypeOf(id));
        part.program.parameters.back().zero =
            one_number && whole_.IsConstant(id) && IsZero(*whole_.constant(id));
      }
      call.operands.push_back(at->second);
    }
    for (ValueId r = first_result_[i]; r < first_result_[i + 1]; ++r) {
      known.emplace(r, static_cast<ValueId>(part.results.size()));
      part.results.push_back(r);
    }
    part.program.calls.push_back(std::move(call));
  }
  return part;
}

}  // namespace frazil::tracer
