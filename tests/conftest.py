"""Tests find nothing that an earlier run left on disk, unless they say so, and garbage collections
do not go over thousands of tests each time."""

import gc
import os

os.environ.setdefault("FRAZIL_DISK_CACHE", "off")


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
