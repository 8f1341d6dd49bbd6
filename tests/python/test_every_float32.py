"""float32 functions are within 1 unit of the last place: docs/float32.md has the worst."""

import os

import pytest
from every_float32 import ALL, COMPOSITES, ROWS, bound, line, lines, sweep

pytest.importorskip("scipy.special")
NAMES = [*ROWS, *COMPOSITES]
NIGHTLY = bool(os.environ.get("FRAZIL_NIGHTLY"))


def test_the_page_has_every_function():
    assert list(lines()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_some_arguments(name):
    worst = sweep(name, 65521)
    assert worst.count > 16000 and worst.error <= bound(name), worst


@pytest.mark.skipif(not NIGHTLY, reason="2^32 arguments of each function")
@pytest.mark.parametrize("name", NAMES)
def test_every_argument(name):
    worst = sweep(name)
    assert worst.error <= bound(name), worst
    page = lines()[name]
    if page.endswith(f" {ALL} |"):
        assert page == line(name, worst)
