/* The C interface: programs of .frz files and tensors, from C and from whatever calls C (ctypes, Rust,
 * Go, Julia). No exception leaves a function, no type of C++ is in it.
 *
 *   frz_program* model;
 *   if (frz_load("model.frz", NULL, &model) != FRZ_OK) return puts(frz_last_error());
 *   const int64_t shape[] = {1, 64};
 *   frz_tensor *x, *y;
 *   frz_tensor_new(FRZ_F32, 2, shape, pixels, &x);
 *   if (frz_call(model, 1, &x, 1, &y) == FRZ_OK) frz_tensor_read(y, scores, sizeof scores);
 *   frz_tensor_free(y);  frz_tensor_free(x);  frz_program_free(model);
 *
 * Invariants: handles are opaque and freed once, by the function of their type (null is ignored);
 * what a function gives out through a pointer is the caller's, and is null or unchanged where it
 * fails; strings that it returns live as long as the handle they are of. What asks about a handle that
 * is null gets null, 0 bytes or -1. Functions may be called from many threads; one tensor or program
 * may be used by several, as long as nobody frees it. */
#ifndef FRAZIL_C_H_
#define FRAZIL_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FRZ_API __attribute__((visibility("default")))
#else
#define FRZ_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function's meaning changes or one goes; programs compare it with what
 * frz_abi_version() says. */
#define FRZ_ABI_VERSION 1

typedef struct frz_program frz_program;
typedef struct frz_tensor frz_tensor;

/* What went wrong, as Python names its exceptions. The text is frz_last_error(). */
typedef enum frz_status {
  FRZ_OK = 0,
  FRZ_TYPE_ERROR,
  FRZ_VALUE_ERROR,
  FRZ_INDEX_ERROR,
  FRZ_NOT_IMPLEMENTED,
  FRZ_MEMORY_ERROR,
  FRZ_FILE_ERROR,
  FRZ_RUNTIME_ERROR
} frz_status;

typedef enum frz_dtype {
  FRZ_NO_DTYPE = -1, /* of null */
  FRZ_BOOL = 0,
  FRZ_I8,
  FRZ_I16,
  FRZ_I32,
  FRZ_I64,
  FRZ_U8,
  FRZ_U16,
  FRZ_U32,
  FRZ_U64,
  FRZ_F16,
  FRZ_BF16,
  FRZ_F32,
  FRZ_F64,
  FRZ_C64,
  FRZ_C128
} frz_dtype;

FRZ_API int frz_abi_version(void);
/* Of the last function of this thread that failed; "" if none has. */
FRZ_API const char* frz_last_error(void);
/* How many threads kernels use, from 1 on; before it FRAZIL_NUM_THREADS says, else all cores are used.
 * Results do not depend on it. */
FRZ_API frz_status frz_set_num_threads(int threads);

/* -- Tensors: row-major arrays. Their elements are copied in and out. */

/* data: as many elements as the shape has; null: zeros. */
FRZ_API frz_status frz_tensor_new(frz_dtype dtype, int rank, const int64_t* shape, const void* data,
                                  frz_tensor** out);
FRZ_API void frz_tensor_free(frz_tensor* tensor);
FRZ_API frz_dtype frz_tensor_dtype(const frz_tensor* tensor);
FRZ_API int frz_tensor_rank(const frz_tensor* tensor);
/* The extent of an axis, from 0 on; -1 for an axis that is not there. */
FRZ_API int64_t frz_tensor_extent(const frz_tensor* tensor, int axis);
FRZ_API size_t frz_tensor_bytes(const frz_tensor* tensor);
/* Copies all elements to `data`, which has room for `bytes`: exactly frz_tensor_bytes(). */
FRZ_API frz_status frz_tensor_read(const frz_tensor* tensor, void* data, size_t bytes);

/* -- Programs */

/* device: where the program computes, null for the CPU, "cuda" ... Tensors are moved there by the
 * calls, and back by frz_tensor_read. */
FRZ_API frz_status frz_load(const char* path, const char* device, frz_program** out);
/* The same of a file's content, which is copied. */
FRZ_API frz_status frz_load_bytes(const void* bytes, size_t size, const char* device,
                                  frz_program** out);
FRZ_API void frz_program_free(frz_program* program);
FRZ_API const char* frz_program_name(const frz_program* program);
FRZ_API int frz_program_inputs(const frz_program* program);
FRZ_API int frz_program_results(const frz_program* program);
/* The name of an input, and its type, such as "f32[batch,64]"; null for one that is not there. */
FRZ_API const char* frz_program_input_name(const frz_program* program, int input);
FRZ_API const char* frz_program_input_type(const frz_program* program, int input);

/* One call. `results` has room for frz_program_results(), and gets as many new tensors. */
FRZ_API frz_status frz_call(frz_program* program, int inputs, frz_tensor* const* input, int results,
                            frz_tensor** result);

/* Weights and states, by number and by name. */
FRZ_API int frz_program_states(const frz_program* program);
FRZ_API const char* frz_program_state_name(const frz_program* program, int state);
/* What it holds now, as a new tensor. */
FRZ_API frz_status frz_program_state(const frz_program* program, int state, frz_tensor** out);
/* Copies `value`, of the same dtype and shape, into it. */
FRZ_API frz_status frz_program_set_state(frz_program* program, int state, const frz_tensor* value);

#ifdef __cplusplus
}
#endif

#endif /* FRAZIL_C_H_ */
