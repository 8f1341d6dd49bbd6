"""Gradients of convolutions alone, and training a small network of them."""

import jax

from . import compiled, training
from .networks import cross_entropy


def convolve(x, w, stride, padding):
    return jax.lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        [(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def conv_to_image(inp):
    def function(x, w, g):
        of_x = lambda x: convolve(x, w, inp["stride"], inp["padding"])  # noqa: E731
        return jax.vjp(of_x, x)[1](g)[0]

    return compiled(function, inp["x"], inp["w"], inp["g"])


def conv_to_kernel(inp):
    def function(x, w, g):
        of_w = lambda w: convolve(x, w, inp["stride"], inp["padding"])  # noqa: E731
        return jax.vjp(of_w, w)[1](g)[0]

    return compiled(function, inp["x"], inp["w"], inp["g"])


def cnn(inp):
    lr = inp["lr"]

    def loss(weights, x, y):
        layers, (weight, bias) = weights
        for i, (w, b) in enumerate(layers):
            x = jax.nn.relu(convolve(x, w, 1, 1) + b)
            if i < 2:
                n, h, wide, c = x.shape
                x = x.reshape(n, h // 2, 2, wide // 2, 2, c).max(axis=(2, 4))
        return cross_entropy(x.reshape(x.shape[0], -1) @ weight.T + bias, y)

    def step(weights, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return value, jax.tree.map(lambda p, g: p - lr * g, weights, gradients)

    return training(step, (inp["layers"], inp["linear"]), inp["x"], inp["y"])
