"""Dropout: elements, or whole channels, set to 0 in training and the others scaled up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._named import number as _number
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]

_ALPHA = -1.7580993408473766  # what selu gives far below 0


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes a share p of the elements and scales up the rest by 1 / (1 - p)."""
    return _dropped(input, input.shape, p, training)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of ([n,] channels, length)."""
    return _dropped(input, (*input.shape[:-1], 1), p, training)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of ([n,] channels, height, width)."""
    return _dropped(input, (*input.shape[:-2], 1, 1), p, training)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """dropout of whole channels of ([n,] channels, depth, height, width)."""
    return _dropped(input, (*input.shape[:-3], 1, 1, 1), p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean 0 and variance 1 of what selu gives (Klambauer et al. 2017)."""
    return _alpha_dropped(input, input.shape, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels of (n, channels, ...)."""
    return _alpha_dropped(input, input.shape[:2] + (1,) * (input.ndim - 2), p, training)


def _kept(input, shape, p):
    return _random.uniform(shape, device=input.device) >= p


def _check(op, p):
    if not 0 <= p <= 1:
        raise ValueError(f"[{op}] p must be from 0 to 1, got {p!r}.")


def _dropped(input, shape, p, training):
    _check("dropout", p)
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    return _fz.where(_kept(input, shape, p), input / (1 - p), 0.0)


def _alpha_dropped(input, shape, p, training):
    _check("alpha_dropout", p)
    if not training or p == 0:
        return input
    a = ((1 - p) * (1 + p * _ALPHA**2)) ** -0.5 if p < 1 else 0.0
    return _fz.where(_kept(input, shape, p), input, _ALPHA) * a - a * _ALPHA * p


class Dropout(Module):
    """While training, zeroes a share p of the elements and scales up the rest."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        name = type(self).__name__
        self.p = _number(f"[nn.{name}] p", p, 0)
        if p > 1:
            raise ValueError(f"[nn.{name}] p must be at most 1, got {p!r}.")

    def forward(self, input: Tensor) -> Tensor:
        return dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(Dropout):
    """While training, zeroes a share p of the channels of ([n,] channels, length)."""

    def forward(self, input: Tensor) -> Tensor:
        return dropout1d(input, self.p, self.training)


class Dropout2d(Dropout):
    """While training, zeroes a share p of the channels of ([n,] channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        return dropout2d(input, self.p, self.training)


class Dropout3d(Dropout):
    """While training, zeroes a share p of the channels of ([n,] channels, depth, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        return dropout3d(input, self.p, self.training)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1 of what selu gives."""

    def forward(self, input: Tensor) -> Tensor:
        return alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels of (n, channels, ...)."""

    def forward(self, input: Tensor) -> Tensor:
        return feature_alpha_dropout(input, self.p, self.training)
