// The fake cuBLASLt: handles and descriptors.
#include <cstring>

#include "tests/cuda/fake/lt_exports.h"
#include "tests/cuda/fake/lt_objects.h"

namespace fake {
namespace {

// Writes an attribute of the size it has.
template <typename T>
LtStatus Put(T* field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return kLtInvalidValue;
  std::memcpy(field, value, bytes);
  return kLtSuccess;
}

}  // namespace

LtStatus cublasLtCreate(LtHandle* handle) {
  FAKE_LT(cublasLtCreate);
  *handle = LtObjects<LtContext>::Add<LtHandle>({});
  return kLtSuccess;
}

LtStatus cublasLtMatmulDescCreate(LtMatmulDesc* desc, int compute, int scale) {
  FAKE_LT(cublasLtMatmulDescCreate, compute, scale);
  *desc = LtObjects<LtDesc>::Add<LtMatmulDesc>({.compute = compute, .scale = scale});
  return kLtSuccess;
}

LtStatus cublasLtMatmulDescDestroy(LtMatmulDesc desc) {
  FAKE_LT(cublasLtMatmulDescDestroy);
  return LtObjects<LtDesc>::Remove(desc) ? kLtSuccess : kLtInvalidValue;
}

LtStatus cublasLtMatmulDescSetAttribute(LtMatmulDesc handle, int attribute, const void* value,
                                        size_t bytes) {
  FAKE_LT(cublasLtMatmulDescSetAttribute, attribute, bytes);
  LtDesc* const desc = LtObjects<LtDesc>::Get(handle);
  if (desc == nullptr) return kLtInvalidValue;
  switch (attribute) {
    case kDescTransA:
      return Put(&desc->trans_a, value, bytes);
    case kDescTransB:
      return Put(&desc->trans_b, value, bytes);
    case kDescEpilogue:
      return Put(&desc->epilogue, value, bytes);
    case kDescBiasPointer:
      return Put(&desc->bias, value, bytes);
    default:
      return kLtNotSupported;
  }
}

LtStatus cublasLtMatrixLayoutCreate(LtLayout* layout, int type, uint64_t rows, uint64_t cols,
                                    int64_t leading) {
  FAKE_LT(cublasLtMatrixLayoutCreate, type, rows, cols, leading);
  *layout = LtObjects<LtMatrix>::Add<LtLayout>(
      {.type = type, .rows = int64_t(rows), .cols = int64_t(cols), .leading = leading});
  return kLtSuccess;
}

LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) {
  FAKE_LT(cublasLtMatrixLayoutDestroy);
  return LtObjects<LtMatrix>::Remove(layout) ? kLtSuccess : kLtInvalidValue;
}

LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout handle, int attribute, const void* value,
                                          size_t bytes) {
  FAKE_LT(cublasLtMatrixLayoutSetAttribute, attribute, bytes);
  LtMatrix* const layout = LtObjects<LtMatrix>::Get(handle);
  if (layout == nullptr) return kLtInvalidValue;
  switch (attribute) {
    case kLayoutOrder:
      return Put(&layout->order, value, bytes);
    case kLayoutBatchCount:
      return Put(&layout->batches, value, bytes);
    case kLayoutBatchOffset:
      return Put(&layout->batch_offset, value, bytes);
    default:
      return kLtNotSupported;
  }
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference* preference) {
  FAKE_LT(cublasLtMatmulPreferenceCreate);
  *preference = LtObjects<LtWish>::Add<LtPreference>({});
  return kLtSuccess;
}

LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  FAKE_LT(cublasLtMatmulPreferenceDestroy);
  return LtObjects<LtWish>::Remove(preference) ? kLtSuccess : kLtInvalidValue;
}

LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference handle, int attribute, const void* value,
                                              size_t bytes) {
  FAKE_LT(cublasLtMatmulPreferenceSetAttribute, attribute, bytes);
  LtWish* const wish = LtObjects<LtWish>::Get(handle);
  if (wish == nullptr) return kLtInvalidValue;
  if (attribute == kPreferenceMaxWorkspace) return Put(&wish->max_workspace, value, bytes);
  if (attribute == kPreferenceReductions) return Put(&wish->reductions, value, bytes);
  if (attribute >= kPreferenceMinAlignmentA && attribute <= kPreferenceMinAlignmentD)
    return Put(&wish->alignment[attribute - kPreferenceMinAlignmentA], value, bytes);
  return kLtNotSupported;
}

}  // namespace fake
