// The C++ face of several processes: run by test_cpp.py under mpirun. Each rank prints "rank R of N
// ok", or what is wrong. Invariant: exits with 0 only if all checks held.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bindings/cpp/frazil.h"

namespace fz = frazil;
namespace d = frazil::distributed;

namespace {

int failures = 0;

void Check(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("rank %d: wrong: %s\n", d::rank(), what);
}

// A rank's array, which every rank can make.
fz::Tensor PartOf(int rank, int64_t rows = 8) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * 3; ++i)
    values.push_back(0.1f * float(rank + 1) + 0.37f * float(i));
  return fz::tensor(values, {rows, 3});
}

bool Same(const fz::Tensor& a, const fz::Tensor& b) {
  const auto x = fz::to_vector<float>(a), y = fz::to_vector<float>(b);
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), 4 * x.size()) == 0;
}

fz::Tensor SumOfAll(int64_t rows = 8) {
  fz::Tensor total = PartOf(0, rows);
  for (int r = 1; r < d::size(); ++r) total = total + PartOf(r, rows);
  return total;
}

void CheckCollectives() {
  const int me = d::rank(), n = d::size();
  const fz::Tensor x = PartOf(me);
  Check(Same(d::all_reduce(x), SumOfAll()), "all_reduce");
  Check(Same(d::all_reduce(x, fz::Reduction::kMean), SumOfAll() / double(n)), "mean");
  const fz::Tensor all = d::all_gather(x);
  Check(all.dims()[0] == 8 * n, "all_gather's shape");
  for (int r = 0; r < n; ++r)
    Check(Same(all(fz::Slice(8 * r, 8 * r + 8)), PartOf(r)), "all_gather");
  Check(Same(d::broadcast(x, n - 1), PartOf(n - 1)), "broadcast");
  const fz::Tensor rows = PartOf(me, 4 * n);
  Check(Same(d::reduce_scatter(rows), SumOfAll(4 * n)(fz::Slice(4 * me, 4 * me + 4))),
        "reduce_scatter");
  const fz::Tensor parts = d::all_to_all(rows);
  for (int r = 0; r < n; ++r) {
    Check(Same(parts(fz::Slice(4 * r, 4 * r + 4)), PartOf(r, 4 * n)(fz::Slice(4 * me, 4 * me + 4))),
          "all_to_all");
  }
  if (n > 1 && me == 0) d::send(x, 1);
  if (n > 1 && me == 1) Check(Same(d::recv(fz::zeros({8, 3}), 0), PartOf(0)), "recv");
  const d::Group last = d::group({n - 1});
  if (me == n - 1) Check(Same(d::all_reduce(x, fz::Reduction::kSum, last), x), "group");
  d::barrier();
}

// Traced often enough to be recorded and to run as plans, with collectives between kernels.
void CheckTraced() {
  auto step = fz::jit::trace([](const fz::Tensor& x, const fz::Tensor& w) {
    const fz::Tensor y = d::all_reduce(x * w + 1.0);
    return y * y + fz::sum(w);
  });
  const fz::Tensor x = PartOf(d::rank()), w = PartOf(5);
  fz::Tensor total = PartOf(0) * w + 1.0;
  for (int r = 1; r < d::size(); ++r) total = total + (PartOf(r) * w + 1.0);
  const fz::Tensor want = total * total + fz::sum(w);
  for (int i = 0; i < 5; ++i) Check(Same(step(x, w), want), "traced");
}

// Of a loss on each rank: the gradient of a sum over ranks is the sum of the ranks'.
void CheckGradient() {
  const auto loss = [](const fz::Tensor& x) {
    return fz::sum(d::all_reduce(x) * double(d::rank() + 1));
  };
  double k = 0;
  for (int r = 0; r < d::size(); ++r) k += r + 1;
  const fz::Tensor want = fz::full({8, 3}, fz::Scalar::Float(k));
  Check(Same(fz::grad(loss)(PartOf(d::rank())), want), "gradient");
  auto traced = fz::jit::trace([&](const fz::Tensor& x) { return fz::grad(loss)(x); });
  for (int i = 0; i < 4; ++i) Check(Same(traced(PartOf(d::rank())), want), "traced gradient");
}

// Ranks that differ get both calls, as an exception.
void CheckDisagreement() {
  try {
    d::all_reduce(fz::ones({d::rank() == 0 ? 3 : 4}));
    Check(d::size() == 1, "calls that differ must fail");
  } catch (const fz::Error& e) {
    const std::string text = e.what();
    Check(text.find("float32[3]") != text.npos && text.find("float32[4]") != text.npos,
          "both calls are in the error");
  }
}

}  // namespace

int main(int argc, char** argv) {
  d::init(20);
  const int me = d::rank();
  Check(d::local_rank() >= 0 && d::local_rank() < d::size(), "local_rank");
  try {
    CheckCollectives();
    CheckTraced();
    CheckGradient();
    d::barrier();
    if (argc > 1 && std::strcmp(argv[1], "differ") == 0) CheckDisagreement();
  } catch (const fz::Error& e) {
    ++failures;
    std::printf("rank %d: %s\n", me, e.what());
  }
  std::printf("rank %d of %d %s\n", me, d::size(), failures ? "failed" : "ok");
  std::fflush(stdout);
  d::finalize();
  return failures ? 1 : 0;
}
