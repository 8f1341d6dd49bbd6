"""Adam and its kin: averages of gradients and of their squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015): averages of gradient and square, corrected for their start.

    m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g ** 2
    p -= lr * (m / (1 - beta1 ** t)) / (sqrt(v / (1 - beta2 ** t)) + eps)

    amsgrad takes the largest v so far (Reddi et al. 2018). weight_decay adds to the gradient, or
    with decoupled_weight_decay shrinks the parameter by lr * weight_decay (AdamW).

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.asarray([1.0, 2.0], requires_grad=True)
    >>> optimizer = optim.Adam([w], lr=0.5)
    >>> fz.sum(w * w).backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in w.tolist()]
    [0.5, 1.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-3,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        largest = ("max_exp_avg_sq",) if n["amsgrad"] else ()
        return ("exp_avg", "exp_avg_sq", *largest)

    @staticmethod
    def _numbers(n, counters, dtype):
        t, (b1, b2) = counters["step"], n["betas"]
        return n["lr"] / (1 - b1**t), _fz.sqrt(1 - b2**t), b1, 1 - b1, b2, 1 - b2

    @staticmethod
    def _move(n, numbers, p, g, keep, m, v, *largest):
        rate, root, b1, c1, b2, c2 = numbers
        if keep is not None:
            p = p * keep
        m = m * b1 + g * c1
        v = v * b2 + g * g * c2
        if largest:
            largest = (_fz.maximum(largest[0], v),)
        square = largest[0] if largest else v
        return p - m * rate / (_fz.sqrt(square) / root + n["eps"]), m, v, *largest


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019): p *= 1 - lr * weight_decay.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optim.AdamW([fz.ones(2, requires_grad=True)]).param_groups[0]["weight_decay"]
    0.01
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-3,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            decoupled_weight_decay=True,
            **options,
        )


class Adamax(Optimizer):
    """Adam with the largest gradient in place of squares (Kingma and Ba 2015, section 7.1).

    m = beta1 * m + (1 - beta1) * g;  u = max(beta2 * u, |g| + eps)
    p -= lr / (1 - beta1 ** t) * m / u

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.Adamax([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 2e-3,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("exp_avg", "exp_inf")

    @staticmethod
    def _numbers(n, counters, dtype):
        b1, b2 = n["betas"]
        return n["lr"] / (1 - b1 ** counters["step"]), 1 - b1, b2

    @staticmethod
    def _move(n, numbers, p, g, keep, m, u):
        rate, c1, b2 = numbers
        m = m + (g - m) * c1
        u = _fz.maximum(u * b2, abs(g) + n["eps"])
        return p - m / u * rate, m, u


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016), which grows as the steps go by.

    mu(t) = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2), and the product of all of them
    p -= lr * ((1 - mu(t)) / (1 - product(t)) * g + mu(t + 1) / (1 - product(t + 1)) * m)
             / (sqrt(v / (1 - beta2 ** t)) + eps)

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optimizer = optim.NAdam([fz.ones(2, requires_grad=True)])
    >>> optimizer.param_groups[0]["momentum_decay"]
    0.004
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 2e-3,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0,
        momentum_decay: Number = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("exp_avg", "exp_avg_sq")

    @staticmethod
    def _counters(n):
        return {"step": 0.0, "mu_product": 1.0}

    @staticmethod
    def _numbers(n, counters, dtype):
        t, product, (b1, b2) = counters["step"], counters["mu_product"], n["betas"]
        mu = b1 * (1 - 0.5 * 0.96 ** (t * n["momentum_decay"]))
        mu_next = b1 * (1 - 0.5 * 0.96 ** ((t + 1) * n["momentum_decay"]))
        product *= mu
        of_g = n["lr"] * (1 - mu) / (1 - product)
        of_m = n["lr"] * mu_next / (1 - product * mu_next)
        return of_g, of_m, 1 - b1, b2, 1 - b2, 1 - b2**t

    @staticmethod
    def _move(n, numbers, p, g, keep, m, v):
        of_g, of_m, c1, b2, c2, rest = numbers
        if keep is not None:
            p = p * keep
        m = m + (g - m) * c1
        v = v * b2 + g * g * c2
        root = _fz.sqrt(v / rest) + n["eps"]
        return p - g / root * of_g - m / root * of_m, m, v


class RAdam(Optimizer):
    """Rectified Adam (Liu et al. 2020): momentum alone until the squares' variance is known.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.RAdam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-3,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("exp_avg", "exp_avg_sq")

    @staticmethod
    def _numbers(n, counters, dtype):
        t, (b1, b2) = counters["step"], n["betas"]
        rest = 1 - b2**t
        most = 2 / (1 - b2) - 1
        length = most - 2 * t * b2**t / rest
        known = length > 5
        part = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        rect = _fz.sqrt(_fz.where(known, part * rest, 1.0))
        return n["lr"] / (1 - b1**t), 1 - b1, b2, 1 - b2, rect, known

    @staticmethod
    def _move(n, numbers, p, g, keep, m, v):
        rate, c1, b2, c2, rect, known = numbers
        if keep is not None:
            p = p * keep
        m = m + (g - m) * c1
        v = v * b2 + g * g * c2
        factor = _fz.where(known, rect / (_fz.sqrt(v) + n["eps"]), _fz.ones_like(v))
        return p - m * rate * factor, m, v
