// Parts, comparisons, in-place operators and dtypes' names of the C++ interface.
#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"

namespace fz = frazil;

namespace {

using Floats = std::vector<float>;

fz::Tensor Counted() { return fz::reshape(fz::astype(fz::arange(12), fz::float32), {3, 4}); }

Floats Of(const fz::Tensor& t) { return fz::to_vector<float>(t); }

fz::Shape ShapeOf(const fz::Tensor& t) { return {t.dims().begin(), t.dims().end()}; }

TEST(CppIndexing, PartsAreThoseOfPython) {
  const fz::Tensor x = Counted();
  EXPECT_EQ(Of(x(1)), (Floats{4, 5, 6, 7}));
  EXPECT_EQ(Of(x(-1, 0)), (Floats{8}));
  EXPECT_EQ(Of(x(fz::Slice(1, {}), 2)), (Floats{6, 10}));
  EXPECT_EQ(Of(x(0, fz::Slice(1, -1))), (Floats{1, 2}));
  EXPECT_EQ(Of(x(0, fz::Slice({}, {}, -2))), (Floats{3, 1}));
  EXPECT_EQ(Of(x(fz::ellipsis, 3)), (Floats{3, 7, 11}));
  EXPECT_EQ(ShapeOf(x(fz::Slice(), fz::newaxis, 1)), (fz::Shape{3, 1}));
  EXPECT_EQ(Of(x(fz::tensor<int64_t>({2, 0}, {2}), 1)), (Floats{9, 1}));
  EXPECT_EQ(Of(x(x > 8.5)), (Floats{9, 10, 11}));
  EXPECT_EQ(ShapeOf(x()), (fz::Shape{3, 4}));
}

TEST(CppIndexing, AssignmentAndInPlaceOperatorsReplaceTheCell) {
  fz::Tensor x = Counted();
  const fz::Tensor before = x;
  fz::assign(x, -1.0, fz::Slice(), 0);
  fz::assign(x, fz::tensor<int64_t>({7, 8}, {2}), 0, fz::Slice(1, 3));
  EXPECT_EQ(Of(x), (Floats{-1, 7, 8, 3, -1, 5, 6, 7, -1, 9, 10, 11}));
  fz::assign(x, 0, x > 6);
  EXPECT_EQ(Of(x(2)), (Floats{-1, 0, 0, 0}));
  EXPECT_EQ(Of(before(0)), (Floats{0, 1, 2, 3}));  // another cell
  fz::Tensor y = Counted();
  ((y += 1) *= y) -= fz::ones({4});
  EXPECT_EQ(Of(y(0)), (Floats{0, 3, 8, 15}));
  y /= 2;
  y %= 3.0;
  EXPECT_EQ(Of(y(0)), (Floats{0, 1.5, 1, 1.5}));
  fz::Tensor mask = y > 1;
  mask &= y < 1.2;
  EXPECT_EQ(fz::item(fz::sum(fz::astype(mask, fz::int32))),
            fz::item(fz::sum(fz::astype((y > 1) & (y < 1.2), fz::int32))));
}

TEST(CppIndexing, Comparisons) {
  const fz::Tensor x = Counted()(0);
  const auto count = [](const fz::Tensor& m) {
    EXPECT_EQ(m.dtype(), fz::bool_);
    return fz::item(fz::sum(fz::astype(m, fz::int64)));
  };
  EXPECT_EQ(count(x == 2), 1);
  EXPECT_EQ(count(x != 2), 3);
  EXPECT_EQ(count(x < 2), 2);
  EXPECT_EQ(count(2 < x), 1);
  EXPECT_EQ(count(x <= x), 4);
  EXPECT_EQ(count((x >= 1) ^ (x > 2)), 2);
  EXPECT_EQ(count((x >= 3) | (x < 1)), 2);
}

TEST(CppIndexing, GradientsFlow) {
  const auto g = fz::grad([](const fz::Tensor& x) {
    fz::Tensor y = x * 2;
    y *= x;
    fz::assign(y, 0.0, 1);
    return fz::sum(y(fz::Slice(0, 2)));
  })(fz::tensor<float>({3, 4, 5}, {3}));
  EXPECT_EQ(Of(g), (Floats{12, 0, 0}));
}

TEST(CppIndexing, TracedCallsGiveTheSame) {
  auto f = fz::jit::trace([](fz::Tensor x) {
    x += 1;
    fz::assign(x, 5.0, fz::Slice(), 0);
    return x(fz::Slice(1, {}), fz::newaxis);
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Of(f(Counted())), (Floats{5, 6, 7, 8, 5, 10, 11, 12}));
}

TEST(CppIndexing, Errors) {
  fz::Tensor x = Counted();
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const fz::Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(message([&] { x(3); }), "[getitem] index 3 is out of range for axis 0 of f32[3,4].");
  EXPECT_EQ(message([&] { x(fz::ones({2})); }),
            "[getitem] arrays used as indices must be of integer or bool type, got f32[2].");
  EXPECT_EQ(message([&] {
              x += fz::ones({2, 3, 4});
            }),
            "[add] the in-place result f32[2,3,4] does not fit into f32[3,4].");
  fz::Tensor n = fz::arange(3);
  EXPECT_EQ(message([&] { n += 0.5; }),
            "[add] the in-place result is float64, which does not go into int64; use astype.");
  fz::set_requires_grad(x);
  EXPECT_EQ(message([&] { x += 1; }),
            "[add] in-place on a leaf that requires a gradient (f32[3,4]): use no_grad(), or a new "
            "tensor.");
  EXPECT_EQ(Of(x(0)), (Floats{0, 1, 2, 3}));
}

}  // namespace
