"""Elementwise chains, reductions, attention and convolution."""

import numpy as np

from .. import Form, applied
from .. import chain as ten_ops
from .special import erf


def chain(inp):
    x, z = inp["x"], inp["z"]
    y = np.empty_like(x)

    def in_place():
        np.multiply(x, z, out=y)
        np.add(y, x, out=y)
        np.multiply(y, np.float32(0.5), out=y)
        np.subtract(y, z, out=y)
        np.multiply(y, x, out=y)
        np.add(y, np.float32(1.5), out=y)
        np.multiply(y, z, out=y)
        np.subtract(y, x, out=y)
        np.multiply(y, np.float32(0.25), out=y)
        return np.add(y, z, out=y)

    return {"plain": applied(ten_ops, x, z), "out=": Form(in_place)}


def add_64mib(inp):
    names = {"a": inp["x"], "b": inp["z"], "f": np.add, "o": np.empty_like(inp["x"])}
    return {"plain": Form(("a + b", names)), "out=": Form(("f(a, b, out=o)", names))}


def gelu(x):
    return (
        0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))
    )


def unary(inp):
    function = {"exp": np.exp, "tanh": np.tanh, "gelu": gelu, "erf": erf}[inp["row"].key]
    return {"plain": applied(function, inp["x"])}


def softmax_of(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax(inp):
    return {"plain": applied(softmax_of, inp["x"])}


def layer_norm(inp):
    def function(x, w, b):
        d = x - x.mean(axis=-1, keepdims=True)
        return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * w + b

    return {"plain": applied(function, inp["x"], inp["w"], inp["b"])}


def attention(inp):
    q, k, v = inp["q"], inp["k"], inp["v"]
    scale = np.float32(inp["scale"])
    return {"plain": applied(lambda: softmax_of((q @ k.swapaxes(-1, -2)) * scale) @ v)}


def conv(inp):
    x, w = inp["x"], inp["w"]
    n, h, wide, c = x.shape

    def run():
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        out = np.zeros((n, h, wide, w.shape[3]), np.float32)
        for i in range(3):
            for j in range(3):
                out += padded[:, i : i + h, j : j + wide] @ w[i, j]
        return out

    return {"plain": Form(run)}
