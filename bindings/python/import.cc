#include "bindings/python/import.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "bindings/python/convert.h"
#include "bindings/python/cuda_interop.h"
#include "bindings/python/proof/watch.h"
#include "bindings/python/sequence.h"
#include "core/check.h"

namespace frazil::python {
namespace {

// The dtype of a buffer's struct-module format; `swap` if its bytes are in the other order.
std::optional<DType> ParseFormat(const char* format, Py_ssize_t size, bool* swap) {
  *swap = false;
  if (!format) format = "B";
  if (std::strchr("@=<>!|", *format) && *format) {
    *swap = *format == '>' || *format == '!';
    ++format;
  }
  if (*format == 'Z') {
    const DType dtype = format[1] == 'f' ? DType::kC64 : DType::kC128;
    const bool known = (format[1] == 'f' || format[1] == 'd') && !format[2];
    return known && SizeOf(dtype) == size ? std::optional(dtype) : std::nullopt;
  }
  if (!format[0] || format[1]) return std::nullopt;
  if (*format == '?') return DType::kBool;
  const bool is_float = std::strchr("efd", *format), is_signed = std::strchr("bhilqn", *format),
             is_unsigned = std::strchr("BHILQN", *format);
  for (int i = 0; i < kNumRealDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    if (SizeOf(t) != size || t == DType::kBF16) continue;
    if ((is_float && IsFloat(t)) || (is_signed && IsSigned(t)) || (is_unsigned && IsUnsigned(t)))
      return t;
  }
  return std::nullopt;
}

std::string TypeName(PyObject* o) { return Py_TYPE(o)->tp_name; }

// "float128" of an array, or the type of what is no array.
std::string DTypeName(PyObject* o) {
  Object dtype = Object::Steal(PyObject_GetAttrString(o, "dtype"));
  Object name = dtype ? Object::Steal(PyObject_Str(dtype.get())) : Object();
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text ? text : TypeName(o);
}

// Whether it is an array of dates or spans of time.
bool HoldsTimes(PyObject* o) {
  Object dtype = Object::Steal(PyObject_GetAttrString(o, "dtype"));
  Object kind = dtype ? Object::Steal(PyObject_GetAttrString(dtype.get(), "kind")) : Object();
  const char* text = kind && PyUnicode_Check(kind.get()) ? PyUnicode_AsUTF8(kind.get()) : nullptr;
  PyErr_Clear();
  return text && (*text == 'm' || *text == 'M');
}

void ReleaseBuffer(void* context) {
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* view = static_cast<Py_buffer*>(context);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(state);
}

// Borrows the memory of `view`, which then belongs to the tensor.
Tensor Borrow(Py_buffer* view, DType dtype, Dims dims, Dims byte_strides) {
  const int size = SizeOf(dtype);
  DimVec strides(byte_strides.begin(), byte_strides.end());
  int64_t low = 0;
  bool aligned = reinterpret_cast<uintptr_t>(view->buf) % uintptr_t(SizeOf(PartOf(dtype))) == 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    aligned &= strides[i] % size == 0;
    low += std::min<int64_t>(strides[i], 0) * std::max<int64_t>(dims[i] - 1, 0);
    strides[i] /= size;
  }
  if (!aligned) {
    return ValueError("[asarray] copy=False, but the array's elements are not aligned: copy it.");
  }
  char* first = static_cast<char*>(view->buf);
  StorageRef storage = WrapForeign(first + low, ReleaseBuffer, new Py_buffer(*view));
  return Tensor(Value::Make(dtype, Device(), Intern(dims, strides), std::move(storage), first));
}

Tensor FromBuffer(Py_buffer* view, std::optional<DType> stored_as, PyObject* object,
                  const ImportOptions& options, bool* taken) {
  bool swap = false;
  const auto parsed = ParseFormat(view->format, view->itemsize, &swap);
  if (!parsed)
    return TypeError("[asarray] dtype ", DTypeName(object), " has no counterpart in frazil.");
  const DType dtype = stored_as ? *stored_as : *parsed;
  DimVec dims(view->shape, view->shape + view->ndim), strides;
  if (view->strides) {
    strides.assign(view->strides, view->strides + view->ndim);
  } else {
    strides.resize(dims.size());
    int64_t step = view->itemsize;
    for (size_t i = dims.size(); i-- > 0; step *= dims[i]) strides[i] = step;
  }
  if (Status s = CheckDims("asarray", dims, SizeOf(dtype)); !s.ok()) return Tensor(std::move(s));
  if (options.copy.has_value() && !*options.copy) {
    if (swap || (options.dtype && *options.dtype != dtype)) {
      return ValueError("[asarray] copy=False, but the array must be converted: from ",
                        std::string(swap ? "swapped " : ""), std::string(Name(dtype)), " to ",
                        std::string(Name(options.dtype.value_or(dtype))), ".");
    }
    Tensor borrowed = Borrow(view, dtype, dims, strides);
    *taken = borrowed.ok();
    return borrowed;
  }
  auto value = Value::Allocate(dtype, Device(), Dense(dims));
  if (!value.ok()) return Tensor(std::move(value).status());
  CopyStrided((*value)->data, static_cast<const char*>(view->buf), dims, strides, SizeOf(dtype),
              swap && !IsComplex(dtype));
  if (swap && IsComplex(dtype)) {  // each part by itself
    const int part = SizeOf(dtype) / 2;
    const int64_t parts = 2 * (*value)->size();
    for (char* p = (*value)->data; p < (*value)->data + parts * part; p += part)
      std::reverse(p, p + part);
  }
  Tensor t(*std::move(value));
  return options.dtype ? ops::astype(t, *options.dtype) : t;
}

Tensor FromBufferObject(PyObject* object, std::optional<DType> stored_as,
                        const ImportOptions& options) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) return Tensor();
  // NumPy shows its dates and spans of time as bytes.
  if (view.itemsize == 1 && HoldsTimes(object)) {
    PyBuffer_Release(&view);
    return TypeError("[asarray] dtype ", DTypeName(object), " has no counterpart in frazil.");
  }
  bool taken = false;
  Tensor t = FromBuffer(&view, stored_as, object, options, &taken);
  if (!taken) PyBuffer_Release(&view);
  return t;
}

