"""Optimizers: they read .grad of the parameters and replace the parameters in place.

Here: `SGD`, `Adam`, and `Optimizer`, their base.

>>> import frazil as fz
>>> w = fz.asarray([1.0, 2.0], requires_grad=True)
>>> optimizer = SGD([w], lr=0.5)
>>> fz.sum(w * w).backward()
>>> optimizer.step()
>>> w.tolist()
[0.0, 0.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil._named import number as _number
from frazil._parameters import is_leaf_for_training
from frazil._tracked import Tracked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    from frazil._frazil import Tensor
    from frazil._types import Number

    _Parameters: TypeAlias = Iterable[Tensor] | Sequence[Any] | Mapping[str, Any]

__all__ = ["SGD", "Adam", "Optimizer"]

_leaves, _is_container = _fz.tree.leaves, _fz.tree.is_container
_sgd_steps = _fz.autograd.sgd_steps
_adam_steps = _fz.autograd.adam_steps


def _is_frozen(p):
    return p.is_leaf and (p._parameter or p._frozen)


class Optimizer(Tracked):
    """The parameters, and what step() and zero_grad() share. Frozen parameters are left alone.

    Parameters are an iterable of tensors, or any nest of them (frazil.tree) that is no module.

    The learning rate `lr` may be assigned at any time. A call that skips the body
    (fz.trace(fn, pure=True)) takes it as it is then; the body itself must leave reading it to
    step().
    """

    _rate: Tensor

    def __init__(self, parameters: _Parameters, lr: Number) -> None:
        is_module = isinstance(parameters, _fz.ModuleBase)
        if is_module or not (_is_container(parameters) or hasattr(parameters, "__iter__")):
            way_out = ": give its parameters()." if is_module else "."
            raise TypeError(
                "[optim] parameters must be a list of tensors, got "
                f"{type(parameters).__name__}{way_out}"
            )
        self.parameters = _leaves(parameters if _is_container(parameters) else list(parameters))
        self.lr = _number("[optim] lr", lr, 0)
        if not self.parameters:
            raise ValueError("[optim] there are no parameters.")
        for p in self.parameters:
            if not isinstance(p, _fz.Tensor) or not (is_leaf_for_training(p) or _is_frozen(p)):
                raise ValueError(
                    "[optim] parameters must be leaf tensors that require a gradient, or frozen "
                    "parameters of a module."
                )

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self._rate.item()

    @lr.setter
    def lr(self, value: Number) -> None:
        rate = _fz.asarray(_number("[optim] lr", value, 0), dtype="float64").reshape(())
        if "_rate" in self.__dict__:
            self._rate[...] = rate  # the cell stays: it is what a skipped call reads
        else:
            self._rate = rate * 1

    def __setattr__(self, name, value):
        if name == "lr":  # writes to a tensor: what modules hold is as it was
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Moves every parameter that has a gradient."""
        raise NotImplementedError

    def _zeros(self) -> list[Tensor]:
        return [_fz.zeros_like(p) for p in self.parameters]


class SGD(Optimizer):
    """Gradient descent with momentum.

    velocity = momentum * velocity + gradient + weight_decay * parameter
    parameter -= lr * velocity
    """

    def __init__(
        self,
        parameters: _Parameters,
        lr: Number = 0.01,
        momentum: Number = 0.0,
        weight_decay: Number = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        self.momentum = _number("[optim.SGD] momentum", momentum, 0)
        self.weight_decay = _number("[optim.SGD] weight_decay", weight_decay, 0)
        self.velocities = self._zeros()

    def step(self) -> None:
        _sgd_steps(self.parameters, self.velocities, self._rate, self.momentum, self.weight_decay)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015): averages of gradient and square, corrected for their start.

    m = beta1 * m + (1 - beta1) * gradient;  v = beta2 * v + (1 - beta2) * gradient ** 2
    parameter -= lr * (m / (1 - beta1 ** t)) / (sqrt(v / (1 - beta2 ** t)) + eps)
    """

    def __init__(
        self,
        parameters: _Parameters,
        lr: Number = 0.001,
        betas: Sequence[Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"[optim.Adam] betas must be two numbers, got {betas!r}.")
        self.betas = tuple(_number("[optim.Adam] a beta", beta, 0, 1) for beta in betas)
        self.eps = _number("[optim.Adam] eps", eps, 0)
        self.weight_decay = _number("[optim.Adam] weight_decay", weight_decay, 0)
        # The number of steps is a tensor, not a Python number: a traced step is the same each time.
        self.t = _fz.asarray(0.0, dtype="float64") * 1
        self.m = self._zeros()
        self.v = self._zeros()

    def step(self) -> None:
        t, (b1, b2) = self.t, self.betas
        with no_grad():
            t += 1
            rate, root = self._rate / (1 - b1**t), _fz.sqrt(1 - b2**t)
            states = self.parameters, self.m, self.v
            _adam_steps(*states, rate, root, b1, b2, self.eps, self.weight_decay)
