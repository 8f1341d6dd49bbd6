"""The compiled part of frazil.autograd."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins

from frazil._frazil import Operand, Tensor

def adam_step(
    parameter: Tensor,
    gradient: Tensor | None,
    m: Tensor,
    v: Operand,
    rate: Tensor,
    root: Tensor,
    beta1: builtins.float,
    beta2: builtins.float,
    eps: builtins.float,
    weight_decay: builtins.float,
    /,
) -> None:
    """One step of Adam (Kingma and Ba 2015); rate is lr / (1 - beta1 ** t), root is sqrt(1 - beta2 ** t), both 0-d and of the parameter's dtype."""

def is_grad_enabled() -> builtins.bool:
    """Whether this thread records for gradients."""

def set_grad_enabled(on: builtins.bool, /) -> builtins.bool:
    """Switches recording for gradients in this thread; returns what it was."""

def sgd_step(
    parameter: Tensor,
    gradient: Tensor | None,
    velocity: Tensor,
    lr: builtins.float,
    momentum: builtins.float,
    weight_decay: builtins.float,
    /,
) -> None:
    """velocity = velocity * momentum + gradient + parameter * weight_decay; parameter -= lr * velocity."""
