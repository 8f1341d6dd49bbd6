"""Names of NumPy, PyTorch and JAX lead to frazil's: of the module, of tensors, as keywords."""

import re

import numpy as np
import pytest

import frazil as fz
from frazil import _frazil

NAMES = _frazil.other_names()
X = fz.ones((2, 3))


def there(text):
    """Whether a name such as "nn.relu" or "random.Generator(seed)" is one of frazil's."""
    item = fz
    for part in re.match(r"[\w.]+", text).group().split("."):
        item = getattr(item, part)
    return item is not None


@pytest.mark.parametrize("theirs", NAMES["module"])
def test_names_of_the_module(theirs):
    ours = NAMES["module"][theirs]
    assert there(ours) and not hasattr(fz, theirs) and theirs not in dir(fz)
    with pytest.raises(AttributeError) as error:
        getattr(fz, theirs)
    assert str(error.value) == f"module 'frazil' has no attribute '{theirs}': use frazil.{ours}."


@pytest.mark.parametrize("theirs", NAMES["tensor"])
def test_names_of_tensors(theirs):
    ours = NAMES["tensor"][theirs]
    assert not hasattr(X, theirs) and theirs not in dir(X)
    with pytest.raises(AttributeError) as error:
        getattr(X, theirs)
    assert str(error.value) == f"'frazil.Tensor' object has no attribute '{theirs}': use {ours}."
    for name in re.findall(r"frazil\.([\w.]+)", ours):
        assert there(name)
    for name in re.findall(r"\bx\.(\w+)", ours):
        assert hasattr(X, name)


@pytest.mark.parametrize("theirs", NAMES["random"])
def test_names_of_random(theirs):
    ours = NAMES["random"][theirs]
    assert there(f"random.{ours}") and theirs not in dir(fz.random)
    with pytest.raises(AttributeError) as error:
        getattr(fz.random, theirs)
    message = f"module 'frazil.random' has no attribute '{theirs}': use frazil.random.{ours}."
    assert str(error.value) == message
    with pytest.raises(AttributeError, match=re.escape(f"'{theirs}': use generator.{ours}")):
        getattr(fz.random.Generator(0), theirs)


def test_other_names_of_random_are_pythons_to_find():
    for place in (fz.random, fz.random.Generator(0)):
        with pytest.raises(AttributeError) as error:
            place.normla  # noqa: B018
        assert error.value.name == "normla" and error.value.obj is place
        assert not hasattr(place, "nonsense")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.uniform(size=(2,)), "uniform] does not take size= as NumPy does: write low +"),
        (lambda r: r.uniform(0, 1, (2,)), "uniform] does not take 1, (2,) as NumPy does"),
        (lambda r: r.normal(0, 1, size=2), "normal] does not take 1, size= as NumPy does: write m"),
        (lambda r: r.normal(loc=0, scale=1), "normal] does not take loc=, scale= as NumPy does"),
        (lambda r: r.integers(3, size=2), "take size= as NumPy does: write integers(low, high, s"),
        (lambda r: r.choice(5, size=2), "take size= as NumPy does: write choice(a, shape)."),
    ],
)
def test_arguments_of_numpys_random(call, message):
    for place in (fz.random, fz.random.Generator(0)):
        with pytest.raises(TypeError, match=re.escape(message)):
            call(place)


def test_what_works_in_place():
    for call, hint in (
        (lambda: X.exp_(), "x[...] = frazil.exp(x)"),
        (lambda: X.maximum_(X), "x[...] = frazil.maximum(x, y)"),
        (lambda: X.add_(1), "x += y"),
        (lambda: X.median(), "frazil.median(x, ...)"),
        (lambda: X.square(), "frazil.square(x)"),
        (lambda: X.rot90(), "frazil.rot90(x, ...)"),
    ):
        with pytest.raises(AttributeError, match=re.escape(f": use {hint}.") + "$"):
            call()
    assert {"real", "imag", "round", "sum"} < set(dir(X)) and "median" not in dir(X)


def test_elementwise_functions_are_no_methods():
    with pytest.raises(AttributeError, match=r"no attribute 'exp': use frazil\.exp\(x\)\.$"):
        X.exp()
    with pytest.raises(AttributeError, match=r"no attribute 'maximum': use frazil\.maximum\(x, y"):
        X.maximum(X)
    assert X.round().tolist() == X.tolist() and {"round", "copy"} < set(dir(X))
    assert not hasattr(X, "exp") and getattr(X, "exp", None) is None
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'$"):
        X.nonsense  # noqa: B018


def test_typos_are_pythons_to_find():
    with pytest.raises(AttributeError) as error:
        fz.reshpe  # noqa: B018
    assert error.value.name == "reshpe" and error.value.obj is fz


@pytest.mark.parametrize(
    ("call", "function", "keyword", "hint"),
    [
        (lambda: fz.sum(X, dim=1), "sum", "dim", ": here it is 'axis'"),
        (lambda: X.mean(dim=1), "mean", "dim", ": here it is 'axis'"),
        (lambda: X.sum(1, keepdim=True), "sum", "keepdim", ": here it is 'keepdims'"),
        (lambda: fz.sum(input=X), "sum", "input", ": here it is 'x', and is given by position"),
        (lambda: fz.sum(x=X), "sum", "x", ": it is given by position"),
        (lambda: fz.std(X, unbiased=True), "std", "unbiased", ": here it is 'correction'"),
        (lambda: fz.roll(X, 1, dims=0), "roll", "dims", ": here it is 'axis'"),
        (lambda: fz.tensordot(X, X, dims=1), "tensordot", "dims", ""),
        (lambda: fz.sum(X, foo=1), "sum", "foo", ""),
        (lambda: fz.zeros((2,), axis=1), "zeros", "axis", ""),
    ],
)
def test_keywords(call, function, keyword, hint):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == f"{function}() got an unexpected keyword argument '{keyword}'{hint}"


def test_every_keyword_has_its_function():
    shown = set()
    for name in dir(fz):
        text = getattr(getattr(fz, name), "__text_signature__", None) or ""
        shown |= set(re.findall(r"\w+", text))
    assert set(NAMES["keyword"].values()) <= shown and not shown & NAMES["keyword"].keys()


def test_numpy_still_finds_what_it_needs():
    """NumPy looks for methods by name and must not take a hint for one."""
    assert np.repeat(X, 2).shape == (12,) and np.cumsum(X).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.sort(X).shape == (2, 3)
