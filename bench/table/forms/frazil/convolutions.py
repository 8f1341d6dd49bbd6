"""Gradients of convolutions alone, and training a small network of them."""

import frazil as fz
from frazil import nn, optim

from .. import applied
from . import stateful
from .networks import parameter


def _backward(inp, leaf):
    """The gradient to one operand of a convolution whose history is kept."""
    operands = {name: fz.asarray(inp[name], copy=True) for name in ("x", "w")}
    wanted = operands[leaf].requires_grad_()
    y = nn.conv2d(operands["x"], operands["w"], stride=inp["stride"], padding=inp["padding"])
    g = fz.asarray(inp["g"])

    def run():
        wanted.grad = None
        y.backward(g)
        return wanted.grad

    return {"eager": applied(run)}


def conv_to_image(inp):
    return _backward(inp, "x")


def conv_to_kernel(inp):
    return _backward(inp, "w")


class Network(nn.Module):
    def __init__(self, inp, layout):
        self.layout = layout
        first = layout == "NCHW"
        axes = (3, 2, 0, 1) if first else (0, 1, 2, 3)
        self.kernels = [parameter(w.transpose(axes)) for w, _ in inp["layers"]]
        self.biases = [parameter(b.reshape(-1, 1, 1) if first else b) for _, b in inp["layers"]]
        weight, bias = inp["linear"]
        if first:
            side, channels = inp["x"].shape[1] // 4, len(inp["layers"][-1][1])
            parts = weight.reshape(-1, side, side, channels)
            weight = parts.transpose(0, 3, 1, 2).reshape(weight.shape)
        self.weight, self.bias = parameter(weight), parameter(bias)

    def pool(self, x):
        if self.layout == "NCHW":
            n, c, h, w = x.shape
            return fz.max(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))
        n, h, w, c = x.shape
        return fz.max(x.reshape(n, h // 2, 2, w // 2, 2, c), axis=(2, 4))

    def forward(self, x):
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            x = nn.relu(nn.conv2d(x, kernel, padding=1, layout=self.layout) + bias)
            if i < 2:
                x = self.pool(x)
        return x.reshape(x.shape[0], -1) @ self.weight.T + self.bias


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.cross_entropy(model(x), y)
    loss.backward(retain_graph=False)
    optimizer.step()
    return loss


def cnn(inp):
    forms = {}
    for layout, axes in (("NHWC", (0, 1, 2, 3)), ("NCHW", (0, 3, 1, 2))):
        x, y = fz.asarray(inp["x"].transpose(axes), copy=True), fz.asarray(inp["y"])

        def make(layout=layout, x=x, y=y):
            model = Network(inp, layout)
            return step, (model, optim.SGD(model.parameters(), lr=inp["lr"]), x, y)

        forms |= stateful(make, f" {layout}")
    return forms
