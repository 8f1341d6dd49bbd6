"""Layers that learn the extents of their inputs from the first one, and then are plain layers.

A lazy layer has no tensors until it is called, or until load_state_dict gives it some; then its
class becomes that of the plain layer. What it is told before (to move, to be frozen) holds then;
a state dict has its names, with None. Whatever asks for the parameters themselves is told that
there are none, or an optimizer made too early would leave them out silently. So is a copy that
fz.grad or fz.vmap make and throw away: parameters made there would never come back.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._grad import no_grad as _no_grad
from frazil.nn.convolution_layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from frazil.nn.linear import Linear
from frazil.nn.module import Module
from frazil.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil._frazil import Tensor

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class _Lazy(Module):
    """The arguments of the plain layer, all but the first."""

    _lazy = True
    _plain: Any = None
    # Its tensors, and which argument asks for each.
    _given: tuple[tuple[str, str], ...] = (("weight", ""), ("bias", "bias"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._args, self._kwargs = args, kwargs
        try:
            dtype = self._bound().get("dtype")
        except TypeError as error:
            raise TypeError(f"[nn.{type(self).__name__}] {error}.") from None
        # Floating-point numbers are of the dtype that is the default now, not at the first call.
        self._device, self._dtype = None, None if dtype else _fz.runtime.default_dtype()
        self._trained = True
        self._id = id(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._id = id(self)  # a copy that is the user's

    def _bound(self) -> dict[str, Any]:
        """All arguments by name."""
        bound = inspect.signature(self._plain).bind(1, *self._args, **self._kwargs)
        bound.apply_defaults()
        return bound.arguments

    def forward(self, input: Tensor, *args: Any) -> Any:
        self.initialize_parameters(input)
        return type(self).forward(self, input, *args)  # of the plain class by now

    def initialize_parameters(self, input: Tensor) -> None:
        """Makes this the plain layer for inputs such as this one."""
        self._become(self._extent(input))

    def has_uninitialized_params(self) -> bool:
        """Whether the layer has not been called yet."""
        return True

    def _become(self, extent: int) -> None:
        if self._id != id(self):
            raise ValueError(
                f"[nn.{type(self).__name__}] has no parameters before its first call, and this is "
                "a copy, made by fz.grad, fz.vmap or another function of nests, whose parameters "
                "would be lost: call the model once on an example before."
            )
        with _no_grad():
            made = self._plain(extent, *self._args, **self._kwargs)
            if self._device is not None or self._dtype is not None:
                made.to(self._device, self._dtype)
        made.requires_grad_(self._trained)
        for name in ("_args", "_kwargs", "_device", "_dtype", "_trained", "_id"):
            delattr(self, name)
        for name, value in vars(made).items():
            setattr(self, name, value)
        self.__class__ = self._plain

    def _move(self, device: Any, dtype: Any) -> None:
        """What to() says, for later."""
        self._device = self._device if device is None else device
        self._dtype = self._dtype if dtype is None else dtype

    def _names(self) -> list[str]:
        """What the plain layer's tensors are called."""
        given = self._bound()
        return [name for name, asks in self._given if not asks or given[asks]]

    def _extent(self, input: Tensor) -> int:
        """The features of an input."""
        raise NotImplementedError

    def _become_like(self, state: Mapping[str, Any], prefix: str) -> None:
        """Makes this the plain layer that a state dict is of, if it has any tensor of it."""
        for name, axis in self._known_from:
            shape = getattr(state.get(prefix + name), "shape", ())
            if len(shape) > axis:
                self._become(shape[axis] * self._times())
                return

    _known_from: tuple[tuple[str, int], ...] = (("weight", 1),)

    def _times(self) -> int:
        return 1

    def extra_repr(self) -> str:
        words = [repr(x) for x in self._args]
        words += [f"{name}={value!r}" for name, value in self._kwargs.items()]
        return ", ".join(["?", *words])


