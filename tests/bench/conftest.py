"""The modules of bench/, which are no package, and settings of a quick session."""

import argparse
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench"))


@pytest.fixture
def settings():
    return argparse.Namespace(
        smoke=True, rounds=2, seconds=0.0005, skip="", priority=0, log=None
    )  # fmt: skip
