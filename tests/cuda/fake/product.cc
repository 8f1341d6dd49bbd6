#include "tests/cuda/fake/product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "jit/cuda/types.h"

namespace fake {
namespace {

using namespace frazil::cuda;

constexpr int64_t kChunk = 4096, kLanes = 64;

// Only what the loop over columns needs: with it, fma is one instruction.
#define FAKE_FMA_CLONES __attribute__((target_clones("arch=haswell", "default")))

template <typename To, typename From>
To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <typename T>
T LoadAs(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

int64_t SizeOf(int type) {
  switch (type) {
    case kR64F:
      return 8;
    case kR8I:
      return 1;
    case kR16F:
    case kR16BF:
      return 2;
    default:
      return 4;
  }
}

// Element to accumulator.
template <typename T>
T Load(const char* data, int type, int64_t i) {
  const char* const at = data + i * SizeOf(type);
  switch (type) {
    case kR64F:
      return T(LoadAs<double>(at));
    case kR32F:
      return T(LoadAs<float>(at));
    case kR16F:
      return T(float(LoadAs<_Float16>(at)));
    case kR16BF:
      return T(Bits<float>(uint32_t{LoadAs<uint16_t>(at)} << 16));
    case kR8I:
      return T(LoadAs<int8_t>(at));
    default:
      return T(LoadAs<int32_t>(at));
  }
}

uint16_t RoundToBf16(float x) {
  if (x != x) return 0x7fc0;
  const uint32_t bits = Bits<uint32_t>(x);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T>
void Store(char* data, int type, int64_t i, T value) {
  const auto put = [at = data + i * SizeOf(type)](auto x) { std::memcpy(at, &x, sizeof(x)); };
  switch (type) {
    case kR64F:
      return put(double(value));
    case kR32F:
      return put(float(value));
    case kR16F:
      return put(_Float16(float(value)));
    case kR16BF:
      return put(RoundToBf16(float(value)));
    case kR8I:
      return put(int8_t(value));
    default:
      return put(int32_t(value));
  }
}

// What a tensor core sees of a float: 10 bits behind the point, nearest, ties away from zero.
float RoundToTf32(float x) {
  const uint32_t bits = Bits<uint32_t>(x);
  return std::isfinite(x) ? Bits<float>((bits + 0x1000) & ~uint32_t{0x1fff}) : x;
}

template <typename T>
std::vector<T> Dense(const ProductMatrix& x, int64_t rows, int64_t cols, int64_t batch, bool tf32) {
  std::vector<T> out;
  out.reserve(size_t(rows * cols));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const T value =
          Load<T>(x.data, x.type, batch * x.batch_stride + r * x.row_stride + c * x.col_stride);
      out.push_back(tf32 ? T(RoundToTf32(float(value))) : value);
    }
  }
  return out;
}

FAKE_FMA_CLONES void AddRow(float* acc, float a, const float* b, int64_t n) {
  for (int64_t j = 0; j < n; ++j) acc[j] = std::fma(a, b[j], acc[j]);
}
FAKE_FMA_CLONES void AddRow(double* acc, double a, const double* b, int64_t n) {
  for (int64_t j = 0; j < n; ++j) acc[j] = std::fma(a, b[j], acc[j]);
}
void AddRow(int32_t* acc, int32_t a, const int32_t* b, int64_t n) {
  for (int64_t j = 0; j < n; ++j) acc[j] = int32_t(uint32_t(acc[j]) + uint32_t(a) * uint32_t(b[j]));
}

template <typename T>
T Add(T a, T b) {
  return a + b;
}
int32_t Add(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

// One row of op(A) op(B).
template <typename T>
std::vector<T> Row(const T* a, const T* b, int64_t n, int64_t k) {
  const int64_t chunks = (k + kChunk - 1) / kChunk;
  std::vector<std::vector<T>> lanes(size_t(std::max<int64_t>(1, std::min(chunks, kLanes))));
  for (auto& lane : lanes) lane.assign(size_t(n), T(0));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<T> acc(size_t(n), T(0));
    for (int64_t i = chunk * kChunk; i < std::min(k, (chunk + 1) * kChunk); ++i)
      AddRow(acc.data(), a[i], b + i * n, n);
    auto& lane = lanes[size_t(chunk % kLanes)];
    if (chunk < kLanes) {
      lane = std::move(acc);  // a lane starts at -0, which changes nothing that is added to it
    } else {
      for (size_t j = 0; j < acc.size(); ++j) lane[j] = Add(lane[j], acc[j]);
    }
  }
  for (size_t h = kLanes / 2; h > 0; h /= 2) {
    for (size_t i = 0; i < h && i + h < lanes.size(); ++i) {
      for (size_t j = 0; j < size_t(n); ++j) lanes[i][j] = Add(lanes[i][j], lanes[i + h][j]);
    }
  }
  return std::move(lanes[0]);
}

template <typename T>
T Activate(T x, int epilogue) {
  if (epilogue == kEpilogueRelu || epilogue == kEpilogueReluBias) return x < 0 ? T(0) : x;
  if (epilogue == kEpilogueGelu || epilogue == kEpilogueGeluBias) {
    const double v = double(x), inner = 0.7978845608028654 * (v + 0.044715 * v * v * v);
    return T(0.5 * v * (1 + std::tanh(inner)));
  }
  return x;
}

template <typename T>
void Run(const Product& p) {
  const bool tf32 = p.compute == kCompute32FTf32;
  for (int64_t batch = 0; batch < p.batches; ++batch) {
    const std::vector<T> a = Dense<T>(p.a, p.m, p.k, batch, tf32),
                         b = Dense<T>(p.b, p.k, p.n, batch, tf32);
    for (int64_t i = 0; i < p.m; ++i) {
      const std::vector<T> row = Row(a.data() + i * p.k, b.data(), p.n, p.k);
      for (int64_t j = 0; j < p.n; ++j) {
        T x = row[size_t(j)];
        if (p.alpha != 1) x = T(p.alpha) * x;
        if (p.beta != 0) {
          x = Add(x, T(T(p.beta) * Load<T>(p.c.data, p.c.type,
                                           batch * p.c.batch_stride + i * p.c.row_stride +
                                               j * p.c.col_stride)));
        }
        if (p.bias != nullptr) x = Add(x, Load<T>(p.bias, p.d.type, i));
        Store(p.d.data, p.d.type,
              batch * p.d.batch_stride + i * p.d.row_stride + j * p.d.col_stride,
              Activate(x, p.epilogue));
      }
    }
  }
}

}  // namespace

void RunProduct(const Product& product) {
  switch (product.compute) {
    case kCompute64F:
      return Run<double>(product);
    case kCompute32I:
      return Run<int32_t>(product);
    default:
      return Run<float>(product);
  }
}

}  // namespace fake
