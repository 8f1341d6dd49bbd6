"""Parameters as one vector, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._grad import no_grad as _no_grad

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another.

    >>> parameters_to_vector([_fz.ones((2, 1)), _fz.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    parts = [p.reshape((-1,)) for p in parameters]
    if not parts:
        raise ValueError("[parameters_to_vector] there are no parameters.")
    return _fz.concat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Sets the parameters, in place, to the elements of a vector.

    ValueError if it has more or fewer than they do.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"[vector_to_parameters] vec must be a tensor, got {type(vec).__name__}.")
    several = list(parameters)
    count = sum([p.size for p in several])
    if vec.shape != (count,):
        raise ValueError(
            f"[vector_to_parameters] {count} elements need a vector of as many, got shape "
            f"{vec.shape}."
        )
    at = 0
    with _no_grad():
        for p in several:
            p[...] = vec[at : at + p.size].reshape(p.shape)
            at += p.size
