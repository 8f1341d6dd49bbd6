// Convolution against the plain product with patches laid out in memory, bit for bit.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/threads/parallel.h"
#include "kernels/conv/channels.h"
#include "kernels/gemm/reference.h"
#include "tests/guarded_bytes.h"
#include "tests/kernels/values.h"

namespace frazil {
namespace {

// An array of four axes with memory of its own, an inaccessible page behind it; `order` says which
// axis varies fastest.
template <typename T>
struct Array {
  GuardedVector<T> memory;
  std::array<int64_t, 4> extents, strides;

  Array(std::mt19937_64& rng, std::array<int64_t, 4> dims, int order, bool special)
      : extents(dims) {
    static constexpr int kOrders[3][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {3, 0, 2, 1}};
    int64_t stride = 1;
    for (int i = 3; i >= 0; --i) {
      const int axis = kOrders[order][i];
      strides[axis] = stride;
      stride *= extents[axis];
    }
    memory.resize(size_t(std::max<int64_t>(1, stride)));
    for (T& x : memory) x = Make<T>(rng, special);
  }
  const T& At(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return memory[size_t(i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3])];
  }
};

ConvShape Shape(int64_t n, int64_t h, int64_t w, int64_t c, int64_t kh, int64_t kw, int64_t o,
                int64_t stride, int64_t padding, int64_t dilation) {
  const auto out = [&](int64_t size, int64_t kernel) {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  return {n,          h,      w,      c,        kh,       kw,      o,      out(h, kh),
          out(w, kw), stride, stride, dilation, dilation, padding, padding};
}

template <typename T>
void Check(std::mt19937_64& rng, const ConvShape& s, int image_order, int other_order,
           bool special) {
  const Array<T> image(rng, {s.batch, s.height, s.width, s.channels}, image_order, special);
  const int64_t m = s.positions(), k = s.window();
  std::vector<T> patches(size_t(m * k), T{});
  for (int64_t p = 0, at = 0; p < m; ++p) {
    const int64_t x = p % s.out_w, y = p / s.out_w % s.out_h, n = p / s.out_w / s.out_h;
    for (int64_t i = 0; i < s.kernel_h; ++i) {
      for (int64_t j = 0; j < s.kernel_w; ++j) {
        const int64_t h = y * s.stride_h + i * s.dilation_h - s.top;
        const int64_t w = x * s.stride_w + j * s.dilation_w - s.left;
        for (int64_t c = 0; c < s.channels; ++c, ++at) {
          if (h >= 0 && h < s.height && w >= 0 && w < s.width)
            patches[size_t(at)] = image.At(n, h, w, c);
        }
      }
    }
  }
  const auto compare = [&](const std::array<int64_t, 4>& dims, bool weights) {
    const Array<T> other(rng, dims, other_order, special);
    std::vector<T> matrix;  // dense
    for (int64_t i = 0; i < dims[0] * dims[1] * dims[2]; ++i) {
      for (int64_t l = 0; l < dims[3]; ++l)
        matrix.push_back(other.At(i / dims[2] / dims[1], i / dims[2] % dims[1], i % dims[2], l));
    }
    const int64_t rows = weights ? k : m, sum = weights ? m : k;
    std::vector<T> want(size_t(rows * s.outputs) + 1, T{});
    const MatrixRef a = weights ? MatrixRef{patches.data(), 1, k} : MatrixRef{patches.data(), k, 1};
    gemm::ReferenceGemm({DTypeOf<T>::value,
                         rows,
                         s.outputs,
                         sum,
                         a,
                         {matrix.data(), s.outputs, 1},
                         {want.data(), s.outputs, 1}});
    for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kBest}) {
      std::vector<T> got(want.size(), T{});
      const ConvArgs args{
          DTypeOf<T>::value, s,         image.memory.data(), image.strides, other.memory.data(),
          other.strides,     got.data()};
      weights ? ConvWeights(args, isa) : Conv(args, isa);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(SameBits(want[i], got[i])) << (weights ? "weights " : "forward ") << i;
    }
    if (!std::is_same_v<T, int8_t> || weights) return;
    std::vector<int32_t> wide(want.size()), sums(want.size());
    GemmArgs product{DType::kI8, rows, s.outputs, sum, a, {matrix.data(), s.outputs, 1}, {}};
    product.c = {wide.data(), s.outputs, 1};
    product.wide = true;
    gemm::ReferenceGemm(product);
    for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kBest}) {
      std::fill(sums.begin(), sums.end(), 0);
      ConvArgs args{
          DType::kI8,    s,          image.memory.data(), image.strides, other.memory.data(),
          other.strides, sums.data()};
      args.wide = true;
      Conv(args, isa);
      ASSERT_EQ(wide, sums);
    }
  };
  compare({s.kernel_h, s.kernel_w, s.channels, s.outputs}, false);
  compare({s.batch, s.out_h, s.out_w, s.outputs}, true);
}

