"""Parametrizations of weights (see nn.utils.parametrize, whose remove_parametrizations ends them).

Here: `weight_norm`, `spectral_norm`.

>>> from frazil import nn
>>> layer = weight_norm(nn.Linear(2, 3))
>>> [name for name, _ in layer.named_parameters()]
['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
"""

from __future__ import annotations

from typing import Any, TypeVar

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._frazil import Tensor
from frazil._grad import no_grad as _no_grad
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn.activation import normalize as _normalize
from frazil.nn.convolution_layers import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from frazil.nn.module import Module
from frazil.nn.utils.parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        self.dim = dim

    def _norm(self, v: Tensor) -> Tensor:
        """The norms of what has one index along the axis, or of all."""
        dim = self.dim
        axes = None if dim is None else tuple([i for i in range(v.ndim) if i != dim % v.ndim])
        return _fz.sqrt((v * v).sum(axis=axes, keepdims=dim is not None))

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / self._norm(v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return self._norm(weight), weight


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Trains the lengths and the directions of a weight apart (Salimans and Kingma 2016).

    The weight is original1 * original0 / norm(original1), with a norm for each index along the axis
    `dim`, or, with None or -1, one of all elements. Returns the module.
    """
    if dim is not None:
        dim = _integer("[weight_norm] dim", dim)
    return register_parametrization(module, name, _WeightNorm(None if dim == -1 else dim))


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"[spectral_norm] dim {dim} is out of range for shape {weight.shape}.")
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = _random.normal((n,), dtype=matrix.dtype, device=matrix.device)
                self.register_buffer(name, _normalize(drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim:
            rest = [i for i in range(weight.ndim) if i != self.dim]
            weight = weight.permute(self.dim, *rest)
        return weight.reshape((weight.shape[0], -1))

    def _iterate(self, matrix: Tensor, n: int) -> None:
        with _no_grad():
            for _ in range(n):
                self._u[...] = _normalize(matrix @ self._v, dim=0, eps=self.eps)
                self._v[...] = _normalize(matrix.T @ self._u, dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return _normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / (self._u * (matrix @ self._v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divides a weight by its largest singular value (Miyato et al. 2018), as a matrix whose rows
    are the axis `dim`: 0, or 1 for transposed convolutions. The value is followed by
    n_power_iterations of the power method at each use while training. Returns the module.
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim == 0:
        raise ValueError(f"[spectral_norm] {type(module).__name__} has no weight {name!r}.")
    n = _integer("[spectral_norm] n_power_iterations", n_power_iterations, 1)
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))
    norm = _SpectralNorm(weight, n, _integer("[spectral_norm] dim", dim),
                         _number("[spectral_norm] eps", eps, 0))  # fmt: skip
    return register_parametrization(module, name, norm)
