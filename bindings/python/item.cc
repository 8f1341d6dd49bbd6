#include "bindings/python/item.h"

#include <cstring>

#include "core/apply.h"
#include "core/backend.h"
#include "tracer/choices.h"

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
PyObject* Number(std::complex<T> v) {
  return PyComplex_FromDoubles(v.real(), v.imag());
}
template <typename T>
PyObject* Number(T v) {
  // The one for long has a short way for small numbers.
  if constexpr (std::is_signed_v<T> || sizeof(T) < sizeof(long)) {  // NOLINT(google-runtime-int)
    return PyLong_FromLong(static_cast<long>(v));                   // NOLINT(google-runtime-int)
  } else {
    return static_cast<int64_t>(v) < 0 ? PyLong_FromUnsignedLongLong(v)
                                       : PyLong_FromLong(static_cast<int64_t>(v));
  }
}
static_assert(sizeof(long) == sizeof(int64_t));  // NOLINT(google-runtime-int)

template <typename T>
PyObject* List(const Layout& layout, int axis, const T* data) {
  const int64_t n = layout.extents[axis], step = layout.strides_[axis];
  Object list = Object::Steal(PyList_New(n));
  if (!list) return nullptr;
  const bool last = axis == layout.rank - 1;
  for (int64_t i = 0; i < n; ++i) {
    PyObject* item = last ? Number(data[i * step]) : List(layout, axis + 1, data + i * step);
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
#define FZ_COMPLEX FZ_DTYPE
#include "core/dtypes.def"
#undef FZ_DTYPE
  }
  return nullptr;
}

PyObject* Item(const Tensor& x, const char* op) {
  if (x.size() != 1) {
    const std::string message =
        StrCat("[", op, "] only a tensor of one element becomes a Python number, got ", Describe(x),
               " (", x.size(), " elements).");
    const bool method = std::string_view(op) == "item";  // for int(x) NumPy has a TypeError
    return Raise(method ? ValueError(message) : TypeError(message));
  }
  if (auto& choices = tracer::Choices::Current();
      choices && !choices->given.empty() && ++choices->reads > tracer::Choices::kMostReads)
    return Raise(RuntimeError("[export] a branch that no example takes reads over ",
                              tracer::Choices::kMostReads, " numbers."));
  const ValueRef value = x.value_ref();  // reading may run code that replaces the cell's content
  if (Status s = Read(*value, Reading::kNumber); !s.ok()) return Raise(s);
  const auto host = OnHost(*value);
  return host.ok() ? Element(value->dtype, (*host)->data) : Raise(host.status());
}

PyObject* ToList(const Tensor& x) {
  const ValueRef value = x.value_ref();
  if (Status s = Read(*value); !s.ok()) return Raise(s);
  const auto host = OnHost(*value);
  if (!host.ok()) return Raise(host.status());
  const char* const data = (*host)->data;
  const Layout& layout = *(*host)->layout;
  if (layout.rank == 0) return Element(value->dtype, data);
  switch (value->dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return List(layout, 0, reinterpret_cast<const T*>(data));
#define FZ_COMPLEX FZ_DTYPE
#include "core/dtypes.def"
#undef FZ_DTYPE
  }
  return nullptr;
}

}  // namespace frazil::python
