#include "bindings/python/item.h"

#include <cstring>

#include "core/apply.h"
#include "core/device_memory.h"

namespace frazil::python {
namespace {

template <typename T>
T Load(const char* data) {
  T v;
  std::memcpy(&v, data, sizeof v);
  return v;
}

PyObject* Number(bool v) { return PyBool_FromLong(v); }
PyObject* Number(float v) { return PyFloat_FromDouble(v); }
PyObject* Number(double v) { return PyFloat_FromDouble(v); }
PyObject* Number(Half v) { return PyFloat_FromDouble(ToFloat(v)); }
PyObject* Number(BFloat16 v) { return PyFloat_FromDouble(ToFloat(v)); }
template <typename T>
PyObject* Number(T v) {
  if constexpr (std::is_signed_v<T>) {
    return PyLong_FromLongLong(v);
  } else {
    return PyLong_FromUnsignedLongLong(v);
  }
}

PyObject* List(const Value& value, int axis, const char* data) {
  const Layout& layout = *value.layout;
  if (axis == layout.rank) return Element(value.dtype, data);
  const int64_t n = layout.extents[axis], step = layout.strides_[axis] * SizeOf(value.dtype);
  Object list = Object::Steal(PyList_New(n));
  if (!list) return nullptr;
  for (int64_t i = 0; i < n; ++i) {
    PyObject* item = List(value, axis + 1, data + i * step);
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

}  // namespace

PyObject* Element(DType dtype, const char* data) {
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return Number(Load<T>(data));
#include "core/dtypes.def"
#undef FZ_DTYPE
  }
  return nullptr;
}

PyObject* Item(const Tensor& x, const char* op) {
  if (x.size() != 1) {
    return Raise(ValueError("[", std::string(op),
                            "] only a tensor of one element becomes a Python number, got ",
                            Describe(x), " (", x.size(), " elements)."));
  }
  const ValueRef value = x.value_ref();  // reading may run code that replaces the cell's content
  if (Status s = Read(*value, Reading::kNumber); !s.ok()) return Raise(s);
  const auto host = OnHost(*value);
  return host.ok() ? Element(value->dtype, (*host)->data) : Raise(host.status());
}

PyObject* ToList(const Tensor& x) {
  const ValueRef value = x.value_ref();
  if (Status s = Read(*value); !s.ok()) return Raise(s);
  const auto host = OnHost(*value);
  return host.ok() ? List(**host, 0, (*host)->data) : Raise(host.status());
}

}  // namespace frazil::python
