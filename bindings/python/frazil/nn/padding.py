"""Padding: with a number, a reflection, the edge's elements, or those of the other end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil.nn._arguments import one_of, several
from frazil.nn._places import part
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

# Which of n elements stands at place i, counted from the first.
_MODES: dict[str, Callable[[int, int], int]] = {
    "reflect": lambda i, n: min(abs(i), 2 * (n - 1) - abs(i)),
    "replicate": lambda i, n: min(max(i, 0), n - 1),
    "circular": lambda i, n: i % n,
}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Surrounds the last axes: pad is (before, after) of the last axis, then of the one before it,
    and so on. mode is "constant" (with `value`; a negative width cuts off), "reflect", "replicate"
    or "circular".

    >>> pad(_fz.asarray([[1.0, 2.0]]), (1, 2), mode="circular").tolist()
    [[2.0, 1.0, 2.0, 1.0, 2.0]]
    """
    one_of("[pad] mode", mode, "constant", *_MODES)
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ValueError(f"[pad] needs two widths an axis, got {tuple(pad)} for {input.shape}.")
    pairs = [(pad[i], pad[i + 1]) for i in reversed(range(0, len(pad), 2))]
    pairs = [(0, 0)] * (input.ndim - len(pairs)) + pairs
    if any(width < 0 for pair in pairs for width in pair):
        cut = [
            slice(max(-before, 0), n - max(-after, 0))
            for (before, after), n in zip(pairs, input.shape, strict=True)
        ]
        input = input[tuple(cut)]
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if mode == "constant":
        return _fz.pad(input, pairs, constant_values=0 if value is None else value)
    most = {"reflect": -1, "circular": 0}.get(mode)
    for (before, after), n in zip(pairs, input.shape, strict=True):
        if (most is not None and max(before, after) > n + most) or (n == 0 and before + after):
            raise ValueError(
                f'[pad] widths {before} and {after} do not fit mode "{mode}" and {n} elements.'
            )
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            n = input.shape[axis]
            columns = [_MODES[mode](i, n) for i in range(-before, n + after)]
            input = part(input, axis, columns)
    return input


class _Pad(Module):
    _axes = 1
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        where = f"[nn.{type(self).__name__}] padding"
        self.padding = several(where, padding, 2 * self._axes)

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, mode=self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Pad):
    """Zeros around the last axis: one width, or (left, right)."""


class ZeroPad2d(_Pad):
    """Zeros around the last two axes: one width, or (left, right, top, bottom)."""

    _axes = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes."""

    _axes = 3


class ConstantPad1d(_Pad):
    """A number around the last axis."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, value=self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """A number around the last two axes."""

    _axes = 2


class ConstantPad3d(ConstantPad1d):
    """A number around the last three axes."""

    _axes = 3


class ReflectionPad1d(_Pad):
    """The last axis continued by its reflection, without the edge."""

    _mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """The last two axes continued by their reflections."""

    _axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """The last three axes continued by their reflections."""

    _axes = 3


class ReplicationPad1d(_Pad):
    """The last axis continued by its edges."""

    _mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """The last two axes continued by their edges."""

    _axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """The last three axes continued by their edges."""

    _axes = 3


class CircularPad1d(_Pad):
    """The last axis continued by its other end."""

    _mode = "circular"


class CircularPad2d(CircularPad1d):
    """The last two axes continued by their other ends."""

    _axes = 2


class CircularPad3d(CircularPad1d):
    """The last three axes continued by their other ends."""

    _axes = 3
