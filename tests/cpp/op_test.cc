// Ops of a program's own in C++: under every transform, traced, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "bindings/cpp/frazil.h"

namespace frazil {
namespace {

int g_calls = 0;

std::vector<ArraySpec> LikeFirst(Specs in) { return {in[0]}; }

void Cube(HostArrays in, HostResults out) {
  ++g_calls;
  const std::span<const double> x = in[0].data<double>();
  const std::span<double> y = out[0].data<double>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
}

FRAZIL_OP(cube, {
                    .shape = LikeFirst,
                    .body = Cube,
                    .vjp = [](Operands in, Operands,
                              Operands g) { return std::vector{g[0] * in[0] * in[0] * 3.0}; },
                    .jvp = [](Operands in,
                              Operands t) { return std::vector{t[0] * in[0] * in[0] * 3.0}; },
                });

// Of two operands, which may be of different shapes of one vmap, and two results.
FRAZIL_OP(divmod, {
                      .shape =
                          [](Specs in) {
                            return std::vector<ArraySpec>{in[0], {in[0].shape, DType::kI64}};
                          },
                      .body =
                          [](HostArrays in, HostResults out) {
                            const std::span<const double> x = in[0].data<double>(),
                                                          y = in[1].data<double>();
                            for (size_t i = 0; i < x.size(); ++i) {
                              out[0].data<double>()[i] = std::fmod(x[i], y[0]);
                              out[1].data<int64_t>()[i] = static_cast<int64_t>(x[i] / y[0]);
                            }
                          },
                  });

// Its gradient reads its result, and forward mode alone has a rule of the second.
FRAZIL_OP(host_exp,
          {
              .shape = LikeFirst,
              .body =
                  [](HostArrays in, HostResults out) {
                    for (size_t i = 0; i < in[0].size(); ++i)
                      out[0].data<double>()[i] = std::exp(in[0].data<double>()[i]);
                  },
              .vjp = [](Operands, Operands y, Operands g) { return std::vector{g[0] * y[0]}; },
          });
FRAZIL_OP(halved, {
                      .shape = LikeFirst,
                      .body =
                          [](HostArrays in, HostResults out) {
                            for (size_t i = 0; i < in[0].size(); ++i)
                              out[0].data<double>()[i] = in[0].data<double>()[i] / 2;
                          },
                      .jvp = [](Operands, Operands t) { return std::vector{t[0] * 0.5}; },
                      .batch = [](int64_t, Operands in,
                                  const std::vector<bool>&) { return std::vector{in[0] * 0.5}; },
                  });

struct OwnError : std::runtime_error {
  using runtime_error::runtime_error;
};
FRAZIL_OP(throws, {
                      .shape = LikeFirst,
                      .body = [](HostArrays, HostResults) { throw OwnError("no body"); },
                  });
FRAZIL_OP(throws_back, {
                           .shape = LikeFirst,
                           .body = Cube,
                           .vjp = [](Operands, Operands, Operands) -> std::vector<Tensor> {
                             throw OwnError("no gradient");
                           },
                       });

Tensor Of(const std::vector<double>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}
void ExpectAre(const Tensor& got, const std::vector<double>& want) {
  const std::vector<double> values = to_vector<double>(got);
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-12) << i;
}
template <typename F>
std::string Said(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Op, RunsItsBody) {
  ExpectAre(cube(Of({1, 2, -3})), {1, 8, -27});
  ExpectAre(cube(reshape(Of({1, 2, 3, 4}), {2, 2})(Slice(), 1)), {8, 64});  // not dense
  const std::vector<Tensor> both = divmod.results({Of({7, 9.5}), Of({2})});
  ExpectAre(both[0], {1, 1.5});
  EXPECT_EQ(to_vector<int64_t>(both[1]), (std::vector<int64_t>{3, 4}));
}

TEST(Op, HasDerivatives) {
  const auto total = [](const Tensor& x) { return sum(cube(x)); };
  ExpectAre(grad(total)(Of({1, 2})), {3, 12});
  ExpectAre(jvp(cube, Of({1, 2}), Of({1, 10})).second, {3, 120});
  ExpectAre(hessian(total)(Of({1, 2})), {6, 0, 0, 12});
  const auto slope = [](const Tensor& x) {
    return sum(grad([](const Tensor& v) { return sum(host_exp(v)); })(x));
  };
  ExpectAre(grad(slope)(Of({0, 1})), {1, std::exp(1)});
  ExpectAre(grad([](const Tensor& x) { return sum(halved(x)); })(Of({1, 2})), {0.5, 0.5});
}

TEST(Op, RunsForEveryExample) {
  const Tensor x = reshape(Of({1, 2, 3, 4, 5, 6}), {2, 3});
  ExpectAre(vmap(cube)(x), {1, 8, 27, 64, 125, 216});
  ExpectAre(vmap(vmap(cube))(x), {1, 8, 27, 64, 125, 216});
  ExpectAre(vmap(grad([](const Tensor& v) { return sum(cube(v)); }))(x), {3, 12, 27, 48, 75, 108});
  const auto all = [](const Tensor& v) { return sum(vmap(cube)(v)); };
  ExpectAre(grad(all)(x), {3, 12, 27, 48, 75, 108});
  ExpectAre(vmap(halved)(x), {0.5, 1, 1.5, 2, 2.5, 3});

  // Operands of an inner, an outer and no vmap.
  const auto left = [](const Tensor& a, const Tensor& b) { return divmod.results({a, b})[0]; };
  const auto inner = [&](const Tensor& a, const Tensor& b) {
    return vmap(left, {.in_axes = {std::nullopt, 0}})(a, b);
  };
  const Tensor rest =
      vmap(inner, {.in_axes = {0, std::nullopt}})(x, reshape(Of({2, 3, 5, 4}), {4, 1}));
  ASSERT_EQ(rest.rank(), 3);
  std::vector<double> want;
  for (const int row : {1, 4})
    for (const int by : {2, 3, 5, 4})
      for (int i = row; i < row + 3; ++i) want.push_back(i % by);
  ExpectAre(rest, want);
  // Called within a vmap with what differs in the outer one alone.
  const auto shared = [](const Tensor& a) {
    return vmap([&](const Tensor& b) { return cube(a) + b; })(Of({0, 1}));
  };
  ExpectAre(vmap(shared)(Of({1, 2})), {1, 2, 8, 9});
}

TEST(Op, RunsInTracedCalls) {
  const auto f = [](const Tensor& x) { return sum(cube(x * 2.0) + 1.0); };
  auto traced = jit::trace(f);
  auto pure = jit::trace(f, jit::pure);
  auto slope = jit::trace(grad(f));
  for (int i = 1; i < 6; ++i) {
    const Tensor x = Of({i * 0.5, 2});
    const double want = std::pow(i, 3) + 64 + 2;
    g_calls = 0;
    EXPECT_EQ(item(traced(x)), want);
    EXPECT_EQ(item(pure(x)), want);
    EXPECT_EQ(g_calls, 2);  // the body runs each time
    ExpectAre(slope(x), {6.0 * i * i, 96});
  }
}

TEST(Op, PassesOnWhatIsThrown) {
  EXPECT_THROW(throws(Of({1})), OwnError);
  EXPECT_THROW(vmap(throws)(Of({1})), OwnError);
  auto traced = jit::trace([](const Tensor& x) { return throws(x + 1.0); });
  for (int i = 0; i < 3; ++i) EXPECT_THROW(traced(Of({1})), OwnError);
  EXPECT_THROW(grad([](const Tensor& x) { return sum(throws_back(x)); })(Of({1})), OwnError);
  ExpectAre(cube(Of({2})), {8});
}

TEST(Op, SaysWhatIsMissing) {
  const auto first = [](const Tensor& x) { return sum(divmod.results({x, Of({2})})[0]); };
  EXPECT_EQ(Said([&] { grad(first)(Of({1})); }),
            "[divmod] has no gradient: give the op the rule vjp (or jvp), or call it with "
            "stop_gradient(x).");
  EXPECT_EQ(Said([] { jvp(host_exp, Of({1}), Of({1})); }),
            "[host_exp] has no rule for forward mode (jvp, jacfwd, hessian): give the op the rule "
            "jvp, or call it with stop_gradient(x).");
  EXPECT_EQ(Said([] { divmod(Of({1}), Of({2})); }),
            "[divmod] has 2 results: ask for them by results({...}).");
  EXPECT_EQ(Said([] { cube(ones({2})); }), "[cube] the body asks an array of float32 for float64.");
  EXPECT_EQ(Said([] { Op("empty", {}); }),
            "[empty] an op needs the rules shape and body, or compute.");
  EXPECT_EQ(Said([] { cube(Tensor()); }), "[cube] an operand holds no value.");
  const Op none("none",
                {.shape = LikeFirst,
                 .body = Cube,
                 .vjp = [](Operands, Operands, Operands) { return std::vector<Tensor>(); },
                 .batch = [](int64_t, Operands in,
                             const std::vector<bool>&) { return std::vector{sum(in[0])}; }});
  EXPECT_EQ(Said([&] { grad([&](const Tensor& x) { return sum(none(x)); })(Of({1})); }),
            "[none] the rule vjp must give 1 tensors, got 0.");
  EXPECT_EQ(Said([&] {
              vmap(none)(Of({1, 2}));
            }),
            "[none] must give 2 examples along axis 0 when it is batched, got f64[].");
}

// Bodies of frazil's functions: with a gradient of their own, a tangent of their own, and neither.
FRAZIL_OP(clip_gradient, {
                             .vjp = [](Operands, Operands,
                                       Operands g) { return std::vector{clip(g[0], -1.0, 1.0)}; },
                             .compute = [](Operands in) { return std::vector{in[0]}; },
                         });
FRAZIL_OP(steep,
          {
              .jvp = [](Operands in, Operands t) { return std::vector{t[0] * in[0] * 10.0}; },
              .compute = [](Operands in) { return std::vector{sin(in[0])}; },
          });
FRAZIL_OP(plain, {
                     .compute = [](Operands in) { return std::vector{in[0] * in[1] * in[0]}; },
                 });
FRAZIL_OP(batched_square,
          {
              .batch = [](int64_t, Operands in,
                          const std::vector<bool>&) { return std::vector{in[0] * in[0] + 100.0}; },
              .compute = [](Operands in) { return std::vector{in[0] * in[0]}; },
          });

TEST(Op, BodiesOfFrazilsFunctions) {
  const Tensor x = tensor<double>({0.25, -2, 3}, {3});
  const auto all = [](const Tensor& t) { return to_vector<double>(t); };
  using D = std::vector<double>;
  const auto fives = [](const Tensor& v) { return sum(clip_gradient(v) * 5.0); };
  EXPECT_EQ(all(clip_gradient(x)), all(x));
  EXPECT_EQ(all(grad(fives)(x)), D({1, 1, 1}));
  EXPECT_EQ(all(vmap(grad(fives))(x)), D({1, 1, 1}));
  EXPECT_THROW(jvp(clip_gradient, x, x), Error);
  EXPECT_EQ(all(jvp(steep, x, x).second), D({0.625, 40, 90}));
  EXPECT_EQ(all(grad([](const Tensor& v) { return sum(steep(v)); })(x)), D({2.5, -20, 30}));
  const auto of_first = [&](const Tensor& v) { return sum(plain(v, x)); };
  EXPECT_EQ(all(grad(of_first)(x)), D({0.125, 8, 18}));
  EXPECT_EQ(all(jvp(of_first, x, ones({3}, float64)).second), D({26.125}));
  EXPECT_EQ(all(vmap(batched_square)(x)), D({100.0625, 104, 109}));
  EXPECT_EQ(all(batched_square(x)), D({0.0625, 4, 9}));
  EXPECT_EQ(all(grad([](const Tensor& v) { return sum(vmap(batched_square)(v)); })(x)),
            D({0.5, -4, 6}));
  EXPECT_EQ(all(jvp(batched_square, x, x).second), D({0.125, 8, 18}));
  auto traced = jit::trace([](const Tensor& v) { return exp(clip_gradient(v)); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all(traced(x)), all(exp(x)));
  const auto both = [] {
    return Op("both",
              {.shape = LikeFirst, .compute = [](Operands in) { return std::vector{in[0]}; }});
  };
  EXPECT_THROW(both(), Error);
}

}  // namespace
}  // namespace frazil
