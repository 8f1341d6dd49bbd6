#include "bindings/cpp/frazil.h"

#include "core/backend.h"
#include "core/functions/replace.h"
#include "jit/eager/eager.h"
#include "jit/register.h"
#include "jit/switches.h"

namespace frazil {

void Initialize() {
  static const Status switches = jit::CheckSwitches();
  ThrowIf(switches);
  jit::RegisterJit();
}

namespace cpp_internal {
bool IsAll(const Tensor& mask, std::string_view op) {
  return item(Checked(ops::all(mask), op)) != 0;
}
}  // namespace cpp_internal

bool allclose(const Tensor& x1, const Tensor& x2, double rtol, double atol, bool equal_nan) {
  Initialize();
  return cpp_internal::IsAll(ops::isclose(x1, x2, rtol, atol, equal_nan), "allclose");
}

bool array_equal(const Tensor& x1, const Tensor& x2, bool equal_nan) {
  Initialize();
  if (Checked(x1, "array_equal").shape() != Checked(x2, "array_equal").shape()) return false;
  Tensor same = ops::equal(x1, x2);
  if (equal_nan) same = ops::logical_or(same, ops::logical_and(ops::isnan(x1), ops::isnan(x2)));
  return cpp_internal::IsAll(same, "array_equal");
}

Tensor rows(const Tensor& x, int64_t start, int64_t stop) {
  Initialize();
  const Index index{.kind = Index::Kind::kSlice, .start = start, .stop = stop};
  return Checked(ops::getitem(x, {&index, 1}), "rows");
}

Tensor full(const Shape& shape, const Scalar& value, DType dtype) {
  Initialize();
  return Checked(ops::filled(shape, value, dtype), "full");
}

Tensor arange(int64_t n, DType dtype) {
  Initialize();
  return Checked(ops::iota(n, dtype), "arange");
}

void sgd_step(Tensor& parameter, const Tensor& gradient, Tensor& velocity, double lr,
              double momentum) {
  Initialize();
  Tensor p = parameter, v = velocity;
  ops::sgd_step(&p, gradient, &v, lr, momentum, 0);
  ThrowIf(p.status());
  ThrowIf(v.status());
  for (const Tensor* cell : {&parameter, &velocity}) tracer::Learning::Write(cell);
  parameter.SetValue(p.value_ref());
  velocity.SetValue(v.value_ref());
}

double item(const Tensor& t) {
  Initialize();
  if (t.ok() && t.size() != 1)
    throw Error(ValueError("[item] needs one element, got ", Describe(t), "."));
  ThrowIf(t.status());
  ThrowIf(Read(*t.value(), Reading::kNumber));
  const auto host = OnHost(*t.value());
  ThrowIf(host.status());
  const auto number = [&]<typename T>(T v) {
    std::memcpy(&v, (*host)->data, sizeof v);
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(v);
    } else {
      return static_cast<double>(ToFloat(v));
    }
  };
  switch (t.dtype()) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return number(T{});
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      throw Error(TypeError("[item] a complex number is no double: ", Describe(t),
                            "; take its real part, or complex_item."));
  }
  return 0;
}

std::complex<double> complex_item(const Tensor& t) {
  Initialize();
  return {item(Checked(ops::real(t), "complex_item")), item(Checked(ops::imag(t), "complex_item"))};
}

Tensor to_device(const Tensor& t, std::string_view device) {
  Initialize();
  const auto where = ParseDevice(device);
  ThrowIf(where.status());
  return Checked(ops::to_device(t, *where), "to_device");
}

NamedTensors load(const std::string& path, Remarks* metadata) {
  auto file = LoadTensors("load", path);
  ThrowIf(file.status());
  if (metadata) *metadata = std::move(file->metadata);
  return std::move(file->tensors);
}

void save(const std::string& path, const NamedTensors& tensors, const Remarks& metadata) {
  Initialize();
  ThrowIf(SaveTensors("save", path, tensors, metadata));
}

const Tensor& get(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  throw Error(ValueError("[get] there is no tensor named '", name, "' among ", tensors.size(),
                         " tensors."));
}

namespace cpp_internal {

Tensor& InPlace(std::string_view op, Tensor& cell, const Arg& with,
                absl::FunctionRef<Tensor()> make) {
  Initialize();
  Tensor result;
  if (ops::IsKept(cell) || (with.tensor() && NeedsGrad(State(), *with.tensor()))) {
    result = make();
  } else {
    const jit::OverwriteScope spent(cell.value());
    result = make();
  }
  const auto fitted = ops::Fitted(op, cell, std::move(result));
  if (!fitted.ok()) throw Error(fitted.status(), op);
  tracer::Learning::Write(&cell);
  ops::Replace(&cell, *fitted);
  return cell;
}

Tensor FromBytes(const void* data, size_t elements, const Shape& shape, DType dtype) {
  Initialize();
  ThrowIf(CheckDims("tensor", shape, SizeOf(dtype)));
  const Layout* layout = Dense(shape);
  if (static_cast<size_t>(layout->size) != elements) {
    throw Error(ValueError("[tensor] shape ", ToString(shape), " has ", layout->size,
                           " elements, the data ", elements, "."));
  }
  auto value = Value::Allocate(dtype, Device(), layout);
  ThrowIf(value.status());
  if (elements) std::memcpy((*value)->data, data, elements * SizeOf(dtype));
  return Tensor(*std::move(value));
}

Tensor DenseReady(const Tensor& t, DType expected) {
  Initialize();
  ThrowIf(t.status());
  if (t.dtype() != expected) {
    throw Error(TypeError("[to_vector] the tensor is ", Describe(t), ", asked for ",
                          std::string(Name(expected)), "."));
  }
  const Tensor dense = t.layout()->dense ? t : Checked(ops::copy(t), "to_vector");
  ThrowIf(Read(*dense.value()));
  auto host = OnHost(*dense.value());
  ThrowIf(host.status());
  return Tensor(*std::move(host));
}

}  // namespace cpp_internal
}  // namespace frazil
