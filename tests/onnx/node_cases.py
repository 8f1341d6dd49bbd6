"""The backend tests of the package onnx: models with inputs and the outputs that they must give."""

import functools
import glob
import os
import warnings
from pathlib import Path

import numpy as np

import frazil as fz

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")  # the rest are downloads
FAILURES = Path(__file__).parent / "expected_failures.txt"


@functools.cache
def cases():
    """By name. A case has model_dir, rtol and atol."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = [c for kind in KINDS for c in load_model_tests(kind=kind) if c.model_dir]
    return {c.name: c for c in found}


def expected_failures():
    """{name: reason} of expected_failures.txt."""
    lines = FAILURES.read_text().splitlines()
    rows = [line.split(":", 1) for line in lines if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, reason in rows}


def read_value(path, kind):
    """What a file of a data set holds: an array, a list, or None."""
    import onnx
    from onnx import numpy_helper

    content = Path(path).read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def data_sets(case, model):
    """(inputs, outputs) of each data set."""
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*"))):
        values = []
        for what, infos in (("input", model.graph.input), ("output", model.graph.output)):
            count = len(glob.glob(os.path.join(folder, f"{what}_*.pb")))
            paths = [os.path.join(folder, f"{what}_{i}.pb") for i in range(count)]
            values.append([read_value(p, v.type) for p, v in zip(paths, infos, strict=False)])
        yield values


def array(value):
    """A value of a model as NumPy has it."""
    if value is None or isinstance(value, list):
        return value if value is None else [array(v) for v in value]
    if isinstance(value, fz.Tensor) and value.dtype.name == "bfloat16":
        import ml_dtypes

        return np.asarray(value.astype("float32")).astype(ml_dtypes.bfloat16)
    return np.asarray(value)


def check(got, expected, case):
    """Compares as the package's own runner does."""
    if expected is None or isinstance(expected, list):
        assert type(got) is type(expected)
        for g, e in zip(got or [], expected or [], strict=True):
            check(g, e, case)
        return
    expected = np.asarray(expected)
    if expected.dtype.kind in "OU":
        assert got.tolist() == expected.tolist()
        return
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if "bernoulli" in case.name:  # drawn
        assert set(np.unique(got.astype(np.float64))) <= {0.0, 1.0}
        return
    if got.dtype.kind == "V":
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=case.rtol, atol=case.atol)


def run(case, call=None):
    """Runs a case; `call` calls the module, itself by default. Returns the last outputs."""
    import onnx

    path = os.path.join(case.model_dir, "model.onnx")
    model, module = onnx.load(path), fz.onnx.load(path)
    call = module if call is None else call(module)
    got = ()
    for inputs, outputs in data_sets(case, model):
        result = call(*inputs)
        got = result if isinstance(result, tuple) else (result,)
        assert len(got) == len(outputs)
        for g, e in zip(got, outputs, strict=True):
            check(array(g), e, case)
    return got
