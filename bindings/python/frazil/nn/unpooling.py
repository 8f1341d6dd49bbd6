"""Maxima put back where max pooling found them, functions and layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil.nn._arguments import several
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


def _extents(op, sizes, kernel, stride, padding, output_size):
    """Of the output: as given, if they are less than a stride from those that pooling begins with
    where it leaves nothing over."""
    usual = [
        (size - 1) * s - 2 * p + k
        for size, k, s, p in zip(sizes, kernel, stride, padding, strict=True)
    ]
    if output_size is None:
        return usual
    n = len(usual)
    wanted = [int(size) for size in output_size[-n:]]
    near = [abs(w - u) < s for w, u, s in zip(wanted, usual, stride, strict=False)]
    if len(output_size) not in (n, n + 1, n + 2) or not all(near):
        raise ValueError(
            f"[{op}] output_size must lie less than a stride from {usual}, got {output_size}."
        )
    return wanted


def _max_unpool(n, input, indices, kernel_size, stride, padding, output_size, channels_last):
    op = f"max_unpool{n}d"
    if input.ndim not in (n + 1, n + 2) or indices.shape != input.shape:
        raise ValueError(
            f"[{op}] needs {n + 1} or {n + 2} axes, the indices as many as the input: shapes "
            f"{input.shape} and {indices.shape}."
        )
    kernel = several(f"[{op}] kernel_size", kernel_size, n, 1)
    stride = several(f"[{op}] stride", kernel if stride is None else stride, n, 1)
    padding = several(f"[{op}] padding", padding, n, 0)
    first = -n - 1
    if channels_last:
        input, indices = (_fz.moveaxis(x, -1, first) for x in (input, indices))
    extents = _extents(op, input.shape[-n:], kernel, stride, padding, output_size)
    rows, places = math.prod(input.shape[:-n]), math.prod(extents)
    out = _fz.zeros((rows, places), dtype=input.dtype, device=input.device)
    row = _fz.arange(rows, device=input.device)[:, None]
    out[row, indices.reshape((rows, -1))] = input.reshape((rows, -1))
    out = out.reshape((*input.shape[:-n], *extents))
    return _fz.moveaxis(out, first, -1) if channels_last else out


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Zeros with the elements of ([n,] channels, length) at the indices that max_pool1d gave.

    The length is that with which pooling leaves nothing over, or output_size. Where two elements
    have one place, the last one stands and gets the gradient.
    ValueError if output_size is a stride or more away from that, IndexError for indices beyond it.

    >>> from frazil.nn.functional import max_pool1d
    >>> top, places = max_pool1d(_fz.asarray([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> max_unpool1d(top, places, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """
    return _max_unpool(  # type: ignore[no-any-return]
        1, input, indices, kernel_size, stride, padding, output_size, channels_last
    )


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Zeros with the elements of ([n,] channels, height, width) at the indices that max_pool2d
    gave (see max_unpool1d).
    """
    return _max_unpool(  # type: ignore[no-any-return]
        2, input, indices, kernel_size, stride, padding, output_size, channels_last
    )


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Zeros with the elements of ([n,] channels, depth, height, width) at the indices that
    max_pool3d gave (see max_unpool1d).
    """
    return _max_unpool(  # type: ignore[no-any-return]
        3, input, indices, kernel_size, stride, padding, output_size, channels_last
    )


class MaxUnpool1d(Module):
    """Zeros with maxima at the places where MaxPool1d(return_indices=True) found them."""

    _axes = 1

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        *,
        channels_last: bool = False,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.channels_last = padding, channels_last

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        result: Tensor = _max_unpool(
            self._axes, input, indices, self.kernel_size, self.stride, self.padding, output_size,
            self.channels_last,
        )  # fmt: skip
        return result

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool2d(MaxUnpool1d):
    """Zeros with maxima at the places where MaxPool2d(return_indices=True) found them."""

    _axes = 2


class MaxUnpool3d(MaxUnpool1d):
    """Zeros with maxima at the places where MaxPool3d(return_indices=True) found them."""

    _axes = 3
