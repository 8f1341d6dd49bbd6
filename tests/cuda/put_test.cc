// put on a GPU: kernels/put.h's semantics, in place and not, on the fake libraries.
#include "core/str.h"
#include "tests/cuda/on_gpu.h"

namespace frazil {
namespace {

class CudaPut : public OnGpu {
 protected:
  Tensor Indices(DType dtype, Dims dims, int64_t extent) {
    ValueRef v = *Value::Allocate(dtype, Device(), Dense(dims));
    for (int64_t i = 0; i < v->size(); ++i) {
      const int64_t index = int64_t(rng_() % uint64_t(extent));
      if (dtype == DType::kI64)
        reinterpret_cast<int64_t*>(v->data)[i] = index;
      else
        reinterpret_cast<int32_t*>(v->data)[i] = int32_t(index);
    }
    return Tensor(std::move(v));
  }

  void Check(DType dtype, std::vector<int64_t> x, std::vector<int64_t> positions, int axis,
             DType index_dtype) {
    std::vector<int64_t> updates(x.begin(), x.begin() + axis);
    updates.insert(updates.end(), positions.begin(), positions.end());
    updates.insert(updates.end(), x.begin() + axis + 1, x.end());
    const std::vector<Tensor> arrays = {
        Random(dtype, x), Indices(index_dtype, positions, x[size_t(axis)]), Random(dtype, updates)};
    for (const bool add : {false, true}) {
      const std::string what = StrCat(ShortName(dtype), " ", ToString(Dims(x)), " at ",
                                      ToString(Dims(positions)), " axis ", axis, " add ", add);
      Compare(
          arrays, [&](auto a) { return ops::put(a[0], a[1], a[2], axis, add); }, what);
    }
  }

 private:
  std::mt19937_64 rng_{7};
};

TEST_F(CudaPut, EveryDType) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  Check(DType::E, {6, 5}, {40}, 0, DType::kI64);      \
  Check(DType::E, {3, 6, 2}, {7, 2}, 1, DType::kI32);
#include "core/dtypes.def"
#undef FZ_DTYPE
}

TEST_F(CudaPut, Shapes) {
  Check(DType::kF32, {1}, {100}, 0, DType::kI64);     // all of them in one place
  Check(DType::kF32, {5000}, {300}, 0, DType::kI32);  // rows shared out among warps
  Check(DType::kF32, {9, 70}, {33}, 0, DType::kI64);  // columns in more than one warp
  Check(DType::kF32, {4, 9}, {64}, 1, DType::kI64);
  Check(DType::kF32, {2, 3, 4, 5}, {3, 1, 4}, 2, DType::kI64);
  Check(DType::kF32, {4, 5}, {0}, 0, DType::kI64);
  Check(DType::kF32, {4, 5}, {}, 1, DType::kI64);
}

TEST_F(CudaPut, StridedOperands) {
  const std::vector<Tensor> arrays = {Random(DType::kF32, {8, 6}), Indices(DType::kI64, {4, 10}, 6),
                                      Random(DType::kF32, {8, 5, 12})};
  const auto f = [](absl::Span<const Tensor> a) {
    const Tensor x = ops::permute_dims(a[0], {1, 0});              // [6, 8]
    const Tensor indices = ops::slice(a[1], {3, -1, 4, 1, 2, 5});  // [4, 5]
    const Tensor updates =
        ops::permute_dims(ops::slice(a[2], {0, 1, 8, 0, 1, 5, 11, -3, 4}), {2, 1, 0});  // [4, 5, 8]
    return ops::put(x, indices, updates, 0, true);
  };
  Compare(arrays, f, "strided");
  Compare(
      arrays,
      [](absl::Span<const Tensor> a) {
        const Tensor one = ops::slice(a[2], {2, 1, 1, 1, 1, 1, 3, 1, 1});
        return ops::put(a[0], a[1], ops::broadcast_to(one, {8, 4, 10}), 1, true);
      },
      "one update for all");
}

}  // namespace
}  // namespace frazil
