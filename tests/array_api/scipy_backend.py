"""A plugin of pytest: SciPy's tests of array API backends, run with frazil and no other.

scipy_run.py loads it (`-p scipy_backend`). SciPy's conftest.py has the backends that it knows as a
constant; frazil is added here as they are there, and the installed files stay as they are. Like
PyTorch, whose default dtype is float32 too, it runs with float64.

Tests that SciPy skips for a backend for what it is, which frazil is too, are skipped (ALIKE). Those
of scipy_xfails.txt may fail. With FRAZIL_SCIPY_REPORT=FILE what became of each test goes there as
JSON: {id: [outcome, message]}.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from scipy import conftest

import frazil

# (backend, reason) of skip marks.
ALIKE = {
    # Nobody writes into a tensor's memory: np.asarray(t) is read-only as JAX's is.
    ("jax.numpy", "output=array requires buffer view"),
    ("jax.numpy", "read-only backend"),
    ("jax.numpy", "buffer array is read-only"),
    ("jax.numpy", "sosfilt works in-place"),
    ("jax.numpy", "overwrite_data not implemented"),
    # What scipy.special computes by NumPy for libraries that it does not know, it leaves on the
    # default device; array-api-strict has others, too.
    ("array_api_strict", "special/_support_alternative_backends"),
    ("array_api_strict", "special functions don't work with 'device1'"),
}

frazil.set_default_dtype("float64")
conftest.xp_known_backends.add("frazil")


def expected_failures():
    """{beginning of an id: the reason} of scipy_xfails.txt: comments stand before their ids."""
    found, reason, fresh = {}, "", False
    for line in Path(__file__).with_name("scipy_xfails.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            reason = f"{reason} {line[2:]}" if fresh else line[2:]
        elif line:
            found[line] = reason
        fresh = line.startswith("#")
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    if "xp" not in metafunc.fixturenames:
        return
    marks = [pytest.mark.array_api_backends]
    for mark in metafunc.definition.iter_markers("skip_xp_backends"):
        reason = mark.kwargs.get("reason")
        if mark.args and (mark.args[0], reason) in ALIKE:
            marks.append(pytest.mark.skip_xp_backends("frazil", reason=f"{mark.args[0]}: {reason}"))
    backend = pytest.param(frazil, id="frazil", marks=marks[:2])
    # A mark goes before the parameters of the fixture.
    metafunc.definition.add_marker(pytest.mark.parametrize("xp", [backend], indirect=True))
    if "devices" in metafunc.fixturenames:
        # The fixture adds a list to info.devices(), which is a tuple since 2025.12.
        every = [*frazil.__array_namespace_info__().devices(), None]
        shown = pytest.param(every, id=pytest.HIDDEN_PARAM)
        metafunc.definition.add_marker(pytest.mark.parametrize("devices", [shown]))


def pytest_collection_modifyitems(config, items):
    ours, others = [], []
    for item in items:
        (ours if item.get_closest_marker("array_api_backends") else others).append(item)
    items[:] = ours
    config.hook.pytest_deselected(items=others)
    expected = expected_failures()
    for item in items:
        for start, reason in expected.items():
            if item.nodeid.startswith(start):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=False))


_results = {}


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    outcome, message = report.outcome, ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else str(report.longrepr)
    elif report.skipped:
        explained = hasattr(report, "wasxfail") and report.keywords.get("xfail")
        outcome = "explained" if explained else "skipped"
    _results[report.nodeid] = [outcome, message]


def pytest_sessionfinish():
    if path := os.environ.get("FRAZIL_SCIPY_REPORT"):
        Path(path).write_text(json.dumps(_results), encoding="utf-8")


def pytest_terminal_summary(terminalreporter):
    counts = Counter(outcome for outcome, _ in _results.values())
    terminalreporter.write_line(f"frazil: {dict(sorted(counts.items()))}")
