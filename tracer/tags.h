// Tags: which result or slot of which segment, or of which composite's body, a value is. Called by
// tracer/session*.cc and tracer/body_recorder.cc. Invariant: a tag means something only while its
// serial is that of the segment or body in progress.
#pragma once

#include "core/value.h"

namespace frazil::tracer {

// 40 bits serial, 1 bit slot, 23 bits number.
constexpr int kNumberBits = 23;
constexpr uint64_t kSlotBit = uint64_t{1} << kNumberBits;

// The number of a segment, or of a composite's body.
uint64_t NextSerial();

inline void SetTag(Value* v, uint64_t tag) {
  std::atomic_ref<uint64_t>(v->tag).store(tag, std::memory_order_relaxed);
}
inline uint64_t GetTag(Value* v) {
  return std::atomic_ref<uint64_t>(v->tag).load(std::memory_order_relaxed);
}

}  // namespace frazil::tracer
