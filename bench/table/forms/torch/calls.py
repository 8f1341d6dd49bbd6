"""Small tensors."""

import torch

from .. import Form, applied, function_of
from . import several, tensor


def add_16(inp):
    a, b = tensor(inp["x"]), tensor(inp["z"])
    names = {"a": a, "b": b, "f": torch.add, "o": torch.empty_like(a)}
    return {
        "plain": Form(("a + b", names)),
        "inference mode": Form(("a + b", names), around=torch.inference_mode),
        "out=, inference mode": Form(
            ("f(a, b, out=o)", names), around=torch.inference_mode, beside=True
        ),
    }


def call_16(inp):
    a, b = tensor(inp["x"]), tensor(inp["z"])
    forms = several(lambda a, b: a * b + a, a, b, both=True)
    names = {"a": a, "b": b, "f": torch.addcmul}
    forms["addcmul, inference mode"] = Form(
        ("f(a, a, b)", names), around=torch.inference_mode, beside=True
    )
    return forms


def network(layers):
    parts = []
    for w, b in layers:
        linear = torch.nn.Linear(w.shape[1], w.shape[0])
        linear.weight.data, linear.bias.data = tensor(w), tensor(b)
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def mlp(inp):
    model, x = network(inp["layers"]), tensor(inp["x"])
    weights = [(tensor(w.T), tensor(b)) for w, b in inp["layers"]]

    def functions(x):
        (w1, b1), (w2, b2), (w3, b3) = weights
        x = torch.addmm(b1, x, w1).relu_()
        x = torch.addmm(b2, x, w2).relu_()
        return torch.addmm(b3, x, w3)

    forms = several(model, x, both=True)
    forms["functions, inference mode"] = applied(functions, x, around=torch.inference_mode)
    return forms


def first_call(inp):
    x, z = tensor(inp["x"]), tensor(inp["z"])
    state = {"f": torch.compile(function_of(inp["checked"]), dynamic=False)}
    checked = [True]

    def setup():
        if not checked:
            torch._dynamo.reset()
            state["f"] = torch.compile(function_of(inp["source"]()), dynamic=False)

    def call():
        checked.clear()
        return state["f"](x, z)

    return {"compile": Form(call, setup=setup)}


def matmul(inp):
    a, b = tensor(inp["a"]), tensor(inp["b"])
    compiled = torch.compile(torch.matmul, dynamic=False)
    names = {"a": a, "b": b, "f": torch.mm, "o": torch.empty_like(a)}
    return {
        "plain": Form(("a @ b", names)),
        "inference mode": Form(("a @ b", names), around=torch.inference_mode),
        "out=, inference mode": Form(
            ("f(a, b, out=o)", names), around=torch.inference_mode, beside=a.shape[0] <= 64
        ),
        "compile, inference mode": applied(compiled, a, b, around=torch.inference_mode),
    }


def two_matmuls(inp):
    arguments = [tensor(inp[k]) for k in ("x1", "w1", "x2", "w2")]
    return several(lambda x1, w1, x2, w2: (x1 @ w1, x2 @ w2), *arguments)
