"""Recurrent networks: RNN, GRU and LSTM, in one direction or both."""

from __future__ import annotations

from typing import Any

import frazil as fz
from frazil import nn
from frazil.onnx._table import converts


def turned(w: Any, **_: Any) -> Any:
    """Weights whose memory is that of their transposes."""
    return fz.matrix_transpose(fz.copy(fz.matrix_transpose(w)))


# name: (function of x, alpha, beta; default alpha; default beta)
_ACTIVATIONS: dict[str, Any] = {
    "relu": (lambda x, a, b: nn.relu(x), 0.0, 0.0),
    "tanh": (lambda x, a, b: fz.tanh(x), 0.0, 0.0),
    "sigmoid": (lambda x, a, b: nn.sigmoid(x), 0.0, 0.0),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: fz.where(x < 0, a * x, x), 0.01, 0.0),
    "thresholdedrelu": (lambda x, a, b: fz.where(x > a, x, fz.zeros_like(x)), 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: a * fz.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: fz.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": (lambda x, a, b: fz.where(x < 0, a * fz.expm1(x), x), 1.0, 0.0),
    "softsign": (lambda x, a, b: x / (1 + fz.abs(x)), 0.0, 0.0),
    "softplus": (lambda x, a, b: nn.softplus(x), 0.0, 0.0),
}
_SCALED = ("affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu")
_SHIFTED = ("affine", "scaledtanh", "hardsigmoid")


def functions_of(names: Any, alphas: Any, betas: Any, clip: float | None) -> list[Any]:
    alphas, betas, made = iter(alphas or ()), iter(betas or ()), []
    for name in (n.lower() for n in names):
        if name not in _ACTIVATIONS:
            raise ValueError(f"[onnx] there is no activation {name!r} of recurrent networks.")
        fn, alpha, beta = _ACTIVATIONS[name]
        alpha = next(alphas, alpha) if name in _SCALED else alpha
        beta = next(betas, beta) if name in _SHIFTED else beta

        def activation(x: Any, fn: Any = fn, alpha: Any = alpha, beta: Any = beta) -> Any:
            return fn(x if clip is None else fz.clip(x, -clip, clip), alpha, beta)

        made.append(activation)
    return made


def _ran(x: Any, lengths: Any, state: tuple[Any, ...], reverse: bool, step: Any) -> Any:
    """Outputs (time, batch, hidden) and the last state. `x` are the inputs' products; after its
    length a sequence keeps its state and gives zeros."""
    steps = x.shape[0]
    outputs: list[Any] = [None] * steps
    for t in reversed(range(steps)) if reverse else range(steps):
        new = step(x[t], state)
        shown = new[0]
        if lengths is not None:
            runs = (lengths > t).reshape((-1, 1))
            new = tuple(fz.where(runs, a, b) for a, b in zip(new, state, strict=True))
            shown = fz.where(runs, shown, fz.zeros_like(shown))
        state = new
        outputs[t] = shown
    return fz.stack(outputs), state


def _directions(
    x: Any, w: Any, direction: str, layout: int, lengths: Any, initial: Any, run: Any, node: Any
) -> Any:
    """Runs each direction, and puts the results in the order of ONNX."""
    if layout:
        x = fz.swapaxes(x, 0, 1)
        initial = [None if s is None else fz.swapaxes(s, 0, 1) for s in initial]
    n, batch = w.shape[0], x.shape[1]
    lengths = None if lengths is None else lengths.astype("int64")
    outputs, states = [], []
    for d in range(n):
        reverse = direction == "reverse" or d == 1
        begin = [None if s is None else s[d] for s in initial]
        y, state = run(d, x, begin, lengths, reverse, batch)
        outputs.append(y)
        states.append(state)
    y = fz.stack(outputs, axis=1)
    last = [fz.stack(parts) for parts in zip(*states, strict=True)]
    if layout:
        y = fz.permute_dims(y, (2, 0, 1, 3))
        last = [fz.swapaxes(s, 0, 1) for s in last]
    return y, *last


def _zeros(value: Any, batch: int, hidden: int, like: Any) -> Any:
    return fz.zeros((batch, hidden), dtype=like.dtype) if value is None else value


@converts("RNN", laid={"w": turned, "r": turned})
def rnn(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activations: Any = ("Tanh", "Tanh"), activation_alpha: Any = None, activation_beta: Any = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, node: Any,
) -> Any:  # fmt: skip
    hidden = r.shape[-1]
    fs = functions_of(activations, activation_alpha, activation_beta, clip)

    def run(d: int, x: Any, begin: Any, lengths: Any, reverse: bool, batch: int) -> Any:
        given = x @ fz.matrix_transpose(w[d])
        if b is not None:
            given = given + (b[d][:hidden] + b[d][hidden:])
        rt = fz.matrix_transpose(r[d])
        state = (_zeros(begin[0], batch, hidden, x),)
        return _ran(given, lengths, state, reverse, lambda g, s: (fs[d](g + s[0] @ rt),))

    return _directions(x, w, direction, layout, sequence_lens, [initial_h], run, node)


