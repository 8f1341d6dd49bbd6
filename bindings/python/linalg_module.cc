// Functions of frazil._frazil.linalg: the composites that are at home there, and those of several
// results, which frazil.linalg gives names.
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/functions/functions.h"
#include "core/functions/linalg.h"

namespace frazil::python {
namespace {

PyObject* TupleOf(std::initializer_list<Tensor> results) {
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  Py_ssize_t at = 0;
  for (const Tensor& t : results) {
    PyObject* const item = tuple ? Wrap(Tensor(t)) : nullptr;
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), at++, item);
  }
  return tuple.release();
}

FZ_FAST(Eig) {
  FZ_ARGS(1, "eig(x, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "eig", &own);
  if (!x) return nullptr;
  const ops::EigResult out = ops::eig(*x);
  return TupleOf({out.eigenvalues, out.eigenvectors});
}

// A text among the arguments; null with an error if it is none.
const char* TextOf(PyObject* object, const char* otherwise) {
  if (!object) return otherwise;
  return PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : "";
}

FZ_FAST(Eigh) {
  FZ_ARGS(2, "eigh(x, /, UPLO='L')");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "eigh", &own);
  const char* uplo = x ? TextOf(a[1], "L") : nullptr;
  if (!uplo) return nullptr;
  const ops::EigResult out = ops::eigh(*x, uplo);
  return TupleOf({out.eigenvalues, out.eigenvectors});
}

FZ_FAST(Qr) {
  FZ_ARGS(2, "qr(x, /, *, mode='reduced')");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "qr", &own);
  const char* mode = x ? TextOf(a[1], "reduced") : nullptr;
  if (!mode) return nullptr;
  const ops::QrResult out = ops::qr(*x, mode);
  return TupleOf({out.q, out.r});
}

FZ_FAST(Slogdet) {
  FZ_ARGS(1, "slogdet(x, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "slogdet", &own);
  if (!x) return nullptr;
  const ops::SlogdetResult out = ops::slogdet(*x);
  return TupleOf({out.sign, out.logabsdet});
}

FZ_FAST(Svd) {
  FZ_ARGS(2, "svd(x, /, *, full_matrices=True)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "svd", &own);
  bool full = true;
  if (!x || !ToBool(a[1], "svd", "full_matrices", true, &full)) return nullptr;
  const ops::SvdResult out = ops::svd(*x, full);
  return TupleOf({out.u, out.s, out.vh});
}

FZ_FAST(PinvWithValues) {
  FZ_ARGS(2, "pinv_with_values(x, /, rtol=None)");
  Tensor own, own_rtol;
  const Tensor* x = HeldTensor(a[0], "pinv", &own);
  const Tensor* rtol = x && Given(a[1]) ? HeldTensor(a[1], "pinv", &own_rtol) : nullptr;
  if (!x || (Given(a[1]) && !rtol)) return nullptr;
  const ops::PinvResult out = ops::pinv_with_values(*x, rtol);
  return TupleOf({out.inverse, out.singular_values});
}

FZ_FAST(SvdHermitian) {
  FZ_ARGS(1, "svd_hermitian(x, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "svd", &own);
  if (!x) return nullptr;
  const ops::SvdResult out = ops::svd_hermitian(*x);
  return TupleOf({out.u, out.s, out.vh});
}

FZ_FAST(Lstsq) {
  FZ_ARGS(3, "lstsq(a, b, /, rcond=None)");
  Tensor own, own_b;
  const Tensor* x = IndicesOf(a[0], "lstsq", &own);
  const Tensor* b = x ? IndicesOf(a[1], "lstsq", &own_b) : nullptr;
  std::optional<double> rcond;
  if (!b || (Given(a[2]) && !ToDouble(a[2], "lstsq", "rcond", &rcond.emplace()))) return nullptr;
  const ops::LstsqResult out = ops::lstsq(*x, *b, rcond);
  const Object tensors = Object::Steal(TupleOf({out.x, out.residuals, out.singular_values}));
  if (!tensors) return nullptr;
  PyObject* const* const item = PySequence_Fast_ITEMS(tensors.get());
  return Py_BuildValue("(OOLO)", item[0], item[1], static_cast<long long>(out.rank), item[2]);
}

// The last two axes, unlike the function of frazil.
FZ_FAST(Diagonal) {
  FZ_ARGS(2, "diagonal(x, /, *, offset=0)");
  Tensor own;
  const Tensor* x = IndicesOf(a[0], "diagonal", &own);
  int64_t offset = 0;
  if (!x || (a[1] && !ToInt(a[1], "diagonal", "offset", &offset))) return nullptr;
  return Wrap(ops::diagonal(*x, offset, -2, -1));
}

FZ_FAST(MatrixPower) {
  FZ_ARGS(2, "matrix_power(x, n, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "matrix_power", &own);
  int64_t n = 0;
  if (!x || !ToInt(a[1], "matrix_power", "n", &n)) return nullptr;
  return Wrap(ops::matrix_power(*x, n));
}

FZ_FAST(MultiDot) {
  FZ_ARGS(1, "multi_dot(arrays, /)");
  std::vector<Tensor> arrays;
  if (!ToTensors(a[0], "multi_dot", &arrays)) return nullptr;
  return Wrap(ops::multi_dot(arrays));
}

}  // namespace

std::vector<FunctionRow> LinalgFunctions() {
  std::vector<FunctionRow> rows = CompositeFunctions("linalg");
  const FunctionRow several[] = {
      {"eig(x, /)", "Eigenvalues and eigenvectors of square matrices.", Eig},
      {"eigh(x, /, UPLO='L')", "Eigenvalues and eigenvectors of Hermitian matrices.", Eigh},
      {"qr(x, /, *, mode='reduced')", "Orthonormal columns and an upper triangle.", Qr},
      {"slogdet(x, /)", "Sign of a determinant and logarithm of its absolute value.", Slogdet},
      {"svd(x, /, *, full_matrices=True)", "Singular vectors and values.", Svd},
      {"matrix_power(x, n, /)",
       "The product of n matrices x, by squaring; of the inverse for n < 0, the identity for 0.",
       MatrixPower},
      {"multi_dot(arrays, /)",
       "The product of matrices in the order that takes the fewest multiplications. The first and "
       "the last may be vectors.",
       MultiDot},
      {"svd_hermitian(x, /)", "Singular vectors and values of Hermitian matrices.", SvdHermitian},
      {"lstsq(a, b, /, rcond=None)", "The solution, what is left, rank and singular values.",
       Lstsq},
      {"diagonal(x, /, *, offset=0)", "The diagonal of the last two axes: x[..., i, i + offset].",
       Diagonal},
      {"pinv_with_values(x, /, rtol=None)",
       "The pseudo-inverse and the singular values it is made of.", PinvWithValues},
  };
  rows.insert(rows.end(), std::begin(several), std::end(several));
  const std::vector<FunctionRow> more = FunctionsOf("linalg");
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace frazil::python
