#include "jit/run/step_group.h"

#include "jit/run/loop_step.h"

namespace frazil::jit {
int64_t BytesOf(const KernelStep& k) {
  const size_t bytes = k.buffers.capacity() * sizeof(Pointer) + 4 * k.scalars.capacity() +
                       8 * (k.words.capacity() + k.extents.capacity() + k.strides.capacity());
  return static_cast<int64_t>(bytes) + (k.device ? k.device->bytes() : 0);
}

int64_t BytesOf(const Step& step) {
  if (const GroupStep* s = std::get_if<GroupStep>(&step)) return s->step_group->bytes();
  if (const LibraryStep* l = std::get_if<LibraryStep>(&step))
    return int64_t{sizeof(LibraryStep)} + l->call->bytes();
  if (const KernelStep* k = std::get_if<KernelStep>(&step)) return BytesOf(*k);
  if (const LoopStep* l = std::get_if<LoopStep>(&step)) return BytesOf(*l->loop);
  int64_t bytes = 0;
  if (const EpilogueStep* f = std::get_if<EpilogueStep>(&step)) {
    bytes = int64_t{sizeof(*f)} + f->product.call->bytes();
    for (const KernelStep& k : f->kernels) bytes += int64_t{sizeof(k)} + BytesOf(k);
    return bytes;
  }
  for (const KernelStep& k : std::get<ListStep>(step).list->entries)
    bytes += int64_t{sizeof(k)} + BytesOf(k);
  return bytes;
}

StepArgs::StepArgs(const KernelStep& step, char* const* slots, absl::Span<Value* const> inputs) {
  for (const Pointer& p : step.buffers) buffers.push_back(slots[p.slot] + p.offset);
  for (size_t i = 0; i < step.scalars.size(); ++i) {
    const int32_t input = step.scalars[i];
    scalars.push_back(input >= 0 ? inputs[input]->imm : step.words[i]);
  }
}

}  // namespace frazil::jit
