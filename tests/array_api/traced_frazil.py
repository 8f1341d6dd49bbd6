"""The namespace frazil with every function wrapped in fz.trace: what array-api-tests are run with
a second time (run.py). Not wrapped are those whose results are no arrays or that arrays are made
by: the tests ask them for dtypes and Python values.
"""

import sys
import types

import frazil as fz

UNTRACED = {
    "__array_namespace_info__", "asarray", "astype", "broadcast_shapes", "can_cast", "finfo",
    "from_dlpack", "iinfo", "isdtype", "result_type",
}  # fmt: skip


def wrapped(module, name):
    made = types.ModuleType(name)
    for key in dir(module):
        value = getattr(module, key)
        if callable(value) and not isinstance(value, type) and key not in UNTRACED:
            value = fz.trace(value)
        setattr(made, key, value)
    made.__array_api_version__ = fz.__array_api_version__
    return made


_made = wrapped(fz, __name__)
_made.linalg, _made.fft = (wrapped(m, f"{__name__}.{m.__name__}") for m in (fz.linalg, fz.fft))
globals().update({k: v for k, v in vars(_made).items() if k not in ("__name__", "__spec__")})
sys.modules[f"{__name__}.linalg"], sys.modules[f"{__name__}.fft"] = _made.linalg, _made.fft
