"""Writes NAME_cases.npz: state dicts, inputs, outputs and gradients of PyTorch for NAME_cases.py,
in float64. Where PyTorch is installed:

    python tests/nn/parity.py layer recurrent

A file has one array of numbers, and the names and shapes of its parts as bytes of JSON.
"""

import importlib
import json
import sys
from pathlib import Path

import models
import numpy as np
import torch
from case import arrays, cotangent
from torch import nn
from torch.nn import functional as F


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if result is None:
        return []
    return [t for part in result for t in tensors(part)]


def known(case, number):
    """{name: array} of one case."""
    torch.manual_seed(number)
    names = {"nn": nn, "F": F, "torch": torch, "models": models, "cat": torch.cat}
    found = {}
    module = eval(case.make, names).double() if case.make else None
    if module is not None:
        with torch.no_grad():
            for p in module.parameters():  # biases and scales too are no constants
                p += torch.randn(p.shape) * 0.1
                p.copy_((p * 4096).round() / 4096)
            for b in module.buffers():
                if b.is_floating_point():
                    b.copy_((torch.rand(b.shape) * 4096).round() / 4096 + 0.25)
        module.train(not case.evaluated)
        for name, value in module.state_dict().items():
            found[f"state {name}"] = value.numpy().copy()
    inputs = [torch.tensor(a) for a in arrays(case, number)]
    for i, x in enumerate(inputs):
        found[f"input {i}"] = x.numpy().copy()
        x.requires_grad_(x.is_floating_point())
    names |= {"m": module} | dict(zip("abcdefgh", inputs, strict=False))
    results = tensors(eval(case.call, names) if case.call else module(*inputs))
    loss = 0
    for i, y in enumerate(results):
        found[f"output {i}"] = y.detach().numpy()
        if y.is_floating_point():
            loss = loss + (y * torch.tensor(cotangent(y.numel())).reshape(y.shape)).sum()
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        loss.backward()
    for i, x in enumerate(inputs):
        if x.grad is not None:
            found[f"gradient {i}"] = x.grad.numpy()
    if module is not None:
        for name, p in module.named_parameters():
            if p.grad is not None:
                found[f"gradient {name}"] = p.grad.numpy()
        for name, b in module.named_buffers():
            if b is not None:
                found[f"after {name}"] = b.numpy().copy()
    return found


def write(name):
    cases = importlib.import_module(name).CASES
    numbers, table = [], {}
    for number, case in enumerate(cases):
        try:
            found = known(case, number)
        except Exception as error:
            raise RuntimeError(case.name) from error
        table[case.name] = [[name, list(a.shape)] for name, a in found.items()]
        numbers += [np.asarray(a, np.float64).ravel() for a in found.values()]
    if len(table) != len(cases):
        raise SystemExit("two cases have one name")
    text = np.frombuffer(json.dumps(table).encode(), np.uint8)
    file = Path(__file__).with_name(name + ".npz")
    np.savez_compressed(file, numbers=np.concatenate(numbers), table=text)
    print(f"{file.name}: {len(cases)} cases, {file.stat().st_size} bytes")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        write(argument + "_cases")
