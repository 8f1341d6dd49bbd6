"""Containers of each kind, for the tests of nests."""

import collections
import dataclasses
from typing import Any, NamedTuple

import frazil as fz


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Data:
    w: Any
    name: str = "data"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: Any


class Line:
    def __init__(self, a, colour):
        self.a, self.colour = a, colour


class Items(list):
    pass


class Ordered(collections.OrderedDict):
    pass


fz.register_pytree_node(Line, lambda x: ((x.a,), x.colour), lambda colour, a: Line(a[0], colour))
