"""NumPy inputs of every kind of row: the same for every framework, seeded.

A function per kind takes the row's sizes and returns a dict of arrays and numbers.
"""

import random

import numpy as np


def of(row, smoke):
    """The inputs of a row, and the row itself."""
    return globals()[row.kind](**row.of_size(smoke)) | {"row": row}


def _rng(seed=0):
    return np.random.default_rng(seed)


def _two(n):
    return {"x": np.linspace(0.5, 1.5, n, dtype=np.float32), "z": _rng().random(n, np.float32)}


def _uniform(rng, shape, bound):
    return (rng.random(shape, np.float32) - np.float32(0.5)) * np.float32(2 * bound)


add_16 = call_16 = chain = add_64mib = _two


def mlp(sizes, batch):
    """Weights are (out, in), as layers of most frameworks keep them."""
    rng = _rng()
    layers = [
        (_uniform(rng, (m, n), n**-0.5), _uniform(rng, m, n**-0.5))
        for n, m in zip(sizes, sizes[1:], strict=False)
    ]
    return {"x": rng.standard_normal((batch, sizes[0]), np.float32), "layers": layers}


def mnist(sizes, batch):
    out = mlp(sizes, batch)
    return out | {"y": _rng(1).integers(0, sizes[-1], batch), "lr": 0.01}


def first_call(n, ops):
    """`source()` is the text of a function that no one has seen."""
    chooser = random.Random()  # a cache on disk would know what a seed gives
    lines = ("y = y + x", "y = y - z", "y = y * z", "y = x - y", "y = y * {}", "y = y + {}")

    def source():
        body = [
            "    " + chooser.choice(lines).format(round(chooser.uniform(0.3, 0.8), 6))
            for _ in range(ops)
        ]
        return "\n".join(["def f(x, z):", "    y = x * z", *body, "    return y", ""])

    # What is checked is the same function in every process; what is timed is not.
    fixed = random.Random(1)
    body = [f"    {fixed.choice(lines).format(0.5)}" for _ in range(ops)]
    text = "\n".join(["def f(x, z):", "    y = x * z", *body, "    return y", ""])
    return _two(n) | {"source": source, "checked": text}


def unary(n):
    return {"x": np.linspace(-4, 4, n, dtype=np.float32)}


def softmax(shape):
    return {"x": _rng().standard_normal(shape, np.float32)}


def layer_norm(shape):
    rng = _rng()
    w, b = (rng.standard_normal(shape[-1], np.float32) for _ in range(2))
    return {"x": rng.standard_normal(shape, np.float32), "w": w, "b": b}


def attention(t, d, h):
    rng = _rng()
    q, k, v = (rng.standard_normal((1, h, t, d), np.float32) for _ in range(3))
    return {"q": q, "k": k, "v": v, "scale": d**-0.5}


def matmul(n):
    rng = _rng()
    return {"a": rng.random((n, n), np.float32), "b": rng.random((n, n), np.float32)}


def conv(batch, size, channels):
    """Images are (n, height, width, channel), weights (height, width, in, out); padding is 1."""
    rng = _rng()
    return {
        "x": rng.standard_normal((batch, size, size, channels), np.float32),
        "w": rng.standard_normal((3, 3, channels, channels), np.float32) * np.float32(0.05),
    }


def conv_gradient(batch, size, channels, outputs, kernel, stride):
    """An image, a kernel and what the result's gradient is; windows overlap the edges evenly."""
    rng = _rng()
    padding = kernel // 2
    out = (size + 2 * padding - kernel) // stride + 1
    return {
        "x": rng.standard_normal((batch, size, size, channels), np.float32),
        "w": rng.standard_normal((kernel, kernel, channels, outputs), np.float32)
        * np.float32(0.05),
        "g": rng.standard_normal((batch, out, out, outputs), np.float32),
        "stride": stride,
        "padding": padding,
    }


conv_to_image = conv_to_kernel = conv_gradient


