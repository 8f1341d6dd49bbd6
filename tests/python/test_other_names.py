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
