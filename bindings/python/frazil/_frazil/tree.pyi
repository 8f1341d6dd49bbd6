"""The compiled part of frazil.tree."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Callable, Sequence
from typing import (
    Any,
)

from frazil._frazil import Structure

__all__ = [
    "children",
    "flatten",
    "from_nodes",
    "is_container",
    "kind_of",
    "leaves",
    "register_pytree_node",
]

def children(object: Any, /) -> list[tuple[Any, Any]] | None:
    """(name, child) for each child of a container, in order; None for a leaf."""

def flatten(
    tree: Any, /, is_leaf: Callable[[Any], Any] | None = ...
) -> tuple[list[Any], Structure]:
    """The leaves of a nest in order, and its structure."""

def from_nodes(nodes: Sequence[tuple[Any, ...]], /) -> Structure:
    """The structure of such nodes, as Structure._nodes() gives them."""

def is_container(object: Any, /) -> builtins.bool:
    """Whether a nest is looked into there."""

def kind_of(cls: type, /) -> tuple[builtins.int, tuple[str, ...] | None]:
    """The kind of a class's instances, and the names of fields or None."""

def leaves(tree: Any, /, is_leaf: Callable[[Any], Any] | None = ...) -> list[Any]:
    """The leaves of a nest in order."""

def register_pytree_node(
    cls: type, flatten: Callable[[Any], Any], unflatten: Callable[..., Any], /
) -> None:
    """Makes a class a container."""
