// The fake cuBLASLt: algorithms, checks of a product, and the operation of a stream that
// product.cc computes. Invariant: refuses what the manual says it does not support, so that nothing
// is built on a combination that only a fake knows.
#include <cstring>
#include <memory>

#include "tests/cuda/fake/control.h"
#include "tests/cuda/fake/lt_exports.h"
#include "tests/cuda/fake/lt_objects.h"
#include "tests/cuda/fake/product.h"

FAKE_EXPORT_RECORDER(fake_cublaslt)

namespace fake {

namespace {

bool HasBias(int epilogue) {
  return epilogue == kEpilogueBias || epilogue == kEpilogueReluBias ||
         epilogue == kEpilogueGeluBias;
}

// What the device would have been asked for, kept until it runs.
struct Job {
  Product product;
  char* workspace;
  size_t workspace_bytes;
};

int RunJob(void* data) {
  const Job& job = *static_cast<const Job*>(data);
  // Nobody else may count on what the workspace holds.
  if (job.workspace_bytes > 0) std::memset(job.workspace, 0xbd, job.workspace_bytes);
  RunProduct(job.product);
  return 0;
}

double Scale(const LtDesc& desc, const void* value) {
  if (desc.scale == kR64F) return *static_cast<const double*>(value);
  if (desc.scale == kR32I) return *static_cast<const int32_t*>(value);
  return double(*static_cast<const float*>(value));
}

LtCall Find(LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b, LtLayout c, LtLayout d) {
  return {LtObjects<LtContext>::Get(handle), LtObjects<LtDesc>::Get(desc),
          LtObjects<LtMatrix>::Get(a),       LtObjects<LtMatrix>::Get(b),
          LtObjects<LtMatrix>::Get(c),       LtObjects<LtMatrix>::Get(d)};
}

bool Aligned(const void* pointer, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

}  // namespace

size_t cublasLtGetVersion() { return 120901; }

const char* cublasLtGetStatusString(LtStatus status) {
  switch (status) {
    case kLtSuccess:
      return "CUBLAS_STATUS_SUCCESS";
    case kLtNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kLtAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kLtInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kLtArchMismatch:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kLtExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kLtInternalError:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kLtNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown status";
  }
}

// Two algorithms: one with a workspace, if that is allowed, and one without. An algorithm holds its
// magic, its workspace, and the alignments it counts on.
LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b,
                                        LtLayout c, LtLayout d, LtPreference preference, int wanted,
                                        LtHeuristic* results, int* found) {
  FAKE_LT(cublasLtMatmulAlgoGetHeuristic, wanted);
  *found = 0;
  const LtCall call = Find(handle, desc, a, b, c, d);
  const LtWish* const wish = LtObjects<LtWish>::Get(preference);
  if (wish == nullptr || wanted <= 0) return kLtInvalidValue;
  if (const LtStatus status = CheckCall(call)) return status;
  for (const uint64_t workspace : {kLtWorkspace, uint64_t{0}}) {
    if (workspace > wish->max_workspace || *found == wanted) continue;
    LtHeuristic& row = results[(*found)++];
    row = {};
    row.algo.data[0] = kLtMagic;
    row.algo.data[1] = workspace;
    for (int i = 0; i < 4; ++i) row.algo.data[2 + i] = wish->alignment[i];
    row.workspace = workspace;
    row.waves = 1;
  }
  return kLtSuccess;
}

LtStatus cublasLtMatmulAlgoCheck(LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b,
                                 LtLayout c, LtLayout d, const LtAlgo* algo, LtHeuristic* result) {
  FAKE_LT(cublasLtMatmulAlgoCheck);
  const LtCall call = Find(handle, desc, a, b, c, d);
  if (algo->data[0] != kLtMagic) return kLtInvalidValue;
  if (const LtStatus status = CheckCall(call)) return status;
  *result = {};
  result->algo = *algo;
  result->workspace = algo->data[1];
  result->waves = 1;
  return kLtSuccess;
}

LtStatus cublasLtMatmul(LtHandle handle, LtMatmulDesc desc_handle, const void* alpha, const void* a,
                        LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta,
                        const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                        const LtAlgo* algo, void* workspace, size_t workspace_bytes,
                        CUstream stream) {
  FAKE_LT(cublasLtMatmul, stream);
  const LtCall call = Find(handle, desc_handle, a_layout, b_layout, c_layout, d_layout);
  if (const LtStatus status = CheckCall(call)) return status;
  const LtDesc& desc = *call.desc;
  const void* const pointers[] = {a, b, c, d};
  auto job = std::make_unique<Job>();
  job->workspace = static_cast<char*>(workspace);
  job->workspace_bytes = algo != nullptr ? algo->data[1] : 0;
  if (algo != nullptr && algo->data[0] != kLtMagic) return kLtInvalidValue;
  if (job->workspace_bytes > workspace_bytes || (job->workspace_bytes > 0 && !workspace))
    return kLtInvalidValue;
  for (int i = 0; algo != nullptr && i < 4; ++i) {
    if (!Aligned(pointers[i], algo->data[2 + i])) return kLtInvalidValue;
  }
  Product& p = job->product;
  p.a = Strided(a, *call.a, desc.trans_a == kOpT);
  p.b = Strided(b, *call.b, desc.trans_b == kOpT);
  p.c = Strided(c, *call.c, false);
  p.d = Strided(d, *call.d, false);
  p.m = call.d->rows;
  p.n = call.d->cols;
  p.k = desc.trans_a == kOpT ? call.a->rows : call.a->cols;
  p.batches = call.d->batches;
  p.compute = desc.compute;
  p.alpha = Scale(desc, alpha);
  p.beta = Scale(desc, beta);
  p.epilogue = desc.epilogue;
  if (HasBias(desc.epilogue)) {
    if (desc.bias == nullptr) return kLtInvalidValue;
    p.bias = static_cast<const char*>(desc.bias);
  }
  const int error = fake_cuda_enqueue(stream, "cublasLtMatmul", RunJob, job.release(),
                                      [](void* data) { delete static_cast<Job*>(data); });
  return error == kSuccess ? kLtSuccess : kLtExecutionFailed;
}

// A function that a table names and nothing here defines does not link.
[[gnu::used]] const void* const kAllFunctions[] = {
#define FZ_CUBLASLT(symbol, name, result, parameters) reinterpret_cast<const void*>(&symbol),
#include "jit/cuda/cublaslt.def"
#undef FZ_CUBLASLT
};

}  // namespace fake
