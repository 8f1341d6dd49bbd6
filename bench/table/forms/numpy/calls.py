"""Small arrays."""

import numpy as np

from .. import Form, applied, function_of


def add_16(inp):
    return {"plain": Form(("a + b", {"a": inp["x"], "b": inp["z"]}))}


def call_16(inp):
    return {"plain": applied(lambda a, b: a * b + a, inp["x"], inp["z"])}


def mlp(inp):
    layers = [(np.ascontiguousarray(w.T), b) for w, b in inp["layers"]]

    def forward(x):
        (w1, b1), (w2, b2), (w3, b3) = layers
        x = np.maximum(x @ w1 + b1, 0)
        x = np.maximum(x @ w2 + b2, 0)
        return x @ w3 + b3

    return {"plain": applied(forward, inp["x"])}


def first_call(inp):
    checked = function_of(inp["checked"])
    return {"plain": applied(checked, inp["x"], inp["z"])}


def matmul(inp):
    a, b = inp["a"], inp["b"]
    names = {"a": a, "b": b, "f": np.matmul, "o": np.empty_like(a)}
    out = Form(("f(a, b, out=o)", names), beside=a.shape[0] <= 64)
    return {"plain": Form(("a @ b", names)), "out=": out}


def two_matmuls(inp):
    x1, w1, x2, w2 = (inp[k] for k in ("x1", "w1", "x2", "w2"))
    return {"plain": applied(lambda: (x1 @ w1, x2 @ w2))}
