"""Elementwise chains, reductions, attention and convolution."""

import jax
import jax.numpy as jnp

from .. import Form
from .. import chain as ten_ops
from . import compiled


def chain(inp):
    return compiled(ten_ops, inp["x"], inp["z"])


def add_64mib(inp):
    names = {"a": jnp.asarray(inp["x"]), "b": jnp.asarray(inp["z"])}
    forms = {"plain": Form(("(a + b).block_until_ready()", names))}
    return forms | compiled(lambda a, b: a + b, inp["x"], inp["z"])


def unary(inp):
    function = {
        "exp": jnp.exp,
        "tanh": jnp.tanh,
        "gelu": lambda x: jax.nn.gelu(x, approximate=True),
        "erf": jax.scipy.special.erf,
    }[inp["row"].key]
    return compiled(function, inp["x"])


def softmax(inp):
    return compiled(lambda x: jax.nn.softmax(x, axis=-1), inp["x"])


def norm(x, w, b):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * w + b


def layer_norm(inp):
    def one_pass(x, w, b):
        mean = x.mean(axis=-1, keepdims=True)
        variance = (x * x).mean(axis=-1, keepdims=True) - mean * mean
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * w + b

    arguments = [inp[k] for k in ("x", "w", "b")]
    return compiled(norm, *arguments) | compiled(one_pass, *arguments, name="jit, one pass")


def attention(inp):
    q, k, v = (inp[name] for name in ("q", "k", "v"))
    scale = inp["scale"]

    def written(q, k, v):
        return jax.nn.softmax((q @ k.swapaxes(-1, -2)) * scale, axis=-1) @ v

    def library(q, k, v):
        q, k, v = (a.swapaxes(1, 2) for a in (q, k, v))
        return jax.nn.dot_product_attention(q, k, v, scale=scale).swapaxes(1, 2)

    return compiled(written, q, k, v) | compiled(
        library, q, k, v, name="jit, dot_product_attention"
    )


def conv(inp):
    def function(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return compiled(function, inp["x"], inp["w"])
