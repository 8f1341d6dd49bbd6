"""The one sentence of a machine that has no GPU."""

import pytest

import frazil as fz


def test_there_is_a_gpu():
    if not fz.cuda.is_available():
        versions = fz.cuda.versions()
        why = versions["driver" if fz.cuda.device_count() == 0 else "nvrtc"]
        pytest.fail(f"`./dev test gpu` needs an NVIDIA GPU: {why}", pytrace=False)
