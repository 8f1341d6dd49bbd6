// The fake driver: memory and copies.
#include <sys/mman.h>

#include <cstring>

#include "tests/cuda/fake/stream.h"

namespace fake {
namespace {

bool IsDeviceRange(CUdeviceptr address, size_t bytes) {
  Context* const owner = Driver::Get().OwnerOf(address);
  return owner != nullptr && owner->memory.Contains(address, bytes);
}

bool IsPinned(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  for (const auto& [begin, size] : Driver::Get().pinned) {
    if (address >= begin && address - begin <= size && bytes <= size - (address - begin))
      return true;
  }
  return false;
}

char* At(CUdeviceptr address) { return reinterpret_cast<char*>(address); }

bool IsCaptured(CUstream stream) {
  const auto real = FindStream(stream);
  return real != nullptr && real->capture != nullptr;
}

// memcpy with the memory of both devices open.
Action Copy(void* to, const void* from, size_t bytes, Context* a, Context* b) {
  return [=]() -> CUresult {
    OpenMemory open(a ? &a->memory : nullptr, b ? &b->memory : nullptr);
    std::memmove(to, from, bytes);
    return kSuccess;
  };
}

CUresult CopyBetween(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (!IsDeviceRange(to, bytes) || !IsDeviceRange(from, bytes)) return kInvalidValue;
  return Enqueue(stream, Copy(At(to), At(from), bytes, Driver::Get().OwnerOf(to),
                              Driver::Get().OwnerOf(from)));
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  FAKE_CALL(kContext, cuMemGetInfo_v2);
  const DeviceMemory& memory = Driver::Get().current()->memory;
  *total = memory.total();
  *free = memory.total() - memory.used();
  return kSuccess;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  FAKE_CALL(kContext, cuMemAlloc_v2, bytes);
  if (const CUresult error = CheckNotCapturing()) return error;
  if (bytes == 0) return kInvalidValue;
  *pointer = Driver::Get().current()->memory.Allocate(bytes);
  return *pointer == 0 ? kOutOfMemory : kSuccess;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  FAKE_CALL(kContext, cuMemFree_v2, pointer);
  if (const CUresult error = CheckNotCapturing()) return error;
  Context* const owner = Driver::Get().OwnerOf(pointer);
  if (owner == nullptr || !owner->memory.Contains(pointer, 0)) return kInvalidValue;
  Driver::Get().work.FinishAll();
  if (!owner->memory.Free(pointer)) return kInvalidValue;
  ReportDamage(owner, "at cuMemFree");
  return owner->error;
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  FAKE_CALL(kContext, cuMemHostAlloc, bytes, flags);
  if (const CUresult error = CheckNotCapturing()) return error;
  if (bytes == 0) return kInvalidValue;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return kOutOfMemory;
  Driver::Get().pinned[reinterpret_cast<uintptr_t>(map)] = bytes;
  *pointer = map;
  return kSuccess;
}

CUresult cuMemFreeHost(void* pointer) {
  FAKE_CALL(kContext, cuMemFreeHost, pointer);
  if (const CUresult error = CheckNotCapturing()) return error;
  const auto it = Driver::Get().pinned.find(reinterpret_cast<uintptr_t>(pointer));
  if (it == Driver::Get().pinned.end()) return kInvalidValue;
  Driver::Get().work.FinishAll();
  munmap(pointer, it->second);
  Driver::Get().pinned.erase(it);
  return Driver::Get().current()->error;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  FAKE_CALL(kContext, cuMemcpyHtoDAsync_v2, to, from, bytes, stream);
  if (!IsDeviceRange(to, bytes)) return kInvalidValue;
  Context* const owner = Driver::Get().OwnerOf(to);
  // Pageable memory is staged before the call returns; a captured copy reads when it is launched.
  if (IsPinned(from, bytes) || IsCaptured(stream))
    return Enqueue(stream, Copy(At(to), from, bytes, owner, nullptr));
  auto staged = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  return Enqueue(
      stream, [=]() -> CUresult { return Copy(At(to), staged->data(), bytes, owner, nullptr)(); });
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  FAKE_CALL(kContext, cuMemcpyDtoHAsync_v2, to, from, bytes, stream);
  if (!IsDeviceRange(from, bytes)) return kInvalidValue;
  Context* const owner = Driver::Get().OwnerOf(from);
  const CUresult error = Enqueue(stream, Copy(to, At(from), bytes, nullptr, owner));
  if (error != kSuccess || IsPinned(to, bytes) || IsCaptured(stream)) return error;
  // To pageable memory the call returns once the copy is there.
  const auto real = FindStream(stream);
  Driver::Get().work.Finish(real->tail);
  return real->context->error;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  FAKE_CALL(kContext, cuMemcpyDtoDAsync_v2, to, from, bytes, stream);
  return CopyBetween(to, from, bytes, stream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream) {
  FAKE_CALL(kContext, cuMemcpyPeerAsync, to, to_context, from, from_context, bytes, stream);
  if (FromHandle(to_context) == nullptr || FromHandle(from_context) == nullptr)
    return kInvalidContext;
  if (Driver::Get().OwnerOf(to) != FromHandle(to_context) ||
      Driver::Get().OwnerOf(from) != FromHandle(from_context))
    return kInvalidValue;
  return CopyBetween(to, from, bytes, stream);
}

CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr pointer) {
  FAKE_CALL(kContext, cuPointerGetAttribute, attribute, pointer);
  const bool device = IsDeviceRange(pointer, 1);
  if (!device && !IsPinned(At(pointer), 1)) return kInvalidValue;
  if (attribute == kPointerMemoryType) {
    const unsigned type = device ? kMemoryTypeDevice : kMemoryTypeHost;
    std::memcpy(value, &type, sizeof(type));
    return kSuccess;
  }
  if (attribute == kPointerDeviceOrdinal) {
    const int ordinal = device ? Driver::Get().OwnerOf(pointer)->device : 0;
    std::memcpy(value, &ordinal, sizeof(ordinal));
    return kSuccess;
  }
  return kInvalidValue;
}

}  // namespace fake
