"""Elementwise chains, reductions, attention and convolution."""

import torch
import torch.nn.functional as F

from .. import Form, applied
from .. import chain as ten_ops
from . import several, tensor


def chain(inp):
    x, z = tensor(inp["x"]), tensor(inp["z"])
    y = torch.empty_like(x)

    def in_place():
        torch.mul(x, z, out=y)
        y.add_(x).mul_(0.5).sub_(z).mul_(x).add_(1.5).mul_(z).sub_(x).mul_(0.25).add_(z)
        return y

    forms = several(ten_ops, x, z)
    forms["in place, inference mode"] = Form(in_place, around=torch.inference_mode)
    return forms


def add_64mib(inp):
    a, b = tensor(inp["x"]), tensor(inp["z"])
    names = {"a": a, "b": b, "f": torch.add, "o": torch.empty_like(a)}
    forms = several(lambda a, b: a + b, a, b)
    del forms["inference mode"]
    forms["out=, inference mode"] = Form(("f(a, b, out=o)", names), around=torch.inference_mode)
    return forms


def unary(inp):
    x = tensor(inp["x"])
    key = inp["row"].key
    function = {
        "exp": torch.exp,
        "tanh": torch.tanh,
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "erf": torch.erf,
    }[key]
    forms = several(function, x)
    if key != "gelu":
        names = {"f": function, "x": x, "o": torch.empty_like(x)}
        forms["out=, inference mode"] = Form(("f(x, out=o)", names), around=torch.inference_mode)
    return forms


def softmax(inp):
    return several(lambda x: torch.softmax(x, dim=-1), tensor(inp["x"]))


def layer_norm(inp):
    x, w, b = (tensor(inp[k]) for k in ("x", "w", "b"))
    return several(lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b), x, w, b)


def attention(inp):
    q, k, v = (tensor(inp[name]) for name in ("q", "k", "v"))
    scale = inp["scale"]

    def written(q, k, v):
        return torch.softmax((q @ k.transpose(-1, -2)) * scale, dim=-1) @ v

    forms = several(written, q, k, v)
    forms["fused, inference mode"] = applied(
        F.scaled_dot_product_attention, q, k, v, around=torch.inference_mode
    )
    return forms


def conv(inp):
    x = tensor(inp["x"].transpose(0, 3, 1, 2))
    w = tensor(inp["w"].transpose(3, 2, 0, 1))
    last_x, last_w = (t.to(memory_format=torch.channels_last) for t in (x, w))

    def function(x, w):
        return F.conv2d(x, w, padding=1).permute(0, 2, 3, 1)

    forms = several(function, x, w)
    for name, form in several(function, last_x, last_w).items():
        if "inference" in name:
            forms[f"{name}, channels last"] = form
    return forms
