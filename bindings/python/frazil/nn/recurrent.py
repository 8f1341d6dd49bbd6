"""Steps of recurrent networks, and cells: modules that take one step.

A step is step(given, state, w, b): `given` is the product of the input and its weights with the
bias, `state` a tuple whose first tensor is the output, `w` the weights of the state, transposed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import sigmoid as _sigmoid
from frazil._frazil.nn import relu as _relu
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.nn._arguments import one_of, uniform
from frazil.nn.module import Module

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]

_tanh = _fz.tanh


def tanh_step(given, state, w, b):
    product = state[0] @ w
    return (_tanh(given + (product if b is None else product + b)),)


def relu_step(given, state, w, b):
    product = state[0] @ w
    return (_relu(given + (product if b is None else product + b)),)


def lstm_step(given, state, w, b):
    product = state[0] @ w
    gates = given + (product if b is None else product + b)
    n = state[1].shape[-1]
    keep, take = _sigmoid(gates[..., n : 2 * n]), _sigmoid(gates[..., :n])
    c = keep * state[1] + take * _tanh(gates[..., 2 * n : 3 * n])
    return _sigmoid(gates[..., 3 * n :]) * _tanh(c), c


def gru_step(given, state, w, b):
    h = state[0]
    product = h @ w if b is None else h @ w + b
    n = h.shape[-1]
    gates = _sigmoid(given[..., : 2 * n] + product[..., : 2 * n])
    new = _tanh(given[..., 2 * n :] + gates[..., :n] * product[..., 2 * n :])
    return (new + gates[..., n:] * (h - new),)


STEPS: dict[str, Any] = {"tanh": tanh_step, "relu": relu_step}


def bound(hidden_size):
    """Of the uniform distribution that weights are drawn from."""
    return 1 / math.sqrt(hidden_size)


def check_features(where, what, x, size):
    if x.shape[-1] != size:
        raise ValueError(f"[{where}] {what} must have {size} features, got shape {x.shape}.")


class _Cell(Module):
    _gates = 1
    _states = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        where = f"nn.{type(self).__name__}"
        self.input_size = _integer(f"[{where}] input_size", input_size, 0)
        self.hidden_size = n = _integer(f"[{where}] hidden_size", hidden_size, 1)
        self.bias, rows = _flag(f"[{where}] bias", bias), self._gates * n
        self.weight_ih = uniform((rows, self.input_size), bound(n), device, dtype)
        self.weight_hh = uniform((rows, n), bound(n), device, dtype)
        self.bias_ih = uniform((rows,), bound(n), device, dtype) if bias else None
        self.bias_hh = uniform((rows,), bound(n), device, dtype) if bias else None

    def _next(self, input: Tensor, given: Any) -> Any:
        where = f"nn.{type(self).__name__}"
        if input.ndim not in (1, 2):
            raise ValueError(f"[{where}] the input must have 1 or 2 axes, got shape {input.shape}.")
        check_features(where, "the input", input, self.input_size)
        shape = (*input.shape[:-1], self.hidden_size)
        if given is None:
            w = self.weight_hh
            given = (_fz.zeros(shape, dtype=w.dtype, device=w.device),) * self._states
        for state in given:
            if state.shape != shape:
                raise ValueError(
                    f"[{where}] a state must have shape {shape} beside an input of shape "
                    f"{input.shape}, got {state.shape}."
                )
        product = input @ self.weight_ih.T
        product = product if self.bias_ih is None else product + self.bias_ih
        return self._step(product, given, self.weight_hh.T, self.bias_hh)

    def _step(self, *args: Any) -> Any:
        raise NotImplementedError

    def _multiply_adds(self, args: Any, result: Any) -> int:
        """Of one call, for nn.summary."""
        h = result[0] if isinstance(result, tuple) else result
        return h.size // h.shape[-1] * (self.weight_ih.size + self.weight_hh.size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of an Elman network: tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it.

    x has shape ([n,] input_size); h, zeros if not given, and the result ([n,] hidden_size).

    >>> import frazil as fz
    >>> RNNCell(2, 3)(fz.ones((5, 2))).shape
    (5, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.nonlinearity = one_of("[nn.RNNCell] nonlinearity", nonlinearity, "tanh", "relu")
        super().__init__(input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, None if hx is None else (hx,))[0]  # type: ignore[no-any-return]

    def _step(self, *args: Any) -> Any:
        return STEPS[self.nonlinearity](*args)

    def extra_repr(self) -> str:
        relu = self.nonlinearity == "relu"
        return super().extra_repr() + (", nonlinearity='relu'" if relu else "")


class LSTMCell(_Cell):
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997), from (h, c), zeros if
    not given, to the next (h, c). Rows of the weights: input, forget, cell and output gates.

    >>> import frazil as fz
    >>> h, c = LSTMCell(2, 3)(fz.ones((5, 2)))
    >>> h.shape, c.shape
    ((5, 3), (5, 3))
    """

    _gates, _states = 4, 2

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._next(input, hx)  # type: ignore[no-any-return]

    def _step(self, *args: Any) -> Any:
        return lstm_step(*args)


class GRUCell(_Cell):
    """One step of a gated recurrent unit (Cho et al. 2014), from h, zeros if not given, to the next
    h. Rows of the weights: reset, update and new gates.

    >>> import frazil as fz
    >>> GRUCell(2, 3)(fz.ones((5, 2))).shape
    (5, 3)
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, None if hx is None else (hx,))[0]  # type: ignore[no-any-return]

    def _step(self, *args: Any) -> Any:
        return gru_step(*args)
