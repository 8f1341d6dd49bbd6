#include "kernels/put.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "core/cost.h"
#include "core/threads/parallel.h"
#include "kernels/dense_copy.h"
#include "kernels/places.h"

namespace frazil {
namespace {

// How many of `n` are worth handing to a thread, where `updates` elements go to them together.
int64_t Grain(int64_t n, int64_t updates) {
  const double each = cost::Updates(double(updates)) / double(n);
  return static_cast<int64_t>(std::max(1.0, double(cost::kPart) / std::max(each, 1e-3)));
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(double{ToFloat(a)} + double{ToFloat(b)});  // exact in double, rounded once
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(double{ToFloat(a)} + double{ToFloat(b)});
  } else if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else {
    return static_cast<T>(a + b);
  }
}

// Updates [outer][position][inner] go to out [outer][index of position][inner], or are added there.
template <typename T, typename I, bool add>
class Scatter {
 public:
  explicit Scatter(const PutArgs& args)
      : outer_(args.updates, 0, args.axis),
        positions_(args.updates, args.axis, args.axis + args.indices->rank),
        inner_(args.updates, args.axis + args.indices->rank, args.updates->rank),
        places_(args.indices, 0, args.indices->rank),
        indices_(reinterpret_cast<const I*>(args.indices_data)),
        updates_(reinterpret_cast<const T*>(args.updates_data)),
        out_(reinterpret_cast<T*>(args.out)) {
    for (int axis = args.axis; axis < args.axis + args.axes; ++axis)
      extent_ *= args.x->extents[axis];
  }

  // Threads share out the axes that are not indexed, so that each element has one writer; but one
  // number that goes everywhere may come from several. Shares of the result, for which each thread
  // would look at all indices, took four times as long with two threads.
  void Run() const {
    const int64_t count = outer_.count(), width = inner_.count(), n = positions_.count();
    if (count > 1 && count >= width) {
      return ParallelFor(count, Grain(count, n * count * width), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) Columns(o, 0, width);
      });
    }
    for (int64_t o = 0; o < count; ++o) {
      if (width > 1) {
        ParallelFor(width, std::max<int64_t>(64, Grain(width, n * width)),
                    [&](int64_t begin, int64_t end) { Columns(o, begin, end); });
      } else if (!add && positions_.one()) {
        ParallelFor(n, Grain(n, n), [&](int64_t begin, int64_t end) { Number(o, begin, end); });
      } else {
        Elements(o);
      }
    }
  }

 private:
  void Columns(int64_t o, int64_t begin, int64_t end) const {
    const Places::View positions = positions_.view(), inner = inner_.view(),
                       places = places_.view();
    const int64_t width = inner_.count(), n = positions_.count();
    const T* const updates = updates_ + outer_.view()[o];
    T* const out = out_ + o * extent_ * width;
    for (int64_t p = 0; p < n; ++p) {
      T* const to = out + indices_[places[p]] * width;
      const T* const from = updates + positions[p];
      if constexpr (add) {
        for (int64_t i = begin; i < end; ++i) to[i] = Sum(to[i], from[inner[i]]);
      } else if (inner_.run()) {
        std::copy(from + begin, from + end, to + begin);
      } else if (inner_.one()) {
        std::fill(to + begin, to + end, *from);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = from[inner[i]];
      }
    }
  }

  void Number(int64_t o, int64_t begin, int64_t end) const {
    const Places::View places = places_.view();
    const I* const indices = indices_;
    const T value = updates_[outer_.view()[o]];
    T* const out = out_ + o * extent_;
    for (int64_t p = begin; p < end; ++p)
      std::atomic_ref<T>(out[indices[places[p]]]).store(value, std::memory_order_relaxed);
  }

  void Elements(int64_t o) const {
    const Places::View positions = positions_.view(), places = places_.view();
    const I* const indices = indices_;
    const T* const from = updates_ + outer_.view()[o];
    T* const out = out_ + o * extent_;
    const int64_t n = positions_.count();
    if constexpr (add) {
      for (int64_t p = 0; p < n; ++p) {
        T* const to = out + indices[places[p]];
        *to = Sum(*to, from[positions[p]]);
      }
    } else {
      for (int64_t p = 0; p < n; ++p) out[indices[places[p]]] = from[positions[p]];
    }
  }

  const Places outer_, positions_, inner_, places_;
  const I* const indices_;
  const T* const updates_;
  T* const out_;
  int64_t extent_ = 1;
};

template <typename T, bool add>
void Run(const PutArgs& args) {
  if (args.wide_indices) {
    Scatter<T, int64_t, add>(args).Run();
  } else {
    Scatter<T, int32_t, add>(args).Run();
  }
}

// Bytes are moved whatever they mean.
void Move(const PutArgs& args) {
  switch (SizeOf(args.dtype)) {
    case 1:
      return Run<uint8_t, false>(args);
    case 2:
      return Run<uint16_t, false>(args);
    case 4:
      return Run<uint32_t, false>(args);
    default:
      return Run<uint64_t, false>(args);
  }
}

void Add(const PutArgs& args) {
  VisitDType(args.dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      Run<std::make_unsigned_t<T>, true>(args);  // integers wrap
    } else {
      Run<T, true>(args);
    }
  });
}

}  // namespace

void Put(const PutArgs& args) {
  if (args.x->size == 0) return;
  if (args.out != args.x_data || !args.x->dense)
    CopyDense(*args.x, SizeOf(args.dtype), args.x_data, args.out);
  if (args.updates->size == 0) return;
  args.add ? Add(args) : Move(args);
}

}  // namespace frazil
