"""Training steps, an LSTM, Adam."""

import torch
import torch.nn.functional as F

from .. import Form, applied
from . import several, tensor
from .calls import network


def mnist(inp):
    x, y = tensor(inp["x"]), tensor(inp["y"])

    def make(expert):
        model = network(inp["layers"])
        optimizer = torch.optim.SGD(model.parameters(), lr=inp["lr"], fused=expert)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step, model, optimizer

    return compiled_model(make)


def compiled_model(make):
    """Whole steps, plain and expert; and steps whose model is compiled, the usual advice."""
    forms = {"plain": Form(make(False)[0]), "expert": Form(make(True)[0])}
    for name, expert in (("compile", False), ("compile, expert", True)):
        step, model, optimizer = make(expert)
        model.compile(dynamic=False)
        if not expert:
            optimizer.step = torch.compile(optimizer.step, dynamic=False)
        forms[name] = Form(step)
    return forms


class Block(torch.nn.Module):
    def __init__(self, w, heads, fused):
        super().__init__()
        self.norm1, self.norm2 = (norm(w[name]) for name in ("norm1", "norm2"))
        self.qkv, self.out, self.up, self.down = (
            linear(w[name]) for name in ("qkv", "out", "up", "down")
        )
        self.heads, self.fused = heads, fused

    def attend(self, x, mask):
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-1, -2)) * (d // self.heads) ** -0.5
            y = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x, mask):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(torch.nn.Module):
    def __init__(self, weights, heads, fused):
        super().__init__()
        self.tokens, self.positions, self.head = (
            torch.nn.Parameter(tensor(weights[name])) for name in ("tokens", "positions", "head")
        )
        self.blocks = torch.nn.ModuleList(Block(w, heads, fused) for w in weights["blocks"])
        self.norm = norm(weights["norm"])
        t = self.positions.shape[0]
        self.register_buffer("mask", torch.ones(t, t, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        x = F.embedding(tokens, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x, self.mask)
        return F.linear(self.norm(x), self.head)


def linear(w):
    layer = torch.nn.Linear(w["weight"].shape[1], w["weight"].shape[0])
    layer.weight.data, layer.bias.data = tensor(w["weight"]), tensor(w["bias"])
    return layer


def norm(w):
    layer = torch.nn.LayerNorm(w["weight"].size)
    layer.weight.data, layer.bias.data = tensor(w["weight"]), tensor(w["bias"])
    return layer


def transformer(inp):
    x, y = tensor(inp["x"]), tensor(inp["y"])

    def make(expert):
        model = Transformer(inp["weights"], inp["heads"], fused=expert)
        fused = {"fused": True} if expert else {}
        optimizer = torch.optim.Adam(model.parameters(), lr=inp["lr"], **fused)

        def step():
            logits = model(x)
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            return loss

        return step, model, optimizer

    if inp["row"].measure == "memory":

        def compiled():
            step, model, _ = make(True)
            model.compile(dynamic=False)
            return step

        return {
            "plain": Form(make=lambda: make(False)[0]),
            "expert": Form(make=lambda: make(True)[0]),
            "compile": Form(make=compiled),
        }
    return compiled_model(make)


def lstm(inp):
    x, b = tensor(inp["x"]), tensor(inp["b"])
    wi, wh = tensor(inp["wi"]), tensor(inp["wh"])
    n = wh.shape[1]

    def run():
        h = c = torch.zeros(1, n)
        gates = x @ wi.T + b
        for i in range(x.shape[0]):
            g = gates[i] + h @ wh.T
            gi, gf, gc, go = g.chunk(4, dim=1)
            c = torch.sigmoid(gf) * c + torch.sigmoid(gi) * torch.tanh(gc)
            h = torch.sigmoid(go) * torch.tanh(c)
        return h, c

    module = torch.nn.LSTM(n, n)
    module.weight_ih_l0.data, module.weight_hh_l0.data = wi.clone(), wh.clone()
    module.bias_ih_l0.data, module.bias_hh_l0.data = b.clone(), torch.zeros_like(b)

    def library(x):
        _, (h, c) = module(x)
        return h[0], c[0]

    forms = several(run)
    forms["nn.LSTM, inference mode"] = applied(library, x, around=torch.inference_mode)
    return forms


def adam(inp):
    def make(**options):
        parameters = [torch.nn.Parameter(tensor(p)) for p in inp["p"]]
        for p, g in zip(parameters, inp["g"], strict=True):
            p.grad = tensor(g)
        return parameters, torch.optim.Adam(parameters, lr=inp["lr"], **options)

    def form(compiled=False, **options):
        parameters, optimizer = make(**options)
        step = torch.compile(optimizer.step, dynamic=False) if compiled else optimizer.step

        def call():
            step()
            return parameters

        return Form(call)

    return {
        "plain": form(),
        "foreach": form(foreach=True),
        "fused": form(fused=True),
        "compile": form(compiled=True),
    }
