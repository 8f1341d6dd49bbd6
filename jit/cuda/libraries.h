// The CUDA driver, NVRTC, cuBLASLt and NCCL as tables of functions, opened at run time: in the
// folder FRAZIL_CUDA_PATH if it is set, else in the nvidia-* wheels beside the package, else where
// the system's loader looks. Called by everything in jit/cuda. Invariant: a library is opened once
// in a process; a table is complete or there is an error that says what was looked for and where,
// and how to get it.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "jit/cuda/types.h"

namespace frazil::cuda {

struct DriverTable {
#define FZ_CUDA(symbol, name, parameters) CUresult(*name) parameters;
#include "jit/cuda/driver.def"
#undef FZ_CUDA
};
struct NvrtcTable {
#define FZ_NVRTC(symbol, name, parameters) NvrtcResult(*name) parameters;
#include "jit/cuda/nvrtc.def"
#undef FZ_NVRTC
};
struct CublasLtTable {
#define FZ_CUBLASLT(symbol, name, result, parameters) result(*name) parameters;
#include "jit/cuda/cublaslt.def"
#undef FZ_CUBLASLT
};

struct NcclTable {
#define FZ_NCCL(symbol, name, result, parameters) result(*name) parameters;
#include "jit/cuda/nccl.def"
#undef FZ_NCCL
};

// cuInit has succeeded, and the driver is new enough for what frazil calls (12.0).
StatusOr<const DriverTable*> Driver();
StatusOr<const NvrtcTable*> Nvrtc();
StatusOr<const CublasLtTable*> CublasLt();
// 2.14 or newer, whose communicators do not block.
StatusOr<const NcclTable*> Nccl();

// What was found, for fz.cuda.versions(): "12.9", or why not.
struct LibraryRow {
  std::string name, path, version, error;
};
std::vector<LibraryRow> LibraryRows();

// Where to look before the system, set by the bindings: the site-packages folder that may hold
// nvidia/*/lib.
void SetWheelFolder(std::string folder);

// OK, or RuntimeError (MemoryError for a device out of memory) "[op] what: CUDA_ERROR_... (text)."
Status DriverStatus(CUresult result, std::string_view op, std::string_view what);

}  // namespace frazil::cuda
