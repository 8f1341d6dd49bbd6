"""Convolutions over one, two and three axes, and transposed ones. Weights have PyTorch's shapes,
(out, in / groups, ...kernel), in either layout of the input.

All are frazil.nn.conv2d: one axis is an image of one row; of three the first is put into the
channels. A transposed one is a convolution of the input with zeros between its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._frazil import nn as _ops
from frazil.nn._arguments import divides, one_of, several
from frazil.nn._autocast import lowers

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip


@lowers
def _conv(n, input, weight, bias, stride, padding, dilation, groups, channels_last):
    op = f"conv{n}d"
    if input.ndim not in (n + 1, n + 2) or weight.ndim != n + 2:
        raise ValueError(
            f"[{op}] needs {n + 1} or {n + 2} axes and a weight of {n + 2}: shapes {input.shape} "
            f"and {weight.shape}."
        )
    stride = several(f"[{op}] stride", stride, n, 1)
    dilation = several(f"[{op}] dilation", dilation, n, 1)
    if isinstance(padding, str):
        input, padding = _worded(op, n, input, weight, stride, padding, dilation, channels_last)
    padding = several(f"[{op}] padding", padding, n, 0)
    x = input if input.ndim == n + 2 else input[None]
    x = x if channels_last else _fz.moveaxis(x, 1, -1)
    y = _last(x, weight, stride, padding, dilation, groups)
    y = y if bias is None else y + bias
    y = y if channels_last else _fz.moveaxis(y, -1, 1)
    return y if input.ndim == n + 2 else y[0]


def _last(x, weight, stride, padding, dilation, groups):
    """The convolution of (n, ...places, channels)."""
    n = len(stride)
    if n == 1:
        x, weight = x[:, None], weight[:, :, None]
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    elif n == 3:
        return _of_three(x, weight, stride, padding, dilation, groups)
    w = _fz.permute_dims(weight, (2, 3, 1, 0))
    y = _ops.conv2d(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return y[:, 0] if n == 1 else y


def _of_three(x, weight, stride, padding, dilation, groups):
    """The depths that a kernel meets become channels of an image: (c, depth of the kernel)."""
    (s, *stride), (p, *padding), (d, *dilation) = stride, padding, dilation
    deep = weight.shape[2]
    x = _fz.pad(x, ((0, 0), (p, p), (0, 0), (0, 0), (0, 0))) if p else x
    out = (x.shape[1] - d * (deep - 1) - 1) // s + 1
    if out < 1:
        raise ValueError(
            f"[conv3d] a kernel of {deep} elements, {d} apart, does not fit {x.shape[1]} elements."
        )
    parts = [x[:, i * d : i * d + (out - 1) * s + 1 : s] for i in range(deep)]
    x = _fz.stack(parts, axis=-1) if deep > 1 else parts[0][..., None]
    x = x.reshape((x.shape[0] * out, *x.shape[2:4], -1))
    w = weight.reshape((weight.shape[0], -1, *weight.shape[3:]))
    y = _last(x, w, stride, padding, dilation, groups)
    return y.reshape((-1, out, *y.shape[1:]))


def _worded(op, n, input, weight, stride, padding, dilation, channels_last):
    """The input padded for padding="same", and what is left to pad."""
    if one_of(f"[{op}] padding", padding, "same", "valid") == "valid":
        return input, 0
    if stride != (1,) * n:
        raise ValueError(f'[{op}] padding="same" needs a stride of 1, got {stride}.')
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if all(t % 2 == 0 for t in total):
        return input, [t // 2 for t in total]
    widths = [(t // 2, t - t // 2) for t in total]
    rest = input.ndim - n
    widths = (
        [(0, 0)] * (rest - 1) + widths + [(0, 0)] if channels_last else [(0, 0)] * rest + widths
    )
    return _fz.pad(input, widths), 0


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Tensor:
    """Cross-correlation over the last axis of ([n,] channels, length)."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups, channels_last)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Tensor:
    """Cross-correlation over the last two axes of ([n,] channels, height, width).

    Parameters
    ----------
    input : Tensor
        With channels_last=True ([n,] height, width, channels), and so is the result.
    weight : Tensor
        (out, in / groups, kernel height, kernel width), in either layout.
    padding : int, two of them, or str
        Zeros around the input; "same" keeps its extents, "valid" is 0.

    Raises
    ------
    ValueError
        If shapes do not fit, or padding="same" meets a stride.

    >>> conv2d(_fz.ones((1, 1, 3, 3)), _fz.ones((1, 1, 2, 2))).tolist()
    [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups, channels_last)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    channels_last: bool = False,
) -> Tensor:
    """Cross-correlation over the last three axes of ([n,] channels, depth, height, width)."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups, channels_last)


def _spread(x, axis, stride):
    """x with stride - 1 zeros between its elements along an axis."""
    if stride == 1:
        return x
    n = x.shape[axis]
    widths = [(0, 0)] * (x.ndim + 1)
    widths[axis + 1] = (0, stride - 1)
    x = _fz.pad(_fz.expand_dims(x, axis=axis + 1), widths)
    x = x.reshape((*x.shape[:axis], n * stride, *x.shape[axis + 2 :]))
    return x[(slice(None),) * axis + (slice(0, (n - 1) * stride + 1),)]