bool HasBuffer(PyObject* o) {
  return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o);
}

// Arrays whose dtype has no struct code refuse the buffer protocol: bfloat16 of ml_dtypes goes as
// its 16 bits.
Tensor FromRefusedBuffer(PyObject* object, const ImportOptions& options) {
  PyErr_Clear();
  const std::string name = DTypeName(object);
  if (name != "bfloat16")
    return TypeError("[asarray] dtype ", name, " has no counterpart in frazil.");
  Object bits = Object::Steal(PyObject_CallMethod(object, "view", "s", "uint16"));
  return bits ? FromBufferObject(bits.get(), DType::kBF16, options) : Tensor();
}

}  // namespace

bool IsArrayLike(PyObject* o) {
  if (PyUnicode_Check(o) || PyBytes_Check(o) || PyType_Check(o)) return false;
  return HasBuffer(o) || PyObject_HasAttrString(o, "__dlpack__") || HasCudaArrayInterface(o) ||
         PyObject_HasAttrString(o, "__array__") || PyObject_HasAttrString(o, "__array_interface__");
}

Tensor FromObject(PyObject* object, const ImportOptions& options) {
  if (IsTensor(object)) {
    const Tensor& t = CellOf(object);
    return options.dtype ? ops::astype(t, *options.dtype) : t;
  }
  Scalar scalar;
  const bool forbidden = options.copy.has_value() && !*options.copy;
  if (TryScalar(object, &scalar)) {
    if (forbidden) return ValueError("[asarray] copy=False, but a Python number must be copied.");
    const DType dtype = options.dtype.value_or(scalar.big ? DType::kU64 : DefaultFor(scalar.kind));
    const Tensor* moving = g_following ? g_following->Element(object, dtype) : nullptr;
    return moving ? ops::copy(*moving) : ops::scalar(scalar, dtype);
  }
  if (HasBuffer(object)) {
    Tensor t = FromBufferObject(object, {}, options);
    if (t.defined()) return t;
    return FromRefusedBuffer(object, options);
  }
  if (IsArrayLike(object)) {
    if (PyObject_HasAttrString(object, "__dlpack__")) return FromDLPack(object, options);
    if (HasCudaArrayInterface(object)) return FromCudaArrayInterface(object, options);
    Object numpy = Object::Steal(PyImport_ImportModule("numpy"));
    Object array =
        numpy ? Object::Steal(PyObject_CallMethod(numpy.get(), "asarray", "O", object)) : Object();
    return array ? FromObject(array.get(), options) : Tensor();
  }
  if (IsSequence(object)) {
    if (forbidden)
      return ValueError("[asarray] copy=False, but a sequence of numbers must be copied.");
    return FromSequence(object, options);
  }
  return TypeError("[asarray] cannot make a tensor from ", TypeName(object), ".");
}

