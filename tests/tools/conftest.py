"""Imports the scripts of tools/ by path; they are no package."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest


def load(name):
    root = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
    spec = importlib.util.spec_from_file_location(name, root / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def check_layers():
    return load("check_layers")


@pytest.fixture(scope="session")
def check_paths():
    return load("check_paths")


@pytest.fixture(scope="session")
def check_sizes():
    return load("check_sizes")


@pytest.fixture(scope="session")
def public_headers():
    return load("public_headers")


@pytest.fixture(scope="session")
def lint(check_layers, check_paths, check_sizes, public_headers):
    return load("lint")


@pytest.fixture(scope="session")
def pythons():
    return load("pythons")


@pytest.fixture(scope="session")
def run_tests(pythons):
    return load("run_tests")
