"""The table of conversions: which function stands for which operator, from which opset on.

A conversion is a function over values: its positional parameters are the operator's inputs (a
default for those that may be missing), its keyword-only parameters the attributes. What it returns
is the output, or a tuple of them. The loader (_build.py) looks conversions up, the executor
(_plan.py) calls them, docs/onnx.md is written from the table (_coverage.py).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Functions:
    """The functions of conversions, by `Conversion.key`: plans name them, for traced calls compare
    a class by its version, and functions that a module reaches one by one."""


__all__ = [
    "MICROSOFT", "ML", "OWN", "PREVIEW", "TABLE", "TRAINING", "Conversion", "Functions", "converts",
    "find",
]  # fmt: skip

ML, TRAINING, PREVIEW = "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview"
MICROSOFT = "com.microsoft"  # what onnxruntime's quantisation and its optimiser write
OWN = "frazil"  # what conversions compute beforehand: see `prepared` of `converts`

TENSOR, HOST, RAW, EITHER = range(4)  # how an input is handed over: see `converts`


class Conversion(NamedTuple):
    """One row: an operator from an opset on."""

    domain: str
    name: str
    since: int
    fn: Callable[..., Any]
    kinds: tuple[int, ...]  # of the inputs that have names
    rest: int | None  # of the inputs after them, None if there may be none
    least: int  # how many inputs there must be
    attributes: frozenset[str] | None  # None: any
    needed: frozenset[str]
    wants_node: bool
    control: bool
    random: bool
    data: bool
    shape_only: bool
    laid: dict[int, Callable[..., Any]]  # how weights lie in memory, by input
    prepared: tuple[tuple[str, tuple[int, ...]], ...]  # operators of OWN, and inputs

    @property
    def key(self) -> str:
        return f"{self.domain}:{self.name}:{self.since}"

    def __reduce__(self) -> Any:
        """By its place in the table."""
        return _row, (self.domain, self.name, self.since)


TABLE: dict[tuple[str, str], list[Conversion]] = {}


def converts(
    names: str,
    since: int = 1,
    *,
    domain: str = "",
    host: str = "",
    raw: str = "",
    either: str = "",
    control: bool = False,
    random: bool = False,
    data: bool = False,
    shape_only: bool = False,
    laid: dict[str, Callable[..., Any]] | None = None,
    prepared: dict[str, tuple[str, ...]] | None = None,
) -> Callable[[Any], Any]:
    """Enters a function as the conversion of operators (their names, separated by spaces).

    Inputs are handed over as tensors; those named in `host` as NumPy arrays, which reads them if
    they were computed; those named in `raw` as they are; those in `either` as tensors where there
    are tensors of their dtype. A keyword-only parameter `node` gets the
    node. `control`: the function gets (node, values, run) and runs bodies. `random`: it draws, and
    is called each time. `data`: shapes of its results depend on data. `shape_only`: it looks at
    nothing but the shapes of its inputs. `laid`: a function of a constant or weight
    and the node's attributes, for inputs of these names: the same tensor in the memory order in
    which it is read. `prepared`: an operator of OWN by name, and inputs of which it makes what is
    handed over in their places; it is a node by itself, so that what is constant is made once.
    """

    def enter(fn: Any) -> Any:
        kinds_of = {
            n: k for k, of in ((HOST, host), (RAW, raw), (EITHER, either)) for n in of.split()
        }
        inputs, more, options, any_attribute = _parameters_of(fn)
        names_of = [n for n, _ in inputs]
        orders = {names_of.index(n): f for n, f in (laid or {}).items()}
        before = tuple(
            (name, tuple(names_of.index(i) for i in of.split()))
            for name, all_of in (prepared or {}).items()
            for of in all_of
        )
        if control:  # it takes what it needs out of the node
            inputs, more, options, any_attribute = [], None, [], True
        attributes = [(n, needed) for n, needed in options if n != "node"]
        for name in names.split():
            rows = TABLE.setdefault((domain, name), [])
            rows.append(
                Conversion(
                    domain, name, since, fn,
                    tuple(kinds_of.get(n, TENSOR) for n, _ in inputs),
                    RAW if control else None if more is None else kinds_of.get(more, TENSOR),
                    sum(needed for _, needed in inputs),
                    None if any_attribute else frozenset(n for n, _ in attributes),
                    frozenset(n for n, needed in attributes if needed),
                    len(attributes) < len(options), control, random, data, shape_only, orders,
                    before,
                )
            )  # fmt: skip
            setattr(Functions, rows[-1].key, staticmethod(fn))
            rows.sort(key=lambda row: row.since)
        return fn

    return enter


def _parameters_of(fn: Any) -> tuple[list[Any], str | None, list[Any], bool]:
    """Of a function its parameters by position, each with whether it is needed; the name of
    `*rest`; those by keyword alone; whether there is `**more`.

    By its code: inspect.signature takes a hundred times as long, and this is done for every
    conversion when the first model is loaded.
    """
    code = fn.__code__
    count, keywords = code.co_argcount, code.co_kwonlyargcount
    first_default = count - len(fn.__defaults__ or ())
    inputs = [(n, i < first_default) for i, n in enumerate(code.co_varnames[:count])]
    given = fn.__kwdefaults__ or {}
    options = [(n, n not in given) for n in code.co_varnames[count : count + keywords]]
    has_rest = bool(code.co_flags & inspect.CO_VARARGS)
    rest = code.co_varnames[count + keywords] if has_rest else None
    return inputs, rest, options, bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _row(domain: str, name: str, since: int) -> Conversion:
    from frazil.onnx import _conversions  # noqa: F401 -- fills the table

    return next(row for row in TABLE[domain, name] if row.since == since)


def find(domain: str, name: str, opset: int) -> Conversion | None:
    """The newest conversion of an operator that is not newer than the opset."""
    best = None
    for row in TABLE.get((domain, name), ()):
        if row.since <= opset:
            best = row
    return best
