"""How tensors print: as NumPy's arrays, summarised when large. Called by the C++ tensor."""

import html

import numpy as np

from frazil._frazil import runtime as _runtime
from frazil._frazil import transforms as _transforms


def _defaults():
    """What asarray makes of Python's numbers."""
    floats = _runtime.default_dtype().name
    return floats, "int64", "bool", {"float32": "complex64", "float64": "complex128"}[floats]


def _array(t):
    # NumPy prints the shortest digits of float32; bfloat16 has fewer and no printer of its own.
    return np.asarray(t.detach().astype("float32") if t.dtype.name == "bfloat16" else t)


def _is_batched(t):
    return _transforms.is_batched(t)


def tensor_str(t):
    if _is_batched(t):
        return tensor_repr(t)
    return "[]" if t.size == 0 else str(_array(t))


def tensor_repr(t):
    prefix = "fz.Tensor("
    if _is_batched(t):  # there are no elements to show
        return f"{prefix}<one of a vmap's examples>, shape={t.shape}, dtype={t.dtype.name})"
    # An empty tensor may have a shape that NumPy refuses.
    body = np.array2string(_array(t), separator=", ", prefix=prefix) if t.size else "[]"
    tail = ""
    if t.dtype.name not in _defaults()[: 4 if t.size else 1]:
        tail += f", dtype={t.dtype.name}"
    if t.size == 0 and t.shape != (0,):
        tail += f", shape={t.shape}"
    if t.device != "cpu":
        tail += f", device={t.device!r}"
    if t.requires_grad:
        tail += ", requires_grad=True"
    return f"{prefix}{body}{tail})"


def tensor_html(t):
    """A table of a vector or matrix, else the text, over a line with shape, dtype and device."""
    about = f"shape {t.shape}, {t.dtype.name}, {t.device}"
    if t.size == 0 or t.ndim not in (1, 2):
        body = f"<pre>{html.escape(tensor_str(t))}</pre>"
    else:
        a = _array(t)
        shown = [_shown(n, a.size) for n in a.shape]
        rows = [a[i] if i is not None else None for i in shown[0]] if a.ndim == 2 else [a]
        cells = "".join(f"<tr>{_row(row, shown[-1])}</tr>" for row in rows)
        body = f"<table>{cells}</table>"
    return f"<div>{body}<small>{html.escape(about)}</small></div>"


def _shown(n, size):
    """The indices that are shown of an axis, None for those left out between."""
    options = np.get_printoptions()
    edge = options["edgeitems"]
    if size <= options["threshold"] or n <= 2 * edge:
        return list(range(n))
    return [*range(edge), None, *range(n - edge, n)]


def _row(row, columns):
    def text(i):
        if row is None or i is None:
            return "…"
        return html.escape(np.array2string(row[i : i + 1])[1:-1].strip())

    return "".join(f"<td>{text(i)}</td>" for i in columns)
