"""The backend tests of onnx. expected_failures.txt tells which fail, and why; one that passes after
all fails here. With FRAZIL_NIGHTLY each runs traced, too: the bits are those of the eager call.
"""

import os

import node_cases
import numpy as np
import pytest

import frazil as fz

NAMES = sorted(node_cases.cases())
FAILURES = node_cases.expected_failures()


def same(a, b):
    """In every bit."""
    if a is None or isinstance(a, list):
        return type(a) is type(b) and all(map(same, a or [], b or []))
    if a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_case(name):
    case = node_cases.cases()[name]
    if name not in FAILURES:
        node_cases.run(case)
        return
    with pytest.raises((AssertionError, ValueError, TypeError, NotImplementedError)):
        node_cases.run(case)


def test_expected_failures_are_few_and_known():
    assert set(FAILURES) <= set(NAMES)
    assert len(FAILURES) <= 0.05 * len(NAMES)
    assert all(FAILURES.values())


@pytest.mark.skipif("FRAZIL_NIGHTLY" not in os.environ, reason="nightly")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in FAILURES])
def test_traced_bits(name):
    if "bernoulli" in name or "dropout" in name:
        pytest.skip("draws")
    case = node_cases.cases()[name]
    eager = node_cases.run(case)

    def thrice(module):
        traced = fz.trace(module)

        def call(*inputs):
            for _ in range(3):
                result = traced(*inputs)
            return result

        return call

    traced = node_cases.run(case, thrice)
    for a, b in zip(eager, traced, strict=True):
        assert same(node_cases.array(a), node_cases.array(b))


def test_every_operator_of_the_tests_has_a_conversion():
    import onnx

    from frazil.onnx._table import TABLE

    def operators(graph):
        for node in graph.node:
            yield node.domain, node.op_type
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from operators(attribute.g)

    found = set()
    for case in node_cases.cases().values():
        model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
        local = {(f.domain, f.name) for f in model.functions}
        found |= set(operators(model.graph)) - local
    lost = {o for o in found if o not in TABLE and onnx.defs.has(o[1], o[0])}
    assert not lost


def test_arrays_compare_by_bits():
    assert not same(np.zeros(1), -np.zeros(1)) and same(np.zeros(1), np.zeros(1))
