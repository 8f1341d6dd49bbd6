"""What statements bind, read and jump to: questions about a syntax tree for _convert_rewrite.py."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is below them in the same function; of nested ones and of classes only
    what runs where they are defined."""
    for node in nodes:
        yield node
        if isinstance(node, ast.Lambda):
            yield from own([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            yield from own([*node.decorator_list, *defaults])
        elif not isinstance(node, ast.ClassDef):
            yield from own(ast.iter_child_nodes(node))


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """Names that they bind, in the order of their first binding."""
    names: dict[str, None] = {}
    inside: set[ast.AST] = set()  # targets of comprehensions are names of their own
    for node in own(nodes):
        if isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                inside.update(ast.walk(generator.target))
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if node not in inside:
                names[node.id] = None
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) or (
            isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name
        ):
            names[str(node.name)] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = None
    return list(names)


def declared(nodes: Sequence[ast.AST], kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    return {name for node in own(nodes) if isinstance(node, kind) for name in node.names}


def jumps(nodes: Sequence[ast.AST], loop: bool = False) -> set[str]:
    """How examples may leave them: return, raise, break, continue (of a loop around them)."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Return):
            found.add("return")
        elif isinstance(node, ast.Raise):
            found.add("raise")
        elif isinstance(node, (ast.Break, ast.Continue)):
            if not loop:
                found.add("break" if isinstance(node, ast.Break) else "continue")
        elif isinstance(node, (ast.For, ast.While)):
            found |= jumps(node.body, True) | jumps(node.orelse, loop)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found |= jumps(list(ast.iter_child_nodes(node)), loop)
    return found


class Reads:
    """Where a function reads names: which of them matter behind a block."""

    def __init__(self, function: Any, of_module: set[str], of_others: set[str]) -> None:
        self._of_module = of_module
        body = function.body if isinstance(function.body, list) else [function.body]
        self._all = Counter(_reads(body))
        self._kept = of_others | {
            name
            for nested in ast.walk(function)
            if isinstance(nested, (*_FUNCTIONS, ast.ClassDef, ast.GeneratorExp))
            and nested is not function
            for name in _reads([nested])
        }

    @property
    def kept(self) -> set[str]:
        """Names that other functions see."""
        return self._kept

    def needed(self, *blocks: Sequence[ast.AST]) -> list[str]:
        """Names that the blocks, of which one runs, bind and that are read behind them or on
        another way through them."""
        every = [node for block in blocks for node in block]
        inside = Counter(_reads(every))
        return [
            name
            for name in assigned(every)
            if name not in self._of_module
            and (
                name in self._kept
                or self._all[name] != inside[name]
                or not all(_binds_first(block, name) for block in blocks)
            )
        ]


def unsure(function: Any) -> set[str]:
    """Names of a function that may be read where they are not bound, as far as is plain."""
    body = function.body if isinstance(function.body, list) else []
    arguments = function.args
    seen = {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
    sure = set(seen)
    for statement in body:
        names = set(assigned([statement]))
        plain = (ast.Assign, ast.AugAssign, ast.FunctionDef, ast.Import, ast.ImportFrom)
        if isinstance(statement, plain) or (
            isinstance(statement, ast.AnnAssign) and statement.value
        ):
            sure |= names - seen
        seen |= names
    deleted = {n.id for n in own(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    return (set(assigned(body)) - sure) | deleted


def _reads(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id


def _binds_first(block: Sequence[ast.AST], name: str) -> bool:
    """Whether the block binds the name before it reads it, if it does, as far as is plain."""
    if name not in _reads(block):
        return True
    for node in block:
        if isinstance(node, ast.Assign):
            if name in _reads([node.value, *node.targets]):
                return False
        elif isinstance(node, ast.AnnAssign):
            if node.value is None or name in _reads([node.value]):
                return False
        elif isinstance(node, (ast.Name, ast.Tuple, ast.List)):
            pass  # the target of a for, which stands before its body
        else:
            if name in _reads([node]) or name in assigned([node]):
                return False
            continue
        if name in assigned([node]):
            return True
    return False
