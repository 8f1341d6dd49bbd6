"""The compiled part of frazil.fft."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    Literal,
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Axis, DTypeLike, Number, Operand

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

def fft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Fourier transform along an axis: sums of x[j] exp(-2 pi i j k / n) for k from 0 to n - 1. x is cut off after n points, or zeros follow; n is as many as there are if not given. norm: what is divided by n, the inverse transform ("backward"), this one ("forward"), or both by its root ("ortho"). Complex numbers of x's precision, for integers complex128. TypeError for 16-bit floats, ValueError for no points."""

def fft2(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """fftn over two axes, the last if None."""

def fftfreq(
    n: SupportsIndex,
    /,
    d: Number = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Frequencies of the points of fft of n samples that are d apart, in cycles per unit of d: 0 and rising, then the negative ones."""

def fftn(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """fft over several axes, all if not given. s: the points along each; -1 leaves an axis as it is. Axes of s alone are the last ones. An axis given twice is transformed twice."""

def fftshift(x: Operand, /, axes: Axis = ...) -> Tensor:
    """The point of frequency 0 moved to the middle of axes, all if not given: x rolled by half of each."""

def hfft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """fft of n points of which x has the first n // 2 + 1, the others being their conjugates in reverse: n real numbers, 2 * (points - 1) if not given."""

def ifft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of fft: sums of x[k] exp(2 pi i j k / n), divided by n unless norm says otherwise."""

def ifft2(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of fft2."""

def ifftn(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of fftn."""

def ifftshift(x: Operand, /, axes: Axis = ...) -> Tensor:
    """Inverse of fftshift."""

def ihfft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of hfft: the first n // 2 + 1 points of ifft of real numbers."""

def irfft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of rfft: n real numbers, 2 * (points - 1) if not given. Of the first point, and for even n of the last one, the imaginary part does not count."""

def irfft2(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of rfft2."""

def irfftn(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """Inverse of rfftn."""

def rfft(
    x: Operand,
    /,
    n: SupportsIndex | None = ...,
    axis: SupportsIndex = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """The first n // 2 + 1 points of fft of real numbers; the others are their conjugates in reverse. TypeError for complex x."""

def rfft2(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """rfftn over two axes."""

def rfftfreq(
    n: SupportsIndex,
    /,
    d: Number = ...,
    *,
    dtype: DTypeLike | None = ...,
    device: str | None = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor:
    """Frequencies of the n // 2 + 1 points of rfft of n samples that are d apart, in cycles per unit of d."""

def rfftn(
    x: Operand,
    /,
    s: Sequence[builtins.int] | None = ...,
    axes: Axis = ...,
    norm: Literal["backward", "ortho", "forward"] | None = ...,
) -> Tensor:
    """rfft along the last of several axes, then fftn over the others."""
