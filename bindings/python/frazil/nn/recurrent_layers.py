"""Recurrent layers over whole sequences: Elman networks, LSTM, GRU.

The products of all inputs with their weights are one matrix product before the loop over time. The
loop is a Python loop, of which a trace makes one plan.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from frazil import _control
from frazil import _frazil as _fz
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import number as _number
from frazil.nn._arguments import one_of, uniform
from frazil.nn._autocast import lowers
from frazil.nn.dropout import dropout as _dropout
from frazil.nn.module import Module
from frazil.nn.recurrent import STEPS, bound, check_features, gru_step, lstm_step
from frazil.nn.utils.rnn import PackedSequence, _alive_steps, _of_padded

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import DTypeLike

__all__ = ["GRU", "LSTM", "RNN"]

_FEW = 8


def _steps(x):
    """The entries along the first axis. They are taken from halves of halves: the gradient of a
    slice is of the size of what it is taken from, and that of n slices of the whole n times so.
    """
    n = x.shape[0]
    if n <= _FEW:
        return [x[t] for t in range(n)]
    return _steps(x[: n // 2]) + _steps(x[n // 2 :])


def _run(step, given, state, w, b, project, reverse, alive):
    """The outputs of all steps, in order, and the last state. Where `alive` is false at a step the
    output is 0 and the state stays.
    """

    def stepped(given, state):
        new = step(given, state, w, b)
        return new if project is None else (new[0] @ project, *new[1:])

    if _control.lengths_are_tensors and alive is None:

        def one(state, x):
            new = stepped(x[0], tuple(state))
            return list(new), [new[0]]

        state, outputs = _control.scanned_by_tensor(
            one, given.shape[0], reverse, list(state), [given]
        )
        return outputs[0], tuple(state)
    given = _steps(given)
    outputs = []
    n = len(given)
    for t in range(n - 1, -1, -1) if reverse else range(n):
        new = stepped(given[t], state)
        output = new[0]
        if alive is not None:
            output = _fz.where(alive[t], output, 0.0)
            pairs = zip(new, state, strict=True)
            new = tuple([_fz.where(alive[t], now, before) for now, before in pairs])
        outputs.append(output)
        state = new
    if reverse:
        outputs.reverse()
    return _fz.stack(outputs), state


class _Recurrent(Module):
    _gates = 1
    _states = 1
    _early = True  # both biases can be added before the loop
    proj_size = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        where = f"[nn.{type(self).__name__}]"
        self.input_size = _integer(f"{where} input_size", input_size, 0)
        self.hidden_size = _integer(f"{where} hidden_size", hidden_size, 1)
        self.num_layers = _integer(f"{where} num_layers", num_layers, 1)
        self.bias = _flag(f"{where} bias", bias)
        self.batch_first = _flag(f"{where} batch_first", batch_first)
        self.bidirectional = _flag(f"{where} bidirectional", bidirectional)
        self.dropout = _number(f"{where} dropout", dropout, 0)
        if self.dropout > 1:
            raise ValueError(f"{where} dropout must be at most 1, got {dropout!r}.")
        if self.dropout > 0 and num_layers == 1:
            warnings.warn(
                f"{where} dropout acts between layers: of {dropout} nothing is seen with "
                "num_layers=1.",
                stacklevel=3 - (type(self).__init__ is _Recurrent.__init__),
            )
        self._names = [
            self._parameters_of(layer, suffix, device, dtype)
            for layer in range(self.num_layers)
            for suffix in ("", "_reverse")[: 1 + self.bidirectional]
        ]

    def _parameters_of(self, layer, suffix, device, dtype):
        """Makes the parameters of one layer and direction; returns their names, None for none."""
        n, rows = self.hidden_size, self._gates * self.hidden_size
        n_out = self.proj_size or n
        n_in = self.input_size if layer == 0 else n_out * (1 + self.bidirectional)
        shapes = {
            "weight_ih": (rows, n_in),
            "weight_hh": (rows, n_out),
            "bias_ih": (rows,) if self.bias else None,
            "bias_hh": (rows,) if self.bias else None,
            "weight_hr": (n_out, n) if self.proj_size else None,
        }
        names = []
        for kind, shape in shapes.items():
            name = None if shape is None else f"{kind}_l{layer}{suffix}"
            if name is not None:
                setattr(self, name, uniform(shape, bound(n), device, dtype))
            names.append(name)
        return names

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names if name] for names in self._names]

    def flatten_parameters(self) -> None:
        """Does nothing: there for PyTorch's callers, whose weights become one block of memory."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        where = f"nn.{type(self).__name__}"
        packed = isinstance(input, PackedSequence)
        x = input._padded if packed else input
        if not packed and x.ndim not in (2, 3):
            raise ValueError(f"[{where}] the input must have 2 or 3 axes, got shape {x.shape}.")
        check_features(where, "the input", x, self.input_size)
        batched = packed or x.ndim == 3
        if not batched:
            x = x[:, None]
        elif self.batch_first and not packed:
            x = x.swapaxes(0, 1)
        if x.shape[0] == 0:
            raise ValueError(f"[{where}] needs a sequence of at least one step, got none.")
        alive = _steps(_alive_steps(input)) if packed else None
        states = self._begin(where, hx, x.shape[1], batched)
        x, last = self._layers(x, states, alive)
        if packed:
            x = _of_padded(x, input)
        elif not batched:
            x = x[:, 0]
        elif self.batch_first:
            x = x.swapaxes(0, 1)
        last = [_fz.stack([state[i] for state in last]) for i in range(self._states)]
        if not batched:
            last = [state[:, 0] for state in last]
        return x, (last[0] if self._states == 1 else tuple(last))

    def _begin(self, where, hx, n, batched):
        """The states at the beginning, a tuple for each layer and direction."""
        count, w = len(self._names), self.weight_hh_l0
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self._states]
        if hx is None:
            zeros = [_fz.zeros((n, size), dtype=w.dtype, device=w.device) for size in sizes]
            return [tuple(zeros)] * count
        given = (hx,) if self._states == 1 else tuple(hx)
        if len(given) != len(sizes):
            raise ValueError(f"[{where}] hx must be (h_0, c_0), got {len(given)} tensors.")
        for name, size, state in zip(("h_0", "c_0")[: self._states], sizes, given, strict=True):
            shape = (count, n, size) if batched else (count, size)
            if state.shape != shape:
                raise ValueError(f"[{where}] {name} must have shape {shape}, got {state.shape}.")
        if not batched:
            given = tuple([state[:, None] for state in given])
        return [tuple([state[i] for state in given]) for i in range(count)]

    def _layers(self, x, states, alive):
        directions, last = 1 + self.bidirectional, []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout > 0:
                x = _dropout(x, self.dropout, self.training)
            outputs = []
            for direction in range(directions):
                i = layer * directions + direction
                output, state = self._direction(x, states[i], i, direction == 1, alive)
                outputs.append(output)
                last.append(state)
            x = outputs[0] if directions == 1 else _fz.concat(outputs, -1)
        return x, last

    def _direction(self, x, state, i, reverse, alive):
        weights = [None if name is None else getattr(self, name) for name in self._names[i]]
        return self._pass(x, state, weights, reverse, alive)

    @lowers
    def _pass(self, x, state, weights, reverse, alive):
        w_ih, w_hh, b_ih, b_hh, w_hr = weights
        given = x @ w_ih.T
        if b_ih is not None:
            given = given + (b_ih + b_hh if self._early else b_ih)
        late = None if self._early else b_hh
        project = None if w_hr is None else w_hr.T
        return _run(self._step, given, state, w_hh.T, late, project, reverse, alive)

    def _step(self, *args: Any) -> Any:
        raise NotImplementedError

    def _multiply_adds(self, args: Any, result: Any) -> int:
        """Of one call, for nn.summary: of each step, those behind an end included."""
        y = result[0]._padded if isinstance(result[0], PackedSequence) else result[0]
        return y.size // y.shape[-1] * sum([w.size for ws in self.all_weights for w in ws
                                            if w.ndim == 2])  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        plain = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
            "bidirectional": False,
        }  # fmt: skip
        for name, value in plain.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(_Recurrent):
    """Elman networks over sequences: h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh), or relu.

    Parameters
    ----------
    input_size, hidden_size : int
        Numbers of features.
    num_layers : int
        Layers, of which each takes the output of the one before.
    nonlinearity : str
        "tanh" or "relu".
    bias : bool
    batch_first : bool
        The first axis of input and output is the batch, not the time.
    dropout : float
        The share of each layer's output but the last's that is dropped while training.
    bidirectional : bool
        Half of the features come from a network that begins at the end.

    Called with (t, n, input_size), with (t, input_size), or with a nn.utils.rnn.PackedSequence, and
    with the states at the beginning, (num_layers * directions, n, hidden_size), zeros if not given,
    it returns (output, h_n): the outputs of the last layer and the last states of all.

    >>> import frazil as fz
    >>> output, h_n = RNN(2, 3, num_layers=2)(fz.ones((7, 5, 2)))
    >>> output.shape, h_n.shape
    ((7, 5, 3), (2, 5, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.nonlinearity = one_of("[nn.RNN] nonlinearity", nonlinearity, "tanh", "relu")
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device,
            dtype,
        )  # fmt: skip

    def _step(self, *args: Any) -> Any:
        return STEPS[self.nonlinearity](*args)

    def extra_repr(self) -> str:
        relu = self.nonlinearity == "relu"
        return super().extra_repr() + (", nonlinearity='relu'" if relu else "")


class LSTM(_Recurrent):
    """Long short-term memory over sequences (see RNN); rows of the weights are the input, forget,
    cell and output gates. With proj_size the output and h are products of that many features (Sak
    et al. 2014). States are (h_0, c_0), and it returns (output, (h_n, c_n)).

    >>> import frazil as fz
    >>> output, (h_n, c_n) = LSTM(2, 3, bidirectional=True)(fz.ones((7, 5, 2)))
    >>> output.shape, h_n.shape, c_n.shape
    ((7, 5, 6), (2, 5, 3), (2, 5, 3))
    """

    _gates, _states = 4, 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.proj_size = _integer("[nn.LSTM] proj_size", proj_size, 0)
        if self.proj_size >= _integer("[nn.LSTM] hidden_size", hidden_size, 1):
            raise ValueError(
                f"[nn.LSTM] proj_size must be below hidden_size: {proj_size} and {hidden_size}."
            )
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device,
            dtype,
        )  # fmt: skip

    def _step(self, *args: Any) -> Any:
        return lstm_step(*args)


class GRU(_Recurrent):
    """Gated recurrent units over sequences (see RNN); rows of the weights are the reset, update and
    new gates.

    >>> import frazil as fz
    >>> output, h_n = GRU(2, 3, batch_first=True)(fz.ones((5, 7, 2)))
    >>> output.shape, h_n.shape
    ((5, 7, 3), (1, 5, 3))
    """

    _gates, _early = 3, False

    def _step(self, *args: Any) -> Any:
        return gru_step(*args)
