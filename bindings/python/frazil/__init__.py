"""frazil: eager tensors, automatic differentiation, and tracing into fused kernels.

Here: functions of arrays under the array API's names, `grad`, `value_and_grad` and `no_grad`,
`trace`, settings (`mode`, `precision`, `default_dtype`, `config`, `device`), and the modules

* `nn`: layers; `nn.functional`: their functions; `nn.init`: first values; `nn.utils`,
  `nn.utils.rnn`: packed sequences; `nn.utils.parametrize`, `nn.utils.parametrizations`: weights
  made of others; `random`
* `optim`: optimizers; `optim.lr_scheduler`: schedules; `optim.swa_utils`: averages; `amp`: mixed
  precision
* `data`: datasets and loaders; `training`: checkpoints; `io`: files
* `linalg`: linear algebra; `fft`: Fourier transforms; `special`: special functions
* `distributed`: programs of several processes
* `sparse`: sparse matrices; `tree`: nested structures
* `onnx`: models of others, in and out
* `memory`: who holds it; `cuda`: NVIDIA GPUs; `npu`: the simulated NPU; `debug`: where NaNs begin
* `profile`: where time and memory go; `progress`: how far long work is

docs/coming-from.md tells what is otherwise than in NumPy, PyTorch and JAX.

>>> import frazil as fz
>>> x = fz.asarray([1.0, 2.0, 3.0])
>>> fz.exp(x) * 2 + 1
fz.Tensor([ 6.4365635, 15.778112 , 41.171074 ])
"""

import importlib as _importlib
import sys as _sys

from frazil import _frazil  # noqa: F401 -- the first to say that it cannot be imported

from frazil import _names  # isort: skip
from frazil._array_api import *  # noqa: F403
from frazil._choosing import *  # noqa: F403
from frazil._control import *  # noqa: F403
from frazil._counting import *  # noqa: F403
from frazil._custom import *  # noqa: F403
from frazil._device import device as device
from frazil._dtypes import *  # noqa: F403
from frazil._einsum import *  # noqa: F403
from frazil._equality import *  # noqa: F403
from frazil._frazil import *  # noqa: F403
from frazil._frazil import NpuFault as NpuFault
from frazil._frazil import __version__ as __version__
from frazil._frazil import cuda as _cuda
from frazil._frazil.runtime import check_switches as _check_switches
from frazil._frazil.runtime import get_num_threads as get_num_threads
from frazil._frazil.runtime import kernels_run as kernels_run
from frazil._frazil.runtime import set_num_threads as set_num_threads
from frazil._frazil.runtime import synchronize as synchronize
from frazil._grad import grad as grad
from frazil._grad import no_grad as no_grad
from frazil._grad import value_and_grad as value_and_grad
from frazil._nans import *  # noqa: F403
from frazil._op import *  # noqa: F403
from frazil._runtime import config as config
from frazil._runtime import default_dtype as default_dtype
from frazil._runtime import detect_anomaly as detect_anomaly
from frazil._runtime import mode as mode
from frazil._runtime import precision as precision
from frazil._runtime import set_default_dtype as set_default_dtype
from frazil._sets import *  # noqa: F403
from frazil._signals import *  # noqa: F403
from frazil._threadpools import watch as _watch_threadpools
from frazil._trace import trace as trace
from frazil._transforms import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded at their first use
    from frazil import amp as amp
    from frazil import cuda as cuda
    from frazil import data as data
    from frazil import debug as debug
    from frazil import distributed as distributed
    from frazil import fft as fft
    from frazil import io as io
    from frazil import linalg as linalg
    from frazil import memory as memory
    from frazil import nn as nn
    from frazil import npu as npu
    from frazil import onnx as onnx
    from frazil import optim as optim
    from frazil import random as random
    from frazil import sparse as sparse
    from frazil import special as special
    from frazil import training as training
    from frazil import tree as tree
    from frazil._convert import convert as convert
    from frazil._convert import converted_source as converted_source
    from frazil._export import Dim as Dim
    from frazil._export import export as export
    from frazil._profile import profile as profile
    from frazil._program import Program as Program
    from frazil._program import load_program as load_program
    from frazil._progress import progress as progress
    from frazil.amp import autocast as autocast
    from frazil.io import load as load
    from frazil.io import save as save
    from frazil.nn.quantized import quantize as quantize
    from frazil.tree import register_pytree_node as register_pytree_node

_check_switches()
_cuda.set_wheel_folder(__file__.rsplit("/", 2)[0])
_watch_threadpools()

newaxis = None
pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")

_SUBMODULES = (
    "amp", "cuda", "data", "debug", "distributed", "fft", "io", "linalg", "memory", "nn", "npu",
    "onnx", "optim", "random", "sparse", "special", "training", "tree",
)  # fmt: skip
_MOVED = {  # names of submodules here
    "autocast": "amp",
    "convert": "_convert",
    "converted_source": "_convert",
    "Dim": "_export",
    "export": "_export",
    "load": "io",
    "load_program": "_program",
    "profile": "_profile",
    "Program": "_program",
    "progress": "_progress",
    "quantize": "nn.quantized",
    "register_pytree_node": "tree",
    "save": "io",
}


if not TYPE_CHECKING:  # or every name would be known

    def __getattr__(name):
        """Loads a submodule at its first use: `import frazil` stays fast."""
        if name in _MOVED:
            return getattr(_importlib.import_module(f"frazil.{_MOVED[name]}"), name)
        if name in _SUBMODULES:
            return _importlib.import_module("frazil." + name)
        message = f"module 'frazil' has no attribute '{name}'"
        if name in _names.MODULE:
            raise AttributeError(f"{message}: use frazil.{_names.MODULE[name]}.")
        # With these two Python looks for typos.
        raise AttributeError(message, name=name, obj=_sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_MOVED} - {"TYPE_CHECKING"})
