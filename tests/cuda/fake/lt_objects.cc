#include "tests/cuda/fake/lt_objects.h"

#include <utility>

namespace fake {

using namespace frazil::cuda;

namespace {

// The rows of the manual's table of cublasLtMatmul() that frazil may use.
struct Combination {
  int compute, scale, operand, result;
};
constexpr Combination kCombinations[] = {
    {kCompute32F, kR32F, kR32F, kR32F},   {kCompute32FTf32, kR32F, kR32F, kR32F},
    {kCompute32F, kR32F, kR16F, kR16F},   {kCompute32F, kR32F, kR16F, kR32F},
    {kCompute32F, kR32F, kR16BF, kR16BF}, {kCompute32F, kR32F, kR16BF, kR32F},
    {kCompute64F, kR64F, kR64F, kR64F},   {kCompute32I, kR32I, kR8I, kR32I},
};

bool IsCombination(const LtCall& call) {
  for (const Combination& row : kCombinations) {
    if (row.compute == call.desc->compute && row.scale == call.desc->scale &&
        row.operand == call.a->type && row.operand == call.b->type && row.result == call.c->type &&
        row.result == call.d->type)
      return true;
  }
  return false;
}

bool IsLayout(const LtMatrix& x) {
  if (x.rows <= 0 || x.cols <= 0 || x.batches <= 0) return false;
  if (x.order != kOrderCol && x.order != kOrderRow) return false;
  return x.leading >= (x.order == kOrderCol ? x.rows : x.cols);
}

}  // namespace

LtStatus CheckCall(const LtCall& call) {
  if (!call.context) return kLtNotInitialized;
  if (!call.desc || !call.a || !call.b || !call.c || !call.d) return kLtInvalidValue;
  for (const LtMatrix* x : {call.a, call.b, call.c, call.d}) {
    if (!IsLayout(*x) || x->batches != call.d->batches) return kLtInvalidValue;
  }
  auto [m, k] = std::pair(call.a->rows, call.a->cols);
  auto [k_of_b, n] = std::pair(call.b->rows, call.b->cols);
  if (call.desc->trans_a == kOpT) std::swap(m, k);
  if (call.desc->trans_b == kOpT) std::swap(k_of_b, n);
  if (k != k_of_b || m != call.d->rows || n != call.d->cols || m != call.c->rows ||
      n != call.c->cols)
    return kLtInvalidValue;
  if (!IsCombination(call)) return kLtNotSupported;
  // A bias runs along the rows of a matrix in columns.
  if (call.desc->epilogue != kEpilogueDefault && call.d->order != kOrderCol) return kLtNotSupported;
  if (call.desc->compute == kCompute32I) {
    // Integers: A transposed and B not, m and k and leading dimensions multiples of 4, no epilogue.
    if (call.desc->trans_a != kOpT || call.desc->trans_b != kOpN || m % 4 != 0 || k % 4 != 0 ||
        call.a->leading % 4 != 0 || call.b->leading % 4 != 0 || call.d->leading % 4 != 0 ||
        call.desc->epilogue != kEpilogueDefault)
      return kLtNotSupported;
  }
  return kLtSuccess;
}

ProductMatrix Strided(const void* data, const LtMatrix& layout, bool transposed) {
  ProductMatrix out;
  out.data = static_cast<char*>(const_cast<void*>(data));
  out.type = layout.type;
  out.row_stride = layout.order == kOrderCol ? 1 : layout.leading;
  out.col_stride = layout.order == kOrderCol ? layout.leading : 1;
  out.batch_stride = layout.batch_offset;
  if (transposed) std::swap(out.row_stride, out.col_stride);
  return out;
}

}  // namespace fake
