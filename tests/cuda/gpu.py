"""The fake CUDA libraries as tests see them, and programs in processes of their own.

frazil opens them from the folder FAKES (conftest.py); what they record and fail on demand is
tests/cuda/fake/control.h.
"""

import ctypes
import os
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
FAKES = Path(os.environ.get("FRAZIL_FAKE_CUDA", ROOT / "build" / "tests" / "cuda" / "fake"))


class Control:
    """fake_cuda_NAME of the driver as NAME; of the others with their prefix."""

    def __init__(self, file, prefix):
        self.library = ctypes.CDLL(str(FAKES / file))  # the one that frazil has opened
        self.prefix = prefix
        for name in ("count", "live_bytes", "live_blocks", "pinned_bytes", "pending", "live"):
            if function := getattr(self.library, f"{prefix}_{name}", None):
                function.restype = ctypes.c_ulonglong
        getattr(self.library, f"{prefix}_log").restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.library, f"{self.prefix}_{name}")

        def call(*args):
            args = [a.encode() if isinstance(a, str) else a for a in args]
            result = function(*args)
            return result.decode() if isinstance(result, bytes) else result

        return call


@cache
def driver():
    return Control("libcuda.so.1", "fake_cuda")


@cache
def nvrtc():
    return Control("libnvrtc.so.12", "fake_nvrtc")


@cache
def cublaslt():
    return Control("libcublasLt.so.12", "fake_cublaslt")


@cache
def nccl():
    return Control("libnccl.so.2", "fake_nccl")


def without_fakes():
    """The environment of a process that uses NVIDIA's libraries."""
    return {name: value for name, value in os.environ.items() if name != "FRAZIL_CUDA_PATH"}


PRELUDE = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import frazil as fz
import gpu
"""


def process(source, *, check=True, **environment):
    """Runs a program in a process of its own and returns what it printed.

    With check=False the exit status and errors too.
    """
    environment = {name: str(value) for name, value in environment.items()}
    text = PRELUDE.format(folder=str(Path(__file__).parent)) + textwrap.dedent(source)
    run = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if not check:
        return run
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout.strip()


def bits(x):
    """What a tensor holds: its dtype, shape and bytes; of 16-bit floats the same in float32."""
    import frazil as fz

    dtype = x.dtype.name
    if x.dtype in (fz.bfloat16, fz.float16):
        x = fz.astype(x, fz.float32)
    array = np.asarray(x.detach())
    return dtype, array.shape, array.tobytes()


def randn(*shape, seed=0, dtype="float32"):
    import frazil as fz

    values = np.random.default_rng(seed).standard_normal(shape)
    return fz.astype(fz.asarray(values), getattr(fz, dtype))
