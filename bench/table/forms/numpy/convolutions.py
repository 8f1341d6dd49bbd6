"""Gradients of convolutions by their windows, and training with gradients by hand."""

import numpy as np

from .. import Form, applied
from .networks import cross_entropy


def windows(x, kernel, stride, padding):
    """[positions, elements of a window], rows first."""
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))
    view = view[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    return view.reshape(-1, kernel * kernel * x.shape[3])


def to_image(g, w, shape, stride, padding):
    n, h, wide, c = shape
    out = np.zeros((n, h + 2 * padding, wide + 2 * padding, c), np.float32)
    rows, columns = g.shape[1] * stride, g.shape[2] * stride
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            out[:, i : i + rows : stride, j : j + columns : stride] += g @ w[i, j].T
    return out[:, padding : padding + h, padding : padding + wide]


def conv_to_image(inp):
    arguments = (inp["g"], inp["w"], inp["x"].shape, inp["stride"], inp["padding"])
    return {"plain": applied(to_image, *arguments)}


def conv_to_kernel(inp):
    w, g = inp["w"], inp["g"]

    def run():
        patches = windows(inp["x"], w.shape[0], inp["stride"], inp["padding"])
        return (patches.T @ g.reshape(-1, w.shape[3])).reshape(w.shape)

    return {"plain": Form(run)}


def largest_of_four(x):
    n, h, wide, c = x.shape
    return x.reshape(n, h // 2, 2, wide // 2, 2, c).max(axis=(2, 4), keepdims=True)


def cnn(inp):
    layers = [(w.copy(), b.copy()) for w, b in inp["layers"]]
    weight, bias = (a.copy() for a in inp["linear"])
    y, lr = inp["y"], np.float32(inp["lr"])

    def forward():
        x, kept = inp["x"], []
        for i, (w, b) in enumerate(layers):
            patches = windows(x, 3, 1, 1)
            out = patches @ w.reshape(-1, w.shape[3]) + b
            out = np.maximum(out, 0).reshape(*x.shape[:3], -1)
            kept.append((x.shape, patches, out))
            x = out
            if i < 2:
                x = largest_of_four(out)[:, :, 0, :, 0]
        return x, kept

    def step():
        x, kept = forward()
        flat = x.reshape(len(x), -1)
        loss, d = cross_entropy(flat @ weight.T + bias, y)
        updates = [(weight, d.T @ flat), (bias, d.sum(axis=0))]
        d = (d @ weight).reshape(x.shape)
        for i in (2, 1, 0):
            (w, b), (shape, patches, out) = layers[i], kept[i]
            if i < 2:
                n, h, wide, c = d.shape
                parts = out.reshape(n, h, 2, wide, 2, c)
                hit = parts == largest_of_four(out)
                d = d[:, :, None, :, None] * hit / hit.sum(axis=(2, 4), keepdims=True)
                d = d.astype(np.float32).reshape(out.shape)
            d = d * (out > 0)
            rows = d.reshape(-1, d.shape[3])
            updates += [(w, (patches.T @ rows).reshape(w.shape)), (b, rows.sum(axis=0))]
            if i > 0:
                d = to_image(d, w, shape, 1, 1)
        for p, g in updates:
            p -= lr * g
        return loss

    return {"plain": Form(step)}
