// Module functions that make tensors from data, shapes and random streams.
#include "autograd/grad.h"
#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/import.h"
#include "bindings/python/movement.h"
#include "bindings/python/nest.h"
#include "core/default_dtype.h"
#include "core/functions/distributions.h"

namespace frazil::python {
namespace {

// The keywords all creation functions share.
struct Options {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool requires_grad = false;
};
bool Parse(const char* op, PyObject* dtype, PyObject* device, PyObject* requires_grad,
           Options* out) {
  Device d;
  if (!ToOptionalDType(dtype, op, &out->dtype) || !ToDevice(device, op, &d) ||
      !ToBool(requires_grad, op, "requires_grad", false, &out->requires_grad)) {
    return false;
  }
  if (Given(device)) out->device = d;
  return true;
}

Device Home(const Options& options) { return options.device.value_or(Device()); }

PyObject* Finish(Tensor t, const Options& options) {
  if (options.device) t = ops::to_device(t, *options.device);
  if (t.ok() && options.requires_grad) {
    if (Status s = autograd::SetRequiresGrad(&t, true); !s.ok()) return Raise(s);
  }
  return Wrap(std::move(t));
}

// Where the elements of what is to become a tensor lie.
StatusOr<Device> HomeOf(PyObject* object) {
  if (IsTensor(object)) return CellOf(object).device();
  if (!PyObject_HasAttrString(object, "__dlpack_device__")) return Device();
  return ForeignDevice(object);
}

FZ_FAST(Asarray) {
  FZ_ARGS(5, "asarray(obj, /, dtype=None, *, device=None, copy=None, requires_grad=False)");
  Options options;
  ImportOptions how;
  if (!Parse("asarray", a[1], a[2], a[4], &options)) return nullptr;
  how.dtype = options.dtype;
  if (Given(a[3])) {
    bool copy;
    if (!ToBool(a[3], "asarray", "copy", false, &copy)) return nullptr;
    how.copy = copy;
  }
  const auto from = options.device ? HomeOf(a[0]) : StatusOr<Device>(Device());
  if (!from.ok()) return PyErr_Occurred() ? nullptr : Raise(from.status());
  const bool moves = options.device && !(*options.device == *from);
  if (moves && how.copy == false)
    return Raise(ValueError("[asarray] copy=False, but moving from ", Name(*from), " to ",
                            Name(*options.device), " copies."));
  const bool forced = how.copy.value_or(false) || options.requires_grad || moves;
  if (IsTensor(a[0]) && !forced && (!how.dtype || *how.dtype == CellOf(a[0]).dtype()))
    return Py_NewRef(a[0]);
  Tensor t = FromObject(a[0], how);
  if (!t.ok() && PyErr_Occurred()) return nullptr;
  if (t.ok() && options.requires_grad && IsTensor(a[0])) t = t.Detach();
  if (t.ok() && how.copy == true && t.value()->storage && t.value()->storage->foreign)
    t = ops::copy(t);
  return Finish(std::move(t), options);
}

FZ_FAST(FromDlpack) {
  FZ_ARGS(3, "from_dlpack(x, /, *, device=None, copy=None)");
  Device device;
  ImportOptions how;
  if (!ToDevice(a[1], "from_dlpack", &device)) return nullptr;
  if (Given(a[2])) {
    bool copy;
    if (!ToBool(a[2], "from_dlpack", "copy", false, &copy)) return nullptr;
    how.copy = copy;
  }
  Tensor t = FromDLPack(a[0], how);
  if (!t.ok() && PyErr_Occurred()) return nullptr;
  return Wrap(Given(a[1]) ? ops::to_device(t, device) : t);
}

PyObject* Filled(const char* op, PyObject* shape, const Scalar& value, DType fallback,
                 PyObject* dtype, PyObject* device, PyObject* requires_grad) {
  DimVec dims;
  Options options;
  if (!ToDims(shape, op, &dims) || !Parse(op, dtype, device, requires_grad, &options))
    return nullptr;
  return Finish(ops::filled(dims, value, options.dtype.value_or(fallback), Home(options)), options);
}

// PyTorch's zeros(2, 3) is zeros((2, 3)).
template <FastFunction function>
PyObject* FromShape(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs < 2 || !IsOneInt(args[1])) return function(self, args, nargs, kwnames);
  absl::InlinedVector<PyObject*, 8> all = {nullptr};
  Object shape = Object::Steal(PyTuple_New(nargs));
  for (Py_ssize_t i = 0; shape && i < nargs; ++i)
    PyTuple_SET_ITEM(shape.get(), i, Py_NewRef(args[i]));
  if (!shape) return nullptr;
  all[0] = shape.get();
  all.insert(all.end(), args + nargs, args + nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  return function(self, all.data(), 1, kwnames);
}

FZ_FAST(Zeros) {
  FZ_ARGS(4, "zeros(shape, dtype=None, *, device=None, requires_grad=False)");
  return Filled("zeros", a[0], Scalar::Int(0), DefaultFloat(), a[1], a[2], a[3]);
}
FZ_FAST(Ones) {
  FZ_ARGS(4, "ones(shape, dtype=None, *, device=None, requires_grad=False)");
  return Filled("ones", a[0], Scalar::Int(1), DefaultFloat(), a[1], a[2], a[3]);
}
FZ_FAST(Empty) {
  FZ_ARGS(4, "empty(shape, dtype=None, *, device=None, requires_grad=False)");
  return Filled("empty", a[0], Scalar::Int(0), DefaultFloat(), a[1], a[2], a[3]);
}

// A fill value that is a number, or an array to broadcast.
PyObject* FullOf(const char* op, Dims dims, PyObject* fill, std::optional<DType> fallback,
                 const Options& options) {
  Operand value;
  if (!value.Load(fill, op, true)) return nullptr;
  if (!value.tensor()) {
    const DType dtype = options.dtype.value_or(fallback.value_or(DefaultFor(value.scalar().kind)));
    return Finish(ops::filled(dims, value.scalar(), dtype, Home(options)), options);
  }
  const DType dtype = options.dtype.value_or(fallback.value_or(value.tensor()->dtype()));
  return Finish(ops::copy(ops::broadcast_to(ops::astype(*value.tensor(), dtype), dims)), options);
}

FZ_FAST(Full) {
  FZ_ARGS(5, "full(shape, fill_value, dtype=None, *, device=None, requires_grad=False)");
  DimVec dims;
  Options options;
  if (!ToDims(a[0], "full", &dims) || !Parse("full", a[2], a[3], a[4], &options)) return nullptr;
  return FullOf("full", dims, a[1], {}, options);
}

PyObject* FilledLike(const char* op, PyObject* like, const Scalar& value, PyObject* dtype,
                     PyObject* device, PyObject* requires_grad) {
  Tensor own;
  const Tensor* x = TensorOf(like, op, &own);
  Options options;
  if (!x || !Parse(op, dtype, device, requires_grad, &options)) return nullptr;
  if (!options.device) options.device = x->device();
  return Finish(ops::filled(x->dims(), value, options.dtype.value_or(x->dtype()), Home(options)),
                options);
}

FZ_FAST(ZerosLike) {
  FZ_ARGS(4, "zeros_like(x, /, dtype=None, *, device=None, requires_grad=False)");
  return FilledLike("zeros_like", a[0], Scalar::Int(0), a[1], a[2], a[3]);
}
FZ_FAST(OnesLike) {
  FZ_ARGS(4, "ones_like(x, /, dtype=None, *, device=None, requires_grad=False)");
  return FilledLike("ones_like", a[0], Scalar::Int(1), a[1], a[2], a[3]);
}
FZ_FAST(EmptyLike) {
  FZ_ARGS(4, "empty_like(x, /, dtype=None, *, device=None, requires_grad=False)");
  return FilledLike("empty_like", a[0], Scalar::Int(0), a[1], a[2], a[3]);
}
FZ_FAST(FullLike) {
  FZ_ARGS(5, "full_like(x, /, fill_value, dtype=None, *, device=None, requires_grad=False)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "full_like", &own);
  Options options;
  if (!x || !Parse("full_like", a[2], a[3], a[4], &options)) return nullptr;
  if (!options.device) options.device = x->device();
  return FullOf("full_like", x->dims(), a[1], x->dtype(), options);
}

FZ_FAST(Arange) {
  FZ_ARGS(6,
          "arange(start, /, stop=None, step=1, *, dtype=None, device=None, requires_grad=False)");
  Scalar start = Scalar::Int(0), stop, step = Scalar::Int(1);
  Options options;
  if (!Parse("arange", a[3], a[4], a[5], &options)) return nullptr;
  const bool one = !Given(a[1]);
  if (!ToNumber(one ? a[0] : a[1], "arange", "each bound", &stop) ||
      (!one && !ToNumber(a[0], "arange", "each bound", &start)) ||
      (Given(a[2]) && !ToNumber(a[2], "arange", "each bound", &step))) {
    return nullptr;
  }
  return Finish(ops::arange(start, stop, step, options.dtype), options);
}

FZ_FAST(Linspace) {
  FZ_ARGS(7,
          "linspace(start, stop, num=50, *, dtype=None, device=None, endpoint=True, "
          "requires_grad=False)");
  double start, stop, start_imag = 0, stop_imag = 0;
  int64_t n = 50;
  Options options;
  bool endpoint;
  const bool complex = PyComplex_Check(a[0]) || PyComplex_Check(a[1]);
  const auto bound = [&](PyObject* object, const char* what, double* re, double* im) {
    if (!PyComplex_Check(object)) return ToDouble(object, "linspace", what, re);
    *re = PyComplex_RealAsDouble(object);
    *im = PyComplex_ImagAsDouble(object);
    return true;
  };
  if (!bound(a[0], "start", &start, &start_imag) || !bound(a[1], "stop", &stop, &stop_imag) ||
      (a[2] && !ToInt(a[2], "linspace", "num", &n)) ||
      !ToBool(a[5], "linspace", "endpoint", true, &endpoint) ||
      !Parse("linspace", a[3], a[4], a[6], &options)) {
    return nullptr;
  }
  const DType dtype =
      options.dtype.value_or(DefaultFor(complex ? Scalar::Kind::kComplex : Scalar::Kind::kFloat));
  const auto line = [&](double from, double to) {
    return ops::linspace(from, to, n, endpoint, complex ? DType::kF64 : dtype);
  };
  const Tensor real = line(start, stop);
  return Finish(
      complex ? ops::astype(ops::complex(real, line(start_imag, stop_imag)), dtype) : real,
      options);
}

FZ_FAST(Eye) {
  FZ_ARGS(6, "eye(n_rows, n_cols=None, k=0, dtype=None, *, device=None, requires_grad=False)");
  int64_t rows, columns, k = 0;
  Options options;
  if (!ToInt(a[0], "eye", "n_rows", &rows) || (a[2] && !ToInt(a[2], "eye", "k", &k)))
    return nullptr;
  columns = rows;
  if (Given(a[1]) && !ToInt(a[1], "eye", "n_cols", &columns)) return nullptr;
  if (!Parse("eye", a[3], a[4], a[5], &options)) return nullptr;
  return Finish(ops::eye(rows, columns, k, options.dtype.value_or(DefaultFloat())), options);
}

template <OpName name, Tensor (*frequencies)(int64_t, double, DType)>
FZ_FAST(Frequencies) {
  FZ_ARGS(
      5, std::string(name.text) + "(n, /, d=1.0, *, dtype=None, device=None, requires_grad=False)");
  int64_t n;
  double d = 1;
  Options options;
  if (!ToInt(a[0], name.text, "n", &n) || (a[1] && !ToDouble(a[1], name.text, "d", &d)) ||
      !Parse(name.text, a[2], a[3], a[4], &options))
    return nullptr;
  return Finish(frequencies(n, d, options.dtype.value_or(DefaultFloat())), options);
}

// -- Random streams: the generator is a tensor that holds u64[2].

FZ_FAST(State) {
  FZ_ARGS(1, "random.seed(seed, /)");
  Object index = Object::Steal(PyNumber_Index(a[0]));
  if (!index) return nullptr;
  const auto seed = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    Object text = Object::Steal(PyObject_Str(index.get()));
    const char* digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (!digits) PyErr_Clear();
    return Raise(ValueError("[random.seed] must be in 0 ... 2**64 - 1, got ",
                            digits ? digits : "a larger integer", "."));
  }
  return PyErr_Occurred() ? nullptr : Wrap(ops::random_state(seed));
}

FZ_FAST(SetDefault) {
  FZ_ARGS(1, "random.set_default(state, /)");
  SetDefaultGenerator(a[0]);
  Py_RETURN_NONE;
}

Tensor* Generator(PyObject* object) {
  if (IsTensor(object)) return &CellOf(object);
  Raise(TypeError("[random] the generator's state must be a tensor, got ", Py_TYPE(object)->tp_name,
                  "."));
  return nullptr;
}

template <OpName name, Tensor (*draw)(Tensor*, Dims, DType)>
FZ_FAST(Floats) {
  FZ_ARGS(4, std::string(name.text) + "(state, shape, /, dtype=None, device=None)");
  Tensor* generator = Generator(a[0]);
  DimVec dims;
  Options options;
  if (!generator || !ToDims(a[1], name.text, &dims) ||
      !Parse(name.text, a[2], a[3], nullptr, &options))
    return nullptr;
  Tensor drawn = draw(generator, dims, options.dtype.value_or(DefaultFloat()));
  NoteWrite(generator);
  return Finish(std::move(drawn), options);
}

// An end of random integers.
bool ToEnd(PyObject* object, const char* what, absl::int128* out) {
  const Object index = PyBool_Check(object) ? Object() : Object::Steal(PyNumber_Index(object));
  if (!index) {
    int64_t none;
    PyErr_Clear();
    return ToInt(object, "random.integers", what, &none);  // says what is wrong
  }
  int overflow;
  *out = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow > 0) {  // up to 2^64, which is 1 more than 64 bits hold
    const Object one = Object::Steal(PyLong_FromLong(1));
    const Object before = Object::Steal(one ? PyNumber_Subtract(index.get(), one.get()) : nullptr);
    if (!before) return false;
    *out = absl::int128(PyLong_AsUnsignedLongLong(before.get())) + 1;
  }
  if (overflow >= 0 && !PyErr_Occurred()) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "[random.integers] %s is out of bounds of 64 bits: %R.", what,
               index.get());
  return false;
}

