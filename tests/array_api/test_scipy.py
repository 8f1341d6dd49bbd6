"""SciPy's own tests of array API backends (scipy_run.py)."""

import os

import pytest
from scipy_run import DAILY, PACKAGES, counts, failures, results


@pytest.mark.parametrize("package", PACKAGES if "FRAZIL_NIGHTLY" in os.environ else DAILY)
def test_scipy_s_tests(package):
    found, text = results(package)
    wrong = failures(found)
    assert not wrong, f"{', '.join(wrong)}\n{text[-5000:]}"
    assert counts(found)["passed"]
