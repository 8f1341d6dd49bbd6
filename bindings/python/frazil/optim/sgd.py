"""Gradient descent: SGD with momentum, averaged SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["ASGD", "SGD"]

_Tensor = _fz.Tensor


class SGD(Optimizer):
    """Gradient descent with momentum (Sutskever et al. 2013).

    g = gradient + weight_decay * p
    v = momentum * v + (1 - dampening) * g, at first g
    p -= lr * v, or with nesterov lr * (g + momentum * v)

    maximize=True climbs. `options` are PyTorch's foreach, fused and capturable, which choose
    nothing here.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.asarray([1.0, 2.0], requires_grad=True)
    >>> optimizer = optim.SGD([w], lr=0.5, momentum=0.9)
    >>> fz.sum(w * w).backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.0, 0.0]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-3,
        momentum: Number = 0,
        dampening: Number = 0,
        weight_decay: Number = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    def _check_group(self, group):
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(
                f"{self._where} nesterov needs a momentum and no dampening, got momentum "
                f"{group['momentum']} and dampening {group['dampening']}."
            )

    @staticmethod
    def _names(n, p):
        has_momentum = isinstance(n["momentum"], _Tensor) or n["momentum"] != 0
        return ("momentum_buffer",) if has_momentum else ()

    @staticmethod
    def _adopted(saved):
        begun = saved.get("momentum_buffer") is not None
        return {"step": 1.0, **saved} if begun else saved

    @staticmethod
    def _numbers(n, counters, dtype):
        left = 1 - n["dampening"]
        if left != 1:
            left = _fz.where(counters["step"] == 1, 1.0, counters["step"] * 0 + left)
        return n["lr"], n["momentum"], left

    @staticmethod
    def _move(n, numbers, p, g, keep, *velocity):
        lr, momentum, left = numbers
        if not velocity:
            return (p - g * lr,)
        v = velocity[0] * momentum + (g if n["dampening"] == 0 else g * left)
        return p - (g + v * momentum if n["nesterov"] else v) * lr, v


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky 1992); the average is state[p]["ax"].

    p = p * (1 - lambd * eta) - eta * g;  ax += mu * (p - ax)
    eta = lr / (1 + lambd * lr * t) ** alpha;  mu = 1 / max(1, t - t0)

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.ASGD([w], lr=0.5, lambd=0)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["ax"].tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-2,
        lambd: Number = 1e-4,
        alpha: Number = 0.75,
        t0: Number = 1e6,
        weight_decay: Number = 0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("ax",)

    @staticmethod
    def _counters(n):
        lr = n["lr"]
        return {"step": 0.0, "eta": lr.item() if isinstance(lr, _Tensor) else lr, "mu": 1.0}

    @staticmethod
    def _numbers(n, counters, dtype):
        t, eta, mu, lr = counters["step"], counters["eta"], counters["mu"], n["lr"]
        numbers = eta * 1, mu * 1, 1 - n["lambd"] * eta, _fz.equal(mu, 1)
        eta[...] = lr / (1 + n["lambd"] * lr * t) ** n["alpha"]
        mu[...] = 1 / _fz.maximum(t - n["t0"], 1)
        return numbers

    @staticmethod
    def _move(n, numbers, p, g, keep, ax):
        eta, mu, shrink, is_first = numbers
        p = p * shrink - g * eta
        return p, _fz.where(is_first, p, ax + (p - ax) * mu)
