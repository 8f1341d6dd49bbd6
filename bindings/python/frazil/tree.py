"""Nested structures (pytrees): apart into leaves and a structure, and together again.

Here: `flatten`, `unflatten`, `map`, `leaves`, `structure`, `Structure`, `register_pytree_node`.

Containers are dicts, lists, tuples, named tuples, dataclasses, subclasses of these, modules, and
classes that were registered; None is a container of nothing. All else is a leaf. Gradients,
optimizers, modules, files and calls by promise look into the same containers, in the same order:

* a dict in the order of its keys, as it was filled (JAX sorts them). Structures with the same keys
  in another order are not equal; `map` finds its trees' items by key;
* a dataclass by its fields, a module by those attributes that hold tensors. What else they have
  belongs to the structure, and is compared with it;
* what is held in two places is two leaves; what holds itself is an error.

Together again nothing's __init__ is called: it is a copy with other leaves, as copy.copy makes one.

>>> import frazil as fz
>>> params = {"w": [fz.ones(2), fz.zeros(2)], "scale": 3.0, "bias": None}
>>> structure(params)
Structure({'w': [*, *], 'scale': *, 'bias': None})
>>> map(lambda x: x * 2, params)["scale"]
6.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from frazil._frazil import Structure as Structure
from frazil._frazil import tree as _tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "Structure",
    "flatten",
    "leaves",
    "map",
    "register_pytree_node",
    "structure",
    "unflatten",
]

_C = TypeVar("_C")


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """The leaves of a nest in order, and its structure.

    Parameters
    ----------
    tree : Any
    is_leaf : function, optional
        is_leaf(x) says of what would be looked into whether it is a leaf.

    Raises
    ------
    ValueError
        If a container holds itself.
    """
    return _tree.flatten(tree, is_leaf)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a nest in order (see flatten).

    >>> leaves({"b": (1, None), "a": [2]})
    [1, 2]
    """
    return _tree.leaves(tree, is_leaf)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """How a nest holds its leaves (see flatten): compared, hashed, printed.

    >>> structure((1, [2])) == structure((3, [4]))
    True
    """
    return _tree.flatten(tree, is_leaf)[1]


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The nest of this structure with these leaves.

    Raises
    ------
    TypeError
        If `structure` is none.
    ValueError
        If there are more or fewer leaves than it has places.

    >>> parts, how = flatten({"a": 1, "b": (2, 3)})
    >>> unflatten(how, [x + 1 for x in parts])
    {'a': 2, 'b': (3, 4)}
    """
    if not isinstance(structure, Structure):
        raise TypeError(
            f"[tree.unflatten] needs a Structure, got {type(structure).__name__}: "
            "tree.structure(x) gives that of x."
        )
    return structure.unflatten(leaves)


def map(  # noqa: A001 -- as in jax.tree
    function: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """A nest like `tree` with function(leaf, ...) in the places of its leaves.

    `rest` are nests of the same structure; in the place of a leaf they may hold anything.

    Raises
    ------
    ValueError
        If one of them has another structure: it names the place.

    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"b": [20], "a": 10})
    {'a': 11, 'b': [22]}
    """
    parts, how = _tree.flatten(tree, is_leaf)
    others = [how.flatten_up_to(other) for other in rest]
    return how.unflatten([function(*row) for row in zip(parts, *others, strict=True)])


def register_pytree_node(
    cls: type[_C],
    flatten: Callable[[_C], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], _C],
) -> None:
    """Makes the instances of a class, but not of its subclasses, containers.

    Parameters
    ----------
    cls : type
    flatten : function
        flatten(x) gives (children, data): an iterable, and whatever unflatten needs besides. The
        data of two structures is compared by ==, and hashed where a structure is.
    unflatten : function
        unflatten(data, children) makes the object from a tuple of other children.

    Raises
    ------
    TypeError
        If `cls` is no class, or one of the others no function.
    ValueError
        If the class is registered already, or is one of those that are known without.

    >>> class Line:
    ...     def __init__(self, a, b, colour):
    ...         self.a, self.b, self.colour = a, b, colour
    >>> register_pytree_node(Line, lambda x: ((x.a, x.b), x.colour), lambda c, ab: Line(*ab, c))
    >>> leaves([Line(1, 2, "red"), 3])
    [1, 2, 3]
    """
    _tree.register_pytree_node(cls, flatten, unflatten)
