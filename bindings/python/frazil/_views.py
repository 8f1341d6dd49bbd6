"""x.view(dtype): the bytes of a tensor as another dtype. Called by the C++ tensor.

Complex numbers as pairs of their parts and back are ops of frazil: recorded and differentiated.
Everything else reads the data. `elements` are those bytes for who writes or compares them: loaders
of data between processes (data/shared.py), digests of files (_export_file.py).
"""

from frazil import _frazil as _fz

_PARTS = {"complex64": "float32", "complex128": "float64"}


# Of the dtypes that Python has a name for, the memoryview format.
FORMATS = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "float32": "f",
    "float64": "d",
    "int64": "q",
    "uint64": "Q",
}


def elements(tensor):
    """The bytes of the elements of a tensor without gradients on the CPU, row-major; a copy only if
    they do not lie so, or if Python has no name for the dtype.
    """
    flat = tensor.reshape(-1)
    if flat.size == 0:
        return memoryview(b"")
    if flat.dtype.name not in FORMATS:
        flat = flat.view("uint8")
    view = memoryview(flat)
    return (view if view.c_contiguous else memoryview(flat.copy())).cast("B")


def of_dtype(x, dtype):
    """The last axis holds the same bytes, so it is longer or shorter if the elements differ in
    size, which a tensor without axes cannot be. ValueError if they do not fit."""
    to = _fz.runtime.dtype(dtype)
    if to == x.dtype:
        return _fz.reshape(x, x.shape)
    size = x.shape[-1] * x.dtype.itemsize if x.ndim else x.dtype.itemsize
    if (size % to.itemsize) if x.ndim else (size != to.itemsize):
        raise ValueError(
            f"[view] {size} bytes along the last axis are no whole number of {to.name}: "
            f"{x.dtype.name} of shape {x.shape}."
        )
    if _PARTS.get(x.dtype.name) == to.name:
        parts = _fz.stack([_fz.real(x), _fz.imag(x)], axis=-1)
        return _fz.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1]))
    if _PARTS.get(to.name) == x.dtype.name:
        return _fz.complex(x[..., 0::2], x[..., 1::2])
    if to == _fz.bool:
        return of_dtype(x, _fz.uint8) != 0
    _, (_, _, data, *_) = _fz.detach(x).__reduce__()
    shape = (*x.shape[:-1], size // to.itemsize) if x.ndim else ()
    return _fz.runtime._rebuild(to.name, shape, data, False, None, x.device)
