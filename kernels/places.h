// Where the elements of some axes of an array lie. Called by kernels/put.cc and kernels/take.cc.
#pragma once

#include <vector>

#include "core/layout.h"

namespace frazil {

// Those of axes [begin, end) of a layout, in row-major order: a fixed distance apart, if they are.
class Places {
 public:
  Places(const Layout* layout, int begin, int end) {
    bool even = true;
    for (int axis = end; axis-- > begin;) {
      if (layout->extents[axis] == 1) continue;
      if (count_ == 1) {
        step_ = layout->strides_[axis];
      } else {
        even &= layout->strides_[axis] == step_ * count_;
      }
      count_ *= layout->extents[axis];
    }
    if (even || count_ == 0) return;
    offsets_ = {0};
    for (int axis = begin; axis < end; ++axis) {
      std::vector<int64_t> next;
      next.reserve(offsets_.size() * static_cast<size_t>(layout->extents[axis]));
      for (const int64_t base : offsets_) {
        for (int64_t i = 0; i < layout->extents[axis]; ++i)
          next.push_back(base + i * layout->strides_[axis]);
      }
      offsets_ = std::move(next);
    }
  }

  int64_t count() const { return count_; }
  bool run() const { return offsets_.empty() && (step_ == 1 || count_ == 1); }
  bool one() const { return offsets_.empty() && (step_ == 0 || count_ == 1); }  // one place
  // To be copied before a loop that writes: what it reads nobody else points to.
  struct View {
    const int64_t* offsets;
    int64_t step;
    int64_t operator[](int64_t i) const { return offsets ? offsets[i] : i * step; }
  };
  View view() const { return {offsets_.empty() ? nullptr : offsets_.data(), step_}; }

 private:
  int64_t count_ = 1, step_ = 0;
  std::vector<int64_t> offsets_;  // empty: `step_` apart
};

}  // namespace frazil
