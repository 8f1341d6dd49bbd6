// Bounds of caches (core/bounded_cache.h) that are settings, and what they say when they are
// passed. Used by the caches of jit/cache and jit/eager. Invariant: as Report's caller holds no
// lock, what it says may be listened to by anybody.
#pragma once

#include "core/bounded_cache.h"
#include "core/settings.h"
#include "tracer/causes.h"

namespace frazil::jit {

struct SettingsBound {
  Setting entries, bytes;
  tracer::Cause cause;
  std::string_view what;

  CacheLimit Most() const { return {Get(entries), Get(bytes)}; }
  void Report(const Eviction& eviction) const {
    const Setting past = eviction.by_bytes ? bytes : entries;
    const std::string limit = StrCat(Name(past), " = ", Get(past));
    if (eviction.count > 0)
      tracer::NoteShared({cause, {{"count", StrCat(eviction.count)}, {"limit", limit}}});
    if (eviction.thrashing)
      tracer::NoteShared(
          {tracer::Cause::kThrashing, {{"what", std::string(what)}, {"limit", limit}}});
  }
};

}  // namespace frazil::jit
