// nn.attention: the op `attend` between a change of dtype and one of shape; and its gradients.
#include "core/functions/attention.h"

#include <cmath>

#include "core/functions/composite.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

DimVec BatchOf(const Tensor& t) { return {t.dims().begin(), t.dims().end() - 2}; }

// The batch axes of all three, broadcast; an error tells all shapes.
StatusOr<DimVec> CheckShapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  for (const Tensor* t : {&q, &k, &v}) {
    if (!t->ok()) return t->status();
  }
  const auto bad = [&](std::string_view what) {
    return ValueError("[attention] ", what, ": q is ", Describe(q), ", k is ", Describe(k),
                      ", v is ", Describe(v), ".");
  };
  for (const Tensor* t : {&q, &k, &v}) {
    if (t->rank() < 2 || !IsFloat(t->dtype())) return bad("needs floats with at least two axes");
  }
  const Layout *lq = q.layout(), *lk = k.layout(), *lv = v.layout();
  if (lq->dim(-1) != lk->dim(-1)) return bad("the last axes of q and k differ");
  if (lk->dim(-2) != lv->dim(-2)) return bad("k and v have other numbers of keys");
  const Layout* batch = Dense(BatchOf(q));
  for (const Tensor* t : {&k, &v}) {
    const auto both = BroadcastShapes("attention", batch, Dense(BatchOf(*t)));
    if (!both.ok()) return bad("batch axes do not broadcast");
    batch = *both;
  }
  return DimVec(batch->dims().begin(), batch->dims().end());
}

Tensor OfBatch(const Tensor& t, const DimVec& batch) {
  DimVec dims = batch;
  dims.insert(dims.end(), t.dims().end() - 2, t.dims().end());
  return broadcast_to(t, dims);
}

Tensor Joined(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& factor,
              const DimVec& batch, bool causal) {
  const DType dtype = factor.dtype();
  const Tensor scaled = OfBatch(astype(q, dtype) * factor, batch);
  const Tensor keys = OfBatch(astype(k, dtype), batch);
  const Tensor values = OfBatch(astype(v, dtype), batch);
  const int64_t attr = causal;
  return Apply(OpId::k_attend, {&scaled, &keys, &values}, {&attr, 1});
}

Axes Last() {
  Axes axes;
  axes.emplace({int64_t{-1}});
  return axes;
}

// Scores with -inf where a key is hidden: query i sees keys up to i, aligned at the end.
Tensor SeenScores(const Tensor& q, const Tensor& k, bool causal) {
  const Tensor scores = matmul(q, matrix_transpose(k));
  if (!causal || !scores.ok()) return scores;
  const int64_t n = scores.layout()->dim(-2), m = scores.layout()->dim(-1);
  const Tensor row = reshape(iota(n, DType::kI64, q.device()), {n, 1}) + Arg(m - n);
  return where(less_equal(iota(m, DType::kI64, q.device()), row), scores, -INFINITY);
}

// The three gradients in ops that have gradients themselves.
Tensor WrittenOut(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g,
                  const Tensor& logs, const Tensor& delta, bool causal) {
  const auto column = [](const Tensor& t) { return expand_dims(t, -1); };
  const Tensor shift = where(equal(logs, -INFINITY), 0.0, logs);
  const Tensor weights = exp(SeenScores(q, k, causal) - column(shift));
  const Tensor scores = weights * (matmul(g, matrix_transpose(v)) - column(delta));
  const Tensor parts[] = {flatten(matmul(scores, k)), flatten(matmul(matrix_transpose(scores), q)),
                          flatten(matmul(matrix_transpose(weights), g))};
  return concat(parts, 0);
}

}  // namespace

Tensor part_of_flat(const Tensor& flat, int64_t start, Dims dims) {
  if (!flat.ok()) return flat;
  const int64_t size = Dense(dims)->size;
  return reshape(slice(flat, {size == 0 ? 0 : start, 1, size}), dims);
}

Tensor attend_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y,
                        const Tensor& g, bool causal) {
  DimVec rows(q.dims().begin(), q.dims().end() - 1), results = rows;
  results.push_back(v.dims().back());
  const int64_t size = Dense(results)->size;
  const Tensor out = part_of_flat(y, 0, results), logs = part_of_flat(y, size, rows);
  const Tensor of_out = part_of_flat(g, 0, results), of_logs = part_of_flat(g, size, rows);
  const Tensor delta = sum(of_out * out, Last(), false) - of_logs;
  bool again = false;
  for (const Tensor* t : {&q, &k, &v, &y, &g}) again |= NeedsGrad(State(), *t);
  if (again) return WrittenOut(q, k, v, of_out, logs, delta, causal);
  const int64_t attr = causal;
  return Apply(OpId::k_attend_grad, {&q, &k, &v, &of_out, &logs, &delta}, {&attr, 1});
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, bool causal,
                 std::optional<double> scale) {
  const Tensor q = query, k = key, v = value;
  const auto batch = CheckShapes(q, k, v);
  if (!batch.ok()) return Tensor(batch.status());
  const DType dtype = Promote(Promote(q.dtype(), k.dtype()), v.dtype());
  const double s = scale.value_or(1.0 / std::sqrt(static_cast<double>(q.layout()->dim(-1))));
  // 16-bit floats compute in float32 and round once.
  const Tensor factor = scalar(Scalar::Float(s), IsHalf(dtype) ? DType::kF32 : dtype);
  const int64_t attr = causal;
  return Composite(CompositeId::k_attention, {&q, &k, &v, &factor}, {&attr, 1}, [&] {
    const Tensor joined = Joined(q, k, v, factor, *batch, causal);
    DimVec results = *batch;
    results.insert(results.end(), {q.layout()->dim(-2), v.layout()->dim(-1)});
    return astype(part_of_flat(joined, 0, results), dtype);
  });
}

}  // namespace frazil::ops
