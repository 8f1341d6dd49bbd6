"""Wrong calls raise NumPy's exception class with frazil's words: wrong_input.txt has them all."""

import numpy as np
import pytest
from wrong_input import PAGE, calls, line, raised

import frazil as fz

LINES = dict(text.split("  # ", 1) for text in PAGE.read_text(encoding="utf-8").splitlines())

# Calls where NumPy raises another class, or one of the two does not raise.
OTHERS = {
    # NumPy makes an array of objects or of text of it.
    "m.logical_not(object())", "m.atleast_1d('a')",
    # A word that is no number is a TypeError, in assignments as elsewhere.
    "x23.__setitem__(slice(None), 'a')",
    # Index arrays are integers: NumPy cuts off, or says IndexError.
    "m.take(x4, [0.5])", "m.take_along_axis(x23, m.zeros((2, 3)), axis=0)",
    # An axis that the vector does not have is said to be out of range.
    "m.rot90(x4)",
    # fz.trace records functions; the matrix function is fz.linalg.trace.
    "m.trace(x4)",
    "m.arange(0, 1, 0)", "m.fft.fftfreq(0)", "m.fft.fftfreq(2.5)",  # not by division by zero
    "m.linalg.matrix_norm(x4)",  # as other functions of matrices
    # What depends on elements is no error: a recorded call could not raise it.
    "m.average(x4, weights=m.zeros(4))",
}  # fmt: skip


OTHERS |= {call for call in LINES if "m.op(" in call}  # NumPy has no ops that a program brings


def test_the_page_has_every_call():
    assert list(LINES) == list(dict.fromkeys(calls())) and len(LINES) > 600


@pytest.mark.parametrize("call", LINES)
def test_it_raises_what_numpy_raises_and_says_what_is_wrong(call):
    error = raised(call, fz)
    assert line(call, error) == f"{call}  # {LINES[call]}"
    theirs = raised(call, np)
    same = error is not None and (
        isinstance(theirs, type(error)) or type(theirs).__name__ == type(error).__name__
    )
    assert same != (call in OTHERS), f"NumPy: {theirs!r}"
    if error is not None and call not in OTHERS:
        assert str(error)
