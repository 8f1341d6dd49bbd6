// How much a cache may keep and what it says when it evicts. Called by the caches of jit/cache and
// jit/eager. Invariant: eviction goes down to seven eighths of the bound, so that it is rare; it
// is reported when no lock is held.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/eviction_history.h"
#include "core/settings.h"
#include "tracer/causes.h"

namespace frazil::jit {

struct Kept {
  int64_t entries, bytes;
};

struct EvictionReport {
  int64_t count = 0;
  bool by_bytes = false;
  bool thrashing = false;
};

struct Bound {
  Setting entries, bytes;
  tracer::Cause cause;
  std::string_view what;

  bool IsPast(size_t n, int64_t b) const {
    return static_cast<int64_t>(n) > Get(entries) || b > Get(bytes);
  }
  // What eviction leaves.
  Kept Aim() const { return {Get(entries) - Get(entries) / 8, Get(bytes) - Get(bytes) / 8}; }
  void Report(const EvictionReport& report) const {
    if (report.count == 0 && !report.thrashing) return;
    const Setting past = report.by_bytes ? bytes : entries;
    const std::string limit = StrCat(Name(past), " = ", Get(past));
    if (report.count > 0)
      tracer::NoteShared({cause, {{"count", StrCat(report.count)}, {"limit", limit}}});
    if (report.thrashing)
      tracer::NoteShared(
          {tracer::Cause::kThrashing, {{"what", std::string(what)}, {"limit", limit}}});
  }
};

}  // namespace frazil::jit
