// VRED: rows to 64 lanes and lanes to one element.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/str.h"
#include "kernels/semantics.h"
#include "npu/host_loop.h"
#include "npu/vector.h"

namespace frazil::npu {
namespace {

namespace semantics = kir::semantics;

template <typename T>
struct Sum {
  static T Identity() { return std::floating_point<T> ? T(-0.0) : T(0); }
  static T Of(T a, T b) { return semantics::Add(a, b); }
};
template <typename T>
struct Prod {
  static T Identity() { return T(1); }
  static T Of(T a, T b) { return semantics::Mul(a, b); }
};
template <typename T>
struct Max {
  static T Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static T Of(T a, T b) { return semantics::Max(a, b); }
};
template <typename T>
struct Min {
  static T Identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  static T Of(T a, T b) { return semantics::Min(a, b); }
};
template <typename T>
struct Any {
  static T Identity() { return T(0); }
  static T Of(T a, T b) { return T(a != T(0) || b != T(0)); }
};
template <typename T>
struct All {
  static T Identity() { return T(1); }
  static T Of(T a, T b) { return T(a != T(0) && b != T(0)); }
};

// n lanes, element 0 of which belongs to lane 0.
template <typename T, typename Op>
void Accumulate(const T* x, int64_t n, T* lanes) {
  const int64_t whole = n / kRedLanes;
  for (int64_t j = 0; j < whole; ++j) {
    const T* part = x + j * kRedLanes;
    ForEach(kRedLanes, [=](int64_t l) { lanes[l] = Op::Of(lanes[l], part[l]); });
  }
  for (int64_t l = 0; l < n % kRedLanes; ++l) lanes[l] = Op::Of(lanes[l], x[whole * kRedLanes + l]);
}

template <typename T, typename Op>
T Tree(T* lanes) {
  for (int h = kRedLanes / 2; h > 0; h /= 2) {
    for (int l = 0; l < h; ++l) lanes[l] = Op::Of(lanes[l], lanes[l + h]);
  }
  return lanes[0];
}

template <typename T, typename Op>
void AccumulateRow(Type type, const char* row, int64_t cols, T* lanes) {
  T buffer[kBlock];
  for (int64_t c = 0; c < cols; c += kBlock) {
    const int64_t n = std::min(kBlock, cols - c);
    const void* x = LoadLanes(type, row + c * SizeOf(type), n, buffer);
    Accumulate<T, Op>(static_cast<const T*>(x), n, lanes);
  }
}

// Lanes in memory are bytes for any and all.
template <typename T, bool kBytes>
void ReadLanes(const char* from, T* lanes) {
  if constexpr (kBytes) {
    for (int l = 0; l < kRedLanes; ++l) lanes[l] = T(uint8_t(from[l]));
  } else {
    std::memcpy(lanes, from, sizeof(T) * kRedLanes);
  }
}
template <typename T, bool kBytes>
void WriteLanes(const T* lanes, char* to) {
  if constexpr (kBytes) {
    for (int l = 0; l < kRedLanes; ++l) to[l] = char(lanes[l] != T(0));
  } else {
    std::memcpy(to, lanes, sizeof(T) * kRedLanes);
  }
}

template <typename T, typename Op, bool kBytes = false>
void ReduceRows(const Issue& issue, const Pointers& p) {
  const int64_t rows = int64_t(issue.v[2]), cols = int64_t(issue.v[3]);
  const RedMode mode = RedMode(issue.v[6]);
  const Type result = kBytes ? kU8 : issue.type();
  alignas(64) T lanes[kRedLanes];
  for (int64_t r = 0; r < rows; ++r) {
    const char* x = p.at[1] + r * p.stride[1];
    char* d = p.at[0] + r * p.stride[0];
    if (mode == kRedFinal) {
      ReadLanes<T, kBytes>(x, lanes);
    } else {
      if (mode == kRedMore) {
        ReadLanes<T, kBytes>(d, lanes);
      } else {
        std::fill_n(lanes, kRedLanes, Op::Identity());
      }
      AccumulateRow<T, Op>(issue.type(), x, cols, lanes);
    }
    if (mode == kRedFirst || mode == kRedMore) {
      WriteLanes<T, kBytes>(lanes, d);
      continue;
    }
    T value = Tree<T, Op>(lanes);
    if constexpr (kBytes) {
      *d = char(value != T(0));
    } else {
      StoreLanes(result, &value, 1, d);
    }
  }
}

// The number of the first element that is the extreme, or NaN.
template <typename T, typename Op>
void FindRows(const Issue& issue, const Pointers& p) {
  const int64_t rows = int64_t(issue.v[2]), cols = int64_t(issue.v[3]);
  const int64_t es = SizeOf(issue.type());
  T buffer[kBlock];
  alignas(64) T lanes[kRedLanes];
  for (int64_t r = 0; r < rows; ++r) {
    const char* row = p.at[1] + r * p.stride[1];
    std::fill_n(lanes, kRedLanes, Op::Identity());
    AccumulateRow<T, Op>(issue.type(), row, cols, lanes);
    const T extreme = Tree<T, Op>(lanes);
    int32_t found = -1;
    for (int64_t c = 0; c < cols && found < 0; c += kBlock) {
      const int64_t n = std::min(kBlock, cols - c);
      const T* x = static_cast<const T*>(LoadLanes(issue.type(), row + c * es, n, buffer));
      for (int64_t i = 0; i < n && found < 0; ++i) {
        if (x[i] == extreme || x[i] != x[i]) found = int32_t(c + i);
      }
    }
    std::memcpy(p.at[0] + r * p.stride[0], &found, 4);
  }
}

template <typename T>
void ReduceAs(const Issue& issue, const Pointers& p) {
  switch (Red(issue.fn)) {
    case kRedSum:
      return ReduceRows<T, Sum<T>>(issue, p);
    case kRedMax:
      return ReduceRows<T, Max<T>>(issue, p);
    case kRedMin:
      return ReduceRows<T, Min<T>>(issue, p);
    case kRedProd:
      return ReduceRows<T, Prod<T>>(issue, p);
    case kRedArgmax:
      return FindRows<T, Max<T>>(issue, p);
    case kRedArgmin:
      return FindRows<T, Min<T>>(issue, p);
    case kRedAny:
      return ReduceRows<T, Any<T>, true>(issue, p);
    case kRedAll:
      return ReduceRows<T, All<T>, true>(issue, p);
  }
}

}  // namespace

bool Reduce(const Issue& issue, const Pointers& p, Fault* fault) {
  if ((issue.fn == kRedArgmax || issue.fn == kRedArgmin) && issue.v[6] != kRedFull) {
    fault->code = FaultCode::kShapeLimit;
    fault->operand = 6;
    fault->detail =
        StrCat("mode ", issue.v[6], ": positions are found in whole rows only (mode 0)");
    return false;
  }
  switch (LaneType(issue.type())) {
    case kF32:
      ReduceAs<float>(issue, p);
      break;
    case kU32:
      ReduceAs<uint32_t>(issue, p);
      break;
    default:
      ReduceAs<int32_t>(issue, p);
  }
  return true;
}

}  // namespace frazil::npu
