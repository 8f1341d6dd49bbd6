"""How tensors print: as NumPy's arrays, summarised when large. Called by the C++ tensor."""

import numpy as np


def _array(t):
    # NumPy prints the shortest digits of float32; bfloat16 has fewer and no printer of its own.
    return np.asarray(t.detach().astype("float32") if t.dtype.name == "bfloat16" else t)


def tensor_str(t):
    return "[]" if t.size == 0 else str(_array(t))


def tensor_repr(t):
    prefix = "fz.Tensor("
    # An empty tensor may have a shape that NumPy refuses.
    body = np.array2string(_array(t), separator=", ", prefix=prefix) if t.size else "[]"
    tail = f", dtype={t.dtype.name}"
    if t.size == 0 and t.shape != (0,):
        tail += f", shape={t.shape}"
    if t.requires_grad:
        tail += ", requires_grad=True"
    return f"{prefix}{body}{tail})"
