"""Makes the fuzzer's modules importable and runs its campaign once for all tests."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import campaign  # noqa: E402

NIGHTLY = bool(os.environ.get("FRAZIL_NIGHTLY"))
COUNT = int(os.environ.get("FRAZIL_FUZZ_COUNT", 200_000 if NIGHTLY else 1200))
WORLDS = int(os.environ.get("FRAZIL_FUZZ_WORLDS", 200_000 if NIGHTLY else 300))
SAMPLE = 40_000 if NIGHTLY else 500  # of these, run elsewhere as well
FIRST = int(os.environ.get("FRAZIL_FUZZ_SEED", "0"))
LIMIT = 20_000 if NIGHTLY else 600  # seconds for a process


@pytest.fixture(scope="session")
def campaign_run():
    return campaign.generate(FIRST, COUNT, SAMPLE, LIMIT)


@pytest.fixture(scope="session")
def generated(campaign_run):
    """(programs, digests of their eager runs)"""
    return campaign_run[:2]


@pytest.fixture(scope="session")
def worlds_run():
    """The campaign of programs with Python around the ops (worlds.py)."""
    size = 1000 if NIGHTLY else 100
    return campaign.generate(FIRST, WORLDS, SAMPLE, LIMIT, size=size, how="worlds")


@pytest.fixture(scope="session")
def worlds(worlds_run):
    return worlds_run[:2]
