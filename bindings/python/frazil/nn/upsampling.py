"""Other extents: interpolation between elements, and channels shuffled into places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil.nn._arguments import divides, one_of
from frazil.nn._places import along, part
from frazil.nn.module import Module
from frazil.nn.pooling import _adaptive_avg

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = [
    "ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]  # fmt: skip

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resizes the axes after the second of (n, channels, ...), to a size or by a factor.

    Parameters
    ----------
    mode : str
        "nearest", "nearest-exact", "linear" (three axes), "bilinear" or "bicubic" (four),
        "trilinear" (five), "area" (means).
    align_corners : bool, optional
        Whether the outermost elements are places of the result (else their outer edges are).

    Raises
    ------
    ValueError
        If not exactly one of size and scale_factor is given, or the mode does not fit the axes.

    >>> interpolate(_fz.asarray([[[1.0, 2.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """
    one_of("[interpolate] mode", mode, "nearest", "nearest-exact", "area", *_RANKS)
    n = input.ndim - 2
    if n < 1 or _RANKS.get(mode, input.ndim) != input.ndim:
        raise ValueError(f'[interpolate] mode "{mode}" does not fit the shape {input.shape}.')
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "[interpolate] needs a size or a scale_factor, and one of them: got "
            f"{size} and {scale_factor}."
        )
    given: Any = scale_factor if size is None else size
    each = tuple(given) if isinstance(given, (tuple, list)) else (given,) * n
    if len(each) != n:
        raise ValueError(f"[interpolate] needs one number or {n}, got {each}.")
    places = input.shape[2:]
    sizes = [math.floor(m * f) for m, f in zip(places, each, strict=True)] if size is None else each
    if mode == "area":
        return _adaptive_avg(n, input, list(sizes), False)
    for axis, (old, new, factor) in enumerate(zip(places, sizes, each, strict=True), 2):
        step = 1 / factor if size is None else old / new
        times = int(factor) if size is None and factor >= 1 and factor == int(factor) else 0
        if times and mode.startswith("nearest"):
            input = _repeated(input, axis, times)
        elif times and not align_corners:
            input = _blended(input, axis, times, mode == "bicubic")
        elif mode.startswith("nearest"):
            shift = 0.5 if mode == "nearest-exact" else 0.0
            columns = [min(int((i + shift) * step), old - 1) for i in range(new)]
            input = part(input, axis, columns)
        else:
            input = _between(input, axis, old, new, step, bool(align_corners), mode == "bicubic")
    return input


def _repeated(x, axis, times):
    """Each element so many times, whatever the extent."""
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    x = _fz.broadcast_to(x.reshape((*before, 1, *after)), (*before, times, *after))
    return x.reshape((*before[:-1], before[-1] * times, *after))


def _blended(x, axis, times, cubic):
    """Interpolation of whole factors, whatever the extent: each place between elements comes again
    behind `times` others, with the same weights."""

    def moved(x, by):  # with the outermost element again
        def part(*ends):
            return x[(slice(None),) * axis + (slice(*ends),)]

        if by == 0:
            return x
        parts = (part(1), part(-1)) if by < 0 else (part(1, None), part(-1, None))
        return moved(_fz.concatenate(parts, axis=axis), by + 1 if by < 0 else by - 1)

    places = []
    for i in range(times):
        at = (i + 0.5) / times - 0.5
        low = math.floor(at)
        total = None
        for j, weight in _weights(at - low, cubic):
            weighted = moved(x, low + j) * weight
            total = weighted if total is None else total + weighted
        places.append(total)
    y = _fz.stack(places, axis=axis + 1)
    return y.reshape((*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :]))


def _between(x, axis, old, new, step, align_corners, cubic):
    """Weighted sums of two elements, or four, around each place."""
    if align_corners:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
        at = [i * step for i in range(new)]
    else:
        at = [(i + 0.5) * step - 0.5 for i in range(new)]
    if not cubic:
        at = [max(a, 0.0) for a in at]
    whole = [math.floor(a) for a in at]
    rest = [a - w for a, w in zip(at, whole, strict=True)]
    total = None
    for parts in zip(*[_weights(r, cubic) for r in rest], strict=True):
        j, weights = parts[0][0], [weight for _, weight in parts]
        columns = [min(max(w + j, 0), old - 1) for w in whole]
        weighted = part(x, axis, columns) * along(weights, axis, x.ndim, x)
        total = weighted if total is None else total + weighted
    return total


def _weights(rest, cubic):
    """Which elements around a place, `rest` behind the first of two, take part; their weights."""
    if cubic:
        return [(j, _cubic(j - rest)) for j in range(-1, 3)]
    return [(0, 1 - rest), (1, rest)]


def _cubic(t, a=-0.75):
    """The weight of an element at distance t (Keys 1981)."""
    t = abs(t)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((t - 5) * t + 8) * a * t - 4 * a


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., c * r * r, height, width) to (..., c, height * r, width * r)."""
    *rest, c, h, w = input.shape
    r, k = upscale_factor, len(rest)
    divides("[pixel_shuffle]", c, r * r, "channels", "upscale_factor squared")
    x = input.reshape((*rest, c // (r * r), r, r, h, w))
    x = _fz.permute_dims(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return x.reshape((*rest, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., c, height * r, width * r) to (..., c * r * r, height, width)."""
    *rest, c, h, w = input.shape
    r, k = downscale_factor, len(rest)
    divides("[pixel_unshuffle]", h, r, "the height", "downscale_factor")
    divides("[pixel_unshuffle]", w, r, "the width", "downscale_factor")
    x = input.reshape((*rest, c, h // r, r, w // r, r))
    x = _fz.permute_dims(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return x.reshape((*rest, c * r * r, h // r, w // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (axis 1) taken in turn from each group."""
    n, c, *places = input.shape
    divides("[channel_shuffle]", c, groups, "channels", "groups")
    x = input.reshape((n, groups, c // groups, *places))
    return _fz.swapaxes(x, 1, 2).reshape(input.shape)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each class, 0 elsewhere, along a new last axis, as int64. num_classes=-1 reads the
    largest.
    """
    n = int(input.max()) + 1 if num_classes == -1 else num_classes
    return (input[..., None] == _fz.arange(n)).astype("int64")


class Upsample(Module):
    """Resizes the axes after the second (see functional.interpolate)."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners

    def forward(self, input: Tensor) -> Tensor:
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        by = "scale_factor" if self.size is None else "size"
        return f"{by}={getattr(self, by)}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of images by their nearest elements."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample of images between four elements, corners on corners."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """Channels moved into places: r * r channels become r times the height and width."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = _integer("[nn.PixelShuffle] upscale_factor", upscale_factor, 1)

    def forward(self, input: Tensor) -> Tensor:
        return pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Places moved into channels: the opposite of PixelShuffle."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = _integer(
            "[nn.PixelUnshuffle] downscale_factor", downscale_factor, 1
        )

    def forward(self, input: Tensor) -> Tensor:
        return pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels taken in turn from each group."""

    def __init__(self, groups: int) -> None:
        self.groups = _integer("[nn.ChannelShuffle] groups", groups, 1)

    def forward(self, input: Tensor) -> Tensor:
        return channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