def _shape(input: Any) -> tuple[int, ...]:
    return tuple(input.shape if hasattr(input, "shape") else _fz.asarray(input).shape)


class LazyLinear(_Lazy):
    """A Linear whose in_features are those of its first input: LazyLinear(out_features, bias).

    >>> import frazil as fz
    >>> layer = LazyLinear(2)
    >>> layer(fz.ones((4, 3))).shape, type(layer).__name__, layer.weight.shape
    ((4, 2), 'Linear', (2, 3))
    """

    _plain = Linear

    def _extent(self, input: Tensor) -> int:
        shape = _shape(input)
        if not shape:
            raise ValueError("[nn.LazyLinear] an input of shape () has no features.")
        return shape[-1]


class _LazyLayer(_Lazy):
    """Of images: the channels are axis 1, or the last."""

    def _extent(self, input: Tensor) -> int:
        shape = _shape(input)
        batched = len(shape) in self._batched()
        if len(shape) < 2 or (not batched and len(shape) + 1 not in self._batched()):
            raise ValueError(
                f"[nn.{type(self).__name__}] an input of shape {shape} has no channels."
            )
        if self._kwargs.get("channels_last", False):
            return shape[-1]
        return shape[1 if batched else 0]

    def _batched(self) -> tuple[int, ...]:
        """How many axes inputs with an axis of examples have."""
        return (self._plain._axes + 2,)


class _LazyConv(_LazyLayer):
    def _times(self) -> int:
        return int(self._kwargs.get("groups", self._args[5] if len(self._args) > 5 else 1))


class LazyConv1d(_LazyConv):
    """A Conv1d whose in_channels are those of its first input."""

    _plain = Conv1d


class LazyConv2d(_LazyConv):
    """A Conv2d whose in_channels are those of its first input.

    >>> import frazil as fz
    >>> LazyConv2d(8, 3)(fz.ones((1, 3, 5, 5))).shape
    (1, 8, 3, 3)
    """

    _plain = Conv2d


class LazyConv3d(_LazyConv):
    """A Conv3d whose in_channels are those of its first input."""

    _plain = Conv3d


class LazyConvTranspose1d(_LazyLayer):
    """A ConvTranspose1d whose in_channels are those of its first input."""

    _plain, _known_from = ConvTranspose1d, (("weight", 0),)


class LazyConvTranspose2d(_LazyLayer):
    """A ConvTranspose2d whose in_channels are those of its first input."""

    _plain, _known_from = ConvTranspose2d, (("weight", 0),)


class LazyConvTranspose3d(_LazyLayer):
    """A ConvTranspose3d whose in_channels are those of its first input."""

    _plain, _known_from = ConvTranspose3d, (("weight", 0),)


class _LazyNorm(_LazyLayer):
    _known_from = (("weight", 0), ("running_mean", 0))
    _given = (
        ("weight", "affine"), ("bias", "affine"), ("running_mean", "track_running_stats"),
        ("running_var", "track_running_stats"), ("num_batches_tracked", "track_running_stats"),
    )  # fmt: skip

    def _batched(self) -> tuple[int, ...]:
        return self._plain._axes


class LazyBatchNorm1d(_LazyNorm):
    """A BatchNorm1d whose num_features are those of its first input."""

    _plain = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm):
    """A BatchNorm2d whose num_features are those of its first input."""

    _plain = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm):
    """A BatchNorm3d whose num_features are those of its first input."""

    _plain = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    """PyTorch's lazy ones scale and track unless told not to, its plain ones do neither."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for place, name in enumerate(("affine", "track_running_stats"), 2):
            if len(args) <= place:
                kwargs.setdefault(name, True)
        super().__init__(*args, **kwargs)

    def _batched(self) -> tuple[int, ...]:
        return self._plain._axes[-1:]


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An InstanceNorm1d whose num_features are those of its first input."""

    _plain = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An InstanceNorm2d whose num_features are those of its first input."""

    _plain = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An InstanceNorm3d whose num_features are those of its first input."""

    _plain = InstanceNorm3d