def cnn(size, channels, classes, batch):
    """Layers of 3x3, the first two of which halve the image by the largest of four; one linear."""
    rng = _rng()
    layers = [
        (_uniform(rng, (3, 3, n, m), (9 * n) ** -0.5), _uniform(rng, m, (9 * n) ** -0.5))
        for n, m in zip(channels, channels[1:], strict=False)
    ]
    features = (size // 4) ** 2 * channels[-1]
    linear = _uniform(rng, (classes, features), features**-0.5), np.zeros(classes, np.float32)
    x = rng.standard_normal((batch, size, size, channels[0]), np.float32)
    y = rng.integers(0, classes, batch)
    return {"x": x, "y": y, "layers": layers, "linear": linear, "lr": 0.01}


def two_matmuls(n):
    rng = _rng()
    return {name: rng.random((n, n), np.float32) for name in ("x1", "w1", "x2", "w2")}


def transformer(layers, d, t, batch, heads, vocab):
    """A decoder with learned positions and causal attention; weights are (out, in)."""
    rng = _rng()
    std = 0.08 if d < 64 else 0.02

    def normal(*shape):
        return rng.standard_normal(shape, np.float32) * np.float32(std)

    def linear(n, m):
        return {"weight": normal(m, n), "bias": np.zeros(m, np.float32)}

    def norm():
        return {"weight": np.ones(d, np.float32), "bias": np.zeros(d, np.float32)}

    weights = {
        "tokens": normal(vocab, d),
        "positions": normal(t, d),
        "blocks": [
            {
                "norm1": norm(),
                "qkv": linear(d, 3 * d),
                "out": linear(d, d),
                "norm2": norm(),
                "up": linear(d, 4 * d),
                "down": linear(4 * d, d),
            }
            for _ in range(layers)
        ],
        "norm": norm(),
        "head": normal(vocab, d),
    }
    text = rng.integers(0, vocab, (batch, t + 1))
    return {
        "weights": weights,
        "x": np.ascontiguousarray(text[:, :-1]),
        "y": np.ascontiguousarray(text[:, 1:]),
        "heads": heads,
        "lr": 1e-3,
    }


def lstm(h, steps):
    """Gates in the order input, forget, cell, output; weights are (4 h, h)."""
    rng = _rng()
    bound = h**-0.5
    return {
        "x": rng.standard_normal((steps, 1, h), np.float32),
        "wi": _uniform(rng, (4 * h, h), bound),
        "wh": _uniform(rng, (4 * h, h), bound),
        "b": _uniform(rng, 4 * h, bound),
    }


def adam(count, n):
    rng = _rng()
    p = [rng.standard_normal(n, np.float32) for _ in range(count)]
    g = [rng.standard_normal(n, np.float32) * np.float32(0.1) for _ in range(count)]
    return {"p": p, "g": g, "lr": 1e-3}


def lorenz(steps, dt):
    return {"state": (1.0, 1.0, 1.0), "steps": steps, "dt": dt}


def black_scholes(n):
    rng = _rng()
    return {
        "s": rng.random(n, np.float32) * np.float32(50) + np.float32(75),
        "k": rng.random(n, np.float32) * np.float32(50) + np.float32(75),
        "t": rng.random(n, np.float32) * np.float32(2) + np.float32(0.1),
        "r": 0.03,
        "v": 0.25,
    }


def mandelbrot(size, iterations):
    re, im = np.linspace(-2, 0.6, size), np.linspace(-1.3, 1.3, size)
    cr, ci = np.meshgrid(re.astype(np.float32), im.astype(np.float32))
    return {"cr": np.ascontiguousarray(cr), "ci": np.ascontiguousarray(ci), "n": iterations}


def n_body(n):
    rng = _rng()
    return {
        "x": rng.standard_normal((n, 3), np.float32),
        "m": rng.random(n, np.float32) / np.float32(n),
        "eps": 1e-2,
    }


def k_means(n, d, k):
    rng = _rng()
    x = rng.standard_normal((n, d), np.float32)
    return {"x": x, "c": x[:k].copy()}
