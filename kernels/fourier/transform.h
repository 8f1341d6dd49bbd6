// The transforms for one set of instructions. Included once by each of variants/*.cc, which name
// the set in a pragma and its functions in DUCC0_NAMESPACE. Invariant: the standard library's
// headers come before that pragma: what a program shares with other files must run everywhere.
#pragma once

#include "ducc0/fft/fftnd_impl.h"
#include "ducc0/infra/threading.cc"

namespace DUCC0_NAMESPACE {

template <typename T>
class Transform {
 public:
  explicit Transform(const frazil::FourierArgs& args) : args_(args) {
    for (const int64_t n : args.dims) whole_.push_back(static_cast<size_t>(n));
    for (size_t i = 0; i < whole_.size(); ++i) {
      if (args.axes >> i & 1) axes_.push_back(i);
    }
    half_ = whole_;
    half_[axes_.back()] = half_[axes_.back()] / 2 + 1;
  }

  void Run() const {
    using Form = frazil::FourierArgs::Form;
    const T scale = static_cast<T>(args_.scale);
    switch (args_.form) {
      case Form::kComplex:
        return c2c(cfmav<Complex>(In<Complex>(), whole_), vfmav<Complex>(Out<Complex>(), whole_),
                   axes_, args_.forward, scale, 0);
      case Form::kHalfFromReal:
        return r2c(cfmav<T>(In<T>(), whole_), vfmav<Complex>(Out<Complex>(), half_), axes_,
                   args_.forward, scale, 0);
      case Form::kToReal:
        return c2r(cfmav<Complex>(In<Complex>(), half_), vfmav<T>(Out<T>(), whole_), axes_,
                   args_.forward, scale, 0);
      case Form::kFromReal:
        break;
    }
    vfmav<Complex> whole(Out<Complex>(), whole_);
    r2c(cfmav<T>(In<T>(), whole_), vfmav<Complex>(Out<Complex>(), half_, whole.stride()), axes_,
        args_.forward, scale, 0);
    Mirror();
  }

 private:
  using Complex = std::complex<T>;
  template <typename E>
  const E* In() const {
    return reinterpret_cast<const E*>(args_.x);
  }
  template <typename E>
  E* Out() const {
    return reinterpret_cast<E*>(args_.out);
  }

  // The second half: point n - k is the conjugate of point k.
  void Mirror() const {
    const size_t n = whole_[axes_[0]];
    size_t inner = 1, outer = 1;
    for (size_t i = 0; i < whole_.size(); ++i) {
      if (i != axes_[0]) (i < axes_[0] ? outer : inner) *= whole_[i];
    }
    const auto grain = static_cast<int64_t>(32768 / (n * inner) + 1);
    frazil::ParallelFor(static_cast<int64_t>(outer), grain, [&](int64_t begin, int64_t end) {
      for (size_t o = size_t(begin); o < size_t(end); ++o) {
        Complex* const line = Out<Complex>() + o * n * inner;
        for (size_t k = n / 2 + 1; k < n; ++k) {
          for (size_t i = 0; i < inner; ++i)
            line[k * inner + i] = std::conj(line[(n - k) * inner + i]);
        }
      }
    });
  }

  const frazil::FourierArgs& args_;
  std::vector<size_t> whole_, half_, axes_;
};

// Once in each namespace.
void Run(const frazil::FourierArgs& args) {  // NOLINT(misc-definitions-in-headers)
  if (args.wide) {
    Transform<double>(args).Run();
  } else {
    Transform<float>(args).Run();
  }
}

}  // namespace DUCC0_NAMESPACE
