// Attention as core/SEMANTICS.md defines it, in plain loops: the definition that attend and
// attend_grad must equal bit for bit. Called by tests only. Invariant: clarity; scores by the
// reference of the matrix product, functions by kernels/fn.h on single numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/fn.h"
#include "kernels/gemm/reference.h"
#include "tests/kernels/scalar_v.h"

namespace frazil::jit {

struct AttentionShape {
  int64_t batches, queries, keys, depth, width;
  bool causal;
};

template <typename T>
class AttentionReference {
 public:
  using Numbers = std::vector<T>;  // dense
  static constexpr int64_t kBlock = 64;

  explicit AttentionReference(const AttentionShape& s) : s_(s) {}

  // All results, then all logarithms.
  Numbers Forward(const Numbers& q, const Numbers& k, const Numbers& v) const {
    Numbers out, logs;
    for (int64_t b = 0; b < s_.batches; ++b) {
      const Numbers scores = Product(q.data() + b * s_.queries * s_.depth, s_.queries,
                                     k.data() + b * s_.keys * s_.depth, s_.depth);
      for (int64_t i = 0; i < s_.queries; ++i)
        Row(i, scores.data() + i * s_.keys, v.data() + b * s_.keys * s_.width, &out, &logs);
    }
    out.insert(out.end(), logs.begin(), logs.end());
    return out;
  }

  // The gradients of q, of k, of v.
  Numbers Gradient(const Numbers& q, const Numbers& k, const Numbers& v, const Numbers& g,
                   const Numbers& logs, const Numbers& delta) const {
    Numbers dq(q.size()), dk(k.size()), dv(v.size());
    const int64_t n = s_.queries, m = s_.keys, d = s_.depth, w = s_.width;
    for (int64_t b = 0; b < s_.batches; ++b) {
      const T *qb = q.data() + b * n * d, *kb = k.data() + b * m * d, *vb = v.data() + b * m * w,
              *gb = g.data() + b * n * w;
      const Numbers scores = Product(qb, n, kb, d), of_weights = Product(gb, n, vb, w);
      for (int64_t i = 0; i < n; ++i) {
        const T log = logs[b * n + i], shift = log == -kInfinity ? T(0) : log;
        for (int64_t j = 0; j < End(i); ++j) {
          const T p = Exp((Sees(i, j) ? scores[i * m + j] : -kInfinity) - shift);
          const T ds = p * (of_weights[i * m + j] - delta[b * n + i]);
          for (int64_t x = 0; x < d; ++x) {
            T& of_q = dq[(b * n + i) * d + x];
            of_q = std::fma(ds, kb[j * d + x], of_q);
            T& of_k = dk[(b * m + j) * d + x];
            of_k = std::fma(ds, qb[i * d + x], of_k);
          }
          for (int64_t x = 0; x < w; ++x) {
            T& of_v = dv[(b * m + j) * w + x];
            of_v = std::fma(p, gb[i * w + x], of_v);
          }
        }
      }
    }
    dq.insert(dq.end(), dk.begin(), dk.end());
    dq.insert(dq.end(), dv.begin(), dv.end());
    return dq;
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  static T Exp(T x) { return CallFn(Fn::kExp, ScalarV::Of(x)).template As<T>(); }
  static T Log(T x) { return CallFn(Fn::kLog, ScalarV::Of(x)).template As<T>(); }
  static T Max(T a, T b) { return a != a || b != b ? a + b : std::max(a, b); }

  bool Sees(int64_t i, int64_t j) const { return !s_.causal || j <= i + s_.keys - s_.queries; }

  // Keys that row i goes through: to the end of the last block that a row of its block sees.
  int64_t End(int64_t i) const {
    if (!s_.causal) return s_.keys;
    const int64_t last = std::min(i / kBlock * kBlock + kBlock, s_.queries) - 1;
    const int64_t seen = std::max<int64_t>(0, last + s_.keys - s_.queries + 1);
    return std::min(s_.keys, (seen + kBlock - 1) / kBlock * kBlock);
  }

  // rows x keys: a [rows, depth] times b [keys, depth] transposed.
  Numbers Product(const T* a, int64_t rows, const T* b, int64_t depth) const {
    Numbers c(rows * s_.keys);
    const auto matrix = [](const T* data, int64_t rs, int64_t cs) {
      return MatrixRef{const_cast<T*>(data), rs, cs};
    };
    gemm::ReferenceGemm({DTypeOf<T>::value, rows, s_.keys, depth, matrix(a, depth, 1),
                         matrix(b, 1, depth), matrix(c.data(), s_.keys, 1)});
    return c;
  }

  void Row(int64_t i, const T* scores, const T* v, Numbers* out, Numbers* logs) const {
    T maximum = -kInfinity, sum = 0;
    Numbers result(s_.width, T(0));
    for (int64_t first = 0; first < End(i); first += kBlock) {
      const int64_t end = std::min(first + kBlock, s_.keys);
      const auto score = [&](int64_t j) { return Sees(i, j) ? scores[j] : -kInfinity; };
      T now = maximum;
      for (int64_t j = first; j < end; ++j) now = Max(now, score(j));
      const T shift = now == -kInfinity ? T(0) : now;
      const T factor = Exp(maximum - shift);
      T lanes[8];
      std::fill(lanes, lanes + 8, T(-0.0));
      for (T& r : result) r *= factor;
      for (int64_t j = first; j < end; ++j) {
        const T weight = Exp(score(j) - shift);
        lanes[(j - first) % 8] += weight;
        for (int64_t x = 0; x < s_.width; ++x)
          result[x] = std::fma(weight, v[j * s_.width + x], result[x]);
      }
      for (int half = 4; half >= 1; half /= 2) {
        for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
      }
      const T earlier = sum * factor;
      sum = earlier + lanes[0];
      maximum = now;
    }
    logs->push_back(maximum + Log(sum));
    const T factor = sum == 0 ? T(0) : 1 / sum;
    for (T r : result) out->push_back(factor == 0 ? T(0) : r * factor);
  }

  const AttentionShape s_;
};

}  // namespace frazil::jit
