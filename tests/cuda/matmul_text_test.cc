// The text of products, run as host code by the fake driver, against the CPU's product: the same
// bits for every dtype, tile, layout, batch and length of k.
#include "jit/emit/cuda/matmul_text.h"

#include <cmath>
#include <random>
#include <type_traits>

#include "jit/emit/cuda/cuda.h"
#include "kernels/gemm/gemm.h"
#include "tests/cuda/fake_fixture.h"

namespace frazil::jit::cuda {
namespace {

struct Product {
  MatmulShape shape;
  int64_t batches, m, n, k;
  int layout;  // of a and b: 0 by rows, 1 by columns, 2 with gaps, 3 backwards, 4 one row for all
};

template <typename T>
T Random(std::mt19937_64& rng) {
  double x = std::normal_distribution<double>()(rng);
  const double special[] = {0.0, -0.0, INFINITY, std::nan(""), 1e-41, -1e-30};
  if (rng() % 50 == 0) x = special[rng() % 6];
  if constexpr (std::is_integral_v<T>)
    return T(rng());
  else if constexpr (std::is_same_v<T, Half>)
    return ToHalf(x);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return ToBFloat16(x);
  else
    return T(x);
}

template <typename T>
bool Same(T x, T y) {
  if (std::memcmp(&x, &y, sizeof(T)) == 0) return true;
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return std::isnan(ToFloat(x)) && std::isnan(ToFloat(y));
  } else {
    return x != x && y != y;
  }
}

struct Strides {
  int64_t origin, row, col, batch, size;
};
Strides LayOut(int layout, int64_t batches, int64_t rows, int64_t cols) {
  const int64_t all = rows * cols;
  if (layout == 1) return {0, 1, rows, all, batches * all};
  if (layout == 2) return {1, 3 * cols + 1, 3, 0, rows * (3 * cols + 1) + 1};
  if (layout == 3) return {batches * all - 1, -cols, -1, -all, batches * all};
  if (layout == 4) return {0, 0, 1, cols, batches * cols};
  return {0, cols, 1, all, batches * all};
}

class MatmulText : public fake::FakeTest {
 protected:
  template <typename T>
  void Check(const Product& p, uint64_t seed) {
    std::mt19937_64 rng(seed);
    const Strides at = LayOut(p.layout, p.batches, p.m, p.k);
    const Strides bt = LayOut(p.layout % 2, p.batches, p.k, p.n);
    std::vector<T> a(size_t(at.size + 1)), b(size_t(bt.size + 1)),
        want(size_t(p.batches * p.m * p.n));
    for (T& x : a) x = Random<T>(rng);
    for (T& x : b) x = Random<T>(rng);
    for (int64_t i = 0; i < p.batches; ++i) {
      Gemm({p.shape.dtype,
            p.m,
            p.n,
            p.k,
            {a.data() + at.origin + i * at.batch, at.row, at.col},
            {b.data() + bt.origin + i * bt.batch, bt.row, bt.col},
            {want.data() + i * p.m * p.n, p.n, 1}});
    }
    const fake::CUdeviceptr da = Upload(a), db = Upload(b), dc = Alloc(want.size() * sizeof(T));
    const int64_t tile = p.shape.tile();
    MatmulArgs args{};
    args.a = reinterpret_cast<const T*>(da) + at.origin;
    args.b = reinterpret_cast<const T*>(db) + bt.origin;
    args.c = reinterpret_cast<void*>(dc);
    args.m = p.m, args.n = p.n, args.k = p.k;
    args.a_row = at.row, args.a_col = at.col, args.b_row = bt.row, args.b_col = bt.col;
    args.tiles_m = (p.m + tile - 1) / tile, args.tiles_n = (p.n + tile - 1) / tile;
    args.batch_axes = 1;
    args.batch_extents[0] = p.batches;
    args.a_batch[0] = at.batch, args.b_batch[0] = bt.batch;
    const fake::CUfunction function = Function(p.shape);
    ASSERT_EQ(Launch(function, unsigned(args.tiles_m * args.tiles_n * p.batches), kMatmulThreads,
                     nullptr, args),
              fake::kSuccess);
    const std::vector<T> got = Download<T>(dc, want.size());
    int64_t differ = 0;
    for (size_t i = 0; i < got.size(); ++i) differ += !Same(got[i], want[i]);
    EXPECT_EQ(differ, 0) << MatmulEntry(p.shape) << " batches " << p.batches << " m " << p.m
                         << " n " << p.n << " k " << p.k << " layout " << p.layout;
    for (const fake::CUdeviceptr pointer : {da, db, dc}) fake::Cuda().MemFree(pointer);
  }

  void CheckAny(const Product& p, uint64_t seed) {
    switch (p.shape.dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind)                            \
  case DType::E:                                                                 \
    if constexpr (DTypeKind::kind != DTypeKind::kBool) return Check<T>(p, seed); \
    break;
#include "core/dtypes.def"
#undef FZ_DTYPE
      default:
        break;
    }
    FAIL() << "no products of bool";
  }

