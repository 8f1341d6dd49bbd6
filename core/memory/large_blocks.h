// Large blocks of the caching allocator: ranges of a few large reservations, the first free one that
// is large enough, split and joined again. What one part of a program leaves, arrays that eager calls
// kept, is so taken by another of other sizes, the arena of a plan. Called by the allocator under
// its lock.
// Invariant: ranges in use and free ones do not overlap; two free ranges never touch.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace frazil {

class LargeBlocks {
 public:
  // Blocks are multiples of a page.
  static constexpr size_t kPage = 4096;

  // `fresh`: how much of it the system has yet to give, about. Null: nothing free is as large.
  char* Take(size_t bytes, size_t* fresh);
  // Free from now on. `fresh` of it the program has not touched.
  void Give(char* data, size_t bytes, size_t fresh = 0);
  // Reserves addresses for at least as much; false if the system has none.
  bool Reserve(size_t bytes);
  // Gives about as many bytes that are kept back to the system, those of the largest ranges.
  void Release(size_t bytes);
  // All that is kept, with its addresses.
  void Trim();

  size_t live() const { return live_; }
  size_t peak() const { return peak_; }  // of live
  size_t kept() const { return kept_; }  // for reuse

  template <typename F>
  void ForEachKept(const F& visit) const {
    for (const auto& [at, range] : free_) {
      if (range.kept > 0) visit(range.kept);
    }
  }

 private:
  struct Range {
    size_t bytes, kept;  // kept: of them, what the system has given
  };
  using Ranges = std::map<char*, Range>;
  void Add(char* at, Range range);
  void Remove(Ranges::iterator it);

  Ranges free_;                                 // by address
  std::set<std::pair<size_t, char*>> by_size_;  // the same
  size_t live_ = 0, peak_ = 0, kept_ = 0;
};

}  // namespace frazil
