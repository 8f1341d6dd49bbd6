// The fake driver: control.h.
#include <cstring>

#include "tests/cuda/fake/control.h"
#include "tests/cuda/fake/stream.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {

FAKE_EXPORT unsigned long long fake_cuda_live_bytes() {
  std::lock_guard lock(Driver::Get().mutex);
  size_t bytes = 0;
  for (const auto& context : Driver::Get().contexts) bytes += context->memory.used();
  return bytes;
}

FAKE_EXPORT unsigned long long fake_cuda_live_blocks() {
  std::lock_guard lock(Driver::Get().mutex);
  size_t blocks = 0;
  for (const auto& context : Driver::Get().contexts) blocks += context->memory.blocks();
  return blocks;
}

FAKE_EXPORT unsigned long long fake_cuda_pinned_bytes() {
  std::lock_guard lock(Driver::Get().mutex);
  size_t bytes = 0;
  for (const auto& [address, size] : Driver::Get().pinned) bytes += size;
  return bytes;
}

FAKE_EXPORT unsigned long long fake_cuda_pending() {
  std::lock_guard lock(Driver::Get().mutex);
  return Driver::Get().work.pending();
}

FAKE_EXPORT unsigned long long fake_cuda_live(const char* kind) {
  std::lock_guard lock(Driver::Get().mutex);
  const Driver& driver = Driver::Get();
  if (std::strcmp(kind, "stream") == 0) return driver.streams.size();
  if (std::strcmp(kind, "event") == 0) return driver.events.size();
  if (std::strcmp(kind, "module") == 0) return driver.modules.size();
  if (std::strcmp(kind, "graph") == 0) return driver.graphs.size();
  if (std::strcmp(kind, "exec") == 0) return driver.execs.size();
  return ~0ull;
}

FAKE_EXPORT void fake_cuda_clear_error() {
  std::lock_guard lock(Driver::Get().mutex);
  for (const auto& context : Driver::Get().contexts) context->error = kSuccess;
}

FAKE_EXPORT int fake_cuda_enqueue(void* stream, const char* name, int (*run)(void*), void* data,
                                  void (*destroy)(void*)) {
  std::shared_ptr<void> owned(data, destroy);
  std::lock_guard lock(Driver::Get().mutex);
  if (Driver::Get().current() == nullptr) return kInvalidContext;
  return Enqueue(static_cast<CUstream>(stream),
                 [owned, run, name = std::string(name)]() -> CUresult {
                   if (const int error = Recorder::Get().Call("kernel", name)) return error;
                   fake_cuda_open_memory();
                   const int result = run(owned.get());
                   for (const auto& context : Driver::Get().contexts)
                     ReportDamage(context.get(), "after " + name);
                   fake_cuda_close_memory();
                   return result;
                 });
}

FAKE_EXPORT void fake_cuda_open_memory() {
  std::lock_guard lock(Driver::Get().mutex);
  for (const auto& context : Driver::Get().contexts) context->memory.Open();
}

FAKE_EXPORT void fake_cuda_close_memory() {
  std::lock_guard lock(Driver::Get().mutex);
  for (const auto& context : Driver::Get().contexts) context->memory.Close();
}

}  // namespace fake