 private:
  fake::CUfunction Function(const MatmulShape& shape) {
    for (const auto& [s, function] : functions_) {
      if (s == shape) return function;
    }
    functions_.emplace_back(shape, Load(std::string(CudaPrelude()) + cuda::MatmulText(shape),
                                        MatmulEntry(shape).c_str()));
    return functions_.back().second;
  }
  std::vector<std::pair<MatmulShape, fake::CUfunction>> functions_;
};

constexpr DType kNumbers[] = {DType::kI8,  DType::kI16,  DType::kI32, DType::kI64,
                              DType::kU8,  DType::kU16,  DType::kU32, DType::kU64,
                              DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

TEST_F(MatmulText, EveryDTypeHasTheBitsOfTheCpu) {
  uint64_t seed = 0;
  for (const DType dtype : kNumbers) {
    const MatmulShape shape = ChooseMatmul(dtype, 1, 1 << 14, 1 << 14, 100, 132);
    for (const int layout : {0, 1, 2, 3, 4}) {
      const int64_t m = 1 + int64_t(++seed * 7 % 200);
      CheckAny({shape, layout == 0 ? 2 : 1, m, 70, 37, layout}, seed);
    }
  }
}

TEST_F(MatmulText, EveryTileHasTheBitsOfTheCpu) {
  uint64_t seed = 100;
  for (const int per : {1, 2, 4, 8}) {
    for (const int64_t k : {0, 1, 7, 16, 40}) {
      const MatmulShape shape{DType::kF32, per, false};
      CheckAny({shape, 3, 16 * per + 1, 5, k, int(k % 4)}, ++seed);
      CheckAny({shape, 1, 1, 33 * per, k, int(k % 3)}, ++seed);
    }
  }
}

TEST_F(MatmulText, LongSumsAreCombinedByTheRule) {
  uint64_t seed = 200;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const int64_t chunks : {1, 2, 3, 5, 7}) {
      const int64_t k = 4096 * chunks + int64_t(++seed % 3);
      CheckAny({{dtype, 1, true}, 1, 3, 2, k, 0}, seed);
    }
  }
  // More chunks than there are lanes.
  CheckAny({{DType::kF32, 1, true}, 1, 1, 2, 4096 * 67 + 5, 0}, ++seed);
  CheckAny({{DType::kF32, 2, true}, 1, 20, 3, 4096 * 2 + 1, 1}, ++seed);
}

TEST_F(MatmulText, NegativeZerosSurviveTheEnd) {
  // -1e-30 * 1e-30 rounds to -0, which a product of zeros added to it would make +0.
  for (const int64_t k : {1, 17}) {
    std::vector<float> a(size_t(k), -0.0f), b(size_t(k), 1e-30f);
    a[size_t(k) - 1] = -1e-30f;
    float want;
    Gemm({DType::kF32, 1, 1, k, {a.data(), k, 1}, {b.data(), 1, 1}, {&want, 1, 1}});
    ASSERT_TRUE(std::signbit(want));
    const fake::CUdeviceptr da = Upload(a), db = Upload(b), dc = Alloc(4);
    MatmulArgs args{};
    args.a = reinterpret_cast<void*>(da), args.b = reinterpret_cast<void*>(db);
    args.c = reinterpret_cast<void*>(dc);
    args.m = args.n = args.tiles_m = args.tiles_n = 1, args.k = k;
    args.a_row = k, args.a_col = args.b_row = args.b_col = 1;
    const MatmulShape shape{DType::kF32, 1, false};
    const auto function =
        Load(std::string(CudaPrelude()) + cuda::MatmulText(shape), MatmulEntry(shape).c_str());
    ASSERT_EQ(Launch(function, 1, kMatmulThreads, nullptr, args), fake::kSuccess);
    EXPECT_TRUE(std::signbit(Download<float>(dc, 1)[0])) << k;
  }
}

TEST(ChooseMatmul, SmallProductsGetSmallTiles) {
  EXPECT_EQ(ChooseMatmul(DType::kF32, 1, 4096, 4096, 64, 132).per, 8);
  EXPECT_EQ(ChooseMatmul(DType::kF64, 1, 4096, 4096, 64, 132).per, 4);
  EXPECT_EQ(ChooseMatmul(DType::kF32, 1, 64, 64, 64, 132).per, 1);
  EXPECT_EQ(ChooseMatmul(DType::kF32, 512, 64, 64, 64, 132).per, 4);
  EXPECT_EQ(ChooseMatmul(DType::kF32, 1, 1, 1 << 20, 64, 132).per, 1);
  EXPECT_FALSE(ChooseMatmul(DType::kF32, 1, 4, 4, 4096, 132).chunks);
  EXPECT_TRUE(ChooseMatmul(DType::kF32, 1, 4, 4, 4097, 132).chunks);
  EXPECT_FALSE(ChooseMatmul(DType::kI32, 1, 4, 4, 4097, 132).chunks);
}

}  // namespace
}  // namespace frazil::jit::cuda