template <typename T>
class ConvTest : public ::testing::Test {};
using AllTypes =
    ::testing::Types<float, double, Half, BFloat16, int8_t, uint16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(ConvTest, AllTypes);

TYPED_TEST(ConvTest, Shapes) {
  std::mt19937_64 rng(1);
  for (const ConvShape& s :
       {Shape(2, 7, 6, 3, 3, 3, 5, 1, 1, 1), Shape(1, 9, 8, 4, 3, 2, 33, 2, 2, 1),
        Shape(3, 8, 9, 1, 3, 3, 1, 1, 0, 2), Shape(2, 5, 5, 40, 1, 1, 7, 1, 0, 1),
        Shape(1, 6, 6, 2, 1, 1, 3, 2, 0, 1), Shape(1, 3, 3, 2, 5, 5, 2, 1, 2, 1),
        Shape(0, 4, 4, 2, 3, 3, 2, 1, 1, 1), Shape(1, 4, 4, 0, 3, 3, 2, 1, 1, 1)}) {
    for (int image_order : {0, 1, 2}) {
      Check<TypeParam>(rng, s, image_order, 0, true);
      Check<TypeParam>(rng, s, image_order, 1 + image_order % 2, false);
    }
  }
}

// Larger than what is read and multiplied at a time; more positions than a chunk of a sum.
TYPED_TEST(ConvTest, Blocks) {
  std::mt19937_64 rng(2);
  Check<TypeParam>(rng, Shape(3, 40, 41, 5, 3, 3, 6, 1, 1, 1), 0, 0, true);
  Check<TypeParam>(rng, Shape(1, 9, 9, 70, 3, 3, 70, 1, 1, 1), 1, 0, false);
  Check<TypeParam>(rng, Shape(1, 6, 6, 600, 3, 3, 9, 1, 0, 1), 0, 2, false);
}

// Windows with long rows are read in place.
TEST(Conv, Lines) {
  std::mt19937_64 rng(4);
  for (int64_t outputs : {5, 70}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t padding : {0, 1, 3}) {
        ConvShape s = Shape(1, 9, 15, 12, 3, 3, outputs, stride, padding, 1);
        Check<float>(rng, s, 0, 0, true);
        Check<double>(rng, s, padding == 1, padding == 1, false);
        s.dilation_h = 2, s.out_h = (9 + 2 * padding - 5) / stride + 1;
        Check<float>(rng, s, 0, 0, false);
        s.left = -1, s.out_w = (15 - 1 - 3) / stride + 1;
        Check<float>(rng, s, 0, 0, false);
        s.left = 2, s.out_w = (15 + 9 - 3) / stride + 1;
        Check<double>(rng, s, 0, 0, false);
      }
    }
  }
}

// One channel and one output: lines around the vectors' widths, windows of one row and one column,
// padding, images that lie in a larger one.
TEST(Conv, Plane) {
  std::mt19937_64 rng(6);
  for (int64_t width : {1, 5, 8, 9, 33, 71, 140}) {
    Check<float>(rng, Shape(2, 5, width, 1, 3, 3, 1, 1, 1, 1), 0, 0, width == 9);
    Check<double>(rng, Shape(2, 4, width, 1, 1, 5, 1, 1, 2, 1), 0, 2, width == 5);
    Check<float>(rng, Shape(1, 9, width, 1, 7, 1, 1, 1, 0, 1), 1, 0, false);
  }
  ConvShape s = Shape(3, 12, 50, 1, 3, 4, 1, 1, 0, 1);
  s.stride_h = 2, s.dilation_h = 3, s.out_h = (12 - 7) / 2 + 1;
  Check<float>(rng, s, 0, 0, true);
  s.left = -3, s.top = 4, s.out_w = 60, s.out_h = 7;
  Check<double>(rng, s, 0, 0, false);
}

// Sums over runs: widths and outputs around the tiles' edges; pieces that end within a line, or
// hold many small images; lines that are far apart.
TEST(Conv, Runs) {
  std::mt19937_64 rng(5);
  for (int64_t width : {7, 15, 16, 17, 33}) {
    for (int64_t outputs : {1, 16, 17, 32, 49}) {
      Check<float>(rng, Shape(2, 5, width, 3, 3, 3, outputs, 1, 1, 1), 0, 0, width == 7);
      Check<double>(rng, Shape(1, 4, width, 5, 2, 3, outputs, 1, 1, 1), 0, outputs == 17, false);
    }
  }
  for (int64_t size : {3, 7, 8}) {
    Check<float>(rng, Shape(40, size, size, 4, 3, 3, 20, 1, 1, 1), 0, 0, true);
    Check<float>(rng, Shape(40, size, size, 4, 3, 3, 20, 2, 1, 1), 1, 1, false);
    Check<float>(rng, Shape(9, size, size, 9, 1, 1, 20, 1, 0, 1), 0, 0, false);
  }
  Check<float>(rng, Shape(3, 30, 31, 1, 3, 5, 6, 3, 2, 1), 0, 0, true);
  Check<float>(rng, Shape(2, 70, 33, 2, 5, 3, 6, 1, 2, 1), 0, 0, false);
  ConvShape s = Shape(4, 20, 23, 3, 3, 3, 10, 2, 0, 1);
  s.dilation_h = 4, s.out_h = (20 - 9) / 2 + 1;
  Check<float>(rng, s, 0, 0, false);
  s.left = -3, s.top = 5, s.out_w = 8, s.out_h = 12;
  Check<double>(rng, s, 0, 0, false);
}

