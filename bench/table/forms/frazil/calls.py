"""Small tensors: what a call costs."""

import frazil as fz
from frazil import nn

from .. import Form, applied, function_of
from . import three


def add_16(inp):
    a, b = fz.asarray(inp["x"]), fz.asarray(inp["z"])
    return {"eager": Form(("a + b", {"a": a, "b": b}))}


def call_16(inp):
    a, b = fz.asarray(inp["x"]), fz.asarray(inp["z"])
    return three(lambda a, b: a * b + a, a, b, eager=False)


def network(layers):
    """Linear layers with ReLU between them."""
    parts = []
    for w, b in layers:
        linear = nn.Linear(w.shape[1], w.shape[0])
        linear.load_state_dict({"weight": fz.asarray(w), "bias": fz.asarray(b)})
        parts += [linear, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def mlp(inp):
    model, x = network(inp["layers"]), fz.asarray(inp["x"])
    layers = [(fz.asarray(w).T, fz.asarray(b)) for w, b in inp["layers"]]

    def functional(x, layers):
        (w1, b1), (w2, b2), (w3, b3) = layers
        x = nn.relu(x @ w1 + b1)
        x = nn.relu(x @ w2 + b2)
        return x @ w3 + b3

    def forward(model, x):
        return model(x)

    forms = three(forward, model, x)
    for form in forms.values():
        form.around = fz.no_grad
    return forms | three(functional, x, layers, suffix=" functions")


def first_call(inp):
    x, z = fz.asarray(inp["x"]), fz.asarray(inp["z"])
    state = {"f": fz.trace(function_of(inp["checked"]))}
    checked = [True]

    def setup():
        if not checked:
            state["f"] = fz.trace(function_of(inp["source"]()))

    def call():
        checked.clear()
        state["f"](x, z)
        return state["f"](x, z)

    return {"traced two calls": Form(call, setup=setup)}


def matmul(inp):
    from .limits import peak

    n = inp["a"].shape[0]
    a, b = fz.asarray(inp["a"]), fz.asarray(inp["b"])
    traced = fz.trace(lambda a, b: a @ b, pure=True)
    forms = {"eager": Form(("a @ b", {"a": a, "b": b})), "pure": applied(traced, a, b)}
    return forms | (peak(2 * n**3) if n >= 256 else {})


def two_matmuls(inp):
    x1, w1, x2, w2 = (fz.asarray(inp[k]) for k in ("x1", "w1", "x2", "w2"))
    return three(lambda x1, w1, x2, w2: (x1 @ w1, x2 @ w2), x1, w1, x2, w2)
