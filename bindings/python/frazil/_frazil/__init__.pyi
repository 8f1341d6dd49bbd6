"""The compiled part of frazil."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    final,
    overload,
)

from typing_extensions import disjoint_base

from frazil._types import Axis, DTypeLike, Index, Ints, Number, Operand
from frazil.memory import Plan

from . import autograd as autograd
from . import cuda as cuda
from . import custom as custom
from . import distributed as distributed
from . import fft as fft
from . import inside as inside
from . import linalg as linalg
from . import nn as nn
from . import npu as npu
from . import profile as profile
from . import program as program
from . import random as random
from . import runtime as runtime
from . import sparse as sparse
from . import transforms as transforms
from . import tree as tree

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_S = TypeVar("_S")

__all__ = [
    "DType",
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "angle",
    "any",
    "append",
    "arange",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "array_split",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "beta",
    "betainc",
    "betaln",
    "bfloat16",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_to",
    "cbrt",
    "ceil",
    "choose",
    "clip",
    "column_stack",
    "complex",
    "complex64",
    "complex128",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "delete",
    "detach",
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "diff",
    "digamma",
    "digitize",
    "divide",
    "dot",
    "dsplit",
    "dstack",
    "ediff1d",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "from_dlpack",
    "full",
    "full_like",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gcd",
    "geomspace",
    "greater",
    "greater_equal",
    "heaviside",
    "histogram",
    "histogram_bin_edges",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "identity",
    "imag",
    "index_add",
    "indices",
    "inner",
    "insert",
    "int8",
    "int16",
    "int32",
    "int64",
    "interp",
    "invert",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "j0",
    "j1",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "lerp",
    "less",
    "less_equal",
    "lexsort",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "mod",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndtr",
    "ndtri",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "polyadd",
    "polyder",
    "polyfit",
    "polygamma",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "pow",
    "power",
    "prod",
    "ptp",
    "quantile",
    "rad2deg",
    "ravel",
    "ravel_multi_index",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "right_shift",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "rsqrt",
    "searchsorted",
    "select",
    "setdiff1d",
    "setxor1d",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tile",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "tril_indices",
    "trim_zeros",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "union1d",
    "unique_values",
    "unravel_index",
    "unstack",
    "unwrap",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vsplit",
    "vstack",
    "where",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "zeros",
    "zeros_like",
    "zeta",
]
__version__: str
bool: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
complex64: DType
complex128: DType

@final
class Tensor:
    """An array of one dtype on one device."""

    @property
    def shape(self) -> tuple[builtins.int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def device(self) -> str: ...
    @property
    def ndim(self) -> builtins.int: ...
    @property
    def size(self) -> builtins.int: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def nbytes(self) -> builtins.int: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...
    @property
    def is_leaf(self) -> builtins.bool: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    requires_grad: builtins.bool
    grad: Tensor | None
    _parameter: builtins.bool
    __array_priority__: builtins.float
    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any, /) -> Any: ...
    def __jax_array__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: builtins.int, /) -> memoryview: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, item: Any, /) -> builtins.bool: ...
    def __getitem__(self, index: Index, /) -> Tensor: ...
    def __setitem__(self, index: Index, value: Any, /) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __complex__(self) -> builtins.complex: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any, /) -> Tensor: ...
    def __pow__(self, other: Operand, mod: None = ..., /) -> Tensor: ...
    def __rpow__(self, other: Operand, mod: None = ..., /) -> Tensor: ...
    def __divmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __eq__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: Operand, /) -> Tensor: ...
    def __le__(self, other: Operand, /) -> Tensor: ...
    def __gt__(self, other: Operand, /) -> Tensor: ...
    def __ge__(self, other: Operand, /) -> Tensor: ...
    def __add__(self, other: Operand, /) -> Tensor: ...
    def __radd__(self, other: Operand, /) -> Tensor: ...
    def __iadd__(self, other: Operand, /) -> Tensor: ...
    def __sub__(self, other: Operand, /) -> Tensor: ...
    def __rsub__(self, other: Operand, /) -> Tensor: ...
    def __isub__(self, other: Operand, /) -> Tensor: ...
    def __mul__(self, other: Operand, /) -> Tensor: ...
    def __rmul__(self, other: Operand, /) -> Tensor: ...
    def __imul__(self, other: Operand, /) -> Tensor: ...
    def __truediv__(self, other: Operand, /) -> Tensor: ...
    def __rtruediv__(self, other: Operand, /) -> Tensor: ...
    def __itruediv__(self, other: Operand, /) -> Tensor: ...
    def __floordiv__(self, other: Operand, /) -> Tensor: ...
    def __rfloordiv__(self, other: Operand, /) -> Tensor: ...
    def __ifloordiv__(self, other: Operand, /) -> Tensor: ...
    def __mod__(self, other: Operand, /) -> Tensor: ...
    def __rmod__(self, other: Operand, /) -> Tensor: ...
    def __imod__(self, other: Operand, /) -> Tensor: ...
    def __matmul__(self, other: Operand, /) -> Tensor: ...
    def __rmatmul__(self, other: Operand, /) -> Tensor: ...
    def __imatmul__(self, other: Operand, /) -> Tensor: ...
    def __and__(self, other: Operand, /) -> Tensor: ...
    def __rand__(self, other: Operand, /) -> Tensor: ...
    def __iand__(self, other: Operand, /) -> Tensor: ...
    def __or__(self, other: Operand, /) -> Tensor: ...
    def __ror__(self, other: Operand, /) -> Tensor: ...
    def __ior__(self, other: Operand, /) -> Tensor: ...
    def __xor__(self, other: Operand, /) -> Tensor: ...
    def __rxor__(self, other: Operand, /) -> Tensor: ...
    def __ixor__(self, other: Operand, /) -> Tensor: ...
    def __lshift__(self, other: Operand, /) -> Tensor: ...
    def __rlshift__(self, other: Operand, /) -> Tensor: ...
    def __ilshift__(self, other: Operand, /) -> Tensor: ...
    def __rshift__(self, other: Operand, /) -> Tensor: ...
    def __rrshift__(self, other: Operand, /) -> Tensor: ...
    def __irshift__(self, other: Operand, /) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __array__(self, /, dtype: DTypeLike | None = ..., copy: builtins.bool | None = ...) -> Any:
        """For NumPy."""
    def __array_namespace__(self, /, *, api_version: str | None = ...) -> Any:
        """The module frazil."""
    def __dlpack__(
        self,
        /,
        *,
        stream: Any = ...,
        max_version: Any = ...,
        dl_device: Any = ...,
        copy: builtins.bool | None = ...,
    ) -> Any:
        """A capsule for consumers of DLPack: a copy, or with copy=False the memory itself, which they may write to (BufferError if something else holds the value)."""
    def __round__(self, ndigits: SupportsIndex | None = ..., /) -> Tensor:
        """See round."""
    def _repr_html_(self, /) -> Tensor:
        """For notebooks."""
    def _to_(self, device: Any, dtype: DTypeLike | None, /) -> Tensor:
        """Moves or converts the content of this cell."""
    def all(self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...) -> Tensor:
        """See frazil.all."""
    def any(self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...) -> Tensor:
        """See frazil.any."""
    def argmax(
        self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...
    ) -> Tensor:
        """See frazil.argmax."""
    def argmin(
        self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...
    ) -> Tensor:
        """See frazil.argmin."""
    def astype(
        self, /, dtype: DTypeLike, *, copy: builtins.bool = ..., device: str | None = ...
    ) -> Tensor:
        """See frazil.astype."""
    def backward(
        self, /, gradient: Operand | None = ..., *, retain_graph: builtins.bool = ...
    ) -> None:
        """Adds the gradients of this tensor (times `gradient`) to .grad of every leaf it depends on."""
    def clip(
        self, /, min: Operand | None = ..., max: Operand | None = ..., out: None = ...
    ) -> Tensor:
        """See frazil.clip."""
    def conj(self, /) -> Tensor:
        """See frazil.conj."""
    def copy(self, /) -> Tensor:
        """The same elements in new memory."""
    def detach(self, /) -> Tensor:
        """The same value without history."""
    def flatten(self, /) -> Tensor:
        """See frazil.flatten."""
    def item(self, /) -> builtins.bool | builtins.int | builtins.float:
        """The only element as a Python number."""
    def max(self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...) -> Tensor:
        """See frazil.max."""
    def mean(
        self,
        /,
        axis: Axis = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.mean."""
    def min(self, /, axis: Axis = ..., out: None = ..., *, keepdims: builtins.bool = ...) -> Tensor:
        """See frazil.min."""
    def nonzero(self, /) -> tuple[Tensor, ...]:
        """See frazil.nonzero."""
    def numpy(self, /) -> Any:
        """A read-only NumPy array over the same memory, as np.asarray(t)."""
    def permute(self, /, *axes: Axis) -> Tensor:
        """The axes in another order."""
    def permute_dims(self, /, *axes: Ints) -> Tensor:
        """The same as permute."""
    def prod(
        self,
        /,
        axis: Axis = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.prod."""
    def ravel(self, /) -> Tensor:
        """See frazil.flatten."""
    def requires_grad_(self, /, requires_grad: builtins.bool = ...) -> Tensor:
        """Sets requires_grad and returns self."""
    def reshape(self, /, *shape: Ints) -> Tensor:
        """See frazil.reshape."""
    def round(self, /, decimals: SupportsIndex = ..., out: None = ...) -> Tensor:
        """The nearest multiple of 10**-decimals."""
    def squeeze(self, /, axis: Axis = ...) -> Tensor:
        """See frazil.squeeze."""
    def std(
        self,
        /,
        axis: Axis = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        correction: Number = ...,
        ddof: Number = ...,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.std; ddof is NumPy's name of correction."""
    def sum(
        self,
        /,
        axis: Axis = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.sum."""
    def swapaxes(self, /, axis1: SupportsIndex, axis2: SupportsIndex) -> Tensor:
        """See frazil.swapaxes."""
    def take(
        self, /, indices: Operand | Sequence[builtins.int], axis: SupportsIndex | None = ...
    ) -> Tensor:
        """See frazil.take."""
    def to_device(self, /, device: str, *, stream: Any = ...) -> Tensor:
        """The tensor on another device."""
    def tolist(self, /) -> Any:
        """The elements as nested lists."""
    def transpose(self, /, *axes: Axis) -> Tensor:
        """The axes in another order, reversed if none is given."""
    def var(
        self,
        /,
        axis: Axis = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        correction: Number = ...,
        ddof: Number = ...,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.var; ddof is NumPy's name of correction."""
    def view(self, dtype: DTypeLike, /) -> Tensor:
        """The same bytes as another dtype, in memory of their own."""

@final
class DType:
    """An element type."""

    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def kind(self) -> str: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def __numpy_dtype__(self) -> Any: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

class LinAlgError(ValueError):
    """A matrix that an algorithm of linear algebra cannot take."""

class NpuFault(RuntimeError):
    """A program on the simulated NPU did what it must not: a bug of frazil's."""

@disjoint_base
class ModuleBase:
    """Counts assignments to attributes: frazil._tracked."""

    @staticmethod
    def _traces() -> builtins.bool: ...
    @staticmethod
    def _changed() -> None: ...
    _traced: Any

@final
class Traced(Generic[_P, _R]):
    """A traced callable: made by frazil.trace."""

    __name__: str
    __qualname__: str
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    @property
    def pure(self) -> builtins.bool: ...
    def __new__(
        cls,
        function: Callable[_P, _R],
        name: str | None = ...,
        pure: builtins.bool = ...,
        check_first: builtins.int = ...,
        check_every: builtins.int = ...,
        proof: builtins.bool = ...,
        strict: builtins.bool = ...,
        saved: builtins.bool = ...,
    ) -> Traced[_P, _R]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __set_name__(self, owner: type, name: str, /) -> None: ...
    @overload
    def __get__(self, instance: None, owner: Any = ..., /) -> Traced[_P, _R]: ...
    @overload
    def __get__(
        self: Traced[Concatenate[_S, _Q], _R], instance: _S, owner: Any = ..., /
    ) -> Traced[_Q, _R]: ...
    def explain(self) -> str:
        """Every recording, plan and fallback: where, what changed, old -> new."""
    def stats(self) -> dict[str, Any]:
        """Counts of calls, recordings, plans and kernels, of causes, and the latest events."""
    def memory_plan(self) -> list[Plan]:
        """How each plan uses memory, the largest first."""
    def show(self, path: str | PathLike[str] | None = ...) -> str:
        """Writes what was recorded and what became of it as one HTML page, and opens it."""
    def _plans(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...
    def clear(self) -> None:
        """Forgets everything recorded."""

@final
class Structure:
    """How a nest held its leaves."""

    @property
    def num_leaves(self) -> builtins.int:
        """How many leaves there are."""
    @property
    def _has_modules(self) -> builtins.bool: ...
    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """The nest with these leaves."""
    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """What another nest of this structure holds in the places of the leaves."""
    def paths(self) -> list[str]:
        """The path of each leaf, such as "['layers'][1].weight"."""
    def _in_modules(self) -> list[builtins.bool]: ...
    def _nodes(self) -> list[tuple[Any, ...]]: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

@final
class GradScope:
    """One level of function-style differentiation; close it in reverse order of opening."""

    def variable(self, argument: Tensor, /) -> Tensor: ...
    def gradients(self, root: Tensor, /) -> list[Tensor]: ...
    def outside(self, result: Any, /) -> Any: ...
    def pull(self, results: list[Any], gradients: list[Any], /) -> list[Tensor]: ...
    def close(self) -> None: ...

@final
class ForwardScope:
    """One level of forward mode; close it in reverse order."""

    def variable(self, primal: Tensor, tangent: Tensor, /) -> Tensor: ...
    def tangent(self, result: Tensor, /) -> Tensor | None: ...
    def outside(self, result: Any, /) -> Any: ...
    def close(self) -> None: ...

@final
class TakenScope:
    """The way that examples take for which its first argument, a bool, is true."""

    def __new__(cls, taken: Tensor, /, *operands: Any) -> TakenScope: ...
    def close(self) -> None: ...

@final
class BatchScope:
    """One level of vmap; close it in reverse order."""

    def __new__(cls, size: builtins.int, randomness: builtins.int, /) -> BatchScope: ...
    def of_example(self, tensor: Tensor, axis: builtins.int, /) -> Tensor: ...
    def whole(self, tensor: Tensor, axis: builtins.int, /) -> Tensor: ...
    def has(self, tensor: Any, /) -> builtins.bool: ...
    def restore(self, results: list[Any], /) -> builtins.int: ...
    def close(self) -> None: ...

def abs(x: Operand, /) -> Tensor:
    """Absolute value, elementwise; the most negative integer stays as it is."""

def absolute(x: Operand, /) -> Tensor:
    """The same as abs: Absolute value, elementwise; the most negative integer stays as it is."""

def acos(x: Operand, /) -> Tensor:
    """Inverse cosine in radians, elementwise; NaN beyond -1 and 1."""

def acosh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic cosine, elementwise; NaN below 1."""

def add(x1: Operand, x2: Operand, /) -> Tensor:
    """Sum, elementwise."""

def all(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """True where all elements over the axes are true."""

def angle(x: Operand, /) -> Tensor:
    """Angle of a complex number in radians, elementwise, from -pi to pi."""

def any(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """True where any element over the axes is true."""

def append(x: Operand, values: Operand, /, axis: SupportsIndex | None = ...) -> Tensor:
    """x followed by values along an axis; without one both are flattened."""

def arange(
    start: Number,
    /,
    stop: Number | None = ...,
    step: Number = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """start, start + step, ... below stop; from 0 if one bound is given."""

def argmax(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Index of the first largest element along an axis; the first NaN if there is one."""

def argmin(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Index of the first smallest element along an axis; the first NaN if there is one."""

def argpartition(x: Operand, kth: Ints, /, axis: SupportsIndex | None = ...) -> Tensor:
    """Indices that partition along an axis, as partition has it."""

def argsort(
    x: Operand,
    /,
    axis: SupportsIndex = ...,
    *,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
) -> Tensor:
    """Indices that sort along an axis: always stable, NaN last in either order."""

def argwhere(x: Operand, /) -> Tensor:
    """Positions of the elements that are not zero, one a row. Reads how many."""

def array_split(
    x: Operand, /, indices_or_sections: Ints | Tensor, axis: SupportsIndex = ...
) -> list[Tensor]:
    """Parts along an axis as by split, of lengths that differ by at most one."""

def asarray(
    obj: Any,
    /,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    copy: builtins.bool | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """A tensor from a number, nested sequences, a NumPy array, a buffer, DLPack or a tensor."""

def asin(x: Operand, /) -> Tensor:
    """Inverse sine in radians, elementwise; NaN beyond -1 and 1."""

def asinh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic sine, elementwise."""

def astype(
    x: Operand, /, dtype: DTypeLike, *, copy: builtins.bool = ..., device: str | None = ...
) -> Tensor:
    """Converts to another dtype: float to int saturates and NaN gives 0, int to int wraps, to bool is x != 0."""

def atan(x: Operand, /) -> Tensor:
    """Inverse tangent in radians, elementwise."""

def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """Angle of the point (x2, x1) in radians, elementwise, from -pi to pi; signs as in C."""

def atanh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic tangent, elementwise; NaN beyond -1 and 1."""

def beta(x1: Operand, x2: Operand, /) -> Tensor:
    """Beta function: gamma(x1) * gamma(x2) / gamma(x1 + x2), elementwise."""

def betainc(alpha: Operand, beta: Operand, x: Operand, /) -> Tensor:
    """Regularised incomplete beta function, elementwise: the part of the beta distribution of alpha, beta >= 0 that lies up to x from 0 to 1; NaN outside and where alpha and beta are 0 both, or infinite both. Gradients go to all three."""

def betaln(x1: Operand, x2: Operand, /) -> Tensor:
    """Logarithm of the absolute value of the beta function, elementwise, without cancellation for positive numbers."""

def bincount(
    x: Operand, /, weights: Operand | None = ..., minlength: SupportsIndex = ...
) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a vector of integers, or the sum of its weights: at least minlength results, int64, or of the weights' float dtype. Reads the largest. ValueError for negative elements and other shapes, TypeError for floats."""

def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Bitwise and, elementwise; logical for bool."""

def bitwise_count(x: Operand, /) -> Tensor:
    """How many bits of abs(x) are 1, elementwise, as uint8. TypeError for floats."""

def bitwise_invert(x: Operand, /) -> Tensor:
    """Bitwise complement, elementwise; logical not for bool."""

def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Shift left, elementwise, integers; by the width or more gives 0."""

def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Bitwise or, elementwise; logical for bool."""

def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Shift right, elementwise, integers; by the width or more gives 0, or -1 for negative numbers."""

def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Bitwise exclusive or, elementwise; logical for bool."""

def broadcast_to(x: Operand, /, shape: Ints) -> Tensor:
    """Repeats axes of extent 1, without copying."""

def cbrt(x: Operand, /) -> Tensor:
    """Cube root, elementwise, also of negative numbers."""

def ceil(x: Operand, /) -> Tensor:
    """Smallest integer not below x, elementwise."""

def choose(x: Operand, choices: Any, /, mode: Literal["raise", "wrap", "clip"] = ...) -> Tensor:
    """Elementwise choices[x], of arrays that broadcast. x beyond the choices is an error ("raise": reads the data), wraps or is clipped."""

def clip(x: Operand, /, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
    """Limits x to [min, max], elementwise."""

def column_stack(arrays: Sequence[Operand], /) -> Tensor:
    """Joins arrays along the second axis; vectors are columns."""

def complex(x1: Operand, x2: Operand, /) -> Tensor:
    """Complex numbers of real parts x1 and imaginary parts x2, elementwise."""

def compress(condition: Operand, x: Operand, /, axis: SupportsIndex | None = ...) -> Tensor:
    """Slices along an axis where a vector is true; without one of x flattened. Reads how many."""

def concat(arrays: Sequence[Operand], /, axis: SupportsIndex | None = ...) -> Tensor:
    """Joins arrays along an existing axis. axis=None joins them flattened."""

def concatenate(arrays: Sequence[Operand], /, axis: SupportsIndex | None = ...) -> Tensor:
    """The same as concat."""

def conj(x: Operand, /) -> Tensor:
    """Complex conjugate, elementwise; real numbers stay."""

def convolve(x1: Operand, x2: Operand, /, mode: Literal["full", "same", "valid"] = ...) -> Tensor:
    """Convolution of two vectors: sums of x1[i] * x2[n - i]. "full" at every shift where they overlap, "same" as many as the longer one has, "valid" where the shorter one lies within the longer. ValueError for empty arrays and more axes."""

def copy(x: Operand, /) -> Tensor:
    """The same elements in new memory."""

def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The size of x1 with the sign of x2, elementwise; also the sign of a NaN counts."""

def corrcoef(x: Operand, y: Operand | None = ..., /, rowvar: builtins.bool = ...) -> Tensor:
    """Correlation coefficients of variables, as cov takes them, from -1 to 1, real and imaginary parts alike."""

def correlate(x1: Operand, x2: Operand, /, mode: Literal["full", "same", "valid"] = ...) -> Tensor:
    """Cross-correlation of two vectors: sums of x1[i + k] * conj(x2[i]) by convolve's modes."""

def cos(x: Operand, /) -> Tensor:
    """Cosine of an angle in radians, elementwise."""

def cosh(x: Operand, /) -> Tensor:
    """Hyperbolic cosine, elementwise."""

def count_nonzero(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """How many elements are not zero, over axes."""

def cov(
    x: Operand,
    y: Operand | None = ...,
    /,
    rowvar: builtins.bool = ...,
    bias: Operand | None = ...,
    ddof: SupportsIndex | None = ...,
    *,
    fweights: Operand | None = ...,
    aweights: Operand | None = ...,
) -> Tensor:
    """Covariances of variables, which are rows (columns if not rowvar), a vector being one of them. y has further variables. Divided by n - 1, by n with bias, or by n - ddof; fweights count how often an observation occurs, aweights weigh it. Of complex variables the second one's conjugate is taken. Integers give float64; one variable a number. ValueError for more than two axes."""

def cross(x1: Operand, x2: Operand, /, *, axis: SupportsIndex = ...) -> Tensor:
    """Cross product of vectors of three elements along an axis; the other axes broadcast."""

def cummax(x: Operand, /, axis: SupportsIndex | None = ...) -> Tensor:
    """The largest element up to each one along an axis, or of x flattened; NaN from one on."""

def cummin(x: Operand, /, axis: SupportsIndex | None = ...) -> Tensor:
    """The smallest element up to each one along an axis, or of x flattened; NaN from one on."""

def cumprod(x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ...) -> Tensor:
    """cumulative_prod under NumPy's name: without an axis, of x flattened."""

def cumsum(x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ...) -> Tensor:
    """cumulative_sum under NumPy's name: without an axis, of x flattened."""

def cumulative_prod(
    x: Operand,
    /,
    *,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    include_initial: builtins.bool = ...,
) -> Tensor:
    """Products of the elements up to each one along an axis; integers in 64 bits."""

def cumulative_sum(
    x: Operand,
    /,
    *,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    include_initial: builtins.bool = ...,
) -> Tensor:
    """Sums of the elements up to each one along an axis; integers are summed in 64 bits."""

def deg2rad(x: Operand, /) -> Tensor:
    """Degrees as radians, elementwise."""

def delete(x: Operand, where: Any, /, axis: SupportsIndex | None = ...) -> Tensor:
    """x without what stands at places along an axis: an integer, several, a slice or a mask. Places in a tensor are read. Without an axis x is flattened."""

def detach(x: Operand, /) -> Tensor:
    """The same value without history: no gradient flows through it."""

def diag(x: Operand, /, k: SupportsIndex = ...) -> Tensor:
    """The diagonal of a matrix, or a matrix with a vector as its diagonal and 0 elsewhere."""

def diag_indices(n: SupportsIndex, ndim: SupportsIndex = ...) -> tuple[Tensor, ...]:
    """Positions of the diagonal of an array of n along each of ndim axes."""

def diagflat(x: Operand, /, k: SupportsIndex = ...) -> Tensor:
    """A matrix with the elements of x, flattened, as its diagonal."""

def diagonal(
    x: Operand,
    /,
    offset: SupportsIndex = ...,
    axis1: SupportsIndex = ...,
    axis2: SupportsIndex = ...,
) -> Tensor:
    """The diagonal of two axes, at the end: x[i, i + offset]."""

def diff(
    x: Operand,
    /,
    n: SupportsIndex = ...,
    axis: SupportsIndex = ...,
    *,
    prepend: Operand | None = ...,
    append: Operand | None = ...,
) -> Tensor:
    """Differences of neighbours along an axis, n times. `prepend` and `append` are put before and behind x first: arrays, or numbers that stand for one slice each."""

def digamma(x: Operand, /) -> Tensor:
    """Derivative of gammaln, elementwise; NaN at negative integers."""

def digitize(x: Operand, bins: Operand, /, right: Operand = ...) -> Tensor:
    """The bin of each element: i where bins[i-1] <= x < bins[i], or bins[i-1] < x <= bins[i] if right; of falling bins likewise. int64. Reads whether the bins rise. ValueError for bins out of order."""

def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient, elementwise."""

def dot(x1: Operand, x2: Operand, /) -> Tensor:
    """NumPy's dot: the last axis of x1 with the second last of x2, vectors with their only one; numbers multiply. Without batches: leading axes of both follow each other in the result."""

def dsplit(x: Operand, /, indices_or_sections: Ints | Tensor) -> list[Tensor]:
    """Parts along the third axis."""

def dstack(arrays: Sequence[Operand], /) -> Tensor:
    """Joins arrays along the third axis, which they get if they lack it."""

def ediff1d(x: Operand, /, to_end: Operand | None = ..., to_begin: Operand | None = ...) -> Tensor:
    """Differences of neighbours of x, flattened, with what is to stand before and behind them."""

@overload
def empty(
    shape: Ints,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Of a shape, which may be given as several integers; the elements are 0."""

@overload
def empty(
    *shape: SupportsIndex,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Of a shape, which may be given as several integers; the elements are 0."""

def empty_like(
    x: Operand,
    /,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """With the shape and dtype of x; the elements are 0."""

def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a == b, elementwise."""

def erf(x: Operand, /) -> Tensor:
    """Error function, elementwise."""

def erfc(x: Operand, /) -> Tensor:
    """1 - erf(x), elementwise, without cancellation."""

def erfcinv(x: Operand, /) -> Tensor:
    """Inverse of erfc, elementwise; infinite at 0 and 2, NaN beyond."""

def erfinv(x: Operand, /) -> Tensor:
    """Inverse of erf, elementwise; infinite at -1 and 1, NaN beyond."""

def exp(x: Operand, /) -> Tensor:
    """Exponential, elementwise."""

def exp2(x: Operand, /) -> Tensor:
    """2 to the power of x, elementwise."""

def expand_dims(x: Operand, /, axis: Ints = ...) -> Tensor:
    """With new axes of extent 1 at these places of the result, one or a tuple."""

def expm1(x: Operand, /) -> Tensor:
    """exp(x) - 1 without cancellation near 0, elementwise."""

def extract(condition: Operand, x: Operand, /) -> Tensor:
    """The elements of x where a condition is true, both flattened. Reads how many."""

def eye(
    n_rows: SupportsIndex,
    n_cols: SupportsIndex | None = ...,
    k: SupportsIndex = ...,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""

def flatnonzero(x: Operand, /) -> Tensor:
    """Positions of the elements of x, flattened, that are not zero. Reads how many."""

def flatten(x: Operand, /) -> Tensor:
    """All elements along one axis."""

def flip(x: Operand, /, axis: Axis = ...) -> Tensor:
    """Elements in reverse order along axes."""

def fliplr(x: Operand, /) -> Tensor:
    """The second axis backwards. ValueError for fewer axes."""

def flipud(x: Operand, /) -> Tensor:
    """The first axis backwards. ValueError for a number."""

def float_power(x1: Operand, x2: Operand, /) -> Tensor:
    """x1 to the power of x2, elementwise, in float64."""

def floor(x: Operand, /) -> Tensor:
    """Largest integer not above x, elementwise."""

def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient rounded down, elementwise; integers: x // 0 is 0."""

def fmax(x1: Operand, x2: Operand, /) -> Tensor:
    """Larger of two values, elementwise; of a NaN and a number the number."""

def fmin(x1: Operand, x2: Operand, /) -> Tensor:
    """Smaller of two values, elementwise; of a NaN and a number the number."""

def fmod(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder with the sign of the dividend, elementwise, as C has it; integers: by 0 it is 0."""

def from_dlpack(
    x: Operand, /, *, device: str | None = ..., copy: builtins.bool | None = ...
) -> Tensor:
    """A tensor from an object with __dlpack__."""

def full(
    shape: Ints,
    fill_value: Operand,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with a value, whose kind decides the dtype."""

def full_like(
    x: Operand,
    /,
    fill_value: Operand,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with a value, with the shape and dtype of x."""

def gamma(x: Operand, /) -> Tensor:
    """Gamma function, elementwise, of integers exact where float64 is; inf at 0, NaN at negative integers."""

def gammainc(alpha: Operand, x: Operand, /) -> Tensor:
    """Regularised lower incomplete gamma function, elementwise: the part of the gamma distribution of shape alpha >= 0 that lies up to x >= 0; NaN for negative numbers and where both are 0, or infinite. Gradients go to both."""

def gammaincc(alpha: Operand, x: Operand, /) -> Tensor:
    """Regularised upper incomplete gamma function: 1 - gammainc(alpha, x) without cancellation."""

def gammaln(x: Operand, /) -> Tensor:
    """Logarithm of the absolute value of the gamma function, elementwise; inf at 0 and negative integers."""

def gcd(x1: Operand, x2: Operand, /) -> Tensor:
    """Greatest common divisor of integers, elementwise; of 0 and x it is abs(x). TypeError for floats."""

def geomspace(
    start: builtins.complex,
    stop: builtins.complex,
    num: SupportsIndex = ...,
    *,
    endpoint: builtins.bool = ...,
    dtype: DTypeLike | None = ...,
) -> Tensor:
    """start to stop with equal factors between neighbours, both of one sign; computed in float64. Between complex numbers a spiral, by the smaller angle; complex64 if no dtype is given."""

def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """a > b, elementwise."""

def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a >= b, elementwise."""

def heaviside(x1: Operand, x2: Operand, /) -> Tensor:
    """0 where x1 is negative, 1 where it is positive and x2 where it is 0; NaN for NaN."""

def histogram(
    x: Operand,
    /,
    bins: builtins.int | Operand = ...,
    range: tuple[builtins.float, builtins.float] | None = ...,
    density: builtins.bool | None = ...,
    weights: Operand | None = ...,
) -> tuple[Tensor, ...]:
    """How many elements lie in each bin, int64 (or sums of weights), and the edges of the bins. A bin holds its left edge, the last one its right one, too. Density divides by the width and the total. Reads the data."""

def histogram_bin_edges(
    x: Operand,
    /,
    bins: builtins.int | Operand = ...,
    range: tuple[builtins.float, builtins.float] | None = ...,
) -> Tensor:
    """The edges of bins: as many equal ones as `bins` says between the extremes or over `range`, or an array of them. Reads the extremes."""

def hsplit(x: Operand, /, indices_or_sections: Ints | Tensor) -> list[Tensor]:
    """Parts along the second axis, of a vector along its only one. ValueError for 0 axes."""

def hstack(arrays: Sequence[Operand], /) -> Tensor:
    """Joins arrays side by side: along the second axis, vectors along their only one."""

def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """sqrt(x1**2 + x2**2), elementwise, without overflow; infinite if either is."""

def i0(x: Operand, /) -> Tensor:
    """Modified Bessel function of the first kind of order 0, elementwise."""

def i0e(x: Operand, /) -> Tensor:
    """exp(-abs(x)) * i0(x), elementwise, without overflow."""

def i1(x: Operand, /) -> Tensor:
    """Modified Bessel function of the first kind of order 1, elementwise."""

def i1e(x: Operand, /) -> Tensor:
    """exp(-abs(x)) * i1(x), elementwise, without overflow."""

def identity(n: SupportsIndex, *, dtype: DTypeLike | None = ...) -> Tensor:
    """n x n with ones on the diagonal and 0 elsewhere."""

def imag(x: Operand, /) -> Tensor:
    """Imaginary part, elementwise, as a view; 0 for real numbers."""

def index_add(
    x: Operand, indices: Operand | Sequence[builtins.int], updates: Operand, /, axis: Axis = ...
) -> Tensor:
    """x with updates, shaped like take(x, indices, axis=axis), added at indices along an axis; at an index that is given again one after the other in ascending order. IndexError for indices out of range."""

def indices(dimensions: Ints, dtype: DTypeLike | None = ...) -> Tensor:
    """The positions of an array of these extents: [axes, *dimensions], int64."""

def inner(x1: Operand, x2: Operand, /) -> Tensor:
    """Sums of products along the last axes; numbers multiply."""

def insert(x: Operand, where: Any, values: Operand, /, axis: SupportsIndex | None = ...) -> Tensor:
    """x with values put before places along an axis: one integer, several, a slice or a mask. Places in a tensor are read. Without an axis x is flattened."""

def interp(
    x: Operand,
    xp: Operand,
    fp: Operand,
    /,
    left: Operand | None = ...,
    right: Operand | None = ...,
    *,
    period: Number | None = ...,
) -> Tensor:
    """Values at x of the line through the points (xp, fp), of which xp rises. Before the first point it is `left`, behind the last one `right` (their values if not given); with a period the points repeat. The common float dtype, float64 for integers, complex with a complex fp. Gradients go to all three. TypeError for complex x, xp."""

def invert(x: Operand, /) -> Tensor:
    """The same as bitwise_invert: Bitwise complement, elementwise; logical not for bool."""

def isclose(
    x1: Operand,
    x2: Operand,
    /,
    rtol: Operand | None = ...,
    atol: Number = ...,
    *,
    equal_nan: builtins.bool = ...,
) -> Tensor:
    """True where abs(x1 - x2) <= atol + rtol * abs(x2), or both are the same infinity."""

def isfinite(x: Operand, /) -> Tensor:
    """True where x is neither infinite nor NaN."""

def isin(x1: Operand, x2: Operand, /, *, invert: builtins.bool = ...) -> Tensor:
    """True where an element of x1 is among those of x2 (false with invert); NaN equals none."""

def isinf(x: Operand, /) -> Tensor:
    """True where x is infinite."""

def isnan(x: Operand, /) -> Tensor:
    """True where x is NaN."""

def isneginf(x: Operand, /) -> Tensor:
    """True where x is -inf."""

def isposinf(x: Operand, /) -> Tensor:
    """True where x is inf."""

def j0(x: Operand, /) -> Tensor:
    """Bessel function of the first kind of order 0, elementwise."""

def j1(x: Operand, /) -> Tensor:
    """Bessel function of the first kind of order 1, elementwise."""

def kron(x1: Operand, x2: Operand, /) -> Tensor:
    """Kronecker product: blocks of x2, each times an element of x1."""

def lcm(x1: Operand, x2: Operand, /) -> Tensor:
    """Least common multiple of integers, elementwise; of 0 and x it is 0. TypeError for floats."""

def ldexp(x1: Operand, x2: Operand, /) -> Tensor:
    """x1 * 2**x2, elementwise, without overflow on the way."""

def left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as bitwise_left_shift: Shift left, elementwise, integers; by the width or more gives 0."""

def lerp(x1: Operand, x2: Operand, weight: Operand, /) -> Tensor:
    """x1 + weight * (x2 - x1), elementwise, from the nearer end: weights of 0 and 1 give the ends."""

def less(x1: Operand, x2: Operand, /) -> Tensor:
    """a < b, elementwise."""

def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a <= b, elementwise."""

def lexsort(keys: Any, /, axis: SupportsIndex = ...) -> Tensor:
    """Indices that sort by several keys, of which the last one counts most; stable."""

def linspace(
    start: Number,
    stop: Number,
    num: SupportsIndex = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    endpoint: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """num evenly spaced numbers from start to stop."""

def log(x: Operand, /) -> Tensor:
    """Natural logarithm, elementwise; -inf at 0, NaN below."""

def log10(x: Operand, /) -> Tensor:
    """Logarithm to base 10, elementwise: exact at powers of 10."""

def log1p(x: Operand, /) -> Tensor:
    """log(1 + x) without cancellation near 0, elementwise."""

def log2(x: Operand, /) -> Tensor:
    """Logarithm to base 2, elementwise: exact at powers of 2."""

def log_ndtr(x: Operand, /) -> Tensor:
    """Logarithm of ndtr, elementwise, without underflow."""

def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(exp(x1) + exp(x2)), elementwise, without overflow."""

def logaddexp2(x1: Operand, x2: Operand, /) -> Tensor:
    """log2(2**x1 + 2**x2), elementwise, without overflow."""

def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """True where both are true (not zero)."""

def logical_not(x: Operand, /) -> Tensor:
    """True where x is false (zero)."""

def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """True where either is true (not zero)."""

def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """True where exactly one is true (not zero)."""

def logit(x: Operand, /) -> Tensor:
    """log(x / (1 - x)), elementwise, without cancellation near 1/2; NaN beyond 0 and 1."""

def logspace(
    start: Number,
    stop: Number,
    num: SupportsIndex = ...,
    *,
    endpoint: builtins.bool = ...,
    base: Number = ...,
    dtype: DTypeLike | None = ...,
) -> Tensor:
    """base**start to base**stop with equal steps of the exponent; computed in float64."""

def logsumexp(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""

def matmul(x1: Operand, x2: Operand, /) -> Tensor:
    """Matrix product, batched over leading axes."""

def matrix_transpose(x: Operand, /) -> Tensor:
    """The last two axes swapped."""

def matvec(x1: Operand, x2: Operand, /) -> Tensor:
    """Matrices times vectors, batched: [..., m, n] and [..., n] give [..., m]."""

def max(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Largest element over axes; NaN if any is NaN."""

def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """Larger of two values, elementwise; NaN if either is NaN."""

def mean(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Arithmetic mean over axes; integers give float64."""

def median(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """The middle element in order over axes, or the mean of the two; NaN if any element is NaN. Integers give float64. ValueError for no elements."""

def min(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Smallest element over axes; NaN if any is NaN."""

def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """Smaller of two values, elementwise; NaN if either is NaN."""

def mod(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as remainder: Remainder with the sign of the divisor, elementwise; integers: x % 0 is 0."""

def moveaxis(x: Operand, /, source: Ints, destination: Ints) -> Tensor:
    """Axes moved to other places: one, or as many in `source` as in `destination`."""

def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """Product, elementwise."""

def nan_to_num(
    x: Operand, /, *, nan: Number = ..., posinf: Number | None = ..., neginf: Number | None = ...
) -> Tensor:
    """NaN and infinities replaced by numbers: by 0 and the dtype's largest and smallest."""

def nanargmax(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Index of the first largest element that is no NaN, along an axis or of x flattened; -1 if all are NaN."""

def nanargmin(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Index of the first smallest element that is no NaN, along an axis or of x flattened; -1 if all are NaN."""

def nanmax(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Largest element over axes that is no NaN; NaN if all are."""

def nanmean(
    x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Mean over axes of the elements that are no NaN; NaN if there are none."""

def nanmedian(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """The middle element in order over axes, or the mean of the two; NaN is left out; where all are NaN it is NaN. Integers give float64. ValueError for no elements."""

def nanmin(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Smallest element over axes that is no NaN; NaN if all are."""

def nanpercentile(
    x: Operand, q: Operand, /, axis: Axis = ..., *, method: str = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Values below which a part of x lies, over axes: q from 0 to 100, a number or an array, whose axes come first in the result. Between two elements `method` decides, by NumPy's names (Hyndman and Fan 1996): linear, lower, higher, nearest, midpoint, hazen, weibull ... NaN is left out; where all are NaN it is NaN. Integers give float64. An array q is read. ValueError for other q, other methods and no elements."""

def nanprod(
    x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Product over axes with NaN as 1."""

def nanquantile(
    x: Operand, q: Operand, /, axis: Axis = ..., *, method: str = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Values below which a part of x lies, over axes: q from 0 to 1, a number or an array, whose axes come first in the result. Between two elements `method` decides, by NumPy's names (Hyndman and Fan 1996): linear, lower, higher, nearest, midpoint, hazen, weibull ... NaN is left out; where all are NaN it is NaN. Integers give float64. An array q is read. ValueError for other q, other methods and no elements."""

def nanstd(
    x: Operand,
    /,
    axis: Axis = ...,
    *,
    correction: Number = ...,
    ddof: Number = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Standard deviation over axes of the elements that are no NaN: the root of nanvar."""

def nansum(
    x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Sum over axes with NaN as 0."""

def nanvar(
    x: Operand,
    /,
    axis: Axis = ...,
    *,
    correction: Number = ...,
    ddof: Number = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Variance over axes of the n elements that are no NaN, divided by n - correction; NaN if that is not positive."""

def ndtr(x: Operand, /) -> Tensor:
    """Distribution function of the standard normal distribution, elementwise."""

def ndtri(x: Operand, /) -> Tensor:
    """Inverse of ndtr, the quantiles of the standard normal distribution, elementwise; infinite at 0 and 1, NaN beyond."""

def negative(x: Operand, /) -> Tensor:
    """Numerical negative, elementwise; unsigned integers wrap."""

def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The next floating-point number after x1 towards x2, elementwise; x2 if they are equal."""

def nonzero(x: Operand, /) -> tuple[Tensor, ...]:
    """Positions of elements that are not zero, one index array per axis. Reads how many there are."""

def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a != b, elementwise."""

@overload
def ones(
    shape: Ints,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 1; ones(2, 3) is ones((2, 3))."""

@overload
def ones(
    *shape: SupportsIndex,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 1; ones(2, 3) is ones((2, 3))."""

def ones_like(
    x: Operand,
    /,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 1, with the shape and dtype of x."""

def op_table() -> list[dict[str, Any]]:
    """The rows of the op table as a list of dicts."""

def other_names() -> dict[str, dict[str, str]]:
    """What other libraries call what frazil has under another name."""

def outer(x1: Operand, x2: Operand, /) -> Tensor:
    """Products of all pairs of two vectors' elements."""

def pad(
    x: Operand,
    /,
    pad_width: SupportsIndex | Sequence[Any],
    mode: Any = ...,
    *,
    constant_values: Number = ...,
) -> Tensor:
    """Surrounds with a constant."""

def partition(x: Operand, kth: Ints, /, axis: SupportsIndex | None = ...) -> Tensor:
    """An order in which element kth stands where sorting puts it: smaller elements before it, equal ones with it and larger ones behind, each of the three as they stood. With several kth everything is sorted."""

def percentile(
    x: Operand, q: Operand, /, axis: Axis = ..., *, method: str = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Values below which a part of x lies, over axes: q from 0 to 100, a number or an array, whose axes come first in the result. Between two elements `method` decides, by NumPy's names (Hyndman and Fan 1996): linear, lower, higher, nearest, midpoint, hazen, weibull ... NaN if any element is NaN. Integers give float64. An array q is read. ValueError for other q, other methods and no elements."""

def permute_dims(x: Operand, /, axes: Ints) -> Tensor:
    """The axes in another order."""

def polyadd(x1: Operand, x2: Operand, /) -> Tensor:
    """The sum of two polynomials, the highest power first."""

def polyder(p: Operand, /, m: SupportsIndex = ...) -> Tensor:
    """The m-th derivative of a polynomial, the highest power first."""

def polyfit(x: Operand, y: Operand, deg: SupportsIndex, *, w: Operand | None = ...) -> Tensor:
    """Coefficients, the highest power first, of the polynomial of degree deg nearest to points by least squares: x is a vector of n numbers, y one or a matrix of n rows (a polynomial for each column), w n weights of the residuals, not of their squares."""

def polygamma(n: Operand, x: Operand, /) -> Tensor:
    """Derivative of order n of digamma at x, elementwise; NaN where n is no integer from 0 on. The gradient goes to x."""

def polyint(p: Operand, /, m: SupportsIndex = ..., k: Number = ...) -> Tensor:
    """The m-th integral of a polynomial, the highest power first, each time with the constant k."""

def polymul(x1: Operand, x2: Operand, /) -> Tensor:
    """The product of two polynomials, the highest power first."""

def polysub(x1: Operand, x2: Operand, /) -> Tensor:
    """The difference of two polynomials, the highest power first."""

def polyval(p: Operand, x: Operand, /) -> Tensor:
    """The polynomial with coefficients p, the highest power first, at x, by Horner's rule."""

def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """First argument to the power of the second, elementwise."""

def power(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as pow: First argument to the power of the second, elementwise."""

def prod(
    x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Product over axes."""

def ptp(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Largest minus smallest element over axes."""

def quantile(
    x: Operand, q: Operand, /, axis: Axis = ..., *, method: str = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Values below which a part of x lies, over axes: q from 0 to 1, a number or an array, whose axes come first in the result. Between two elements `method` decides, by NumPy's names (Hyndman and Fan 1996): linear, lower, higher, nearest, midpoint, hazen, weibull ... NaN if any element is NaN. Integers give float64. An array q is read. ValueError for other q, other methods and no elements."""

def rad2deg(x: Operand, /) -> Tensor:
    """Radians as degrees, elementwise."""

def ravel(x: Operand, /) -> Tensor:
    """The same as flatten."""

def ravel_multi_index(
    multi_index: Sequence[Operand],
    shape: Ints,
    /,
    mode: Literal["raise", "wrap", "clip"] = ...,
    order: Literal["C", "F"] = ...,
) -> Tensor:
    """Positions along axes as positions in the flattened array, int64. Beyond an axis is an error ("raise": reads the data), wraps or is clipped."""

def real(x: Operand, /) -> Tensor:
    """Real part, elementwise, as a view; real numbers stay."""

def reciprocal(x: Operand, /) -> Tensor:
    """1 / x, elementwise."""

def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder with the sign of the divisor, elementwise; integers: x % 0 is 0."""

def repeat(x: Operand, /, repeats: Ints, axis: SupportsIndex | None = ...) -> Tensor:
    """Each element repeated: a number of times, or one number for each; without an axis of x flattened."""

def reshape(x: Operand, /, shape: Ints, *, copy: builtins.bool | None = ...) -> Tensor:
    """The same elements in row-major order under another shape. One extent may be -1."""

def right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as bitwise_right_shift: Shift right, elementwise, integers; by the width or more gives 0, or -1 for negative numbers."""

def roll(x: Operand, /, shift: Ints, axis: Axis = ...) -> Tensor:
    """Elements shifted along an axis; those pushed out come in again on the other side."""

def rollaxis(x: Operand, /, axis: SupportsIndex, start: Number = ...) -> Tensor:
    """An axis moved to stand before the axis `start`."""

def rot90(x: Operand, /, k: SupportsIndex = ..., axes: Ints = ...) -> Tensor:
    """Turned by k quarters in the plane of two axes, from the first to the second."""

def round(x: Operand, /, decimals: SupportsIndex = ...) -> Tensor:
    """The nearest multiple of 10**-decimals, elementwise; halves to even."""

def rsqrt(x: Operand, /) -> Tensor:
    """1 / sqrt(x), elementwise; NaN below 0."""

def searchsorted(
    x1: Operand,
    x2: Operand,
    /,
    side: Literal["left", "right"] = ...,
    sorter: Operand | Sequence[builtins.int] | None = ...,
) -> Tensor:
    """Where the elements of x2 would stand in the sorted x1: before equal ones, or after them ("right"). `sorter` has the indices that sort x1, where it is not sorted."""

def select(conditions: Sequence[Operand], choices: Any, default: Operand = ..., /) -> Tensor:
    """Elementwise the choice of the first condition that is true, else the default. ValueError for lists of different lengths or none, TypeError for conditions that are not bool."""

def setdiff1d(x1: Operand, x2: Operand, /, assume_unique: builtins.bool = ...) -> Tensor:
    """The distinct elements of x1 that x2 lacks, in ascending order (as they stand in x1 if assume_unique)."""

def setxor1d(x1: Operand, x2: Operand, /, assume_unique: builtins.bool = ...) -> Tensor:
    """The distinct elements that one of the arrays has and the other lacks, in ascending order."""

def sigmoid(x: Operand, /) -> Tensor:
    """1 / (1 + exp(-x)), elementwise, without overflow."""

def sign(x: Operand, /) -> Tensor:
    """Sign, elementwise: -1, 0 or 1; NaN for NaN."""

def signbit(x: Operand, /) -> Tensor:
    """True where the sign bit is set, elementwise: below zero, -0.0 and NaN with a sign."""

def sin(x: Operand, /) -> Tensor:
    """Sine of an angle in radians, elementwise."""

def sinc(x: Operand, /) -> Tensor:
    """sin(pi x) / (pi x), elementwise; 1 at 0."""

def sinh(x: Operand, /) -> Tensor:
    """Hyperbolic sine, elementwise."""

def sort(
    x: Operand,
    /,
    axis: SupportsIndex = ...,
    *,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
) -> Tensor:
    """Elements in order along an axis: always stable, NaN last in either order."""

def split(
    x: Operand, /, indices_or_sections: Ints | Tensor, axis: SupportsIndex = ...
) -> list[Tensor]:
    """Parts along an axis: a number of equal parts, or the positions where they begin."""

def sqrt(x: Operand, /) -> Tensor:
    """Square root, elementwise, correctly rounded; NaN below 0."""

def square(x: Operand, /) -> Tensor:
    """x * x, elementwise."""

def squeeze(x: Operand, /, axis: Axis = ...) -> Tensor:
    """Without axes of extent 1: those given, or all of them."""

def stack(arrays: Sequence[Operand], /, axis: SupportsIndex = ...) -> Tensor:
    """Joins arrays of one shape along a new axis."""

def std(
    x: Operand,
    /,
    axis: Axis = ...,
    *,
    correction: Number = ...,
    ddof: Number = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Standard deviation over axes, divided by n - correction before the square root. ddof is NumPy's name of correction."""

def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """Difference, elementwise."""

def sum(
    x: Operand, /, axis: Axis = ..., *, dtype: DTypeLike | None = ..., keepdims: builtins.bool = ...
) -> Tensor:
    """Sum over axes."""

def swapaxes(x: Operand, /, axis1: SupportsIndex, axis2: SupportsIndex) -> Tensor:
    """Two axes swapped."""

def take(
    x: Operand, /, indices: Operand | Sequence[builtins.int], axis: SupportsIndex | None = ...
) -> Tensor:
    """Elements of x at indices along an axis. Without an axis, of x flattened."""

def take_along_axis(
    x: Operand, /, indices: Operand | Sequence[builtins.int], axis: SupportsIndex = ...
) -> Tensor:
    """Elements of x at indices of x's rank along an axis."""

def tan(x: Operand, /) -> Tensor:
    """Tangent of an angle in radians, elementwise."""

def tanh(x: Operand, /) -> Tensor:
    """Hyperbolic tangent, elementwise."""

def tile(x: Operand, /, repetitions: Ints) -> Tensor:
    """The array repeated along its axes."""

def transpose(x: Operand, /, axes: Axis = ...) -> Tensor:
    """The axes in another order, reversed if none is given."""

def trapezoid(
    y: Operand, /, x: Operand | None = ..., dx: Number = ..., axis: SupportsIndex = ...
) -> Tensor:
    """The integral along an axis by the trapezoidal rule: of points at x, or dx apart."""

def tri(
    n: SupportsIndex,
    m: SupportsIndex | None = ...,
    k: SupportsIndex = ...,
    *,
    dtype: DTypeLike | None = ...,
) -> Tensor:
    """n x m ones where column <= row + k, else 0; the default dtype if none is given."""

def tril(x: Operand, /, k: SupportsIndex = ...) -> Tensor:
    """Zero above the k-th diagonal of the last two axes."""

def tril_indices(
    n: SupportsIndex, k: SupportsIndex = ..., m: SupportsIndex | None = ...
) -> tuple[Tensor, ...]:
    """Rows and columns of the elements of an n x m matrix up to its k-th diagonal, int64."""

def trim_zeros(x: Operand, /, trim: str = ...) -> Tensor:
    """A vector without the zeros before ("f") and behind ("b") the others. Reads them."""

def triu(x: Operand, /, k: SupportsIndex = ...) -> Tensor:
    """Zero below the k-th diagonal of the last two axes."""

def triu_indices(
    n: SupportsIndex, k: SupportsIndex = ..., m: SupportsIndex | None = ...
) -> tuple[Tensor, ...]:
    """Rows and columns of the elements of an n x m matrix from its k-th diagonal on, int64."""

def true_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as divide: Quotient, elementwise."""

def trunc(x: Operand, /) -> Tensor:
    """Integer part, elementwise."""

def union1d(x1: Operand, x2: Operand, /) -> Tensor:
    """The distinct elements of both arrays, in ascending order."""

def unique_values(x: Operand, /, *, equal_nan: builtins.bool = ...) -> Tensor:
    """Distinct elements in ascending order. Every NaN counts by itself, unless equal_nan. Reads how many there are."""

def unravel_index(
    indices: Operand | Sequence[builtins.int], shape: Ints, /, order: Literal["C", "F"] = ...
) -> tuple[Tensor, ...]:
    """Positions in the flattened array as positions along its axes, int64. Reads them to check."""

def unstack(x: Operand, /, axis: SupportsIndex = ...) -> tuple[Tensor, ...]:
    """The slices along an axis, as a tuple."""

def unwrap(
    p: Operand, /, discont: Number | None = ..., axis: SupportsIndex = ..., *, period: Number = ...
) -> Tensor:
    """Angles without jumps of more than half a period (or discont), by whole periods."""

def vander(
    x: Operand, /, n: SupportsIndex | None = ..., *, increasing: builtins.bool = ...
) -> Tensor:
    """Powers of a vector's elements as rows of n columns, the highest first unless increasing."""

def var(
    x: Operand,
    /,
    axis: Axis = ...,
    *,
    correction: Number = ...,
    ddof: Number = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Variance over axes, divided by n - correction. ddof is NumPy's name of correction."""

def vdot(x1: Operand, x2: Operand, /) -> Tensor:
    """The sum of products of conjugates of x1 with x2, both flattened."""

def vecdot(x1: Operand, x2: Operand, /, *, axis: SupportsIndex = ...) -> Tensor:
    """Sum of products along an axis of both, which must be equally long; the others broadcast. Complex elements of x1 are conjugated. The dtype is that of the product, for bool whether any pair is true. ValueError if the axes differ in length, IndexError if one of the arrays lacks the axis."""

def vecmat(x1: Operand, x2: Operand, /) -> Tensor:
    """Conjugate vectors times matrices, batched: [..., m] and [..., m, n] give [..., n]."""

def vsplit(x: Operand, /, indices_or_sections: Ints | Tensor) -> list[Tensor]:
    """Parts along the first axis of two or more."""

def vstack(arrays: Sequence[Operand], /) -> Tensor:
    """Joins arrays one below the other: along the first axis; vectors are rows."""

@overload
def where(condition: Operand, /) -> tuple[Tensor, ...]:
    """Elements of the second argument where the first (bool) is true, of the third elsewhere. where(x) alone is nonzero(x)."""

@overload
def where(condition: Operand, x1: Operand, x2: Operand, /) -> Tensor:
    """Elements of the second argument where the first (bool) is true, of the third elsewhere. where(x) alone is nonzero(x)."""

def xlog1py(x1: Operand, x2: Operand, /) -> Tensor:
    """x1 * log(1 + x2), elementwise; 0 where x1 is 0 and x2 no NaN."""

def xlogy(x1: Operand, x2: Operand, /) -> Tensor:
    """x1 * log(x2), elementwise; 0 where x1 is 0 and x2 no NaN."""

def y0(x: Operand, /) -> Tensor:
    """Bessel function of the second kind of order 0, elementwise; -inf at 0, NaN below."""

def y1(x: Operand, /) -> Tensor:
    """Bessel function of the second kind of order 1, elementwise; -inf at 0, NaN below."""

@overload
def zeros(
    shape: Ints,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 0; zeros(2, 3) is zeros((2, 3))."""

@overload
def zeros(
    *shape: SupportsIndex,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 0; zeros(2, 3) is zeros((2, 3))."""

def zeros_like(
    x: Operand,
    /,
    dtype: DTypeLike | None = ...,
    *,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 0, with the shape and dtype of x."""

def zeta(x: Operand, q: Operand | None = ...) -> Tensor:
    """Hurwitz's zeta function, elementwise: the sum of (q + k)^-x over k from 0 on, for x > 1; inf for x = 1 and where q is 0 or a negative integer, NaN for x below 1 and where a power of a negative number is. Without q Riemann's, with q = 1, which goes on below x = 1."""
