// What tests ask of the fake libraries, beyond what the real ones have: dlopen a library, dlsym
// these. Each library has its own record: fake_cuda_* in libcuda.so.1, fake_nvrtc_* in
// libnvrtc.so.12, fake_cublaslt_* in libcublasLt.so.12, fake_nccl_* in libnccl.so.2.
//
// Environment, read when a library is first called:
//   FAKE_CUDA_DEVICES  number of devices, 1
//   FAKE_CUDA_ARCH     90 for compute capability 9.0
//   FAKE_CUDA_MEMORY   bytes of each device, 2 GiB
//   FAKE_CUDA_DRIVER   version of the driver, 12090
//   FAKE_CUDA_ORDER    lazy (work runs when something waits for it), lazy:SEED, eager, random:SEED
//   FAKE_CUDA_CACHE    folder of compiled kernels, /tmp/frazil-fake-cuda-UID
//   FAKE_NVRTC_ARCHS   what NVRTC knows, "75,80,86,87,89,90,100,103,120"
//   FAKE_NVRTC_VERSION "12.9"
//   FAKE_NCCL_FOLDER   where processes exchange messages, /tmp
#pragma once

extern "C" {

// The calls since the last clear, one a line: "cuMemAlloc(256)", "cuLaunchKernel(frazil_x, 4,
// ...)"; " = 2" behind one that was made to fail. "kernel(frazil_x)" is the run of a kernel, later.
// Names are without "_v2". The text stays until the thread asks again.
const char* fake_cuda_log();
void fake_cuda_clear_log();
// Calls of one name since the process started; "kernel" counts runs of kernels.
unsigned long long fake_cuda_count(const char* name);
// The nth next call of `name` (1: the very next) fails with `error`. For "kernel" the run fails:
// the context keeps the error, as it does that of a real kernel.
void fake_cuda_fail(const char* name, int nth, int error);

// Of all devices: bytes and blocks not freed; operations not run.
unsigned long long fake_cuda_live_bytes();
unsigned long long fake_cuda_live_blocks();
unsigned long long fake_cuda_pinned_bytes();
unsigned long long fake_cuda_pending();
// Handles not destroyed of one kind: "stream", "event", "module", "graph", "exec".
unsigned long long fake_cuda_live(const char* kind);
// Makes contexts with an error usable again; a real driver has no such thing.
void fake_cuda_clear_error();

// What libcublasLt.so.12 calls: an operation of a stream. `run` is called each time it runs (more
// than once if it was captured), `destroy` when it is not needed any more. A CUresult.
int fake_cuda_enqueue(void* stream, const char* name, int (*run)(void* data), void* data,
                      void (*destroy)(void* data));
// Makes all devices' memory accessible to the calling code until the matching close.
void fake_cuda_open_memory();
void fake_cuda_close_memory();

const char* fake_nvrtc_log();
void fake_nvrtc_clear_log();
unsigned long long fake_nvrtc_count(const char* name);
void fake_nvrtc_fail(const char* name, int nth, int error);

const char* fake_cublaslt_log();
void fake_cublaslt_clear_log();
unsigned long long fake_cublaslt_count(const char* name);
void fake_cublaslt_fail(const char* name, int nth, int error);

const char* fake_nccl_log();
void fake_nccl_clear_log();
unsigned long long fake_nccl_count(const char* name);
void fake_nccl_fail(const char* name, int nth, int error);
// What every communicator says from now on when it is asked for its state.
void fake_nccl_break(int result);

}  // extern "C"
