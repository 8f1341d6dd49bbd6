"""The compiled part of frazil."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, SupportsIndex

class DType:
    """An element type."""

    name: str
    itemsize: builtins.int
    kind: str
    dtype: Any
    def __hash__(self) -> builtins.int: ...

DTypeLike = DType | str | type | Any
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

class Tensor:
    """An array of one dtype on one device."""

    shape: tuple[builtins.int, ...]
    dtype: DType
    device: str
    ndim: builtins.int
    size: builtins.int
    itemsize: builtins.int
    nbytes: builtins.int
    T: Tensor
    mT: Tensor
    requires_grad: builtins.bool
    is_leaf: builtins.bool
    grad: Tensor | None
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, item: Any) -> builtins.bool: ...
    def __getitem__(self, index: Index) -> Tensor: ...
    def __setitem__(self, index: Index, value: Any) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    def __eq__(self, other: Any, /) -> Any: ...
    def __ne__(self, other: Any, /) -> Any: ...
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
    def __pow__(self, other: Operand, /) -> Tensor: ...
    def __rpow__(self, other: Operand, /) -> Tensor: ...
    def __ipow__(self, other: Operand, /) -> Tensor: ...
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
    def __array__(self, dtype: DTypeLike | None = ..., copy: builtins.bool | None = ...) -> Any:
        """For NumPy."""
    def __array_namespace__(self, *, api_version: str | None = ...) -> Any:
        """The module frazil."""
    def __dlpack__(
        self,
        *,
        stream: Any = ...,
        max_version: Any = ...,
        dl_device: Any = ...,
        copy: builtins.bool | None = ...,
    ) -> Any:
        """DLPack."""
    def __round__(self, ndigits: builtins.int | None = ..., /) -> Tensor:
        """See round."""
    def _to_device_(self, device: str | None, /) -> Tensor:
        """Moves the content of this cell."""
    def all(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.all."""
    def any(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.any."""
    def argmax(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.argmax."""
    def argmin(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.argmin."""
    def astype(
        self,
        dtype: DTypeLike | None,
        /,
        *,
        copy: builtins.bool | None = ...,
        device: str | None = ...,
    ) -> Tensor:
        """See frazil.astype."""
    def backward(self, gradient: Tensor | None = ...) -> None:
        """Adds the gradients of this tensor (times `gradient`) to .grad of every leaf it depends on."""
    def clip(self, min: Operand | None = ..., max: Operand | None = ..., out: None = ...) -> Tensor:
        """See frazil.clip."""
    def copy(self) -> Tensor:
        """The same elements in new memory."""
    def detach(self) -> Tensor:
        """The same value without history."""
    def flatten(self) -> Tensor:
        """See frazil.flatten."""
    def item(self) -> builtins.bool | builtins.int | builtins.float:
        """The only element as a Python number."""
    def max(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.max."""
    def mean(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.mean."""
    def min(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.min."""
    def nonzero(self) -> tuple[Tensor, ...]:
        """See frazil.nonzero."""
    def numpy(self) -> Any:
        """A read-only NumPy array over the same memory, as np.asarray(t)."""
    def permute(self, *axes: Any) -> Tensor:
        """The axes in another order."""
    def prod(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.prod."""
    def ravel(self) -> Tensor:
        """See frazil.flatten."""
    def requires_grad_(self, requires_grad: builtins.bool = ...) -> Tensor:
        """Sets requires_grad and returns self."""
    def reshape(self, *shape: Any) -> Tensor:
        """See frazil.reshape."""
    def round(self, decimals: builtins.int = ..., out: None = ...) -> Tensor:
        """The nearest multiple of 10**-decimals."""
    def squeeze(self, axis: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
        """See frazil.squeeze."""
    def std(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        correction: builtins.float = ...,
        ddof: builtins.float = ...,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.std; ddof is NumPy's name of correction."""
    def sum(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.sum."""
    def swapaxes(self, axis1: builtins.int, axis2: builtins.int, /) -> Tensor:
        """See frazil.swapaxes."""
    def take(
        self,
        indices: Operand | Sequence[builtins.int],
        /,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
    ) -> Tensor:
        """See frazil.take."""
    def to_device(self, device: str | None, /, *, stream: Any = ...) -> Tensor:
        """The tensor on another device."""
    def tolist(self) -> Any:
        """The elements as nested lists."""
    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order, reversed if none is given."""
    def var(
        self,
        axis: builtins.int | Sequence[builtins.int] | None = ...,
        dtype: DTypeLike | None = ...,
        out: None = ...,
        *,
        correction: builtins.float = ...,
        ddof: builtins.float = ...,
        keepdims: builtins.bool = ...,
    ) -> Tensor:
        """See frazil.var; ddof is NumPy's name of correction."""

class Traced:
    """A traced callable: made by frazil.trace."""

    __wrapped__: Callable[..., Any]
    def __init__(self, function: Callable[..., Any], name: str = ...) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def explain(self) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    def memory_plan(self) -> list[Any]: ...
    def clear(self) -> None: ...

class GradScope:
    """One level of function-style differentiation; close it in reverse order of opening."""

    def variable(self, argument: Tensor, /) -> Tensor: ...
    def gradients(self, root: Tensor, /) -> list[Tensor]: ...
    def outside(self, result: Any, /) -> Any: ...
    def close(self) -> None: ...

Operand = Tensor | builtins.bool | builtins.int | builtins.float | Any
Index = SupportsIndex | slice | EllipsisType | None | Tensor | Sequence[Any] | Any
__version__: str

def op_table() -> list[dict[str, Any]]: ...
def abs(x: Operand, /) -> Tensor:
    """Absolute value, elementwise; the most negative integer stays as it is."""

def absolute(x: Operand, /) -> Tensor:
    """The same as abs: Absolute value, elementwise; the most negative integer stays as it is."""

def add(x1: Operand, x2: Operand, /) -> Tensor:
    """Sum, elementwise."""

def all(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """True where all elements over the axes are true."""

def any(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """True where any element over the axes is true."""

def arange(
    start: builtins.bool | builtins.int | builtins.float,
    /,
    stop: builtins.bool | builtins.int | builtins.float | None = ...,
    step: builtins.bool | builtins.int | builtins.float = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """start, start + step, ... below stop; from 0 if one bound is given."""

def argmax(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Index of the first largest element along an axis; the first NaN if there is one."""

def argmin(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Index of the first smallest element along an axis; the first NaN if there is one."""

def argsort(
    x: Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
) -> Tensor:
    """Indices that sort along an axis: always stable, NaN last in either order."""

def asarray(
    obj: Any,
    /,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    copy: builtins.bool | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """A tensor from a number, nested sequences, a NumPy array, a buffer, DLPack or a tensor."""

def astype(
    x: Operand,
    dtype: DTypeLike | None,
    /,
    *,
    copy: builtins.bool | None = ...,
    device: str | None = ...,
) -> Tensor:
    """Converts to another dtype: float to int saturates and NaN gives 0, int to int wraps, to bool is x != 0."""

def atan(x: Operand, /) -> Tensor:
    """Inverse tangent in radians, elementwise."""

def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Bitwise and, elementwise; logical for bool."""

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

def broadcast_to(x: Operand, /, shape: SupportsIndex | Sequence[builtins.int]) -> Tensor:
    """Repeats axes of extent 1, without copying."""

def ceil(x: Operand, /) -> Tensor:
    """Smallest integer not below x, elementwise."""

def clip(x: Operand, /, min: Operand | None = ..., max: Operand | None = ...) -> Tensor:
    """Limits x to [min, max], elementwise."""

def concat(
    arrays: Sequence[Tensor], /, axis: builtins.int | Sequence[builtins.int] | None = ...
) -> Tensor:
    """Joins arrays along an existing axis. axis=None joins them flattened."""

def concatenate(
    arrays: Sequence[Tensor], /, axis: builtins.int | Sequence[builtins.int] | None = ...
) -> Tensor:
    """The same as concat."""

def copy(x: Operand, /) -> Tensor:
    """The same elements in new memory."""

def cos(x: Operand, /) -> Tensor:
    """Cosine of an angle in radians, elementwise."""

def count_nonzero(
    x: Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """How many elements are not zero, over axes."""

def cumprod(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    dtype: DTypeLike | None = ...,
) -> Tensor:
    """cumulative_prod under NumPy's name: without an axis, of x flattened."""

def cumsum(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    dtype: DTypeLike | None = ...,
) -> Tensor:
    """cumulative_sum under NumPy's name: without an axis, of x flattened."""

def cumulative_prod(
    x: Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    dtype: DTypeLike | None = ...,
    include_initial: builtins.bool = ...,
) -> Tensor:
    """Products of the elements up to each one along an axis; integers in 64 bits."""

def cumulative_sum(
    x: Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    dtype: DTypeLike | None = ...,
    include_initial: builtins.bool = ...,
) -> Tensor:
    """Sums of the elements up to each one along an axis; integers are summed in 64 bits."""

def detach(x: Operand, /) -> Tensor:
    """The same value without history: no gradient flows through it."""

def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient, elementwise."""

def empty(
    shape: SupportsIndex | Sequence[builtins.int],
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Of a shape; the elements are 0."""

def empty_like(
    x: Operand,
    /,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """With the shape and dtype of x; the elements are 0."""

def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a == b, elementwise."""

def erf(x: Operand, /) -> Tensor:
    """Error function, elementwise."""

def exp(x: Operand, /) -> Tensor:
    """Exponential, elementwise."""

def expand_dims(x: Operand, /, axis: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """With a new axis of extent 1."""

def expm1(x: Operand, /) -> Tensor:
    """exp(x) - 1 without cancellation near 0, elementwise."""

def eye(
    n_rows: builtins.int,
    n_cols: builtins.int | None = ...,
    /,
    *,
    k: builtins.int = ...,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""

def flatten(x: Operand, /) -> Tensor:
    """All elements along one axis."""

def flip(x: Operand, /, axis: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Elements in reverse order along axes."""

def floor(x: Operand, /) -> Tensor:
    """Largest integer not above x, elementwise."""

def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient rounded down, elementwise; integers: x // 0 is 0."""

def from_dlpack(
    x: Operand, /, *, device: str | None = ..., copy: builtins.bool | None = ...
) -> Tensor:
    """A tensor from an object with __dlpack__."""

def full(
    shape: SupportsIndex | Sequence[builtins.int],
    fill_value: Operand,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with a value, whose kind decides the dtype."""

def full_like(
    x: Operand,
    /,
    fill_value: Operand,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with a value, with the shape and dtype of x."""

def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """a > b, elementwise."""

def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a >= b, elementwise."""

def invert(x: Operand, /) -> Tensor:
    """The same as bitwise_invert: Bitwise complement, elementwise; logical not for bool."""

def isfinite(x: Operand, /) -> Tensor:
    """True where x is neither infinite nor NaN."""

def isinf(x: Operand, /) -> Tensor:
    """True where x is infinite."""

def isnan(x: Operand, /) -> Tensor:
    """True where x is NaN."""

def left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as bitwise_left_shift: Shift left, elementwise, integers; by the width or more gives 0."""

def less(x1: Operand, x2: Operand, /) -> Tensor:
    """a < b, elementwise."""

def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a <= b, elementwise."""

def linspace(
    start: builtins.bool | builtins.int | builtins.float,
    stop: builtins.bool | builtins.int | builtins.float | None,
    /,
    num: builtins.int = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    endpoint: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """num evenly spaced numbers from start to stop."""

def log(x: Operand, /) -> Tensor:
    """Natural logarithm, elementwise; -inf at 0, NaN below."""

def log1p(x: Operand, /) -> Tensor:
    """log(1 + x) without cancellation near 0, elementwise."""

def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """True where both are true (not zero)."""

def logical_not(x: Operand, /) -> Tensor:
    """True where x is false (zero)."""

def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """True where either is true (not zero)."""

def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """True where exactly one is true (not zero)."""

def logsumexp(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """log(sum(exp(x))) over axes, without overflow."""

def matmul(x1: Operand, x2: Operand, /) -> Tensor:
    """Matrix product, batched over leading axes."""

def matrix_transpose(x: Operand, /) -> Tensor:
    """The last two axes swapped."""

def max(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Largest element over axes; NaN if any is NaN."""

def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """Larger of two values, elementwise; NaN if either is NaN."""

def mean(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Arithmetic mean over axes; integers give float64."""

def min(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Smallest element over axes; NaN if any is NaN."""

def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """Smaller of two values, elementwise; NaN if either is NaN."""

def mod(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as remainder: Remainder with the sign of the divisor, elementwise; integers: x % 0 is 0."""

def moveaxis(x: Operand, source: builtins.int, destination: builtins.int, /) -> Tensor:
    """One axis moved to another place."""

def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """Product, elementwise."""

def negative(x: Operand, /) -> Tensor:
    """Numerical negative, elementwise; unsigned integers wrap."""

def nonzero(x: Operand, /) -> tuple[Tensor, ...]:
    """Positions of elements that are not zero, one index array per axis. Reads how many there are."""

def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """a != b, elementwise."""

def ones(
    shape: SupportsIndex | Sequence[builtins.int],
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 1."""

def ones_like(
    x: Operand,
    /,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 1, with the shape and dtype of x."""

def pad(
    x: Operand,
    pad_width: Any,
    /,
    mode: Any = ...,
    *,
    constant_values: builtins.bool | builtins.int | builtins.float = ...,
) -> Tensor:
    """Surrounds with a constant."""

def permute_dims(x: Operand, /, axes: SupportsIndex | Sequence[builtins.int]) -> Tensor:
    """The axes in another order."""

def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """First argument to the power of the second, elementwise."""

def power(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as pow: First argument to the power of the second, elementwise."""

def prod(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    dtype: DTypeLike | None = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Product over axes."""

def ravel(x: Operand, /) -> Tensor:
    """The same as flatten."""

def reciprocal(x: Operand, /) -> Tensor:
    """1 / x, elementwise."""

def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder with the sign of the divisor, elementwise; integers: x % 0 is 0."""

def reshape(
    x: Operand,
    /,
    shape: SupportsIndex | Sequence[builtins.int],
    *,
    copy: builtins.bool | None = ...,
) -> Tensor:
    """The same elements in row-major order under another shape. One extent may be -1."""

def right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as bitwise_right_shift: Shift right, elementwise, integers; by the width or more gives 0, or -1 for negative numbers."""

def round(x: Operand, /) -> Tensor:
    """Nearest integer, halves to even, elementwise."""

def rsqrt(x: Operand, /) -> Tensor:
    """1 / sqrt(x), elementwise."""

def searchsorted(x1: Operand, x2: Operand, /, *, side: str = ...) -> Tensor:
    """Where the elements of x2 would stand in the sorted x1: before equal ones, or after them ("right"). Reads the data."""

def sign(x: Operand, /) -> Tensor:
    """Sign, elementwise: -1, 0 or 1; NaN for NaN."""

def sin(x: Operand, /) -> Tensor:
    """Sine of an angle in radians, elementwise."""

def sort(
    x: Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
) -> Tensor:
    """Elements in order along an axis: always stable, NaN last in either order."""

def sqrt(x: Operand, /) -> Tensor:
    """Square root, elementwise, correctly rounded; NaN below 0."""

def square(x: Operand, /) -> Tensor:
    """x * x, elementwise."""

def squeeze(x: Operand, /, axis: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Without axes of extent 1: those given, or all of them."""

def stack(
    arrays: Sequence[Tensor], /, axis: builtins.int | Sequence[builtins.int] | None = ...
) -> Tensor:
    """Joins arrays of one shape along a new axis."""

def std(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    correction: builtins.float = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Standard deviation over axes, divided by n - correction before the square root."""

def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """Difference, elementwise."""

def sum(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    dtype: DTypeLike | None = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Sum over axes."""

def swapaxes(x: Operand, axis1: builtins.int, axis2: builtins.int, /) -> Tensor:
    """Two axes swapped."""

def take(
    x: Operand,
    indices: Operand | Sequence[builtins.int],
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
) -> Tensor:
    """Elements of x at indices along an axis. Without an axis, of x flattened."""

def take_along_axis(
    x: Operand,
    indices: Operand | Sequence[builtins.int],
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
) -> Tensor:
    """Elements of x at indices of x's rank along an axis."""

def tan(x: Operand, /) -> Tensor:
    """Tangent of an angle in radians, elementwise."""

def tanh(x: Operand, /) -> Tensor:
    """Hyperbolic tangent, elementwise."""

def tile(x: Operand, repetitions: builtins.int | Sequence[builtins.int], /) -> Tensor:
    """The array repeated along its axes."""

def tril(x: Operand, /, k: builtins.int = ...) -> Tensor:
    """Zero above the k-th diagonal of the last two axes."""

def triu(x: Operand, /, k: builtins.int = ...) -> Tensor:
    """Zero below the k-th diagonal of the last two axes."""

def true_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The same as divide: Quotient, elementwise."""

def trunc(x: Operand, /) -> Tensor:
    """Integer part, elementwise."""

def var(
    x: Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    *,
    correction: builtins.float = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """Variance over axes, divided by n - correction."""

def where(condition: Operand, x1: Operand, x2: Operand, /) -> Tensor:
    """Elements of the second argument where the first (bool) is true, of the third elsewhere. where(x) alone is nonzero(x)."""

def zeros(
    shape: SupportsIndex | Sequence[builtins.int],
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 0."""

def zeros_like(
    x: Operand,
    /,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Filled with 0, with the shape and dtype of x."""
