// NVIDIA's types and constants as far as frazil uses them, declared here so that the build needs no
// CUDA headers. Called by everything in jit/cuda and by the fake libraries of the tests. Invariant:
// names, values and layouts are those of the CUDA 12 and 13 driver API, NVRTC and cuBLASLt manuals
// (docs.nvidia.com/cuda), compared with the headers of CUDA 12.9 and 13.0 (nvrtc.h: 12.9 and 13.5,
// cublasLt.h: 12.9), and those of NCCL 2 (nccl.h); nothing here calls anything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
                          kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200,
                          kNoBinaryForGpu = 209, kUnsupportedPtxVersion = 222, kNotFound = 500,
                          kNotReady = 600, kIllegalAddress = 700, kLaunchFailed = 719,
                          kSystemDriverMismatch = 803, kUnknown = 999;

// CUdevice_attribute.
enum : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kClockRate = 13,  // kHz
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36,
  kMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};

// CUjit_option.
inline constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBufferSizeBytes = 6;
// CUfunction_attribute.
inline constexpr int kFuncLocalSizeBytes = 3, kFuncNumRegs = 4, kFuncMaxDynamicSharedSize = 8;
// CUpointer_attribute.
inline constexpr int kPointerMemoryType = 2, kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeHost = 1, kMemoryTypeDevice = 2;
inline constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;
// The streams with fixed handles.
inline const CUstream kLegacyStream = reinterpret_cast<CUstream>(1),
                      kPerThreadStream = reinterpret_cast<CUstream>(2);

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  CUfunction func;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** params;
  void** extra;
  void* kernel;
  CUcontext context;
};

using NvrtcProgram = struct NvrtcProgram_st*;
using NvrtcResult = int;

using LtHandle = struct LtContext_st*;
using LtMatmulDesc = struct LtMatmulDesc_st*;
using LtLayout = struct LtLayout_st*;
using LtPreference = struct LtPreference_st*;
using LtStatus = int;
struct LtAlgo {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgo algo;
  size_t workspace;
  LtStatus state;
  float waves;
  int reserved[4];
};

// cudaDataType_t and cublasComputeType_t.
enum : int { kR32F = 0, kR64F = 1, kR16F = 2, kR8I = 3, kR32I = 10, kR16BF = 14 };
enum : int { kCompute32F = 68, kCompute32FTf32 = 77, kCompute64F = 70, kCompute32I = 72 };
// cublasLtMatmulDescAttributes_t.
enum : int { kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8 };
// cublasLtMatrixLayoutAttribute_t.
enum : int { kLayoutOrder = 1, kLayoutBatchCount = 5, kLayoutBatchOffset = 6 };
inline constexpr int kOrderCol = 0, kOrderRow = 1;
// cublasLtMatmulPreferenceAttributes_t.
enum : int {
  kPreferenceMaxWorkspace = 1,
  kPreferenceReductions = 3,
  kPreferenceMinAlignmentA = 5,
  kPreferenceMinAlignmentB = 6,
  kPreferenceMinAlignmentC = 7,
  kPreferenceMinAlignmentD = 8
};
// cublasLtReductionScheme_t: how parts of a sum along k are put together.
inline constexpr uint32_t kReductionInComputeType = 2, kAnyReduction = 7;
// cublasStatus_t.
inline constexpr LtStatus kLtSuccess = 0, kLtNotInitialized = 1, kLtAllocFailed = 3,
                          kLtInvalidValue = 7, kLtArchMismatch = 8, kLtExecutionFailed = 13,
                          kLtInternalError = 14, kLtNotSupported = 15;
// cublasLtEpilogue_t.
enum : int {
  kEpilogueDefault = 1,
  kEpilogueRelu = 2,
  kEpilogueBias = 4,
  kEpilogueReluBias = 6,
  kEpilogueGelu = 32,
  kEpilogueGeluBias = 36
};
inline constexpr int kOpN = 0, kOpT = 1;

using NcclComm = struct ncclComm*;
using NcclResult = int;
struct NcclId {
  char bytes[128];
};
// ncclConfig_t as NCCL 2.14 had it: later ones take what a smaller one leaves out as not set.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};
// ncclResult_t.
inline constexpr NcclResult kNcclSuccess = 0, kNcclUnhandledCudaError = 1, kNcclSystemError = 2,
                            kNcclInternalError = 3, kNcclInvalidArgument = 4, kNcclInvalidUsage = 5,
                            kNcclRemoteError = 6, kNcclInProgress = 7;
// ncclDataType_t and ncclRedOp_t.
enum : int {
  kNcclInt8 = 0,
  kNcclUint8 = 1,
  kNcclInt32 = 2,
  kNcclUint32 = 3,
  kNcclInt64 = 4,
  kNcclUint64 = 5,
  kNcclFloat16 = 6,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBfloat16 = 9
};
inline constexpr int kNcclSum = 0;

}  // namespace frazil::cuda
