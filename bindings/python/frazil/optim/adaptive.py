"""Rates by the size of past gradients: Adagrad, Adadelta, RMSprop, Adafactor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.optim.cohort import filled
from frazil.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["Adadelta", "Adafactor", "Adagrad", "RMSprop"]

_Tensor = _fz.Tensor
_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011): s += g ** 2; p -= lr / (1 + (t - 1) * lr_decay) * g / sqrt(s).

    eps is added to the root; s begins at initial_accumulator_value.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.Adagrad([w], lr=0.5)
    >>> (w * 4).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-2,
        lr_decay: Number = 0,
        weight_decay: Number = 0,
        initial_accumulator_value: Number = 0,
        eps: Number = 1e-10,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        return ("sum",)

    @staticmethod
    def _begin(n, p, name):
        return filled(p, n["initial_accumulator_value"])

    @staticmethod
    def _numbers(n, counters, dtype):
        return (n["lr"] / (1 + (counters["step"] - 1) * n["lr_decay"]),)

    @staticmethod
    def _move(n, numbers, p, g, keep, s):
        s = s + g * g
        return p - g / (_fz.sqrt(s) + n["eps"]) * numbers[0], s


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012): steps as large as past ones are beside past gradients.

    s = rho * s + (1 - rho) * g ** 2;  delta = sqrt(a + eps) / sqrt(s + eps) * g
    a = rho * a + (1 - rho) * delta ** 2;  p -= lr * delta

    >>> import frazil as fz
    >>> from frazil import optim
    >>> optim.Adadelta([fz.ones(2, requires_grad=True)]).lr
    1.0
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1.0,
        rho: Number = 0.9,
        eps: Number = 1e-6,
        weight_decay: Number = 0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    def _check_group(self, group):
        if group["rho"] > 1:
            raise ValueError(f"{self._where} rho must be at most 1, got {group['rho']!r}.")

    @staticmethod
    def _names(n, p):
        return ("square_avg", "acc_delta")

    @staticmethod
    def _numbers(n, counters, dtype):
        return (n["lr"],)

    @staticmethod
    def _move(n, numbers, p, g, keep, square, deltas):
        rho, eps = n["rho"], n["eps"]
        square = square * rho + g * g * (1 - rho)
        delta = _fz.sqrt(deltas + eps) / _fz.sqrt(square + eps) * g
        return p - delta * numbers[0], square, deltas * rho + delta * delta * (1 - rho)


class RMSprop(Optimizer):
    """RMSprop (Tieleman and Hinton 2012), with momentum, or centered (Graves 2013).

    s = alpha * s + (1 - alpha) * g ** 2;  p -= lr * g / (sqrt(s) + eps)

    centered takes the variance: the mean of gradients, squared, is taken off s. momentum adds the
    quotients up: v = momentum * v + g / (sqrt(s) + eps); p -= lr * v.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones(2, requires_grad=True)
    >>> optimizer = optim.RMSprop([w], lr=0.1, centered=True, momentum=0.9)
    >>> list(optimizer.state[w])
    ['step', 'square_avg', 'momentum_buffer', 'grad_avg']
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-2,
        alpha: Number = 0.99,
        eps: Number = 1e-8,
        weight_decay: Number = 0,
        momentum: Number = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults, options)

    @staticmethod
    def _names(n, p):
        has_momentum = isinstance(n["momentum"], _Tensor) or n["momentum"] != 0
        buffer = ("momentum_buffer",) if has_momentum else ()
        return ("square_avg", *buffer, *(("grad_avg",) if n["centered"] else ()))

    @staticmethod
    def _numbers(n, counters, dtype):
        return n["lr"], n["momentum"]

    @staticmethod
    def _move(n, numbers, p, g, keep, square, *more):
        (lr, momentum), alpha, states = numbers, n["alpha"], list(more)
        square = square * alpha + g * g * (1 - alpha)
        variance = square
        if n["centered"]:
            mean = states[-1] = states[-1] + (g - states[-1]) * (1 - alpha)
            variance = square - mean * mean
        step = g / (_fz.sqrt(variance) + n["eps"])
        if len(states) > n["centered"]:
            step = states[0] = states[0] * momentum + step
        return p - step * lr, square, *states


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern 2018): of a matrix's squares the means of rows and columns.

    The step is lr, at most 1 / sqrt(t), times the parameter's root mean square, at least eps[1];
    an update whose root mean square is above d is scaled down to it. beta2_decay says how fast
    averages become long: of step t the new square has weight t ** beta2_decay. eps[0] of None is
    the dtype's epsilon. weight_decay is decoupled.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.ones((3, 4), requires_grad=True)
    >>> {k: v.shape for k, v in optim.Adafactor([w]).state[w].items()}
    {'step': (), 'row_var': (3, 1), 'col_var': (1, 4)}
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1e-2,
        beta2_decay: Number = -0.8,
        eps: tuple[Number | None, Number] = (None, 1e-3),
        d: Number = 1.0,
        weight_decay: Number = 0.0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "decoupled_weight_decay": True,
        }
        super().__init__(params, defaults, options)

    def _check_group(self, group):
        for p in group["params"]:
            if p.dtype.kind != "real floating":
                raise ValueError(f"{self._where} parameters must be real, got {p.dtype.name}.")
        eps = group["eps"]
        if not isinstance(eps, tuple) or len(eps) != 2 or not (eps[0] or 0) >= 0 <= eps[1]:
            raise ValueError(
                f"{self._where} eps must be a pair of numbers of at least 0, the first one or "
                f"None, got {eps!r}."
            )
        if group["d"] < 1:
            raise ValueError(f"{self._where} d must be at least 1, got {group['d']!r}.")
        if group["beta2_decay"] > 0:
            raise ValueError(
                f"{self._where} beta2_decay must be at most 0, got {group['beta2_decay']!r}."
            )

    @staticmethod
    def _names(n, p):
        return ("row_var", "col_var") if p.ndim > 1 else ("variance",)

    @staticmethod
    def _begin(n, p, name):
        axis = {"row_var": -1, "col_var": -2}.get(name)
        p = p.detach()
        return _fz.zeros_like(p if axis is None else p.sum(axis=axis, keepdims=True))

    @staticmethod
    def _numbers(n, counters, dtype):
        t = counters["step"]
        least = _EPSILONS[dtype.name] if n["eps"][0] is None else n["eps"][0]
        rate = _fz.minimum(n["lr"], 1 / _fz.sqrt(t))
        return rate, t ** n["beta2_decay"], float(least)

    @staticmethod
    def _move(n, numbers, p, g, keep, *averages):
        rate, weight, least = numbers
        rate = _fz.maximum(_root_mean_square(p), n["eps"][1]) * rate
        if keep is not None:
            p = p * keep
        square = g * g
        if len(averages) == 1:
            averages = (averages[0] + (square - averages[0]) * weight,)
            estimate = averages[0]
        else:
            rows, columns = averages
            rows = rows + (square.mean(axis=-1, keepdims=True) - rows) * weight
            columns = columns + (square.mean(axis=-2, keepdims=True) - columns) * weight
            averages = rows, columns
            estimate = rows * columns / _fz.maximum(rows.mean(axis=-2, keepdims=True), least)
        update = g / _fz.sqrt(_fz.maximum(estimate, least * least))
        scale = _fz.maximum(_root_mean_square(update) / n["d"], 1)
        return p - update * (rate / scale), *averages


def _root_mean_square(x):
    return _fz.sqrt((x * x).mean())
