"""./dev wheel: every wheel is small, manylinux, and computes in an empty environment.

Nightly: the library is compiled once more, as pip does it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))


@pytest.mark.skipif(not os.environ.get("FRAZIL_NIGHTLY"), reason="a nightly run")
def test_wheels_run_elsewhere():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "wheel.py"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "manylinux" in done.stdout
