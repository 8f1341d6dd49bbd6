"""Training steps with gradients by hand, an LSTM, Adam."""

import numpy as np

from .. import Form, applied
from .transformer import Transformer


def cross_entropy(logits, y):
    """Mean loss, and its gradient."""
    z = logits - logits.max(axis=-1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=-1, keepdims=True)
    rows = np.arange(len(y))
    loss = (np.log(total[:, 0]) - z[rows, y]).mean()
    e /= total
    e[rows, y] -= 1
    e /= np.float32(len(y))
    return loss, e


def mnist(inp):
    (w1, b1), (w2, b2) = [(w.T.copy(), b.copy()) for w, b in inp["layers"]]
    x, y, lr = inp["x"], inp["y"], np.float32(inp["lr"])

    def step():
        h = x @ w1 + b1
        r = np.maximum(h, 0)
        loss, d = cross_entropy(r @ w2 + b2, y)
        dh = (d @ w2.T) * (h > 0)
        for p, g in ((w1, x.T @ dh), (b1, dh.sum(axis=0)), (w2, r.T @ d), (b2, d.sum(axis=0))):
            g *= lr
            p -= g
        return loss

    return {"plain": Form(step)}


class Adam:
    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [np.zeros_like(p) for p in parameters]
        self.v = [np.zeros_like(p) for p in parameters]

    def step(self, gradients):
        self.t += 1
        b1, b2 = self.betas
        rate = np.float32(self.lr / (1 - b1**self.t))
        root = np.float32((1 - b2**self.t) ** 0.5)
        for p, g, m, v in zip(self.parameters, gradients, self.m, self.v, strict=True):
            m *= np.float32(b1)
            m += np.float32(1 - b1) * g
            v *= np.float32(b2)
            v += np.float32(1 - b2) * g * g
            p -= rate * m / (np.sqrt(v) / root + np.float32(self.eps))


def transformer(inp):
    def start():
        model = Transformer(inp["weights"], inp["heads"])
        optimizer = Adam(model.parameters, inp["lr"])

        def step():
            logits = model.forward(inp["x"])
            loss, d = cross_entropy(logits.reshape(-1, logits.shape[-1]), inp["y"].reshape(-1))
            optimizer.step(model.backward(d.reshape(logits.shape)))
            return loss

        return step

    if inp["row"].measure == "memory":
        return {"plain": Form(make=start)}
    return {"plain": Form(start())}


def lstm(inp):
    x, b = inp["x"], inp["b"]
    wi, wh = inp["wi"].T.copy(), inp["wh"].T.copy()
    n = wh.shape[0]

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def run():
        h = c = np.zeros((1, n), np.float32)
        gates = x @ wi + b
        for i in range(len(x)):
            g = gates[i] + h @ wh
            s = sigmoid(g)
            c = s[:, n : 2 * n] * c + s[:, :n] * np.tanh(g[:, 2 * n : 3 * n])
            h = s[:, 3 * n :] * np.tanh(c)
        return h, c

    return {"plain": applied(run)}


def adam(inp):
    parameters = [p.copy() for p in inp["p"]]
    optimizer = Adam(parameters, inp["lr"])

    def step():
        optimizer.step(inp["g"])
        return parameters

    return {"plain": Form(step)}
