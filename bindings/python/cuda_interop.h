// GPU memory shared with other libraries: __cuda_array_interface__ and the streams of DLPack.
// Called by dlpack.cc, import.cc and the tensor type. Invariant: what one side has queued is done
// before the other side's next work on the same memory begins; memory goes back to its owner only
// when no queued work of the borrower needs it.
#pragma once

#include "bindings/python/import.h"

namespace frazil::python {

// The `stream` argument of __dlpack__, or the error to raise for what is no stream: it waits for
// what the device has queued. -1: the consumer sees to the order itself.
StatusOr<int64_t> HandOver(PyObject* stream, Device device);
// The consumer is done on the host: the device waits for what is queued on its stream.
void TakeBack(int64_t stream, Device device);
// The device's own stream as that argument.
StatusOr<int64_t> StreamNumber(Device device);

// For memory of another library on `device` that frazil stops using: waits for the device.
void WaitBeforeReturn(Device device);

// A tensor over memory of a GPU that somebody else owns; `release(context)` gives it back, also
// where this fails. Strides in elements. Borrowed if options.copy is false, otherwise copied.
Tensor OverForeign(const char* op, void* data, DType dtype, Dims dims, Dims strides, Device device,
                   void (*release)(void*), void* context, const ImportOptions& options);

// Whether the object says where its GPU memory is.
bool HasCudaArrayInterface(PyObject* object);
Tensor FromCudaArrayInterface(PyObject* object, const ImportOptions& options);

// The property of tensors; AttributeError on other devices, as others do.
PyObject* CudaArrayInterface(PyObject* self, void*);

}  // namespace frazil::python
