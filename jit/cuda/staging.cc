#include "jit/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "core/threads/at_fork.h"

namespace frazil::cuda {
namespace {

constexpr size_t kPiece = size_t{4} << 20;

}  // namespace

#define FZ_TRY(call)                                        \
  do {                                                      \
    if (const CUresult r = (call); r != kSuccess) return r; \
  } while (0)

Staging::Staging(const DriverTable& driver) : driver_(driver) {
  HoldAcrossFork(ForkOrder::kMemory, &mutex_);
}

CUresult Staging::Open() {
  for (Piece& piece : pieces_) {
    if (!piece.memory) {
      void* memory = nullptr;
      FZ_TRY(driver_.MemHostAlloc(&memory, kPiece, 0));
      piece.memory = static_cast<char*>(memory);
    }
    if (!piece.done) FZ_TRY(driver_.EventCreate(&piece.done, kEventDisableTiming));
  }
  return kSuccess;
}

CUresult Staging::In(CUdeviceptr to, const char* from, size_t bytes, CUstream stream) {
  MutexLock lock(&mutex_);
  FZ_TRY(Open());
  for (size_t at = 0; at < bytes; at += kPiece) {
    Piece& piece = pieces_[next_++ % pieces_.size()];
    const size_t n = std::min(kPiece, bytes - at);
    FZ_TRY(driver_.EventSynchronize(piece.done));
    std::memcpy(piece.memory, from + at, n);
    FZ_TRY(driver_.MemcpyHtoDAsync(to + at, piece.memory, n, stream));
    FZ_TRY(driver_.EventRecord(piece.done, stream));
  }
  return kSuccess;
}

CUresult Staging::Out(char* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  MutexLock lock(&mutex_);
  FZ_TRY(Open());
  // One piece is under way while the one before is copied out.
  const auto ask = [&](size_t at, Piece& piece) {
    FZ_TRY(driver_.MemcpyDtoHAsync(piece.memory, from + at, std::min(kPiece, bytes - at), stream));
    return driver_.EventRecord(piece.done, stream);
  };
  const size_t first = next_;
  for (size_t at = 0, i = 0; at < bytes; at += kPiece, ++i) {
    Piece &piece = pieces_[(first + i) % pieces_.size()],
          &other = pieces_[(first + i + 1) % pieces_.size()];
    if (i == 0) {
      FZ_TRY(driver_.EventSynchronize(piece.done));
      FZ_TRY(ask(at, piece));
    }
    if (at + kPiece < bytes) {
      FZ_TRY(driver_.EventSynchronize(other.done));
      FZ_TRY(ask(at + kPiece, other));
    }
    FZ_TRY(driver_.EventSynchronize(piece.done));
    std::memcpy(to + at, piece.memory, std::min(kPiece, bytes - at));
    next_ = first + i + 1;
  }
  return kSuccess;
}

#undef FZ_TRY

}  // namespace frazil::cuda
