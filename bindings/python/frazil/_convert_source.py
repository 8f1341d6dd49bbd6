"""From a function to its syntax tree and back: finds the source, checks that it is the one which
runs, and compiles what became of it over the same globals, defaults and cells.

Nothing of the module runs again: the new code stands in a function around it that is compiled but
never called, whose parameters are the names that the code closes over.
"""

from __future__ import annotations

import ast
import copy
import linecache
from types import CodeType, FunctionType
from typing import Any

from frazil._convert_expressions import Refused
from frazil._convert_names import own

_FUTURE = 0x1FE0000  # what `from __future__ import` leaves in a code's flags
_trees: dict[str, tuple[int, ast.Module]] = {}  # by file: the hash of its text, its tree


def _tree(file: str, scope: dict[str, Any]) -> ast.Module:
    linecache.checkcache(file)
    source = "".join(linecache.getlines(file, scope))
    if not source:
        raise Refused(f"its source is not to be had ({file})")
    known = _trees.get(file)
    if known is None or known[0] != hash(source):
        try:
            known = hash(source), ast.parse(source)
        except SyntaxError as error:
            raise Refused(f"its source cannot be read: {error}") from None
        _trees[file] = known
        if len(_trees) > 64:
            del _trees[next(iter(_trees))]
    return known[1]


def _candidates(node: ast.AST, code: CodeType, owner: str | None) -> Any:
    """Functions at the code's line, each with the class around it, whose name private names get."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([child.lineno, *(d.lineno for d in child.decorator_list)])
            if child.name == code.co_name and line == code.co_firstlineno:
                yield child, owner
        elif (
            isinstance(child, ast.Lambda)
            and code.co_name == "<lambda>"
            and child.lineno == code.co_firstlineno
        ):
            yield child, owner
        yield from _candidates(
            child, code, child.name if isinstance(child, ast.ClassDef) else owner
        )


class _Mangle(ast.NodeTransformer):
    """Private names of a class, as its compiler writes them."""

    def __init__(self, owner: str) -> None:
        self._prefix = "_" + owner.lstrip("_") if owner.strip("_") else ""

    def _mangled(self, word: str) -> str:
        private = word.startswith("__") and not word.endswith("__") and "." not in word
        return self._prefix + word if private and self._prefix else word

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "attr", "arg", "name"):
            word = getattr(node, field, None)
            if isinstance(word, str) and not isinstance(node, (ast.keyword, ast.alias)):
                setattr(node, field, self._mangled(word))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [self._mangled(n) for n in node.names]
        return super().generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _copied(node: Any, owner: str | None) -> Any:
    """The function alone: its decorators, defaults and annotations have been evaluated."""
    node = copy.deepcopy(node)
    if owner:
        node = _Mangle(owner).visit(node)
    arguments = node.args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for arg in [*every, arguments.vararg, arguments.kwarg]:
        if arg is not None:
            arg.annotation = None
    if not isinstance(node, ast.Lambda):
        node.decorator_list, node.returns = [], None
    return node


def _imported(tree: ast.Module) -> list[str]:
    """Names that a module's own statements import."""
    found = []
    for node in own(tree.body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [a.asname or a.name.partition(".")[0] for a in node.names if a.name != "*"]
    return found


def _compiled(node: Any, function: FunctionType, free: tuple[str, ...]) -> CodeType:
    code = function.__code__
    imported = _imported(_tree(code.co_filename, function.__globals__))
    inner: Any = ast.Expr(value=node) if isinstance(node, ast.Lambda) else copy.copy(node)
    if not isinstance(node, ast.Lambda):
        inner.name = "__fz_function"  # its own name is one of the module's, or of its cells
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=n) for n in free],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    definition: Any = ast.FunctionDef  # has type_params from Python 3.12 on
    factory = definition(
        name="__fz_factory", args=arguments, body=[inner], decorator_list=[], type_params=[]
    )
    # The compiler calls functions of what a module imports otherwise than methods.
    imports = ast.Import(names=[ast.alias(name=n) for n in imported]) if imported else ast.Pass()
    factory = ast.copy_location(factory, node)
    module = ast.Module(body=[ast.copy_location(imports, node), factory], type_ignores=[])
    ast.fix_missing_locations(module)
    whole = compile(
        module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
    )
    (outer,) = (c for c in whole.co_consts if isinstance(c, CodeType))
    (new,) = (c for c in outer.co_consts if isinstance(c, CodeType))
    new = _named(new, f"__fz_factory.<locals>.{new.co_name}", function.__qualname__)
    return new.replace(co_name=code.co_name, co_firstlineno=code.co_firstlineno)


def _named(code: CodeType, old: str, new: str) -> CodeType:
    """With the qualified names that the code had."""

    def renamed(c: Any) -> Any:
        if isinstance(c, CodeType):
            return _named(c, old, new)
        # A class says its own qualified name.
        return new + c.removeprefix(old) if isinstance(c, str) and c.startswith(old) else c

    consts = tuple(map(renamed, code.co_consts))
    if not hasattr(code, "co_qualname"):
        return code.replace(co_consts=consts)
    return code.replace(co_consts=consts, co_qualname=new + code.co_qualname.removeprefix(old))


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether they do the same, wherever they stand."""
    if any(n.startswith("@py") for n in (*a.co_varnames, *a.co_names)):
        # pytest writes its assertions anew: names of arguments and cells have to do.
        count = a.co_argcount + a.co_kwonlyargcount
        return a.co_varnames[:count] == b.co_varnames[:count] and a.co_freevars == b.co_freevars
    if len(a.co_consts) != len(b.co_consts):
        return False
    return (a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_cellvars) == (
        b.co_code, b.co_names, b.co_varnames, b.co_freevars, b.co_cellvars,
    ) and all(
        _same(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType)
        else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )  # fmt: skip


def found(function: FunctionType) -> Any:
    """The function's definition or lambda, in its file's lines."""
    code = function.__code__
    tree = _tree(code.co_filename, function.__globals__)
    nodes = [_copied(node, owner) for node, owner in _candidates(tree, code, None)]
    if not nodes:
        raise Refused(f"there is no {code.co_name} in line {code.co_firstlineno} of its file")
    for node in nodes:
        try:
            if _same(code, _compiled(node, function, code.co_freevars)):
                return node
        except SyntaxError:
            continue
    raise Refused("its file has other code by now, or something else made it")


def rebuilt(node: Any, function: FunctionType, helpers: tuple[str, ...]) -> CodeType:
    """The code of a definition that stands where the function's stood."""
    try:
        return _compiled(node, function, (*function.__code__.co_freevars, *helpers))
    except SyntaxError as error:
        raise Refused(f"Python does not take what became of it: {error}") from None
