"""The array API's own tests (run.py), eager and traced."""

import os
import subprocess

import pytest
from run import MODULES, argv_and_env, checkout

NIGHTLY = "FRAZIL_NIGHTLY" in os.environ


@pytest.mark.parametrize("module", MODULES)
def test_the_standard_s_tests(module):
    folder = checkout(clone=NIGHTLY)
    if folder is None:
        pytest.skip("no checkout of array-api-tests; FRAZIL_ARRAY_API_TESTS may name one")
    argv, env = argv_and_env(module, 100 if NIGHTLY else 10)
    ran = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]
