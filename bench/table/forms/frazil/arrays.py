"""Elementwise chains, reductions, attention and convolution."""

import frazil as fz
from frazil import nn

from .. import Form
from .. import chain as ten_ops
from . import three
from .limits import triad


def chain(inp):
    n = inp["x"].size
    forms = three(ten_ops, fz.asarray(inp["x"]), fz.asarray(inp["z"]))
    return forms | (triad(n) if n >= 1 << 22 else {})


def add_64mib(inp):
    a, b = fz.asarray(inp["x"]), fz.asarray(inp["z"])
    forms = three(lambda a, b: a + b, a, b, eager=False)
    return {"eager": Form(("a + b", {"a": a, "b": b}))} | forms


def unary(inp):
    function = {
        "exp": fz.exp,
        "tanh": fz.tanh,
        "gelu": lambda x: nn.gelu(x, approximate="tanh"),
        "erf": fz.erf,
    }[inp["row"].key]
    return three(function, fz.asarray(inp["x"]))


def softmax(inp):
    return three(lambda x: nn.softmax(x, axis=-1), fz.asarray(inp["x"]))


def layer_norm(inp):
    return three(nn.layer_norm, *(fz.asarray(inp[k]) for k in ("x", "w", "b")))


def attention(inp):
    q, k, v = (fz.asarray(inp[name]) for name in ("q", "k", "v"))
    scale = inp["scale"]

    def written(q, k, v):
        return nn.softmax((q @ fz.matrix_transpose(k)) * scale, axis=-1) @ v

    return three(written, q, k, v, suffix=" written out") | three(
        nn.attention, q, k, v, suffix=" nn.attention"
    )


def conv(inp):
    return three(
        lambda x, w: nn.conv2d(x, w, padding=1), fz.asarray(inp["x"]), fz.asarray(inp["w"])
    )