// Every way in which threads share the work: lines, blocks of patches for each thread, one block
// for all, the plain product, columns, rows and chunks of the gradient; and several callers at
// once.
TEST(Conv, Threads) {
  const auto check = [](uint64_t seed) {
    std::mt19937_64 rng(seed);
    Check<float>(rng, Shape(2, 9, 15, 12, 3, 3, 70, 1, 1, 1), 0, 0, false);
    Check<float>(rng, Shape(2, 19, 21, 12, 3, 3, 5, 2, 1, 1), 1, 1, false);
    Check<double>(rng, Shape(3, 25, 26, 3, 2, 3, 4, 1, 1, 1), 0, 0, false);
    Check<int8_t>(rng, Shape(2, 24, 24, 5, 3, 3, 6, 1, 1, 1), 2, 1, false);
    Check<Half>(rng, Shape(1, 10, 10, 60, 3, 3, 20, 1, 1, 2), 0, 2, false);
    Check<float>(rng, Shape(1, 6, 6, 600, 3, 3, 9, 1, 0, 1), 1, 2, false);
    Check<float>(rng, Shape(2, 40, 40, 20, 1, 1, 30, 1, 0, 1), 0, 0, false);
    Check<float>(rng, Shape(11, 33, 32, 2, 3, 3, 5, 1, 1, 1), 0, 0, false);
    Check<float>(rng, Shape(2, 60, 150, 1, 5, 5, 1, 1, 2, 1), 0, 0, false);
  };
  const int before = NumThreads();
  for (const int threads : {1, 2, 3, 5}) {
    SetNumThreads(threads);
    check(uint64_t(threads));
  }
  std::vector<std::thread> callers;
  for (uint64_t c = 0; c < 3; ++c) callers.emplace_back(check, 10 + c);
  for (std::thread& caller : callers) caller.join();
  SetNumThreads(before);
}

// Some of an image's channels, as groups are: the pixels lie apart.
TEST(Conv, ChannelsApart) {
  std::mt19937_64 rng(9);
  for (const ConvShape& s :
       {Shape(2, 9, 10, 8, 3, 3, 8, 1, 1, 1), Shape(1, 12, 9, 8, 3, 3, 40, 2, 0, 1),
        Shape(2, 8, 11, 1, 3, 3, 1, 1, 1, 1), Shape(1, 7, 9, 5, 2, 2, 6, 1, 0, 2)}) {
    const Array<float> whole(rng, {s.batch, s.height, s.width, 3 * s.channels}, 0, true);
    Array<float> part(rng, {s.batch, s.height, s.width, s.channels}, 0, false);
    for (size_t i = 0; i < part.memory.size(); ++i) {
      const size_t channels = size_t(s.channels), pixel = i / channels;
      part.memory[i] = whole.memory[(3 * pixel + 1) * channels + i % channels];
    }
    for (const bool weights : {false, true}) {
      const Array<float> other =
          weights ? Array<float>(rng, {s.batch, s.out_h, s.out_w, s.outputs}, 0, false)
                  : Array<float>(rng, {s.kernel_h, s.kernel_w, s.channels, s.outputs}, 0, false);
      std::vector<float> want(size_t((weights ? s.window() : s.positions()) * s.outputs));
      std::vector<float> got(want.size());
      ConvArgs args{
          DType::kF32,   s,          part.memory.data(), part.strides, other.memory.data(),
          other.strides, want.data()};
      weights ? ConvWeights(args) : Conv(args);
      args.image = whole.memory.data() + s.channels;
      args.image_strides = whole.strides;
      args.result = got.data();
      weights ? ConvWeights(args) : Conv(args);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(SameBits(want[i], got[i])) << i;
    }
  }
}

