"""Initial values of parameters, written in place.

Here: of distributions `uniform_`, `normal_`, `trunc_normal_`; numbers `constant_`, `ones_`,
`zeros_`, `eye_`, `dirac_`; scaled by the numbers of inputs and outputs `xavier_uniform_`,
`xavier_normal_`, `kaiming_uniform_`, `kaiming_normal_`; `orthogonal_`, `sparse_`; and
`calculate_gain`.

Each takes a tensor first, a parameter too, and returns it. Random ones draw from `generator`, a
frazil.random.Generator, or from the default one.

>>> from frazil import nn
>>> layer = nn.Linear(3, 2)
>>> zeros_(layer.bias) is layer.bias, layer.bias.tolist()
(True, [0.0, 0.0])
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import random as _random
from frazil._frazil import Tensor
from frazil._frazil.linalg import qr as _qr
from frazil._grad import no_grad as _no_grad
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn._arguments import divides, one_of

if TYPE_CHECKING:
    from frazil._types import Number

    _Generator = _random.Generator | None

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "leaky_relu": 0.0, "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: Number | None = None) -> float:
    """The factor by which weights before an activation are larger, so that variances stay.

    1 for "linear", convolutions and "sigmoid", 5/3 for "tanh", sqrt(2) for "relu", 3/4 for "selu",
    sqrt(2 / (1 + slope^2)) for "leaky_relu" with its slope `param`, 0.01 if not given.

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    one_of("[calculate_gain] nonlinearity", nonlinearity, *_GAINS)
    if nonlinearity != "leaky_relu":
        return _GAINS[nonlinearity]
    slope = 0.01 if param is None else _number("[calculate_gain] param", param)
    return math.sqrt(2.0 / (1 + slope**2))


def _checked(op, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"[{op}] needs a tensor, got {type(tensor).__name__}.")
    if tensor.dtype.kind not in ("real floating", "complex floating"):
        raise TypeError(f"[{op}] needs floating-point numbers, got {tensor.dtype.name}.")
    return tensor


def _write(tensor, value):
    with _no_grad():
        tensor[...] = value
    return tensor


