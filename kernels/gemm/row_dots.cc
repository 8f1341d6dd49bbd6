#include "kernels/gemm/row_dots.h"

#include <algorithm>
#include <type_traits>

#include "core/caches.h"
#include "core/threads/long_work.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/dots_code.h"

namespace frazil::gemm {
namespace {

constexpr int64_t kLine = 64;

// Columns [j, j + vectors * lanes) of C, panels of its rows after each other. S is what B's elements
// are as large as.
template <typename T, typename S = T>
class Dots {
 public:
  static constexpr bool kF64 = std::is_same_v<T, double>;

  Dots(Isa isa, const T* a, int64_t a_stride, const S* b, int64_t b_stride, int64_t k,
       const Block<T>& c, bool continues, DotsStored stored = DotsStored::kComputed)
      : isa_(isa),
        a_(a),
        b_(b),
        c_(c),
        a_stride_(a_stride),
        b_stride_(b_stride),
        lanes_(Lanes(isa, kF64)),
        // What a cache holds is there in time, and asking for it takes longer than the product.
        ahead_(b_stride == k && c.cols * k * int64_t(sizeof(S)) > LastLevelCacheBytes() / 2),
        stored_(stored) {
    const int64_t block = 2 * DotsTurn(isa, kF64);
    call_.lda = a_stride * int64_t(sizeof(T));
    call_.ldb = b_stride * int64_t(sizeof(S));
    call_.ldc = c.ld * int64_t(sizeof(T));
    call_.blocks = k / block;
    call_.rest = k % block;
    call_.accumulate = continues;
    SetDotsMask({kF64, isa, 1, 1, ahead_, stored}, &call_);
  }

  bool Run() {
    return ForCalls([](DotsKernel kernel, const DotsCall& call) { kernel(&call); });
  }

  bool List(CallList<DotsCall>* list) {
    bool fits = true;
    return ForCalls([&](DotsKernel kernel, const DotsCall& call) {
             fits = fits && list->Add(kernel, call, a_, b_, c_.data);
           }) &&
           fits;
  }

 private:
  // False: a kernel cannot be generated.
  template <typename Visit>
  bool ForCalls(Visit visit) {
    const int64_t pairs = c_.rows <= MaxDotsRows(isa_, 2) ? c_.cols / (2 * lanes_) : 0;
    const int64_t from = pairs * 2 * lanes_;
    if (from != 0 && !Columns(2, 0, from, visit)) return false;
    return Columns(1, from, c_.cols, visit);
  }

  template <typename Visit>
  bool Columns(int vectors, int64_t begin, int64_t end, Visit visit) {
    const int64_t most = MaxDotsRows(isa_, vectors), width = vectors * lanes_;
    const int64_t panels = (c_.rows + most - 1) / most;
    DotsKernel kernels[2];
    const int64_t fewer = c_.rows / panels;
    for (int64_t more = 0; more < 2; ++more) {
      const int64_t rows = std::min(fewer + more, most);
      kernels[more] = GetDots({kF64, isa_, int(rows), vectors, ahead_, stored_});
      if (kernels[more] == nullptr) return false;
    }
    call_.ahead_step = ahead_ ? width * kLine * int64_t(sizeof(S)) / int64_t(sizeof(T)) : 0;
    for (int64_t j = begin; j < end && !Abandoned(); j += width) {
      // The last columns start early enough to fill a vector; what they repeat gets the same
      // values again.
      const int64_t at = std::min(j, c_.cols - width);
      call_.b = b_ + at * b_stride_;
      call_.ahead = b_ + std::min(at + width, c_.cols - width) * b_stride_;
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t row = c_.rows * p / panels, next = c_.rows * (p + 1) / panels;
        call_.a = a_ + row * a_stride_;
        call_.c = c_.data + row * c_.ld + at;
        visit(kernels[next - row - fewer], call_);
      }
    }
    return true;
  }

  const Isa isa_;
  const T* a_;
  const S* b_;
  const Block<T> c_;
  const int64_t a_stride_, b_stride_, lanes_;
  const bool ahead_;
  const DotsStored stored_;
  DotsCall call_{};
};

}  // namespace

template <typename T>
bool TryRowDots(Isa isa, const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t k,
                const Block<T>& c, bool continues) {
  const int64_t lanes = Lanes(isa, Dots<T>::kF64);
  if (c.cols < lanes || (continues && c.cols % lanes != 0)) return false;
  return Dots<T>(isa, a, a_stride, b, b_stride, k, c, continues).Run();
}

template <typename T>
bool ListRowDots(Isa isa, const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t k,
                 const Block<T>& c, CallList<DotsCall>* list) {
  return Dots<T>(isa, a, a_stride, b, b_stride, k, c, false).List(list);
}

bool TryStoredDots(Isa isa, const float* a, int64_t a_stride, const uint16_t* b, int64_t b_stride,
                   DotsStored stored, int64_t k, const Block<float>& c) {
  if (c.cols < Lanes(isa, false) || k % 2 != 0) return false;
  return Dots<float, uint16_t>(isa, a, a_stride, b, b_stride, k, c, false, stored).Run();
}

template bool TryRowDots(Isa, const float*, int64_t, const float*, int64_t, int64_t,
                         const Block<float>&, bool);
template bool TryRowDots(Isa, const double*, int64_t, const double*, int64_t, int64_t,
                         const Block<double>&, bool);
template bool ListRowDots(Isa, const float*, int64_t, const float*, int64_t, int64_t,
                          const Block<float>&, CallList<DotsCall>*);
template bool ListRowDots(Isa, const double*, int64_t, const double*, int64_t, int64_t,
                          const Block<double>&, CallList<DotsCall>*);

}  // namespace frazil::gemm
