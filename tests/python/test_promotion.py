"""NumPy 2's result dtype for every pair: array with array, with 0-d array and with numbers of
Python, over all binary functions. docs/promotion.md is the table that fz.result_type gives.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import frazil as fz

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128".split()
)
NUMBERS = (True, 1, 1.0, 1j)
FUNCTIONS = (
    "add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 hypot "
    "logaddexp logaddexp2 copysign nextafter heaviside gcd lcm float_power fmod"
).split()
# Where frazil's answer is another: the array API leaves shifts of bools undefined, NumPy makes them
# int8, frazil refuses them.
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
BOOLS = ("bool, bool", "bool, 0-d bool", "0-d bool, bool", "bool, True", "True, 0-d bool")
KNOWN = set(itertools.product(SHIFTS, BOOLS))
TABLE = Path(os.environ["FRAZIL_ROOT"]) / "docs/promotion.md"


def dtype_of(function, *operands):
    """The dtype's name, or the error's."""
    try:
        with np.errstate(all="ignore"):
            return function(*operands).dtype.name
    except TypeError:
        return "TypeError"
    except (ValueError, OverflowError, ZeroDivisionError):
        return "an error"


def pairs():
    for a, b in itertools.product(DTYPES, DTYPES):
        x, y = np.ones(2, a), np.ones(2, b)
        yield f"{a}, {b}", x, y
        yield f"{a}, 0-d {b}", x, np.ones((), b)
        yield f"0-d {a}, {b}", np.ones((), a), y
    for a, number in itertools.product(DTYPES, NUMBERS):
        yield f"{a}, {number!r}", np.ones(2, a), number
        yield f"{number!r}, 0-d {a}", number, np.ones((), a)


def test_result_type_is_numpys():
    for a, b in itertools.product(DTYPES, DTYPES):
        assert fz.result_type(a, b).name == np.result_type(a, b).name, (a, b)
        assert fz.can_cast(a, b) == np.can_cast(a, b), (a, b)
    for a, number in itertools.product(DTYPES, NUMBERS):
        wanted = np.result_type(np.dtype(a), number)
        assert fz.result_type(fz.ones(1, dtype=a), number).name == wanted.name, (a, number)


def test_numbers_alone_have_their_default_dtypes():
    with fz.default_dtype("float64"):
        for numbers in itertools.product((True, 2, 0.5, 1j, np.float64(3)), repeat=2):
            assert fz.result_type(*numbers).name == np.result_type(*numbers).name, numbers
    assert fz.result_type(1, 0.5) == fz.float32 and fz.result_type(1j) == fz.complex64
    with pytest.raises(ValueError, match=r"\[result_type\] needs at least one argument"):
        fz.result_type()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_promotes_as_numpy(name):
    ours = getattr(fz, name)
    theirs = getattr(np, {"atan2": "arctan2"}.get(name, name))
    wrong = []
    for what, x, y in pairs():
        wanted = dtype_of(theirs, x, y)
        got = dtype_of(ours, *(fz.asarray(v) if isinstance(v, np.ndarray) else v for v in (x, y)))
        if got != wanted and (name, what) not in KNOWN:
            wrong.append(f"{what}: {got} instead of {wanted}")
    assert not wrong, f"{len(wrong)} of {name}: " + "; ".join(wrong[:12])


def table():
    dtypes = [*DTYPES[:10], "bfloat16", *DTYPES[10:]]
    short = {
        d: d.replace("complex", "c").replace("uint", "u").replace("bfloat", "bf") for d in dtypes
    }
    short = {d: s.replace("int", "i").replace("float", "f") for d, s in short.items()}
    lines = ["| | " + " | ".join(short[d] for d in dtypes) + " | `True` | `1` | `1.0` | `1j` |"]
    lines.append("| --- " * (len(dtypes) + 5) + "|")
    for a in dtypes:
        x = fz.ones(1, dtype=a)
        row = [short[fz.result_type(a, b).name] for b in dtypes]
        row += [short[fz.result_type(x, number).name] for number in NUMBERS]
        lines.append(f"| **{short[a]}** | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def test_the_page_has_the_table():
    assert table() in TABLE.read_text(encoding="utf-8")


def test_bfloat16_is_a_float_of_16_bits():
    for other, wanted in {
        "bool": "bfloat16", "int8": "bfloat16", "uint8": "bfloat16", "int64": "float64",
        "int16": "float32", "float16": "float32",
        "float32": "float32", "complex64": "complex64", "float64": "float64",
    }.items():  # fmt: skip
        got = fz.result_type("bfloat16", other).name
        assert got == wanted, (other, got)