def _phases(x, weight, stride):
    """The transposed convolution of (n, ...places, channels) whose kernel is some steps long,
    without groups or padding: an element's products are a tile of the result, or tiles that
    overlap, which are the outputs of a convolution for each place in a step."""
    r, outputs = len(stride), weight.shape[1]
    if stride == weight.shape[2:]:
        w = _fz.moveaxis(weight, 1, -1).reshape((x.shape[-1], -1))
        y = (x.reshape((-1, x.shape[-1])) @ w).reshape((*x.shape[:-1], -1))
    else:
        steps = [k // s for k, s in zip(weight.shape[2:], stride, strict=True)]
        apart = [n for pair in zip(steps, stride, strict=True) for n in pair]
        w = weight.reshape((*weight.shape[:2], *apart))
        w = _fz.flip(w, axis=tuple(range(2, 2 + 2 * r, 2)))
        order = (*range(2, 2 + 2 * r, 2), 0, *range(3, 3 + 2 * r, 2), 1)
        w = _fz.permute_dims(w, order).reshape((*steps, weight.shape[0], -1))
        w = _fz.permute_dims(w, (r + 1, r, *range(r)))  # lies as convolutions read it
        y = _last(x, w, (1,) * r, tuple(n - 1 for n in steps), (1,) * r, 1)
    n, *places, _ = y.shape
    y = y.reshape((n, *places, *stride, outputs))
    order = [a for i in range(r) for a in (1 + i, 1 + r + i)]
    y = _fz.permute_dims(y, (0, *order, 1 + 2 * r))
    return y.reshape((n, *(p * s for p, s in zip(places, stride, strict=True)), outputs))


def _by_phases(x, weight, stride, dilation, groups, widths):
    """The transposed convolution by _phases, `widths` (before, after) cut off each axis; None where
    it is none of those."""
    kernel, places = weight.shape[2:], x.shape[1:-1]
    fits = groups == 1 and x.shape[-1] == weight.shape[0] and set(dilation) == {1}
    if not fits or set(stride) == {1} or 0 in x.shape or 0 in kernel:
        return None
    cut = [slice(None)]
    for size, k, s, (before, after) in zip(places, kernel, stride, widths, strict=True):
        end = (size - 1) * s + k - after
        if k % s or before < 0 or after < 0 or end <= before:
            return None
        cut.append(slice(before, end))
    y = _phases(x, weight, tuple(stride))
    return y[tuple(cut)] if any(map(any, widths)) else y


@lowers
def _transposed(
    n, input, weight, bias, stride, padding, output_padding, groups, dilation, channels_last
):
    op = f"conv_transpose{n}d"
    if input.ndim not in (n + 1, n + 2) or weight.ndim != n + 2:
        raise ValueError(
            f"[{op}] needs {n + 1} or {n + 2} axes and a weight of {n + 2}: shapes {input.shape} "
            f"and {weight.shape}."
        )
    stride = several(f"[{op}] stride", stride, n, 1)
    padding = several(f"[{op}] padding", padding, n, 0)
    more = several(f"[{op}] output_padding", output_padding, n, 0)
    dilation = several(f"[{op}] dilation", dilation, n, 1)
    x = input if input.ndim == n + 2 else input[None]
    x = x if channels_last else _fz.moveaxis(x, 1, -1)
    for i in range(n):
        if more[i] >= max(stride[i], dilation[i]):
            raise ValueError(
                f"[{op}] output_padding must be less than stride or dilation: {more[i]}, "
                f"{stride[i]} and {dilation[i]}."
            )
    edges = [(p, p - m) for p, m in zip(padding, more, strict=True)]
    y = _by_phases(x, weight, stride, dilation, groups, edges)
    if y is not None:
        y = y if bias is None else y + bias
        y = y if channels_last else _fz.moveaxis(y, -1, 1)
        return y if input.ndim == n + 2 else y[0]
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    widths, cut = [(0, 0)], [slice(None)]
    for i in range(n):
        x = _spread(x, i + 1, stride[i])
        before, after = reach[i] - padding[i], reach[i] - padding[i] + more[i]
        widths.append((max(before, 0), max(after, 0)))
        cut.append(slice(max(-before, 0), x.shape[i + 1] - max(-after, 0)))
    x = _fz.pad(x[tuple(cut)], [*widths, (0, 0)])
    # (in, out / groups, ...) turned and transposed in each group: (out, in / groups, ...)
    n_in, n_out = weight.shape[:2]
    divides(f"[{op}]", n_in, groups, "channels of the weight", "groups")
    w = _fz.flip(weight, axis=tuple(range(2, n + 2)))
    w = w.reshape((groups, n_in // groups, n_out, *w.shape[2:]))
    w = _fz.swapaxes(w, 1, 2).reshape((groups * n_out, n_in // groups, *w.shape[3:]))
    y = _last(x, w, (1,) * n, (0,) * n, dilation, groups)
    y = y if bias is None else y + bias
    y = y if channels_last else _fz.moveaxis(y, -1, 1)
    return y if input.ndim == n + 2 else y[0]


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    channels_last: bool = False,
) -> Tensor:
    """The gradient of conv1d to its input, as a layer; the weight is (in, out / groups, kernel)."""
    options = stride, padding, output_padding, groups, dilation, channels_last
    return _transposed(1, input, weight, bias, *options)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    channels_last: bool = False,
) -> Tensor:
    """The gradient of conv2d to its input, as a layer: the extents are
    (i - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.

    >>> conv_transpose2d(_fz.ones((1, 1, 2, 2)), _fz.ones((1, 1, 1, 1)), stride=2).tolist()
    [[[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]]]
    """
    options = stride, padding, output_padding, groups, dilation, channels_last
    return _transposed(2, input, weight, bias, *options)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    channels_last: bool = False,
) -> Tensor:
    """The gradient of conv3d to its input, as a layer (see conv_transpose2d)."""
    options = stride, padding, output_padding, groups, dilation, channels_last
    return _transposed(3, input, weight, bias, *options)
