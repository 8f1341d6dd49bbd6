// What the machine gives, to hold kernels against: the triad o = b + s * c, written by hand with
// streaming stores, for those that wait for memory, and fused multiply-adds of f32 in registers, as
// many at once as hide their latency, for those that compute. Run by profiles (their roofline) and,
// through bench/yardstick.cc, by the benchmarks. Both are split among threads by the worker pool of
// frazil's kernels, so that what differs is the kernel alone.
// Invariant: no figure of the machine is kept or assumed here; who calls takes the time.
#pragma once

#include <cstdint>
#include <memory>

#pragma GCC visibility push(default)
namespace frazil {

class Triad {
 public:
  static constexpr int kBytes = 12;  // read and written, an element

  // Null if there is no memory. n is a multiple of 1024.
  static std::unique_ptr<Triad> Make(int64_t n);
  ~Triad();
  Triad(const Triad&) = delete;
  Triad& operator=(const Triad&) = delete;
  void Run();

 private:
  explicit Triad(int64_t n);

  int64_t n_;
  float *o_, *b_, *c_;
};

// Does at least `flops` operations, two a multiply-add; what it returns keeps them from being left
// out.
double RunFma(double flops);

}  // namespace frazil
#pragma GCC visibility pop
