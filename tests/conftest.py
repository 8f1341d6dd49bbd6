"""Tests find nothing that an earlier run left on disk, unless they say so, and draw the same random
numbers each time. Garbage collections do not go over thousands of tests each time."""

import gc
import os
import sys
import zlib

os.environ.setdefault("FRAZIL_DISK_CACHE", "off")


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """Weights of layers, too, are drawn from the process's stream, which begins somewhere else."""
    if "frazil" in sys.modules:
        sys.modules["frazil"].random.seed(zlib.crc32(item.nodeid.encode()))
