"""Training steps, an LSTM, Adam."""

import jax
import jax.numpy as jnp

from .. import Form
from . import Steps, compiled, training
from .arrays import norm


def cross_entropy(logits, y):
    logits = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(logits, y[..., None], axis=-1).mean()


def mnist(inp):
    lr = inp["lr"]

    def loss(layers, x, y):
        *hidden, (w, b) = layers
        for wi, bi in hidden:
            x = jax.nn.relu(x @ wi.T + bi)
        return cross_entropy(x @ w.T + b, y)

    def step(layers, x, y):
        value, gradients = jax.value_and_grad(loss)(layers, x, y)
        return value, jax.tree.map(lambda p, g: p - lr * g, layers, gradients)

    return training(step, inp["layers"], inp["x"], inp["y"])


def linear(x, w):
    return x @ w["weight"].T + w["bias"]


def forward(weights, tokens, heads, library):
    x = weights["tokens"][tokens] + weights["positions"]
    b, t, d = x.shape
    mask = jnp.tril(jnp.ones((t, t), bool))
    for w in weights["blocks"]:
        n = norm(x, **_short(w["norm1"]))
        qkv = linear(n, w["qkv"]).reshape(b, t, 3, heads, d // heads)
        if library:
            q, k, v = (qkv[:, :, i] for i in range(3))
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, d)
        else:
            q, k, v = qkv.transpose(2, 0, 3, 1, 4)
            scores = (q @ k.swapaxes(-1, -2)) * (d // heads) ** -0.5
            y = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1) @ v
            y = y.transpose(0, 2, 1, 3).reshape(b, t, d)
        x = x + linear(y, w["out"])
        up = linear(norm(x, **_short(w["norm2"])), w["up"])
        x = x + linear(jax.nn.gelu(up, approximate=True), w["down"])
    return norm(x, **_short(weights["norm"])) @ weights["head"].T


def _short(w):
    return {"w": w["weight"], "b": w["bias"]}


def adam_update(state, gradients, lr, betas=(0.9, 0.999), eps=1e-8):
    """(p, m, v, t) -> the same, a step later."""
    p, m, v, t = state
    (b1, b2), t = betas, t + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, gradients)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, v, gradients)
    rate, root = lr / (1 - b1**t), jnp.sqrt(1 - b2**t)
    p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / root + eps), p, m, v)
    return p, m, v, t


def adam_state(weights):
    def zeros():
        return jax.tree.map(jnp.zeros_like, weights)

    return weights, zeros(), zeros(), jnp.float32(0)


def transformer(inp):
    heads, lr = inp["heads"], inp["lr"]

    def make(library):
        def loss(weights, x, y):
            return cross_entropy(forward(weights, x, heads, library), y)

        def step(state, x, y):
            value, gradients = jax.value_and_grad(loss)(state[0], x, y)
            return value, adam_update(state, gradients, lr)

        return step

    if inp["row"].measure == "memory":

        def start():
            return Steps(make(False), adam_state(inp["weights"]), (inp["x"], inp["y"]), True)

        return {"jit, donated": Form(make=start)}
    forms = training(make(False), adam_state(inp["weights"]), inp["x"], inp["y"])
    library = training(make(True), adam_state(inp["weights"]), inp["x"], inp["y"])
    return forms | {"jit, donated, dot_product_attention": library["jit, donated"]}


def lstm(inp):
    arguments = [inp[k] for k in ("x", "wi", "wh", "b")]
    n = inp["wh"].shape[1]

    def cell(h, c, g):
        gi, gf, gc, go = jnp.split(g, 4, axis=1)
        c = jax.nn.sigmoid(gf) * c + jax.nn.sigmoid(gi) * jnp.tanh(gc)
        return jax.nn.sigmoid(go) * jnp.tanh(c), c

    def scanned(x, wi, wh, b):
        gates = x @ wi.T + b
        wh = wh.T

        def body(state, g):
            return cell(*state, g + state[0] @ wh), None

        zeros = jnp.zeros((1, n))
        return jax.lax.scan(body, (zeros, zeros), gates)[0]

    def unrolled(x, wi, wh, b):
        gates = x @ wi.T + b
        wh = wh.T
        h = c = jnp.zeros((1, n))
        for i in range(x.shape[0]):
            h, c = cell(h, c, gates[i] + h @ wh)
        return h, c

    return compiled(unrolled, *arguments, name="jit, unrolled") | compiled(
        scanned, *arguments, name="jit, scan"
    )


def adam(inp):
    def step(state, gradients):
        state = adam_update(state, gradients, inp["lr"])
        return (), state

    forms = training(step, adam_state(inp["p"]), inp["g"])
    for form in forms.values():
        form.result = lambda form=form: form.call.state[0]
    return forms
