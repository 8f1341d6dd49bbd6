"""NumPy's own set of hard arguments: every row within the tolerance that the row states."""

from pathlib import Path

import numpy as np
import pytest

import frazil as fz

SETS = Path(np.__file__).parent / "_core" / "tests" / "data"
NAMES = {  # NumPy's: ours
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
} | {
    name: name
    for name in ("cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2")
    + ("sin", "sinh", "tan", "tanh")
    if hasattr(fz, name)
}
WORDS = {"float32": np.uint32, "float64": np.uint64}


def rows(name, dtype):
    """Arguments, results and tolerances in ULP."""
    lines = (SETS / f"umath-validation-set-{name}.csv").read_text().splitlines()
    table = [line.split(",") for line in lines if line.startswith(f"np.{dtype},")]
    word = WORDS[dtype]
    x, y = (np.array([int(row[i], 16) for row in table], word).view(dtype) for i in (1, 2))
    return x, y, np.array([int(row[3]) for row in table])


def steps(x):
    """Floats as integers in the same order, one apart where the floats are; -0 is 0."""
    signed = x.view(f"int{8 * x.itemsize}").astype(object)
    least = -(1 << (8 * x.itemsize - 1))
    return np.where(signed < 0, least - signed, signed)


@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_within_their_tolerance(name, dtype):
    if not SETS.is_dir():
        pytest.skip("this NumPy is installed without its tests' data")
    x, want, tolerance = rows(name, dtype)
    assert len(x) > 50
    got = np.asarray(getattr(fz, NAMES[name])(fz.asarray(x)))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    known = ~np.isnan(want)
    error = abs(steps(got) - steps(want))
    wrong = known & (error > tolerance)
    assert not wrong.any(), [
        f"{name}({x[i].item().hex()}) is {got[i].item().hex()}, expected {want[i].item().hex()}: "
        f"{error[i]} ULP of {tolerance[i]}"
        for i in np.flatnonzero(wrong)
    ]
