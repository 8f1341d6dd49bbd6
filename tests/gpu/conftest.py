"""The suite for machines with a GPU: `./dev test gpu`. Without one it is a single failed test.

FRAZIL_GPU_TINY=1 runs all of it with small sizes: so the suite itself is tested on the fake driver.
"""

import sys
from pathlib import Path

import evidence
import pytest

import frazil as fz

HERE = Path(__file__).parent
for name in ("conformance", "fuzz", "cuda"):  # what is run here is written there
    sys.path.append(str(HERE.parent / name))

AVAILABLE = fz.cuda.is_available()


def pytest_ignore_collect(collection_path):
    if not AVAILABLE and collection_path.name == "test_on_the_gpu.py":
        return True
    return None


@pytest.fixture(scope="session")
def record(request):
    """What the run found; written when it ends, whatever failed."""
    found = evidence.Evidence()
    yield found
    found.failed = request.session.testsfailed
    paths = found.write()
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{found.markdown()}\nwritten: {', '.join(map(str, paths))}")
