"""Gradients made smaller where they are too large. Nothing is read, so a traced step goes on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil.linalg import vector_norm as _vector_norm
from frazil._named import number as _number

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _with_gradient(parameters):
    """The parameters that have one."""
    several = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p for p in several if p.grad is not None]


def get_total_norm(
    tensors: Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,  # noqa: ARG001 -- plans decide
) -> Tensor:
    """The norm of all elements of several tensors, 0 of none. `foreach` is there for PyTorch's
    callers and has no effect.

    RuntimeError with error_if_nonfinite=True, which reads the norm, if it is infinite or NaN.

    >>> get_total_norm([_fz.asarray([3.0]), _fz.asarray([[4.0]])]).item()
    5.0
    """
    order = _number("[get_total_norm] norm_type", norm_type)
    several = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not several:
        return _fz.asarray(0.0)
    device = several[0].device
    norms = [_vector_norm(x.detach(), ord=order).to_device(device) for x in several]
    total = norms[0] if len(norms) == 1 else _vector_norm(_fz.stack(norms), ord=order)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"[get_total_norm] the norm of order {order} is {total.item()}: "
            "error_if_nonfinite=False goes on all the same."
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,  # noqa: ARG001
) -> None:
    """Scales the gradients of parameters by max_norm / (total_norm + 1e-6) if that is below 1."""
    scale = _fz.minimum(_number("[clip_grad] max_norm", max_norm) / (total_norm + 1e-6), 1.0)
    for p in _with_gradient(parameters):
        p.grad = p.grad.detach() * scale.astype(p.grad.dtype).to_device(p.grad.device)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters so that their norm, taken over all of them, is at most
    max_norm. Returns the norm that they had.

    RuntimeError with error_if_nonfinite=True, which reads the norm, if it is infinite or NaN.
    """
    found = _with_gradient(parameters)
    total = get_total_norm([p.grad for p in found], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor],
    clip_value: float,
    foreach: bool | None = None,  # noqa: ARG001
) -> None:
    """Clips each element of the gradients of parameters to [-clip_value, clip_value].

    >>> w = _fz.asarray([1.0, 2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> clip_grad_value_(w, 3.0)
    >>> w.grad.tolist()
    [2.0, 3.0]
    """
    bound: Any = _number("[clip_grad_value_] clip_value", clip_value)
    for p in _with_gradient(parameters):
        p.grad = _fz.clip(p.grad.detach(), -bound, bound)
