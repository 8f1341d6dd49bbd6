"""Ways to call that NumPy, the array API and PyTorch allow; names of signatures are keywords."""

import inspect

import numpy as np
import pytest

import frazil as fz
from frazil import cuda, data, io, memory, nn, npu, random

A = np.array([[3.0, -1.0, 2.5], [0.5, 8.0, 4.0]])
T = np.arange(24.0).reshape(2, 3, 4)
V = np.array([1.0, 4.0, 9.0, 16.0])


def same(got, wanted):
    assert got.shape == wanted.shape and got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-12)


NUMPY = [
    lambda m, x: m.std(x(A), axis=0, ddof=1),
    lambda m, x: m.var(x(A), ddof=1, keepdims=True),
    lambda m, x: m.sort(x(A), 0),
    lambda m, x: m.argsort(x(A), 0),
    lambda m, x: m.diff(x(A), 2),
    lambda m, x: m.diff(x(A), 1, 0),
    lambda m, x: m.diff(x(V), prepend=0),
    lambda m, x: m.diff(x(A), prepend=x(A[:, :2]), append=x(A[:, :1])),
    lambda m, x: m.diff(x(A), axis=0, append=7.0),
    lambda m, x: m.roll(x(A), 1, 0),
    lambda m, x: m.repeat(x(A), 2, 0),
    lambda m, x: m.tensordot(x(A), x(A.T), 1),
    lambda m, x: m.count_nonzero(x(A), 0),
    lambda m, x: m.moveaxis(x(T), (0, 1), (-1, 0)),
    lambda m, x: m.moveaxis(x(T), [2, 0], [0, 1]),
    lambda m, x: m.moveaxis(x(T), source=0, destination=2),
    lambda m, x: m.expand_dims(x(A), (0, -1)),
    lambda m, x: m.expand_dims(x(A), (1, 3)),
    lambda m, x: m.expand_dims(x(A), axis=[]),
    lambda m, x: m.searchsorted(x(V[::-1].copy()), x(np.array([5.0, 16.0])), sorter=[3, 2, 1, 0]),
    lambda m, x: m.searchsorted(x(V), x(np.array([4.0])), "right"),
    lambda m, x: m.searchsorted(x(V), x(np.array([4.0])), sorter=None),
    lambda m, x: m.take(x(A), indices=[1, 0], axis=1),
    lambda m, x: m.tile(x(A), (2, 1)),
    lambda m, x: m.pad(x(A), pad_width=1),
    lambda m, x: m.split(x(A), indices_or_sections=3, axis=1)[1],
    lambda m, x: m.transpose(x(T), axes=(1, 2, 0)),
    lambda m, x: m.eye(2, 3, 1, "float64"),
    lambda m, x: m.linspace(start=0, stop=1, num=5, dtype="float64"),
    lambda m, x: m.zeros((2, 3), "int32"),
    lambda m, x: m.ones(3, int),
    lambda m, x: m.full((2,), 7, "float64"),
    lambda m, x: m.full_like(x(A), 7, "int8"),
    lambda m, x: m.zeros_like(x(A), "int8"),
    lambda m, x: m.asarray([1, 2], "float64"),
    lambda m, x: x(A).astype(dtype="int64"),
    lambda m, x: x(A).take(indices=[0, 5]),
    lambda m, x: x(T).reshape(4, 6),
    lambda m, x: x(T).transpose(2, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(NUMPY)))
def test_forms_of_numpy(i):
    same(NUMPY[i](fz, fz.asarray), NUMPY[i](np, np.asarray))


