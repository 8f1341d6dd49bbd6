// The Python tensor: a raw CPython type that embeds the cell. Called by every file of the bindings.
// Invariant: one Python object is one cell; the object holds no Python references, so it takes no
// part in garbage collection, and small objects come from a free list.
#pragma once

#include <cstddef>
#include <vector>

#include "bindings/python/errors.h"
#include "core/tensor.h"
#include "core/threads/tls.h"
#include "tracer/learning.h"

namespace frazil::python {

struct PyTensor {
  PyObject_HEAD Tensor cell;
  PyObject* weak_references;
  uint8_t marks;
};

// What a tensor is beyond its content. The key of a call by promise holds the marks.
enum Mark : uint8_t {
  kParameter = 1,  // of a module, whether it requires a gradient or not (frazil/_parameters.py)
  kFrozen = 2,     // a leaf that stopped requiring a gradient and is no parameter yet
  kDefaultGenerator = 4,  // the state of the default random generator
};

extern PyTypeObject tensor_type;  // final: no subclasses

inline bool IsTensor(PyObject* o) { return Py_IS_TYPE(o, &tensor_type); }
inline Tensor& CellOf(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->cell; }

inline uint8_t MarksOf(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->marks; }
void SetMarks(PyObject* tensor, uint8_t marks);
// Sets requires_grad; a leaf that stops requiring a gradient is marked.
Status SwitchGradient(PyObject* tensor, bool on);

// A new Python object around `tensor`; raises if the op that made it failed.
PyObject* Wrap(Tensor&& tensor);
// The same around a value that is the caller's own, and becomes the object's.
PyObject* Wrap(Value* value);
inline PyObject* Wrap(const Tensor& tensor) { return Wrap(Tensor(tensor)); }
// What a function of the package's _format.py, which loads NumPy, makes of a tensor.
PyObject* TextOf(PyObject* tensor, const char* function);

// The Python object around a cell that is known to have one.
inline PyObject* ObjectOf(Tensor* cell) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(cell) - offsetof(PyTensor, cell));
}

// While somebody listens, the tensors whose content this thread replaced in place.
extern FZ_HOT_TLS std::vector<Object>* t_written;
// While a vmap's function runs: before the content of a cell is replaced by what may differ between
// examples (transform_module.cc).
struct ExampleWrites;
extern FZ_HOT_TLS ExampleWrites* t_example_writes;
void NoteExampleWrite(Tensor* cell, const Tensor& next);

// Called where the content is replaced, with no letting go of the interpreter in between.
inline void NoteWrite(Tensor* cell) {
  tracer::Learning::Write(cell);
  if (__builtin_expect(t_written != nullptr, 0))
    t_written->push_back(Object::Share(ObjectOf(cell)));
}

// Readies the type (tensor_type.cc) with the tables of the other files.
bool AddTensorType(PyObject* module);

// The tables, each defined by the file of its subject.
extern PyNumberMethods number_protocol;      // number_protocol.cc
extern PySequenceMethods sequence_protocol;  // indexing.cc
extern PyMappingMethods mapping_protocol;    // indexing.cc
extern PyBufferProcs buffer_protocol;        // export.cc
extern PyMethodDef tensor_methods[];         // tensor_methods.cc
PyObject* CompareTensors(PyObject* a, PyObject* b, int op);
PyObject* IterateTensor(PyObject* self);

}  // namespace frazil::python
