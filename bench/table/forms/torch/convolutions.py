"""Gradients of convolutions alone, and training a small network of them."""

import torch
import torch.nn.functional as F

from .. import Form, applied
from . import tensor
from .networks import compiled_model

FORMATS = {"": torch.contiguous_format, ", channels last": torch.channels_last}


def _tensors(inp, layout):
    axes = {"x": (0, 3, 1, 2), "w": (3, 2, 0, 1), "g": (0, 3, 1, 2)}
    return [tensor(inp[n].transpose(a)).to(memory_format=layout) for n, a in axes.items()]


def _backward(inp, leaf, back):
    forms = {}
    for name, layout in FORMATS.items():
        operands, g = (t := _tensors(inp, layout))[:2], t[2]
        wanted = operands[leaf].requires_grad_()
        y = F.conv2d(*operands, stride=inp["stride"], padding=inp["padding"])

        def run(y=y, wanted=wanted, g=g):
            return torch.autograd.grad(y, wanted, g, retain_graph=True)[0].permute(back)

        forms["plain" + name] = applied(run)
    return forms


def conv_to_image(inp):
    return _backward(inp, 0, (0, 2, 3, 1))


def conv_to_kernel(inp):
    return _backward(inp, 1, (2, 3, 1, 0))


class Network(torch.nn.Module):
    def __init__(self, inp):
        super().__init__()
        self.layers = torch.nn.ModuleList()
        for w, b in inp["layers"]:
            layer = torch.nn.Conv2d(w.shape[2], w.shape[3], 3, padding=1)
            layer.weight.data, layer.bias.data = tensor(w.transpose(3, 2, 0, 1)), tensor(b)
            self.layers.append(layer)
        weight, bias = (tensor(a) for a in inp["linear"])
        side, channels = inp["x"].shape[1] // 4, len(inp["layers"][-1][1])
        parts = weight.reshape(-1, side, side, channels).permute(0, 3, 1, 2)
        self.linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        self.linear.weight.data = parts.reshape(weight.shape).contiguous()
        self.linear.bias.data = bias

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x))
            if i < 2:
                x = F.max_pool2d(x, 2)
        return self.linear(x.flatten(1))


def cnn(inp):
    forms, y = {}, tensor(inp["y"])
    for name, layout in FORMATS.items():
        x = tensor(inp["x"].transpose(0, 3, 1, 2)).to(memory_format=layout)

        def make(expert, x=x, layout=layout):
            model = Network(inp).to(memory_format=layout)
            optimizer = torch.optim.SGD(model.parameters(), lr=inp["lr"], fused=expert)

            def step():
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                return loss

            return step, model, optimizer

        if name:
            forms |= {form + name: Form(make(form == "expert")[0]) for form in ("plain", "expert")}
        else:
            forms |= compiled_model(make)
    return forms
