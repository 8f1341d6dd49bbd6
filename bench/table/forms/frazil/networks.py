"""Training steps, an LSTM, optimizers: as a user of fz.nn and fz.optim writes them."""

import frazil as fz
from frazil import nn, optim

from .. import Form
from . import stateful, three
from .calls import network


def mnist(inp):
    x, y = fz.asarray(inp["x"]), fz.asarray(inp["y"])

    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward(retain_graph=False)
        optimizer.step()
        return loss

    def make():
        model = network(inp["layers"])
        return step, (model, optim.SGD(model.parameters(), lr=inp["lr"]), x, y)

    return stateful(make)


class Block(nn.Module):
    def __init__(self, w, heads, fused):
        self.norm1, self.norm2 = (norm(w[name]) for name in ("norm1", "norm2"))
        self.qkv, self.out, self.up, self.down = (
            linear(w[name]) for name in ("qkv", "out", "up", "down")
        )
        self.heads = heads
        self.fused = fused

    def attend(self, x, mask):
        b, t, d = x.shape
        qkv = self.qkv(x).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        if self.fused:
            y = nn.attention(q, k, v, causal=True)
        else:
            scores = (q @ fz.matrix_transpose(k)) * (d // self.heads) ** -0.5
            y = nn.softmax(fz.where(mask, scores, -1e9), axis=-1) @ v
        return self.out(y.permute(0, 2, 1, 3).reshape(b, t, d))

    def forward(self, x, mask):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.down(nn.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, weights, heads, fused=False):
        self.tokens, self.positions, self.head = (
            parameter(weights[name]) for name in ("tokens", "positions", "head")
        )
        self.blocks = [Block(w, heads, fused) for w in weights["blocks"]]
        self.norm = norm(weights["norm"])
        t = self.positions.shape[0]
        self.mask = fz.tril(fz.ones((t, t), dtype="bool"))

    def forward(self, tokens):
        x = fz.take(self.tokens, tokens, axis=0) + self.positions
        for block in self.blocks:
            x = block(x, self.mask)
        return self.norm(x) @ self.head.T


def parameter(array):
    return fz.asarray(array, copy=True).requires_grad_()


def linear(w):
    layer = nn.Linear(w["weight"].shape[1], w["weight"].shape[0])
    layer.weight, layer.bias = parameter(w["weight"]), parameter(w["bias"])
    return layer


def norm(w):
    layer = nn.LayerNorm(w["weight"].size)
    layer.weight, layer.bias = parameter(w["weight"]), parameter(w["bias"])
    return layer


def training_step(model, optimizer, x, y):
    logits = model(x)
    loss = nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward(retain_graph=False)
    optimizer.step()
    return loss


def transformer(inp):
    x, y = fz.asarray(inp["x"]), fz.asarray(inp["y"])

    def make(fused):
        model = Transformer(inp["weights"], inp["heads"], fused)
        return training_step, (model, optim.Adam(model.parameters(), lr=inp["lr"]), x, y)

    forms = {}
    for suffix, fused in ((" written out", False), (" nn.attention", True)):
        if inp["row"].measure == "memory":
            forms |= _in_memory(make, suffix, fused)
        else:
            forms |= stateful(lambda fused=fused: make(fused), suffix)
    return forms


def _in_memory(make, suffix, fused):
    """The same, made only in the process that measures its memory."""

    def form(trace):
        state = {}

        def start():
            step, arguments = make(fused)
            state["step"] = step = trace(step) if trace else step
            return lambda: step(*arguments)

        def about():
            plans = getattr(state["step"], "memory_plan", list)()
            largest = max(plans, key=lambda plan: plan.arena_bytes, default=None)
            planned = largest and {"planned": largest.arena_bytes, "bound": largest.arena_bound}
            return fz.memory.stats() | (planned or {})

        return Form(make=start, about=about)

    traces = {"eager": None, "traced": fz.trace, "pure": fz.trace(pure=True)}
    return {name + suffix: form(trace) for name, trace in traces.items()}


def lstm(inp):
    def run(x, wi, wh, b):
        n = wh.shape[1]
        h = c = fz.zeros((1, n))
        gates = x @ wi.T + b
        wh = wh.T
        for i in range(x.shape[0]):
            g = gates[i] + h @ wh
            c = nn.sigmoid(g[:, n : 2 * n]) * c + nn.sigmoid(g[:, :n]) * fz.tanh(
                g[:, 2 * n : 3 * n]
            )
            h = nn.sigmoid(g[:, 3 * n :]) * fz.tanh(c)
        return h, c

    return three(run, *(fz.asarray(inp[k]) for k in ("x", "wi", "wh", "b")))


def adam(inp):
    def step(optimizer):
        optimizer.step()

    def make():
        parameters = [parameter(p) for p in inp["p"]]
        for p, g in zip(parameters, inp["g"], strict=True):
            p.grad = fz.asarray(g)
        return step, (optim.Adam(parameters, lr=inp["lr"]),)

    return stateful(make, result=lambda optimizer: optimizer.parameters)
