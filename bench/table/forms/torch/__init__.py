"""PyTorch: plain, compiled, and as its experts write it (inference mode, out=, fused kernels)."""

import numpy as np
import torch

from .. import Form, applied

PEERS = {"compile": "torch.compile", "": "torch"}


def versions():
    return {"torch": torch.__version__}


def to_numpy(result):
    if isinstance(result, (tuple, list)):
        return [a for item in result for a in to_numpy(item)]
    return [result.detach().numpy()]


def tensor(array):
    """A tensor of its own memory, as PyTorch's allocator aligns it."""
    return torch.from_numpy(np.ascontiguousarray(array)).clone()


def several(function, *arguments, both=False):
    """plain; in inference mode; compiled, which takes long, in inference mode; with `both` without.

    Outside of inference mode a compiled function checks more at a call: it matters to small ones.
    """
    compiled = torch.compile(function, dynamic=False)
    forms = {
        "plain": applied(function, *arguments),
        "inference mode": applied(function, *arguments, around=torch.inference_mode),
        "compile, inference mode": applied(compiled, *arguments, around=torch.inference_mode),
    }
    if both:
        forms["compile"] = applied(torch.compile(function, dynamic=False), *arguments)
    return forms


__all__ = ["Form", "applied", "several", "tensor"]
