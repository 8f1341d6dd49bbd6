#include "jit/run/step.h"

#include "core/str.h"
#include "jit/run/launch.h"

namespace frazil::jit {

int64_t BytesOf(const Steps& steps) {
  auto bytes = static_cast<int64_t>(steps.capacity() * sizeof(steps[0]));
  for (const auto& step : steps) bytes += step->bytes();
  return bytes;
}

Status KernelStep::Run(char* const* slots, absl::Span<Value* const> inputs) const {
  const StepArgs values(*this, slots, inputs);
  const kir::KernelArgs args = values.For(*this);
  if (device) return device->Run(args);
  RunLaunch(*code, args, rows, cols, own_work);
  return absl::OkStatus();
}

int64_t KernelStep::bytes() const {
  const size_t bytes = sizeof(*this) + buffers.capacity() * sizeof(Pointer) +
                       4 * scalars.capacity() +
                       8 * (words.capacity() + extents.capacity() + strides.capacity());
  return static_cast<int64_t>(bytes) + (device ? device->bytes() : 0);
}

Status LibraryStep::Run(char* const* slots, absl::Span<Value* const>) const {
  SmallStack<char*, 16> data;
  for (const Pointer& p : operands) data.push_back(slots[p.slot] + p.offset);
  return call->Run(data.span(), slots[result.slot] + result.offset);
}

std::vector<Pointer> LibraryStep::touches() const {
  std::vector<Pointer> all = operands;
  all.push_back(result);
  return all;
}

StepGroup::StepGroup(Steps steps) : steps_(std::move(steps)) {
  for (const auto& step : steps_) work_ += step->work();
}

std::vector<Pointer> StepGroup::touches() const {
  std::vector<Pointer> all;
  for (const auto& step : steps_) {
    const std::vector<Pointer> own = step->touches();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::string StepGroup::text() const {
  std::string text;
  for (const auto& step : steps_) StrAppend(&text, text.empty() ? "" : " ", step->text());
  return text;
}

}  // namespace frazil::jit