def test_shapes_as_integers():
    for name, value in (("zeros", 0), ("ones", 1), ("empty", 0)):
        make = getattr(fz, name)
        x = make(2, 3, dtype="int8", device="cpu")
        assert x.tolist() == [[value] * 3] * 2 and x.dtype is fz.int8
        assert make(np.int64(2), 1).shape == (2, 1) and make(2).shape == (2,)
        assert make((2, 3)).shape == make([2, 3]).shape == make(shape=(2, 3)).shape == (2, 3)
        for wrong in (((2, 3), 4), (2, 3, "int8"), ((2,), "int8", 3)):
            with pytest.raises(TypeError):
                make(*wrong)
    x = fz.asarray(T)
    for moved in (x.permute_dims(2, 0, 1), x.permute_dims((2, 0, 1)), x.permute(axes=(2, 0, 1))):
        assert moved.shape == (4, 2, 3)
    assert x.swapaxes(axis1=0, axis2=2).shape == (4, 3, 2)
    assert x.reshape(shape=(4, 6)).shape == x.reshape(4, -1).shape == (4, 6)


def test_tuples_of_grids():
    x, y = fz.arange(2), fz.arange(3)
    for grids in (fz.meshgrid(x, y), fz.meshgrid(x, y, indexing="ij")):
        assert type(grids) is tuple and len(grids) == 2
    assert type(fz.broadcast_arrays(x, 3)) is tuple and fz.meshgrid() == ()
    assert type(fz.__array_namespace_info__().devices()) is tuple


def test_version_of_the_array_api():
    assert fz.__array_api_version__ == "2025.12"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: fz.expand_dims(x, (0, 0)), "[expand_dims] axis 0 is given twice: [0,0]."),
        (lambda x: fz.expand_dims(x, (0, 4)), "[expand_dims] axis 4 is out of range for rank 4."),
        (lambda x: fz.moveaxis(x, (0, 1), 0),
         "[moveaxis] source and destination must be equally many, got 2 and 1."),
        (lambda x: fz.moveaxis(x, (0, -2), (0, 1)), "[moveaxis] axis -2 is given twice: [0,-2]."),
        (lambda x: fz.moveaxis(x, 0, (2,)), "[moveaxis] axis 2 is out of range for rank 2."),
        (lambda x: fz.moveaxis(x, None, 0),
         "[moveaxis] source must be an integer or a tuple of integers, got NoneType."),
        (lambda x: fz.std(x, ddof=1, correction=1), "[std] takes correction or ddof, not both."),
        (lambda x: fz.var(x, ddof="1"), "[var] ddof must be a number, got str."),
        (lambda x: fz.searchsorted(x[0], 1, sorter=[9, 0, 1]),
         "[searchsorted] index 9 is out of range for 3 elements along axis 0 of f64[3]."),
    ],
)  # fmt: skip
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError, IndexError)) as error:
        call(fz.asarray(A))
    assert str(error.value) == message


def functions():
    for module in (fz, nn, random, memory, npu, cuda, data, io):
        for name, item in vars(module).items():
            if not name.startswith("_") and callable(item) and not isinstance(item, type):
                yield f"{module.__name__}.{name}", item
    for name, item in vars(fz.Tensor).items():
        if callable(item) and getattr(item, "__text_signature__", None):
            yield f"Tensor.{name}", item


FUNCTIONS = dict(functions())


class Nothing:
    """No argument that anything takes."""


def comes_first(p):
    return p.kind is p.POSITIONAL_ONLY or p.name == "self"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_names_of_signatures_are_keywords(name):
    """A call for each name, which may fail for its value but not for its name or its place."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    parameters = [p for p in parameters if "VAR" not in p.kind.name]
    needed = [p for p in parameters if p.default is p.empty]
    first = [fz.ones(2) if p.name == "self" else Nothing() for p in needed if comes_first(p)]
    others = {p.name: Nothing() for p in needed if not comes_first(p)}
    for p in parameters:
        if comes_first(p):
            continue
        try:
            FUNCTIONS[name](*first, **others | {p.name: Nothing()})
        except Exception as error:
            text = f"{name}({p.name}=): {error}"
            for wrong in ("keyword", "positional arg", "required arg", "multiple values"):
                assert wrong not in text, text
