"""Small arrays."""

import jax
import jax.numpy as jnp

from .. import Form, function_of
from . import compiled


def add_16(inp):
    names = {"a": jnp.asarray(inp["x"]), "b": jnp.asarray(inp["z"])}
    return {"plain": Form(("(a + b).block_until_ready()", names))}


def call_16(inp):
    return compiled(lambda a, b: a * b + a, inp["x"], inp["z"])


def mlp(inp):
    def forward(x, layers):
        *hidden, (w, b) = layers
        for wi, bi in hidden:
            x = jax.nn.relu(x @ wi + bi)
        return x @ w + b

    layers = [(w.T.copy(), b) for w, b in inp["layers"]]
    constants = jax.tree.map(jnp.asarray, layers)
    return compiled(forward, inp["x"], layers) | compiled(
        lambda x: forward(x, constants), inp["x"], name="jit, weights as constants"
    )


def first_call(inp):
    x, z = jnp.asarray(inp["x"]), jnp.asarray(inp["z"])
    state = {"f": jax.jit(function_of(inp["checked"]))}
    checked = [True]

    def setup():
        if not checked:
            state["f"] = jax.jit(function_of(inp["source"]()))

    def call():
        checked.clear()
        return state["f"](x, z).block_until_ready()

    return {"jit": Form(call, setup=setup)}


def matmul(inp):
    return compiled(jnp.matmul, inp["a"], inp["b"])


def two_matmuls(inp):
    return compiled(
        lambda x1, w1, x2, w2: (x1 @ w1, x2 @ w2), *(inp[k] for k in ("x1", "w1", "x2", "w2"))
    )