@converts("GRU", laid={"w": turned, "r": turned})
def gru(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
    activations: Any = None, activation_alpha: Any = None, activation_beta: Any = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    linear_before_reset: int = 0, layout: int = 0, node: Any,
) -> Any:  # fmt: skip
    """Gates in the order update, reset, new."""
    h = r.shape[-1]
    names = activations or ["Sigmoid", "Tanh"] * w.shape[0]
    fs = functions_of(names, activation_alpha, activation_beta, clip)

    def run(d: int, x: Any, begin: Any, lengths: Any, reverse: bool, batch: int) -> Any:
        f, g = fs[2 * d], fs[2 * d + 1]
        given = x @ fz.matrix_transpose(w[d])
        rb = None
        if b is not None:
            given = given + b[d][: 3 * h]
            rb = b[d][3 * h :]
        rt = fz.matrix_transpose(r[d])
        gates_t, new_t = rt[:, : 2 * h], rt[:, 2 * h :]

        def step(given: Any, state: Any) -> Any:
            old = state[0]
            if linear_before_reset:
                product = old @ rt if rb is None else old @ rt + rb
                gates = f(given[:, : 2 * h] + product[:, : 2 * h])
                new = g(given[:, 2 * h :] + gates[:, h:] * product[:, 2 * h :])
            else:
                product = old @ gates_t if rb is None else old @ gates_t + rb[: 2 * h]
                gates = f(given[:, : 2 * h] + product)
                reset = (gates[:, h:] * old) @ new_t
                new = g(given[:, 2 * h :] + (reset if rb is None else reset + rb[2 * h :]))
            z = gates[:, :h]
            return ((1 - z) * new + z * old,)

        return _ran(given, lengths, (_zeros(begin[0], batch, h, x),), reverse, step)

    return _directions(x, w, direction, layout, sequence_lens, [initial_h], run, node)


def lstm_functions(
    directions: int, names: Any, alphas: Any, betas: Any, clip: float | None
) -> list[Any]:
    return functions_of(names or ["Sigmoid", "Tanh", "Tanh"] * directions, alphas, betas, clip)


@converts("LSTM", laid={"w": turned, "r": turned})
def lstm(
    x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    initial_c: Any = None, p: Any = None, *, activations: Any = None, activation_alpha: Any = None,
    activation_beta: Any = None, clip: float | None = None, direction: str = "forward",
    hidden_size: int | None = None, input_forget: int = 0, layout: int = 0, node: Any,
) -> Any:  # fmt: skip
    def products(weights: Any) -> Any:
        def of(d: int) -> Any:
            turned = fz.matrix_transpose(weights[d])
            return lambda x: x @ turned

        return of

    fs = lstm_functions(w.shape[0], activations, activation_alpha, activation_beta, clip)
    return lstm_of(
        x, products(w), products(r), b, sequence_lens, [initial_h, initial_c], p, fs, r,
        r.shape[-1], direction, input_forget, layout, node,
    )  # fmt: skip


def lstm_of(
    x: Any, times_w: Any, times_r: Any, b: Any, lengths: Any, initial: Any, p: Any, fs: Any,
    r: Any, n: int, direction: str, input_forget: int, layout: int, node: Any,
) -> Any:  # fmt: skip
    """`times_w` and `times_r` give the product with the weights of a direction. Gates in the order
    input, output, forget, cell; `p` are the peepholes of the first three."""

    def run(d: int, x: Any, begin: Any, lengths: Any, reverse: bool, batch: int) -> Any:
        f, g, h = fs[3 * d : 3 * d + 3]
        given, times = times_w(d)(x), times_r(d)
        if b is not None:
            given = given + (b[d][: 4 * n] + b[d][4 * n :])
        peep = None if p is None else [p[d][i * n : (i + 1) * n] for i in range(3)]

        def step(given: Any, state: Any) -> Any:
            gates = given + times(state[0])
            i, o, k, c = (gates[:, j * n : (j + 1) * n] for j in range(4))
            i = f(i if peep is None else i + peep[0] * state[1])
            k = 1 - i if input_forget else f(k if peep is None else k + peep[2] * state[1])
            cell = k * state[1] + i * g(c)
            o = f(o if peep is None else o + peep[1] * cell)
            return o * h(cell), cell

        state = _zeros(begin[0], batch, n, x), _zeros(begin[1], batch, n, x)
        return _ran(given, lengths, state, reverse, step)

    return _directions(x, r, direction, layout, lengths, initial, run, node)
