"""Steps by the sign of gradients: Lion, Rprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.optim.cohort import filled
from frazil.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["Lion", "Rprop"]

_Tensor = _fz.Tensor


class Lion(Optimizer):
    """Lion (Chen et al. 2023): the sign of an average is the step.

    p = p * (1 - lr * weight_decay) - lr * sign(beta1 * m + (1 - beta1) * g)
    m = beta2 * m + (1 - beta2) * g

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.Lion([w], lr=0.5)
    >>> (w * 4).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-4,
        betas: Sequence[Number] = (0.9, 0.99),
        weight_decay: Number = 0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "decoupled_weight_decay": True,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("exp_avg",)

    @staticmethod
    def _numbers(n, counters, dtype):
        b1, b2 = n["betas"]
        return n["lr"], b1, 1 - b1, b2, 1 - b2

    @staticmethod
    def _move(n, numbers, p, g, keep, m):
        lr, b1, c1, b2, c2 = numbers
        if keep is not None:
            p = p * keep
        return p - _fz.sign(m * b1 + g * c1) * lr, m * b2 + g * c2


class Rprop(Optimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993): each element has a step of its own.

    It grows by etas[1] while the gradient keeps its sign and shrinks by etas[0] when it changes,
    within step_sizes; where it has changed, the element stays. lr is the first step.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.Rprop([w], lr=0.5)
    >>> (w * 4).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-2,
        etas: Sequence[Number] = (0.5, 1.2),
        step_sizes: Sequence[Number] = (1e-6, 50),
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, defaults, options)

    def _check_group(self, group):
        less, more = group["etas"]
        if not 0 < less < 1 < more:
            raise ValueError(
                f"{self._where} etas must be below 1 and above 1, got {(less, more)!r}."
            )

    @staticmethod
    def _names(n, p):
        return ("prev", "step_size")

    @staticmethod
    def _begin(n, p, name):
        lr = n["lr"].item() if isinstance(n["lr"], _Tensor) else n["lr"]
        return filled(p, lr if name == "step_size" else 0)

    @staticmethod
    def _move(n, numbers, p, g, keep, before, size):
        less, more = n["etas"]
        turn = _fz.sign(g * before)
        factor = _fz.where(turn > 0, more, _fz.where(turn < 0, less, _fz.ones_like(p)))
        size = _fz.clip(size * factor, *n["step_sizes"])
        g = _fz.where(turn < 0, _fz.zeros_like(g), g)
        return p - _fz.sign(g) * size, g, size
