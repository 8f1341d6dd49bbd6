"""frazil: eager tensors, automatic differentiation, and tracing into fused kernels.

>>> import frazil as fz
>>> x = fz.asarray([1.0, 2.0, 3.0])
>>> fz.exp(x) * 2 + 1
fz.Tensor([ 6.4365635, 15.778112 , 41.171074 ], dtype=float32)
"""

import importlib as _importlib

from frazil._array_api import *  # noqa: F403
from frazil._device import device  # noqa: F401
from frazil._dtypes import *  # noqa: F403
from frazil._elementwise import *  # noqa: F403
from frazil._frazil import *  # noqa: F403
from frazil._frazil import NpuFault, Tensor, __version__  # noqa: F401
from frazil._frazil import cuda as _cuda
from frazil._frazil.runtime import check_switches as _check_switches
from frazil._frazil.runtime import (  # noqa: F401
    get_num_threads,
    kernels_run,
    set_num_threads,
    synchronize,
)
from frazil._grad import grad, no_grad, value_and_grad  # noqa: F401
from frazil._runtime import config, mode, precision  # noqa: F401
from frazil._sets import *  # noqa: F403
from frazil._threadpools import watch as _watch_threadpools
from frazil._trace import trace  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded at their first use
    from frazil import cuda, data, io, memory, nn, npu, optim, random  # noqa: F401
    from frazil.io import load, save  # noqa: F401

_check_switches()
_cuda.set_wheel_folder(__file__.rsplit("/", 2)[0])
_watch_threadpools()

newaxis = None
pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")

_SUBMODULES = ("cuda", "data", "io", "memory", "nn", "npu", "optim", "random")


def __getattr__(name):
    """Loads a submodule at its first use: `import frazil` stays fast."""
    if name in ("load", "save"):
        return getattr(_importlib.import_module("frazil.io"), name)
    if name in _SUBMODULES:
        return _importlib.import_module("frazil." + name)
    raise AttributeError(f"module 'frazil' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_SUBMODULES})
