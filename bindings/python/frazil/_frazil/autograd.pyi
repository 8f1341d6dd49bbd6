"""The compiled part of frazil.autograd."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence

from frazil._frazil import Tensor
from frazil._types import Number

__all__ = ["adam_steps", "in_grad_scope", "is_grad_enabled", "set_grad_enabled", "sgd_steps"]

def adam_steps(
    parameters: Sequence[Tensor],
    ms: Sequence[Tensor],
    vs: Sequence[Tensor],
    rate: Tensor,
    root: Tensor,
    beta1: Number,
    beta2: Number,
    eps: Number,
    weight_decay: Number,
    /,
) -> None:
    """One step of Adam (Kingma and Ba 2015) for each parameter that has a gradient; rate is lr / (1 - beta1 ** t), root is sqrt(1 - beta2 ** t), both 0-d."""

def in_grad_scope() -> None:
    """Whether a function-style gradient is being taken in this thread."""

def is_grad_enabled() -> builtins.bool:
    """Whether this thread records for gradients."""

def set_grad_enabled(on: builtins.bool, /) -> builtins.bool:
    """Switches recording for gradients in this thread; returns what it was."""

def sgd_steps(
    parameters: Sequence[Tensor],
    velocities: Sequence[Tensor],
    lr: Number,
    momentum: Number,
    weight_decay: Number,
    /,
) -> None:
    """For each parameter that has a gradient: velocity = velocity * momentum + gradient + parameter * weight_decay; parameter -= lr * velocity. lr is a number or 0-d."""
