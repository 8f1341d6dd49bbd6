"""Every row of the op table as ONNX, in all dtypes and at the edges: onnxruntime says what frazil
says, or the row is refused by name. The cases are those of tests/conformance.

Of a row some cases are one model; with FRAZIL_NIGHTLY all are, at both ends of the opsets.
"""

import itertools
import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import frazil as fz
from frazil import _frazil

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import cases  # noqa: E402
import worker  # noqa: E402

NIGHTLY = "FRAZIL_NIGHTLY" in os.environ
TABLE = {row["name"]: row for row in _frazil.op_table()}
REFUSED = {  # what onnx.save says of a row's cases
    **dict.fromkeys(
        "qr_factors svd_factors eigh_factors eig_factors pseudo_inverse attend_grad "
        "conv2d_weights collective collective_wait".split(),
        "has no operator in ONNX that is known here|of complex numbers",
    ),
    "sparse_matmul": "multiplies a sparse matrix",
    "sparse_sample": "multiplies a sparse matrix",
    "to_device": "moves a tensor to the CPU",
}
OWN = "random_bits"  # the session draws other numbers: test_save.py
# Of ops that round once and are compared by units in the last place there, roughly.
ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}


def usable(case):
    """What the model and frazil are compared on: not the sign of NaN, which is lost on the way, not
    remainders of quotients beyond 2^22, where frazil's own are not exact, and no linear algebra of
    complex numbers."""
    elements = sum(np.size(a) for a in case.inputs)
    special = case.row in ("signbit", "remainder", "floor_divide") and "special" in case.name
    return elements <= 6000 and not special and not (TABLE[case.row]["class"] == "lapack"
                                                     and case.name.endswith("True"))  # fmt: skip


def chosen(row):
    """One of each dtype and kind, or all."""
    kind = cases.CLASSES[row["class"]] if row["name"] not in ("real", "imag") else cases.parts
    found = [case for case in kind(row) if usable(case)]
    if NIGHTLY:
        return found
    few = []
    for _, some in itertools.groupby(found, lambda case: case.dtype):
        some = list(some)
        some = [case for case in some if sum(np.size(a) for a in case.inputs) <= 1000]
        special = [case for case in some if "special" in case.name]
        few += [*some[:: max(1, len(some) // 2)], *special][:4]
    return few[:40]


def tensors_of(case):
    return [
        fz.copy(cases.view(worker.to_tensor(a, d), case.layout))
        for a, d in zip(case.inputs, case.dtypes, strict=True)
    ]


def wide(x):
    """NumPy has no bfloat16."""
    return x.astype("float32") if x.dtype.name == "bfloat16" else x


def agrees(case, expected, got):
    assert expected.shape == got.shape, case.name
    assert expected.dtype == got.dtype, case.name
    dtypes = [d for d in (*case.dtypes, case.dtype) if d in ROUNDING]
    exact = case.ulp == 0 and case.row not in ("divide", "astype")
    if expected.dtype.kind != "f" or exact or not dtypes:
        np.testing.assert_array_equal(got, expected, err_msg=case.name)
        return
    by = max(ROUNDING[d] for d in dtypes)
    sums = [1.0]
    if case.scale is not None:
        inputs = [cases.view(np.asarray(a, np.float64), case.layout) for a in case.inputs]
        sums = np.atleast_1d(case.scale(*inputs))
    atol = by * max(8 * np.max(sums, initial=1.0), 1.0)
    np.testing.assert_allclose(got, expected, rtol=by, atol=atol, err_msg=case.name)


def compared(some, opset, path):
    """Cases as one model."""
    given = [tensors_of(case) for case in some]
    counts = np.cumsum([0, *map(len, given)])
    halves = [x.dtype.name == "bfloat16" for args in given for x in args]

    def all_of(*args):
        args = [x.astype("bfloat16") if h else x for x, h in zip(args, halves, strict=True)]
        return tuple(
            wide(case.call(fz, *args[i:j]))
            for case, i, j in zip(some, counts, counts[1:], strict=False)
        )

    args = tuple(wide(x) for row in given for x in row)
    names = [f"x{i}" for i in range(len(args))]
    fz.onnx.save(all_of, args, path, opset=opset, pure=True, input_names=names)
    session = onnxruntime.InferenceSession(path)
    taken = {i.name for i in session.get_inputs()}
    feed = {n: np.asarray(x) for n, x in zip(names, args, strict=True) if n in taken}
    for case, e, g in zip(some, all_of(*args), session.run(None, feed), strict=True):
        agrees(case, np.asarray(e), g)


@pytest.mark.parametrize("name", [name for name in TABLE if name != OWN])
def test_rows(name, tmp_path):
    """Two of the opsets, in turns."""
    some = chosen(TABLE[name])
    assert some
    path = tmp_path / "m.onnx"
    if name in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[name]):
            compared(some[:1], 18, path)
        assert not path.exists()
        return
    opsets = (18, 22) if NIGHTLY else (18 + 4 * (sorted(TABLE).index(name) % 2),)
    for opset in opsets:
        step = 6 if name == "put" else 60  # whose masks are branches in branches
        for i in range(0, len(some), step):
            compared(some[i : i + step], opset, path)


@pytest.mark.parametrize("count", [40, 800])
def test_branches_lie_as_deep_as_a_file_can_hold(tmp_path, count):
    def many(x):
        for i in range(count):
            if x[i % 40] > 0:
                x = x + 1
        return x

    with pytest.raises(ValueError, match=r"branches and loops of it lie deeper in others"):
        fz.onnx.save(many, (fz.ones(40),), tmp_path / "m.onnx")
