"""Frazil meets the fake CUDA libraries in these tests, whatever the machine has."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import gpu  # noqa: E402


def pytest_configure(config):
    """Before frazil is imported, which reads the environment once."""
    import tempfile

    assert "frazil" not in sys.modules
    folder = tempfile.TemporaryDirectory(prefix="frazil-cuda-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ["FRAZIL_CUDA_PATH"] = str(gpu.FAKES)
    os.environ["FRAZIL_CACHE_DIR"] = folder.name
    # What is compiled and launched does not depend on how fast compilers are.
    os.environ.setdefault("FRAZIL_CUDA_GENERIC", "never")
    for name in [name for name in os.environ if name.startswith("FAKE_CUDA_")]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def clean():
    """Every test begins with a device without an error."""
    yield
    gpu.driver().clear_error()


@pytest.fixture
def both():
    """f on the CPU and on the GPU: equal bits; the GPU's result."""

    def both(f, *arrays):
        want = f(*arrays)
        got = f(*(a.to_device("cuda") for a in arrays))
        for g, w in zip(
            *((r if isinstance(r, (list, tuple)) else [r]) for r in (got, want)), strict=True
        ):
            assert g.device == "cuda" and w.device == "cpu"
            assert gpu.bits(g) == gpu.bits(w)
        return got

    return both