def _uniform(tensor, low, high, generator):
    draw = (generator or _random).uniform(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return _write(tensor, draw * (high - low) + low)


def _normal(tensor, mean, std, generator):
    draw = (generator or _random).normal(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return _write(tensor, draw * std + mean)


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Uniform between a and b. ValueError if b is below a.

    >>> x = uniform_(_fz.zeros(100), 2.0, 3.0)
    >>> bool(((x >= 2) & (x <= 3)).all())
    True
    """
    _checked("uniform_", tensor)
    if _number("[uniform_] b", b) < _number("[uniform_] a", a):
        raise ValueError(f"[uniform_] the bounds must rise, got {a} and {b}.")
    return _uniform(tensor, a, b, generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: _Generator = None
) -> Tensor:
    """Normal. ValueError if std is below 0."""
    _checked("normal_", tensor)
    return _normal(
        tensor, _number("[normal_] mean", mean), _number("[normal_] std", std, 0), generator
    )


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: _Generator = None,
) -> Tensor:
    """Normal, of which only numbers between a and b are taken. ValueError if b is below a or std
    not above 0.
    """
    _checked("trunc_normal_", tensor)
    where = "[trunc_normal_]"
    mean, std = _number(f"{where} mean", mean), _number(f"{where} std", std, 0)
    if std == 0 or _number(f"{where} b", b) < _number(f"{where} a", a):
        raise ValueError(f"{where} std must be above 0 and bounds rise: {std}, {a} and {b}.")
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(f"{where} the mean {mean} is more than 2 std from [{a}, {b}].", stacklevel=2)
    draw = (generator or _random).truncated_normal(
        (a - mean) / std, (b - mean) / std, tensor.shape, dtype=tensor.dtype, device=tensor.device
    )
    return _write(tensor, _fz.clip(draw * std + mean, a, b))


def constant_(tensor: Tensor, val: Number) -> Tensor:
    """One number everywhere.

    >>> constant_(_fz.zeros(2), 0.5).tolist()
    [0.5, 0.5]
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"[constant_] needs a tensor, got {type(tensor).__name__}.")
    return _write(tensor, _number("[constant_] val", val))


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, else 0. ValueError for another number of axes."""
    if tensor.ndim != 2:
        raise ValueError(f"[eye_] needs a matrix, got shape {tensor.shape}.")
    return _write(
        tensor, _fz.eye(tensor.shape[0], tensor.shape[1], dtype=tensor.dtype, device=tensor.device)
    )


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution, (out, in, ...), that keeps as many channels of each group as there
    are on both sides.

    ValueError for other than 3 to 5 axes, or if `groups` does not divide the outputs.
    """
    if not 3 <= tensor.ndim <= 5:
        raise ValueError(f"[dirac_] needs 3, 4 or 5 axes, got shape {tensor.shape}.")
    groups = _integer("[dirac_] groups", groups, 1)
    out, n = tensor.shape[:2]
    divides("[dirac_]", out, groups, "out_channels", "groups")
    one = _fz.tile(_fz.eye(out // groups, n, dtype=tensor.dtype, device=tensor.device), (groups, 1))
    with _no_grad():
        tensor[...] = 0
        tensor[(slice(None), slice(None), *(k // 2 for k in tensor.shape[2:]))] = one
    return tensor


def _fans(op, tensor):
    """The numbers of inputs and of outputs that a weight (out, in, ...) connects."""
    _checked(op, tensor)
    if tensor.ndim < 2:
        raise ValueError(f"[{op}] needs at least 2 axes, got shape {tensor.shape}.")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: _Generator = None) -> Tensor:
    """Uniform with variance 2 gain^2 / (inputs + outputs) and mean 0 (Glorot and Bengio 2010).

    ValueError for fewer than 2 axes.
    """
    std = gain * math.sqrt(2.0 / max(sum(_fans("xavier_uniform_", tensor)), 1))
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: _Generator = None) -> Tensor:
    """Normal with variance 2 gain^2 / (inputs + outputs) and mean 0; see xavier_uniform_."""
    std = gain * math.sqrt(2.0 / max(sum(_fans("xavier_normal_", tensor)), 1))
    return _normal(tensor, 0.0, std, generator)


def _kaiming(op, tensor, a, mode, nonlinearity):
    one_of(f"[{op}] mode", mode, "fan_in", "fan_out")
    fan = _fans(op, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: _Generator = None,
) -> Tensor:
    """Uniform with variance gain^2 / inputs and mean 0 (He et al. 2015).

    mode="fan_out" divides by the number of outputs. The gain is that of the nonlinearity, with `a`
    the slope of "leaky_relu" (see calculate_gain). ValueError for fewer than 2 axes.
    """
    bound = math.sqrt(3.0) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return _uniform(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: _Generator = None,
) -> Tensor:
    """Normal with variance gain^2 / inputs and mean 0; see kaiming_uniform_."""
    std = _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity)
    return _normal(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: _Generator = None) -> Tensor:
    """gain times a matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2014);
    axes from the second on count as one. ValueError for fewer than 2 axes.
    """
    _checked("orthogonal_", tensor)
    if tensor.ndim < 2:
        raise ValueError(f"[orthogonal_] needs at least 2 axes, got shape {tensor.shape}.")
    if tensor.size == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.size // tensor.shape[0]
    wide = "float64" if tensor.dtype.name == "float64" else "float32"
    shape = max(rows, columns), min(rows, columns)
    with _no_grad():
        drawn = (generator or _random).normal(shape, dtype=wide, device=tensor.device)
        q, r = _qr(drawn)
        q = q * _fz.where(_fz.diagonal(r) < 0, -1.0, 1.0).astype(wide)
        q = q.T if rows < columns else q
    return _write(tensor, (q.reshape(tensor.shape) * gain).astype(tensor.dtype))


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: _Generator = None
) -> Tensor:
    """A matrix of normal numbers of which a share `sparsity` of each column is 0 (Martens 2010).

    ValueError for another number of axes.
    """
    _checked("sparse_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"[sparse_] needs a matrix, got shape {tensor.shape}.")
    share: Any = _number("[sparse_] sparsity", sparsity, 0)
    rows = tensor.shape[0]
    zeros = math.ceil(share * rows)
    order = (generator or _random).uniform(tensor.shape, device=tensor.device)
    rank = _fz.argsort(_fz.argsort(order, axis=0), axis=0)
    _normal(tensor, 0.0, _number("[sparse_] std", std, 0), generator)
    return _write(tensor, _fz.where(rank < zeros, 0.0, tensor))