FZ_FAST(Integers) {
  FZ_ARGS(6, "random.integers(state, low, high, shape, /, dtype=None, device=None)");
  Tensor* generator = Generator(a[0]);
  absl::int128 low, high;
  DimVec dims;
  Options options;
  if (!generator || !ToEnd(a[1], "low", &low) || !ToEnd(a[2], "high", &high) ||
      !ToDims(a[3], "random.integers", &dims) ||
      !Parse("random.integers", a[4], a[5], nullptr, &options)) {
    return nullptr;
  }
  Tensor drawn =
      ops::Generator(generator).integers(low, high, dims, options.dtype.value_or(DType::kI64));
  NoteWrite(generator);
  return Finish(std::move(drawn), options);
}

}  // namespace

std::vector<FunctionRow> CreationFunctions() {
  const std::string tail = "device=None, requires_grad=False)";
  return {
      {"asarray(obj, /, dtype=None, *, device=None, copy=None, requires_grad=False)",
       "A tensor from a number, nested sequences, a NumPy array, a buffer, DLPack or a tensor.\n\n"
       "Python floats become the default dtype (float32), ints int64; arrays keep their dtype. "
       "copy=None copies "
       "foreign memory, "
       "copy=False borrows it (ValueError if that is impossible), copy=True always makes a new "
       "tensor.",
       Asarray},
      {"from_dlpack(x, /, *, device=None, copy=None)", "A tensor from an object with __dlpack__.",
       FromDlpack},
      {"zeros(shape, dtype=None, *, " + tail, "Filled with 0; zeros(2, 3) is zeros((2, 3)).",
       FromShape<Zeros>},
      {"ones(shape, dtype=None, *, " + tail, "Filled with 1; ones(2, 3) is ones((2, 3)).",
       FromShape<Ones>},
      {"empty(shape, dtype=None, *, " + tail,
       "Of a shape, which may be given as several integers; the elements are 0.", FromShape<Empty>},
      {"full(shape, fill_value, dtype=None, *, " + tail,
       "Filled with a value, whose kind decides the dtype.", Full},
      {"zeros_like(x, /, dtype=None, *, " + tail, "Filled with 0, with the shape and dtype of x.",
       ZerosLike},
      {"ones_like(x, /, dtype=None, *, " + tail, "Filled with 1, with the shape and dtype of x.",
       OnesLike},
      {"empty_like(x, /, dtype=None, *, " + tail,
       "With the shape and dtype of x; the elements are 0.", EmptyLike},
      {"full_like(x, /, fill_value, dtype=None, *, " + tail,
       "Filled with a value, with the shape and dtype of x.", FullLike},
      {"arange(start, /, stop=None, step=1, *, dtype=None, " + tail,
       "start, start + step, ... below stop; from 0 if one bound is given.", Arange},
      {"linspace(start, stop, num=50, *, dtype=None, device=None, endpoint=True, "
       "requires_grad=False)",
       "num evenly spaced numbers from start to stop.", Linspace},
      {"eye(n_rows, n_cols=None, k=0, dtype=None, *, " + tail,
       "Ones on the k-th diagonal, zeros elsewhere.", Eye},
  };
}