// Each channel by itself against the sums written out; `fill` stands outside of the image.
template <typename T>
void CheckChannels(std::mt19937_64& rng, ConvShape s, int image_order, int other_order) {
  s.outputs = s.channels;
  const Array<T> image(rng, {s.batch, s.height, s.width, s.channels}, image_order, true);
  const Array<T> other(rng, {s.kernel_h, s.kernel_w, 1, s.channels}, other_order, true);
  for (const T fill : {T(0), T(-0.0), T(1.5)}) {
    std::vector<T> want;
    for (int64_t p = 0; p < s.positions(); ++p) {
      const int64_t x = p % s.out_w, y = p / s.out_w % s.out_h, n = p / s.out_w / s.out_h;
      for (int64_t c = 0; c < s.channels; ++c) {
        T sum = 0;
        for (int64_t i = 0; i < s.kernel_h; ++i) {
          for (int64_t j = 0; j < s.kernel_w; ++j) {
            const int64_t h = y * s.stride_h + i * s.dilation_h - s.top;
            const int64_t w = x * s.stride_w + j * s.dilation_w - s.left;
            const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
            const T product = (inside ? image.At(n, h, w, c) : fill) * other.At(i, j, 0, c);
            sum = i == 0 && j == 0 ? product : sum + product;
          }
        }
        want.push_back(sum);
      }
    }
    for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kBest}) {
      std::vector<T> got(want.size() + 1, T{7});
      std::vector<std::atomic<int>> told(size_t(s.positions()));
      const auto tell = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++told[size_t(i)];
      };
      const RowsDone rows_done(tell);
      ConvArgs args{
          DTypeOf<T>::value, s,         image.memory.data(), image.strides, other.memory.data(),
          other.strides,     got.data()};
      args.rows_done = &rows_done;
      ConvChannels(args, fill == 0 && !std::signbit(fill) ? nullptr : &fill, isa);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(SameBits(want[i], got[i])) << i;
      ASSERT_EQ(got.back(), T{7});
      for (const std::atomic<int>& times : told) ASSERT_EQ(times, 1);
    }
  }
}

TEST(Conv, EachChannel) {
  std::mt19937_64 rng(6);
  for (const int64_t channels : {1, 3, 4, 7, 8, 16, 21, 40, 65, 130}) {
    for (const int order : {0, 1, 2}) {
      CheckChannels<float>(rng, Shape(2, 7, 9, channels, 3, 3, 0, 1, 1, 1), order, 2 - order);
      CheckChannels<double>(rng, Shape(1, 6, 5, channels, 3, 2, 0, 2, 1, 1), order, order);
    }
    CheckChannels<float>(rng, Shape(1, 3, 2, channels, 5, 5, 0, 1, 2, 1), 0, 0);
    CheckChannels<float>(rng, Shape(1, 12, 13, channels, 3, 3, 0, 3, 4, 2), 0, 1);
    CheckChannels<double>(rng, Shape(0, 4, 4, channels, 3, 3, 0, 1, 1, 1), 0, 0);
  }
  ConvShape s = Shape(2, 9, 9, 20, 2, 2, 0, 1, 0, 1);
  s.top = -2, s.left = 3, s.out_h = 5, s.out_w = 12;
  CheckChannels<float>(rng, s, 0, 0);
  const int before = NumThreads();
  SetNumThreads(3);
  CheckChannels<float>(rng, Shape(2, 40, 41, 34, 3, 3, 0, 1, 1, 1), 0, 0);
  SetNumThreads(before);
}

// From right to left, as a view may be.
TEST(Conv, EachChannelBackwards) {
  std::mt19937_64 rng(8);
  ConvShape s = Shape(1, 5, 6, 18, 3, 3, 18, 1, 1, 1);
  const Array<float> image(rng, {1, 5, 6, 18}, 0, false), kernel(rng, {3, 3, 1, 18}, 0, false);
  Array<float> turned = image;
  for (int64_t i = 0; i < 5 * 6 * 18; ++i) {
    const int64_t column = i / 18 % 6;
    turned.memory[size_t(i)] = image.memory[size_t(i + (5 - 2 * column) * 18)];
  }
  std::vector<float> want(5 * 6 * 18), got(want.size());
  ConvArgs args{
      DType::kF32,    s,          turned.memory.data(), turned.strides, kernel.memory.data(),
      kernel.strides, want.data()};
  ConvChannels(args, nullptr);
  args.image = image.memory.data() + 5 * 18;
  args.image_strides[2] = -18;
  args.result = got.data();
  ConvChannels(args, nullptr);
  ASSERT_EQ(want, got);
}

// Padding may be negative and may differ between sides, as gradients need.
TEST(Conv, NegativePadding) {
  std::mt19937_64 rng(3);
  ConvShape s = Shape(2, 9, 9, 3, 2, 2, 4, 1, 0, 1);
  s.top = -2, s.left = 3, s.out_h = 5, s.out_w = 12;
  Check<float>(rng, s, 0, 0, false);
}

}  // namespace
}  // namespace frazil
