"""Structures of nests: order, equality, text, what does not fit."""

import collections
import gc
import weakref
from typing import Any

import pytest
from nests import Data, Items, Line, Pair

import frazil as fz
from frazil import nn


def later(dictionary):
    dictionary["w"] = dictionary.pop("w")
    return dictionary


# -- Structures


def test_what_is_no_child_stays():
    data = Data(1)
    data.more = [5]
    items = Items([1])
    items.tag = "t"
    factory = collections.defaultdict(list, a=1)
    for tree in (data, items):
        assert vars(fz.tree.map(str, tree)) == vars(tree) | ({"w": "1"} if tree is data else {})
    assert fz.tree.map(str, factory).default_factory is list
    other = Data(1)
    assert fz.tree.structure(other) != fz.tree.structure(data)


def test_order_of_keys():
    a, b = {"x": 1, "y": 2}, {"y": 2, "x": 1}
    assert fz.tree.leaves(a) == [1, 2] and fz.tree.leaves(b) == [2, 1]
    assert fz.tree.structure(a) != fz.tree.structure(b)
    assert fz.tree.map(lambda p, q: (p, q), a, b) == {"x": (1, 1), "y": (2, 2)}


def test_repr():
    tree = {"p": Pair(1, [None]), "e": (), "o": (2,), "l": Line(3, "red"), "i": Items([4])}
    assert repr(fz.tree.structure(tree)) == (
        "Structure({'p': Pair(a=*, b=[None]), 'e': (), 'o': (*,), 'l': Line('red': *), "
        "'i': Items([*])})"
    )


def test_none_and_is_leaf():
    assert fz.tree.leaves(None) == [] and fz.tree.unflatten(fz.tree.structure(None), []) is None
    assert fz.tree.leaves([None, (1, 2)], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2)]
    assert fz.tree.leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]


def test_shared_and_circular():
    shared = [1]
    assert fz.tree.leaves([shared, shared]) == [1, 1]
    circle = {"a": []}
    circle["a"].append(circle)
    for use in (fz.tree.leaves, fz.grad(lambda x: x), lambda x: fz.save("unused", x)):
        with pytest.raises(ValueError, match=r"tree\['a'\]\[0\] is the dict that holds it"):
            use(circle)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        fz.tree.leaves(deep)


def test_structures_are_collected():
    line = Line(1, None)
    line.colour = line
    how = fz.tree.structure(line)
    gone = weakref.ref(line)
    line.how = how
    del line, how
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"a": [1]}, {"a": (1,)}, r"tree\['a'\] is a list in the first tree, a tuple in another"),
        ({"a": [1]}, {"a": [1, 2]}, r"tree\['a'\] has length 1 in the first tree, 2 in another"),
        ({"a": 1}, {"b": 1}, r"tree has \['a'\] in the first tree alone"),
        (Pair(1, None), Pair(1, 2), r"tree.b is a None in the first tree, a int in another"),
        (Line(1, "red"), Line(1, "blue"), "tree is a Line with other data"),
        (Data([1]), Data(1), r"tree.w is a list in the first tree, a int in another"),
    ],
)
def test_trees_that_differ(a, b, said):
    with pytest.raises(ValueError, match=said):
        fz.tree.map(lambda x, y: x, a, b)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="has 1 leaves, got 2"):
        fz.tree.unflatten(fz.tree.structure(1), [1, 2])
    with pytest.raises(TypeError, match="needs a Structure, got list"):
        fz.tree.unflatten([], [1])
    with pytest.raises(TypeError, match="is_leaf must be a function"):
        fz.tree.flatten(1, is_leaf=3)
    with pytest.raises(TypeError, match="needs a class, got int: give type"):
        fz.register_pytree_node(3, print, print)
    with pytest.raises(TypeError, match="unflatten must be a function, got int"):
        fz.register_pytree_node(Any.__class__, print, 3)
    for cls in (list, int, fz.Tensor, nn.Linear):
        with pytest.raises(ValueError, match="has a kind of its own"):
            fz.register_pytree_node(cls, print, print)
    with pytest.raises(ValueError, match="Line is registered already"):
        fz.register_pytree_node(Line, print, print)

    class Wrong:
        pass

    assert fz.tree.leaves([x := Wrong()]) == [x]
    fz.register_pytree_node(Wrong, lambda x: 1, lambda d, c: None)
    with pytest.raises(TypeError, match=r"must return a tuple \(children, data\), got int"):
        fz.tree.leaves([Wrong()])