std::vector<FunctionRow> FourierFunctions() {
  std::vector<FunctionRow> rows = CompositeFunctions("fft");
  const std::string tail = "(n, /, d=1.0, *, dtype=None, device=None, requires_grad=False)";
  rows.push_back({"fftfreq" + tail,
                  "Frequencies of the points of fft of n samples that are d apart, in cycles per "
                  "unit of d: 0 and rising, then the negative ones.",
                  Frequencies<"fftfreq", ops::fftfreq>});
  rows.push_back({"rfftfreq" + tail,
                  "Frequencies of the n // 2 + 1 points of rfft of n samples that are d apart, in "
                  "cycles per unit of d.",
                  Frequencies<"rfftfreq", ops::rfftfreq>});
  return rows;
}

std::vector<FunctionRow> RandomFunctions() {
  std::vector<FunctionRow> rows = {
      {"state(seed, /)", "The state of a generator: a tensor that drawing advances.", State},
      {"set_default(state, /)", "The state that the module's own functions draw from.", SetDefault},
      {"uniform(state, shape, /, dtype=None, device=None)", "Uniform in [0, 1).",
       Floats<"random.uniform", ops::random_uniform>},
      {"normal(state, shape, /, dtype=None, device=None)", "Standard normal.",
       Floats<"random.normal", ops::random_normal>},
      {"integers(state, low, high, shape, /, dtype=None, device=None)",
       "Uniform integers in [low, high).", Integers},
  };
  const std::vector<FunctionRow> more = DistributionFunctions();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace frazil::python