Tensor FromAlikeArrays(PyObject* items) {
  const Py_ssize_t n = PyTuple_GET_SIZE(items);
  std::vector<std::unique_ptr<Py_buffer, void (*)(Py_buffer*)>> views;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items, i);
    auto view = std::make_unique<Py_buffer>();
    if (IsTensor(item) || !HasBuffer(item)) return Tensor();
    if (PyObject_GetBuffer(item, view.get(), PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
      PyErr_Clear();
      return Tensor();
    }
    views.emplace_back(view.release(), [](Py_buffer* taken) {
      PyBuffer_Release(taken);
      delete taken;
    });
    const Py_buffer &first = *views[0], &own = *views.back();
    const auto format = [](const Py_buffer& b) {
      return std::string_view(b.format ? b.format : "");
    };
    if (own.ndim == 0 || own.ndim != first.ndim || format(own) != format(first) || !own.strides ||
        !std::equal(own.shape, own.shape + own.ndim, first.shape) ||
        (own.itemsize == 1 && HoldsTimes(item)))
      return Tensor();
  }
  bool swap = false;
  const auto dtype = ParseFormat(views[0]->format, views[0]->itemsize, &swap);
  if (!dtype || swap) return Tensor();
  DimVec dims(views[0]->shape, views[0]->shape + views[0]->ndim);
  dims.insert(dims.begin(), n);
  if (static_cast<int>(dims.size()) > kMaxRank || !CheckDims("asarray", dims, SizeOf(*dtype)).ok())
    return Tensor();
  auto value = Value::Allocate(*dtype, Device(), Dense(dims));
  if (!value.ok()) return Tensor(std::move(value).status());
  const int64_t bytes = (*value)->size() / n * SizeOf(*dtype);
  for (Py_ssize_t i = 0; i < n; ++i) {
    const DimVec strides(views[i]->strides, views[i]->strides + views[i]->ndim);
    CopyStrided((*value)->data + i * bytes, static_cast<const char*>(views[i]->buf),
                Dims(dims).subspan(1), strides, SizeOf(*dtype), false);
  }
  return Tensor(*std::move(value));
}

namespace {

template <int size>
void CopyRow(char* to, const char* from, int64_t n, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * stride, size);
}

// `n` pieces of `size` bytes that lie `stride` apart, one after another.
void CopyPieces(char* to, const char* from, int64_t n, int64_t stride, int64_t size) {
  if (stride == size) {
    std::memcpy(to, from, static_cast<size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return CopyRow<1>(to, from, n, stride);
    case 2:
      return CopyRow<2>(to, from, n, stride);
    case 3:  // pixels of three bytes
      return CopyRow<3>(to, from, n, stride);
    case 4:
      return CopyRow<4>(to, from, n, stride);
    case 8:
      return CopyRow<8>(to, from, n, stride);
    case 12:
      return CopyRow<12>(to, from, n, stride);
    case 16:
      return CopyRow<16>(to, from, n, stride);
    default:
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(to + i * size, from + i * stride, static_cast<size_t>(size));
  }
}

void CopySwapped(char* to, const char* from, int64_t n, int64_t stride, int64_t size) {
  for (int64_t i = 0; i < n; ++i)
    std::reverse_copy(from + i * stride, from + i * stride + size, to + i * size);
}

}  // namespace

void CopyStrided(char* to, const char* from, Dims dims, Dims strides, int size, bool swap) {
  // The run of innermost axes that is already row-major is a piece, and an axis of pieces a row.
  size_t outer = dims.size();
  int64_t piece = size, n = 1, stride = 0;
  swap = swap && size > 1;
  while (!swap && outer > 0 && (dims[outer - 1] == 1 || strides[outer - 1] == piece))
    piece *= dims[--outer];
  if (outer > 0) {
    n = dims[--outer];
    stride = strides[outer];
  }
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i) rows *= dims[i];
  if (rows * n * piece == 0) return;
  DimVec index(outer, 0);
  for (int64_t row = 0; row < rows; ++row, to += n * piece) {
    (swap ? CopySwapped : CopyPieces)(to, from, n, stride, piece);
    for (size_t i = outer; i-- > 0;) {
      from += strides[i];
      if (++index[i] < dims[i]) break;
      from -= strides[i] * dims[i];
      index[i] = 0;
    }
  }
}

}  // namespace frazil::python
